"""What OpenAI's Chat Completions endpoint refuses."""

from typing import Any

from devtools.simulator.problems import refuse
from devtools.simulator.referee import openai_shared as shared
from devtools.simulator.wire import Json, arr, obj, string

_ROLES = ["system", "assistant", "user", "function", "tool", "developer"]
_LONGEST_CALL_ID = 40


def check(body: Json, *, model: str) -> None:
    if not model:
        raise refuse("you must provide a model parameter")
    messages = body.get("messages")
    if messages is None:
        raise shared.missing("messages")
    if not isinstance(messages, list):
        raise shared.wrong_type("messages", "an array of objects", messages)
    if not messages:
        raise shared.empty_array("messages")
    _check_options(body, model)
    _check_tools(body)
    _check_messages(arr(body["messages"]))


def _check_options(body: Json, model: str) -> None:
    if body.get("stream_options") is not None and body.get("stream") is not True:
        raise refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.", param="stream_options")
    if not shared.is_reasoning_model(model):
        return
    if body.get("max_tokens") is not None:
        raise refuse(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' "
            "instead.",
            param="max_tokens",
            code="unsupported_parameter",
        )
    if body.get("temperature") not in (None, 1):
        raise refuse(
            f"Unsupported value: 'temperature' does not support {body['temperature']} with this model. Only the "
            "default (1) value is supported.",
            param="temperature",
            code="unsupported_value",
        )


def _check_tools(body: Json) -> None:
    tools = body.get("tools")
    if tools is None:
        if body.get("tool_choice") not in (None, "none"):
            raise refuse("'tool_choice' is only allowed when 'tools' are specified.", param="tool_choice")
        return
    if tools == []:
        raise shared.empty_array("tools")
    for index, tool in enumerate(map(obj, arr(tools))):
        if tool.get("type") == "custom":
            continue
        if tool.get("type") != "function":
            raise shared.wrong_value(f"tools[{index}].type", tool.get("type"), ["function", "custom"])
        function = obj(tool.get("function"))
        if not function:
            raise shared.missing(f"tools[{index}].function")
        shared.check_function_name(f"tools[{index}].function.name", function.get("name"))
        shared.check_function_schema(
            f"tools[{index}].function.parameters",
            string(function.get("name")),
            function.get("parameters"),
            strict=function.get("strict") is True,
        )


def _check_messages(messages: list[Any]) -> None:
    awaited: list[str] = []
    answerable: set[str] = set()
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            raise shared.wrong_type(f"messages[{index}]", "an object", message)
        entry = obj(message)
        role = entry.get("role")
        if role not in _ROLES:
            raise shared.wrong_value(f"messages[{index}].role", role, _ROLES)
        if role == "tool":
            _check_tool_message(entry, index, answerable, awaited)
            continue
        _check_all_answered(awaited, index)
        awaited = _tool_call_ids(entry, index) if role == "assistant" else []
        _check_content(entry, index)
        answerable = set(awaited)
    _check_all_answered(awaited, len(messages))


def _check_tool_message(entry: Json, index: int, answerable: set[str], awaited: list[str]) -> None:
    identifier = entry.get("tool_call_id")
    if not isinstance(identifier, str):
        raise refuse(
            "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.",
            param=f"messages.[{index}].tool_call_id",
        )
    if identifier not in answerable:
        raise refuse(
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
            "'tool_calls'.",
            param=f"messages.[{index}].role",
        )
    if identifier not in awaited:
        raise refuse(
            f"Duplicate value for 'tool_call_id' of '{identifier}' in message[{index}].",
            param=f"messages.[{index}].tool_call_id",
        )
    awaited.remove(identifier)
    _check_content(entry, index)


def _check_all_answered(awaited: list[str], index: int) -> None:
    if awaited:
        raise refuse(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(awaited)}",
            param=f"messages.[{index}].role",
        )


def _check_content(entry: Json, index: int) -> None:
    content = entry.get("content")
    if content is None:
        calls = entry.get("tool_calls") or entry.get("function_call")
        if entry.get("role") != "assistant" or not (calls or entry.get("refusal")):
            raise refuse(
                "Invalid value for 'content': expected a string, got null.",
                param=f"messages.[{index}].content",
            )
        return
    if content == []:
        raise shared.empty_array(f"messages[{index}].content")
    if not isinstance(content, str | list):
        raise shared.wrong_type(f"messages[{index}].content", "one of a string or array of objects", content)
    for part_index, part in enumerate(arr(content)):
        if not string(obj(part).get("type")):
            raise shared.missing(f"messages[{index}].content[{part_index}].type")


def _tool_call_ids(entry: Json, index: int) -> list[str]:
    calls = entry.get("tool_calls")
    if calls is None:
        return []
    where = f"messages[{index}].tool_calls"
    if calls == []:
        raise shared.empty_array(where)
    identifiers: list[str] = []
    for call_index, call in enumerate(map(obj, arr(calls))):
        param = f"{where}[{call_index}]"
        identifier = call.get("id")
        if not isinstance(identifier, str):
            raise shared.missing(f"{param}.id")
        shared.check_length(f"{param}.id", identifier, _LONGEST_CALL_ID)
        if identifier in identifiers:
            raise refuse(f"Duplicate value for 'tool_call_id' of '{identifier}' in message[{index}].", param=where)
        if call.get("type") == "function":
            function = obj(call.get("function"))
            shared.check_function_name(f"{param}.function.name", function.get("name"))
            if not isinstance(function.get("arguments"), str):
                raise shared.wrong_type(f"{param}.function.arguments", "a string", function.get("arguments"))
        elif call.get("type") != "custom":
            raise shared.wrong_value(f"{param}.type", call.get("type"), ["function", "custom"])
        identifiers.append(identifier)
    return identifiers
