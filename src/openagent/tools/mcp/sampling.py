"""A server asks the session's model: as a call of a tool, so that policy decides and people see it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from openagent.plugins.provider import ToolSchema
from openagent.plugins.tool import ToolContext, ToolEffect, ToolOutcome, Touched
from openagent.protocol.about import About
from openagent.protocol.display import Display
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.messages import ImagePart, Message, Part, TextPart
from openagent.tools.mcp.words import visible

if TYPE_CHECKING:
    import mcp_types as types

NAME = "mcp_sampling"
MAX_OUTPUT = 16_384
"""Tokens of an answer, whatever the server wishes."""


class SampleRequest(Struct, frozen=True):
    """What a server wants the model to answer, as the arguments of the call."""

    server: str
    messages: list[Message]
    max_tokens: int
    system: str = ""
    temperature: float | None = None


class Sampled(Struct, frozen=True):
    text: str
    model: str
    stop_reason: str


Answerer = Callable[[str, SampleRequest], Awaitable[Sampled]]
"""Session and request to the answer of its model, booked on it. Raises OpenAgentError when there is no money."""


class SamplingTool:
    """Never offered to a model: only a server's request makes a call of it."""

    name = NAME
    source = "mcp"
    effect: ToolEffect = "execute"
    read_only = False
    about = About("ask", ("answer:", "answering:", "answered:"))
    schema = ToolSchema(NAME, "An MCP server asks the model.", {"type": "object", "properties": {}})

    def __init__(self, answer: Answerer) -> None:
        self._answer = answer

    def effect_of(self, arguments: Mapping[str, Any]) -> ToolEffect:
        return self.effect

    def touches(self, arguments: Mapping[str, Any]) -> Touched:
        return Touched()

    def summarize(self, arguments: Mapping[str, Any]) -> str:
        said = " ".join(
            str(part.get("text", "[image]"))
            for message in arguments.get("messages", [])
            for part in message.get("parts", [])
        )
        return f"{arguments.get('server', '')} asks the model: {visible(said, 300)}"

    def check(self, arguments: Mapping[str, Any]) -> str | None:
        try:
            msgspec.convert(arguments, SampleRequest)
        except msgspec.ValidationError as problem:
            return f"{problem}."
        return None

    async def run(self, context: ToolContext, arguments: Mapping[str, Any]) -> ToolOutcome:
        sampled = await self._answer(context.session, msgspec.convert(arguments, SampleRequest))
        return ToolOutcome(sampled.text, display=Display(model=sampled.model, stop_reason=sampled.stop_reason))


def request_of(server: str, params: "types.CreateMessageRequestParams") -> SampleRequest:
    """Raises OpenAgentError for what cannot be asked."""
    messages: list[Message] = []
    for number, given in enumerate(params.messages, 1):
        contents = given.content if isinstance(given.content, list) else [given.content]
        parts: list[Part] = []
        for content in contents:
            if content.type == "text":
                parts.append(TextPart(content.text))
            elif content.type == "image":
                parts.append(ImagePart(media_type=content.mime_type, data=content.data))
            else:
                raise OpenAgentError("invalid_argument", f"A model here cannot be asked with {content.type}.")
        messages.append(Message(number=number, role=given.role, parts=parts))
    return SampleRequest(
        server=server,
        messages=messages,
        max_tokens=min(params.max_tokens, MAX_OUTPUT),
        system=params.system_prompt or "",
        temperature=params.temperature,
    )
