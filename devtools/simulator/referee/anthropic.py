"""What Anthropic's Messages endpoint refuses."""

import re
from typing import Any

from devtools.simulator import marks
from devtools.simulator.problems import refuse
from devtools.simulator.wire import Json, arr, obj, string, words

_KNOWN_FIELDS = frozenset(
    words(
        "model messages max_tokens system stream tools tool_choice thinking temperature top_p top_k stop_sequences "
        "metadata service_tier cache_control container context_management diagnostics inference_geo mcp_servers "
        "output_config output_format prefill speed betas user_profile_id workspace_id"
    )
)
_BLOCK_TYPES = words(
    "bash_code_execution_tool_result code_execution_tool_result compaction container_upload document image "
    "mcp_tool_result mcp_tool_use redacted_thinking search_result server_tool_use text "
    "text_editor_code_execution_tool_result thinking tool_result tool_search_tool_result tool_use "
    "web_fetch_tool_result web_search_tool_result"
)
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_TOOL_ID = re.compile(r"[a-zA-Z0-9_-]+")
_NO_PREFILL = re.compile(r"claude-[a-z]+-(4-[6-9]|[5-9])")
_MOST_CACHE_MARKS = 4
_FIRST_VERSION = "2023-06-01"
"""Later versions also take system messages in the middle of a conversation."""


def check(body: Json, headers: dict[str, str], *, counting: bool, own_signatures: frozenset[str]) -> None:
    if "anthropic-version" not in headers:
        raise refuse("anthropic-version: header is required")
    _check_options(body, counting=counting)
    _check_tools(body)
    _check_cache_marks(body)
    roles = ("user", "assistant") if headers["anthropic-version"] == _FIRST_VERSION else ("user", "assistant", "system")
    messages = arr(body["messages"])
    _check_roles(messages, roles)
    seen_calls: set[str] = set()
    for index, message in enumerate(map(obj, messages)):
        last = index == len(messages) - 1
        _check_content(message, index, last=last)
        for place, block in enumerate(map(obj, arr(message.get("content")))):
            _check_block(block, f"messages.{index}.content.{place}", string(message["role"]), own_signatures)
        _check_calls(messages, index, seen_calls)
    _check_thinking_kept(body, messages)
    if not counting and _NO_PREFILL.match(string(body["model"])) and obj(messages[-1])["role"] == "assistant":
        raise refuse(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )


def _check_options(body: Json, *, counting: bool) -> None:
    for name in body:
        if name not in _KNOWN_FIELDS:
            raise refuse(f"{name}: Extra inputs are not permitted")
    required = ["model", "messages"] if counting else ["model", "max_tokens", "messages"]
    for name in required:
        if body.get(name) is None:
            raise refuse(f"{name}: Field required")
    if not isinstance(body["messages"], list):
        raise refuse("messages: Input should be a valid list")
    if not body["messages"]:
        raise refuse("messages: at least one message is required")
    if not counting and (not isinstance(body["max_tokens"], int) or body["max_tokens"] < 0):
        raise refuse("max_tokens: Input should be a valid integer, at least 0")
    for block in map(obj, arr(body.get("system"))):
        if not string(block.get("text")):
            raise refuse("system: text content blocks must be non-empty")
    _check_thinking_options(body, counting=counting)


