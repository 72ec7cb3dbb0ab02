"""What a provider uses to speak with one model: requests out in its dialect, calls in as ours.

The stored history is one, in our words. What was said to a model is translated when it is encoded, which happens once;
tool schemas and prompts are translated once for as long as they stay the same.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from openagent.dialects.dialect import Dialect, OfferedTool
from openagent.dialects.families import DIALECTS, OWN, TRANSLATED, dialect_of, has_vendor_tools, takes_text
from openagent.plugins.provider import Answer, CallChunk, ModelRequest, ToolSchema
from openagent.protocol.messages import Message, Part, ToolCallPart, ToolResultPart

_REMEMBERED = 64
_SHAPES: Mapping[str, type] = {"string": str, "array": list}


class Tongue:
    def __init__(self, dialect: Dialect = OWN, *, text_tools: bool = False, vendor_tools: bool = False) -> None:
        """`text_tools` and `vendor_tools`: what model and wire both have beside functions."""
        self.dialect = dialect
        self._text_tools = text_tools
        self._vendor_tools = vendor_tools
        self._offered: dict[tuple[int, ...], tuple[Sequence[ToolSchema], Sequence[ToolSchema]]] = {}
        """By the identity of the tools, which are kept for that."""
        self._prompts: dict[str, str] = {}
        self.text_tools = frozenset(term.name for term in dialect.terms if term.grammar and text_tools)
        """Those that take plain text in place of arguments."""

    def request(self, request: ModelRequest) -> ModelRequest:
        """Tools and prompt; messages are translated by whoever encodes them, one by one."""
        if self.dialect is OWN or not request.tools:
            return request
        return msgspec.structs.replace(request, system=self._prompt(request.system), tools=self._tools(request.tools))

    def message(self, message: Message) -> Message:
        """An answer, with its calls in the dialect."""
        if self.dialect is OWN or not any(isinstance(part, ToolCallPart) for part in message.parts):
            return message
        said = [self.dialect.spoken(part) if isinstance(part, ToolCallPart) else part for part in message.parts]
        return msgspec.structs.replace(message, parts=said)

    def result(self, call: ToolCallPart, said: ToolCallPart, result: ToolResultPart) -> ToolResultPart:
        """`said` is the call as `message` made it."""
        return result if self.dialect is OWN else self.dialect.told(call, said, result)

    def announced(self, chunk: CallChunk, tools: Sequence[ToolSchema]) -> CallChunk:
        """Under our name, as far as the call's name tells it."""
        name = self._tool_named(chunk.name, {tool.name for tool in tools})
        return chunk if name == chunk.name else CallChunk(chunk.id, name)

    def heard(self, answer: Answer, tools: Sequence[ToolSchema]) -> Answer:
        """With calls of ours, in whichever dialect they were made. `tools` are ours, as the model was offered them."""
        if not any(isinstance(part, ToolCallPart) for part in answer.parts):
            return answer
        ours = {tool.name: tool for tool in tools}
        parts = [self._understood(part, ours) if isinstance(part, ToolCallPart) else part for part in answer.parts]
        return msgspec.structs.replace(answer, parts=parts)

    def _understood(self, call: ToolCallPart, ours: Mapping[str, ToolSchema]) -> Part:
        name, given = call.name, call.arguments
        if call.invalid_arguments is not None:
            name = self._tool_named(name, ours)
            return call if name == call.name else msgspec.structs.replace(call, name=name)
        made = self._made(name, given, ours)
        return call if made == (name, given) else msgspec.structs.replace(call, name=made[0], arguments=made[1])

    def _made(self, name: str, given: dict[str, Any], ours: Mapping[str, ToolSchema]) -> tuple[str, dict[str, Any]]:
        own = ours.get(name)
        if own is not None and name not in TRANSLATED:
            return name, given
        if made := self.dialect.understood(name, given):
            return made
        if own is not None and _fits(own, given):
            return name, given
        for dialect in DIALECTS.values():
            if made := dialect.understood(name, given):
                return made
        return (self.dialect.roughly(name, given) if own is None else None) or (name, given)

    def _tool_named(self, name: str, ours: Mapping[str, ToolSchema] | set[str]) -> str:
        if name in ours:
            return name
        dialects = (self.dialect, *DIALECTS.values())
        return next((tool for dialect in dialects if (tool := dialect.tool_named(name))), name)

    def _prompt(self, text: str) -> str:
        if text not in self._prompts:
            _make_room(self._prompts)
            self._prompts[text] = self.dialect.prompt(text)
        return self._prompts[text]

    def _tools(self, tools: Sequence[ToolSchema]) -> Sequence[ToolSchema]:
        key = tuple(map(id, tools))
        if key not in self._offered:
            _make_room(self._offered)
            self._offered[key] = (tuple(tools), [self._as_the_wire_takes(each) for each in self.dialect.offered(tools)])
        return self._offered[key][1]

    def _as_the_wire_takes(self, tool: ToolSchema) -> ToolSchema:
        if not isinstance(tool, OfferedTool):
            return tool
        return msgspec.structs.replace(
            tool,
            grammar=tool.grammar if self._text_tools else "",
            vendor_type=tool.vendor_type if self._vendor_tools else "",
        )


class Tongues:
    """The tongues of one provider's models."""

    def __init__(self, chosen: str | None = None, by_model: Mapping[str, str] | None = None) -> None:
        """`chosen` is for all its models, `by_model` for those whose name fits a pattern; see `families`."""
        self._chosen = chosen
        self._by_model = by_model or {}

    def of(self, model: str, *, text_tools: bool, vendor_tools: bool) -> Tongue:
        """The wire may have tools that take plain text, and tools that the vendor defines."""
        return Tongue(
            dialect_of(model, self._chosen, self._by_model),
            text_tools=text_tools and takes_text(model),
            vendor_tools=vendor_tools and has_vendor_tools(model),
        )


def _fits(schema: ToolSchema, given: Mapping[str, Any]) -> bool:
    """By the names of the arguments, and whether each is a text or a list."""
    known = schema.parameters.get("properties", {})
    return all(name in given for name in schema.parameters.get("required", ())) and all(
        name in known and isinstance(value, _SHAPES.get(known[name].get("type"), object))
        for name, value in given.items()
    )


def _make_room(remembered: dict[Any, Any]) -> None:
    if len(remembered) >= _REMEMBERED:
        remembered.clear()
