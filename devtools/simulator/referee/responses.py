"""What OpenAI's Responses endpoint refuses."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from devtools.simulator import marks
from devtools.simulator.problems import Problem, refuse
from devtools.simulator.referee import openai_shared as shared
from devtools.simulator.wire import Json, arr, obj, string, words

_KNOWN_FIELDS = frozenset(
    words(
        "background context_management conversation image include input instructions max_output_tokens max_tool_calls "
        "metadata model moderation parallel_tool_calls previous_response_id prompt prompt_cache_key "
        "prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier store stream "
        "stream_options temperature text tool_choice tools top_logprobs top_p truncation user access_programs"
    )
)
_ROLES = ["assistant", "system", "developer", "user"]
_ITEM_TYPES = words(
    "message reasoning function_call function_call_output custom_tool_call custom_tool_call_output item_reference "
    "file_search_call web_search_call computer_call computer_call_output image_generation_call code_interpreter_call "
    "local_shell_call local_shell_call_output shell_call shell_call_output apply_patch_call apply_patch_call_output "
    "mcp_list_tools mcp_approval_request mcp_approval_response mcp_call compaction"
)
_ID_PREFIXES = {"message": "msg", "reasoning": "rs", "function_call": "fc"}
_INPUT_PARTS = ["input_text", "input_image", "input_file", "input_audio", "output_text", "refusal"]
_OUTPUT_PARTS = ["output_text", "refusal"]
_CALL_TO_OUTPUT = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}
_LONGEST_CALL_ID = 64


def check(body: Json, conversation: Callable[[], list[Any]], *, own_signatures: frozenset[str]) -> None:
    for name in body:
        if name not in _KNOWN_FIELDS:
            raise refuse(f"Unknown parameter: '{name}'.", param=name, code="unknown_parameter")
    if not string(body.get("model")):
        raise shared.missing("model")
    _check_options(body)
    _check_tools(body)
    given = body.get("input")
    if given is None and not (body.get("previous_response_id") or body.get("prompt") or body.get("conversation")):
        raise shared.missing("input")
    if given is not None and not isinstance(given, str | list):
        raise shared.wrong_type("input", "one of a string or array of input items", given)
    for index, item in enumerate(arr(given)):
        if not isinstance(item, dict):
            raise shared.wrong_type(f"input[{index}]", "an input item", item)
        _check_item(obj(item), index)
    items = [obj(item) for item in conversation()]
    _check_unique_ids(items)
    _check_calls(items)
    _check_reasoning(items, stored=body.get("store") is not False, own_signatures=own_signatures)


def _check_options(body: Json) -> None:
    limit = body.get("max_output_tokens")
    if isinstance(limit, int) and limit < 16:
        raise refuse(
            f"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got {limit} "
            "instead.",
            param="max_output_tokens",
            code="integer_below_min_value",
        )
    if shared.is_reasoning_model(string(body.get("model"))) and body.get("temperature") not in (None, 1):
        raise refuse("Unsupported parameter: 'temperature' is not supported with this model.", param="temperature")
    if not shared.is_reasoning_model(string(body.get("model"))) and obj(body.get("reasoning")).get("effort"):
        raise refuse(
            "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
            param="reasoning.effort",
            code="unsupported_parameter",
        )


def _check_tools(body: Json) -> None:
    for index, tool in enumerate(map(obj, arr(body.get("tools")))):
        kind = tool.get("type")
        if kind is None:
            raise shared.missing(f"tools[{index}].type")
        if kind == "custom":
            _check_custom(tool, f"tools[{index}]")
        if kind != "function":
            continue
        shared.check_function_name(f"tools[{index}].name", tool.get("name"))
        shared.check_function_schema(
            f"tools[{index}].parameters",
            string(tool.get("name")),
            tool.get("parameters"),
            strict=tool.get("strict") is True,
        )


def _check_custom(tool: Json, where: str) -> None:
    """A tool that takes text: its grammar must be given whole."""
    shared.check_function_name(f"{where}.name", tool.get("name"))
    form = obj(tool.get("format"))
    if form.get("type") not in (None, "text", "grammar"):
        raise shared.wrong_value(f"{where}.format.type", form.get("type"), ["text", "grammar"])
    if form.get("type") == "grammar":
        if form.get("syntax") not in ("lark", "regex"):
            raise shared.wrong_value(f"{where}.format.syntax", form.get("syntax"), ["lark", "regex"])
        if not string(form.get("definition")):
            raise shared.missing(f"{where}.format.definition")


def _check_item(item: Json, index: int) -> None:
    where = f"input[{index}]"
    kind = item.get("type", "message")
    if kind not in _ITEM_TYPES:
        raise shared.wrong_value(where, kind, _ITEM_TYPES)
    identifier = item.get("id")
    prefix = _ID_PREFIXES.get(kind)
    if isinstance(identifier, str) and prefix and not identifier.startswith(prefix):
        raise refuse(
            f"Invalid '{where}.id': '{identifier}'. Expected an ID that begins with '{prefix}'.",
            param=f"{where}.id",
            code="invalid_value",
        )
    if kind == "message":
        _check_message(item, where)
    elif kind == "reasoning" and not isinstance(item.get("summary"), list):
        raise shared.missing(f"{where}.summary")
    elif kind in _CALL_TO_OUTPUT or kind in _CALL_TO_OUTPUT.values():
        _check_call_fields(item, kind, where)


def _check_message(item: Json, where: str) -> None:
    role = item.get("role")
    if role not in _ROLES:
        raise shared.wrong_value(f"{where}.role", role, _ROLES) if role else shared.missing(f"{where}.role")
    content = item.get("content")
    if content is None:
        raise shared.missing(f"{where}.content")
    allowed = _OUTPUT_PARTS if role == "assistant" else _INPUT_PARTS
    for index, part in enumerate(map(obj, arr(content))):
        if part.get("type") not in allowed:
            raise shared.wrong_value(f"{where}.content[{index}]", part.get("type"), allowed)


def _check_call_fields(item: Json, kind: str, where: str) -> None:
    call_id = item.get("call_id")
    if not isinstance(call_id, str) or not call_id:
        raise shared.missing(f"{where}.call_id")
    shared.check_length(f"{where}.call_id", call_id, _LONGEST_CALL_ID)
    if kind == "function_call":
        shared.check_function_name(f"{where}.name", item.get("name"))
        if not isinstance(item.get("arguments"), str):
            raise shared.wrong_type(f"{where}.arguments", "a string", item.get("arguments"))
    elif kind == "custom_tool_call":
        shared.check_function_name(f"{where}.name", item.get("name"))
        if not isinstance(item.get("input"), str):
            raise shared.wrong_type(f"{where}.input", "a string", item.get("input"))
    elif kind.endswith("_output") and not isinstance(item.get("output"), str | list):
        raise shared.missing(f"{where}.output")


def _check_unique_ids(items: list[Json]) -> None:
    for identifier, count in Counter(string(item.get("id")) for item in items).items():
        if identifier and count > 1:
            raise refuse(
                f"Duplicate item found with id {identifier}. Remove duplicate items from your input and try again.",
                param="input",
            )


def _check_calls(items: list[Json]) -> None:
    """Every call has exactly one output somewhere after it, and every output its call before it."""
    open_calls: dict[str, str] = {}
    closed_calls: set[str] = set()
    for item in items:
        kind, call_id = item.get("type"), string(item.get("call_id"))
        if kind in _CALL_TO_OUTPUT:
            if call_id in open_calls or call_id in closed_calls:
                raise refuse(f"Duplicate tool call found with call_id {call_id}.", param="input")
            open_calls[call_id] = string(kind)
        elif kind in _CALL_TO_OUTPUT.values():
            if call_id in closed_calls:
                raise refuse(f"Duplicate tool output found for call_id {call_id}.", param="input")
            if _CALL_TO_OUTPUT.get(open_calls.get(call_id, "")) != kind:
                raise refuse(f"No tool call found for function call output with call_id {call_id}.", param="input")
            del open_calls[call_id]
            closed_calls.add(call_id)
    if open_calls:
        raise refuse(f"No tool output found for function call {next(iter(open_calls))}.", param="input")


def _check_reasoning(items: list[Json], *, stored: bool, own_signatures: frozenset[str]) -> None:
    thoughts: dict[str, int] = {}
    for index, item in enumerate(items):
        identifier = string(item.get("id"))
        mark = marks.read_id(identifier)
        if item.get("type") == "reasoning":
            follower = items[index + 1] if index + 1 < len(items) else {}
            if not _is_output(follower):
                raise refuse(
                    f"Item '{identifier}' of type 'reasoning' was provided without its required following item.",
                    param="input",
                )
            _check_encrypted(item, identifier, stored=stored, own_signatures=own_signatures)
            if mark:
                thoughts[mark.serial] = index
        # Only stored items are known by their id, so only they can miss their reasoning.
        elif stored and mark and mark.thought and mark.serial not in thoughts:
            kind = item.get("type", "message")
            reasoning = f"rs_{marks.id_tail(int(mark.serial, 16), mark.position, 0, thought=True)}"
            raise refuse(
                f"Item '{identifier}' of type '{kind}' was provided without its required 'reasoning' item: "
                f"'{reasoning}'.",
                param="input",
            )


def _is_output(item: Json) -> bool:
    kind = item.get("type", "message")
    if kind == "message":
        return item.get("role") == "assistant"
    return kind == "reasoning" or string(kind).endswith("_call")


def _check_encrypted(item: Json, identifier: str, *, stored: bool, own_signatures: frozenset[str]) -> None:
    content = item.get("encrypted_content")
    if content is None:
        if not stored:
            raise Problem(
                "invalid_request",
                f"Item with id '{identifier}' not found. Items are not persisted when `store` is set to false. Try "
                "again with `store` set to true, or remove this item from your input.",
                param="input",
                status=404,
            )
    elif string(content) not in own_signatures and marks.read_signature(string(content)) is None:
        raise refuse(
            f"The encrypted content for item {identifier} could not be verified. Reason: Encrypted content could not "
            "be decrypted or parsed.",
            code="invalid_encrypted_content",
        )