def _check_thinking_options(body: Json, *, counting: bool) -> None:
    thinking = obj(body.get("thinking"))
    if thinking.get("type") != "enabled":
        return
    budget = thinking.get("budget_tokens")
    if not isinstance(budget, int):
        raise refuse("thinking.enabled.budget_tokens: Field required")
    if budget < 1024:
        raise refuse("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
    if not counting and body["max_tokens"] <= budget:
        raise refuse("`max_tokens` must be greater than `thinking.budget_tokens`.")
    if body.get("temperature") not in (None, 1):
        raise refuse("`temperature` may only be set to 1 when thinking is enabled.")
    if obj(body.get("tool_choice")).get("type") in ("any", "tool"):
        raise refuse("Thinking may not be enabled when tool_choice forces tool use.")


def _check_tools(body: Json) -> None:
    names: set[str] = set()
    for index, tool in enumerate(map(obj, arr(body.get("tools")))):
        if tool.get("type") not in (None, "custom"):
            continue
        where = f"tools.{index}.custom"
        name = tool.get("name")
        if not isinstance(name, str):
            raise refuse(f"{where}.name: Field required")
        if not _TOOL_NAME.fullmatch(name):
            raise refuse(f"{where}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        if name in names:
            raise refuse("tools: Tool names must be unique.")
        names.add(name)
        schema = tool.get("input_schema")
        if not isinstance(schema, dict):
            raise refuse(f"{where}.input_schema: Field required")
        if obj(schema).get("type") != "object":
            complaint = "Input should be 'object'" if "type" in schema else "Field required"
            raise refuse(f"{where}.input_schema.type: {complaint}")
    choice = obj(body.get("tool_choice"))
    if choice and not arr(body.get("tools")) and choice.get("type") != "none":
        raise refuse("tool_choice: Tool choice may only be specified while providing tools.")


def _check_cache_marks(body: Json) -> None:
    messages = [obj(message) for message in arr(body.get("messages"))]
    blocks = [obj(block) for message in messages for block in arr(message.get("content"))]
    marked = [*map(obj, arr(body.get("system"))), *map(obj, arr(body.get("tools"))), *blocks, body]
    count = sum(block.get("cache_control") is not None for block in marked)
    if count > _MOST_CACHE_MARKS:
        raise refuse(f"A maximum of {_MOST_CACHE_MARKS} blocks with cache_control may be provided. Found {count}.")


def _check_roles(messages: list[Any], roles: tuple[str, ...]) -> None:
    for index, message in enumerate(messages):
        role = obj(message).get("role")
        if role == "system" and "system" not in roles:
            raise refuse(
                'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not '
                '"system" as an input message role.'
            )
        if role not in roles:
            raise refuse(f'messages: Unexpected role "{role}". Allowed roles are "user" or "assistant".')
        if index == 0 and role != "user":
            raise refuse('messages: first message must use the "user" role')


def _check_content(message: Json, index: int, *, last: bool) -> None:
    content = message.get("content")
    final_assistant = last and message["role"] == "assistant"
    if content is None:
        raise refuse(f"messages.{index}.content: Field required")
    if not isinstance(content, str | list):
        raise refuse(f"messages.{index}.content: Input should be a valid string or list")
    if not content and not final_assistant:
        raise refuse(
            f"messages.{index}: all messages must have non-empty content except for the optional final assistant "
            "message"
        )
    texts = (
        [content]
        if isinstance(content, str)
        else [block.get("text") for block in map(obj, arr(message["content"])) if block.get("type") == "text"]
    )
    for text in texts:
        if not string(text) and not (final_assistant and isinstance(content, str)):
            raise refuse("messages: text content blocks must be non-empty")
        if string(text) and not string(text).strip():
            raise refuse("messages: text content blocks must contain non-whitespace text")
    if final_assistant and texts and string(texts[-1]) != string(texts[-1]).rstrip():
        raise refuse("messages: final assistant content cannot end with trailing whitespace")


def _check_block(block: Json, where: str, role: str, own_signatures: frozenset[str]) -> None:
    kind = block.get("type")
    message = where.rpartition(".content.")[0]
    if kind not in _BLOCK_TYPES:
        tags = ", ".join(f"'{name}'" for name in _BLOCK_TYPES)
        raise refuse(f"{where}: Input tag '{kind}' found using 'type' does not match any of the expected tags: {tags}")
    if kind in ("tool_use", "thinking", "redacted_thinking") and role != "assistant":
        raise refuse(f"{message}: `{kind}` blocks can only be in `assistant` messages")
    if kind == "tool_result" and role != "user":
        raise refuse(f"{message}: `tool_result` blocks can only be in `user` messages")
    if kind == "thinking":
        _check_thinking_block(block, where, own_signatures)
    elif kind == "redacted_thinking" and not string(block.get("data")):
        raise refuse(f"{where}.redacted_thinking.data: Field required")
    elif kind == "tool_use":
        _check_tool_use(block, where)
    elif kind == "tool_result" and not isinstance(block.get("tool_use_id"), str):
        raise refuse(f"{where}.tool_result.tool_use_id: Field required")


def _check_thinking_block(block: Json, where: str, own_signatures: frozenset[str]) -> None:
    for name in ("thinking", "signature"):
        if not isinstance(block.get(name), str):
            raise refuse(f"{where}.thinking.{name}: Field required")
    if "cache_control" in block:
        raise refuse(f"{where}.thinking.cache_control: Extra inputs are not permitted")
    signature, thinking = string(block["signature"]), string(block["thinking"])
    if signature in own_signatures:
        return
    mark = marks.read_signature(signature)
    # Omitted thinking comes back empty; its signature still vouches for it.
    if mark is None or (thinking and not mark.signs(thinking)):
        raise refuse(f"{where}: Invalid `signature` in `thinking` block")


def _check_tool_use(block: Json, where: str) -> None:
    for name in ("id", "name"):
        if not isinstance(block.get(name), str):
            raise refuse(f"{where}.tool_use.{name}: Field required")
    if not _TOOL_ID.fullmatch(string(block["id"])):
        raise refuse(f"{where}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    if not _TOOL_NAME.fullmatch(string(block["name"])):
        raise refuse(f"{where}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
    if not isinstance(block.get("input"), dict):
        raise refuse(f"{where}.tool_use.input: Input should be a valid dictionary")


def _ids(messages: list[Any], index: int, kind: str, key: str) -> list[str]:
    if not 0 <= index < len(messages):
        return []
    blocks = map(obj, arr(obj(messages[index]).get("content")))
    return [string(block.get(key)) for block in blocks if block.get("type") == kind]


def _check_calls(messages: list[Any], index: int, seen: set[str]) -> None:
    """Every call has its result at the head of the next message, and every result its call in the previous one."""
    asked = _ids(messages, index, "tool_use", "id")
    for identifier in asked:
        if identifier in seen:
            raise refuse(f"messages.{index}: `tool_use` ids must be unique")
        seen.add(identifier)
    if asked:
        leading: list[str] = []
        following = obj(messages[index + 1]) if index + 1 < len(messages) else {}
        for block in map(obj, arr(following.get("content"))):
            if block.get("type") != "tool_result":
                break
            leading.append(string(block.get("tool_use_id")))
        unanswered = [identifier for identifier in asked if identifier not in leading]
        if unanswered:
            raise refuse(
                f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(unanswered)}. Each `tool_use` block must have a corresponding `tool_result` block in the "
                "next message."
            )
    results = _ids(messages, index, "tool_result", "tool_use_id")
    called = _ids(messages, index - 1, "tool_use", "id")
    for place, identifier in enumerate(results):
        where = f"messages.{index}.content.{place}"
        if identifier not in called:
            raise refuse(
                f"{where}: unexpected `tool_use_id` found in `tool_result` blocks: {identifier}. Each `tool_result` "
                "block must have a corresponding `tool_use` block in the previous message."
            )
        if identifier in results[:place]:
            raise refuse(
                f"{where}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: "
                f"{identifier}"
            )


def _check_thinking_kept(body: Json, messages: list[Any]) -> None:
    """With thinking enabled, the turn that is still calling tools must keep the thinking it began with."""
    if obj(body.get("thinking")).get("type") != "enabled" or not _ids(
        messages, len(messages) - 1, "tool_result", "tool_use_id"
    ):
        return
    index = len(messages) - 2
    blocks = [obj(block) for block in arr(obj(messages[index]).get("content"))]
    found = [marks.read_id(string(block.get("id"))) for block in blocks if block.get("type") == "tool_use"]
    if any(mark and mark.thought for mark in found) and blocks[0].get("type") not in (
        "thinking",
        "redacted_thinking",
    ):
        raise refuse(
            f"messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
            f"`{blocks[0].get('type')}`. When `thinking` is enabled, a final `assistant` message must start with a "
            "thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). To avoid this "
            "requirement, disable `thinking`."
        )
