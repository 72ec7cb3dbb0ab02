"""Prompts of servers, for people: as messages to send."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from openagent.protocol.errors import OpenAgentError
from openagent.protocol.mcp import McpPrompt, McpPromptMessage
from openagent.protocol.messages import ImagePart, TextPart, UserPart
from openagent.tools.mcp.server import McpServer

if TYPE_CHECKING:
    import mcp_types as types

_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def prompts_of(servers: Mapping[str, McpServer]) -> list[McpPrompt]:
    return [
        McpPrompt(server=name, name=each.name, description=each.description, arguments=each.arguments)
        for name, server in servers.items()
        for each in server.offer.prompts
    ]


def arguments_from(prompt: McpPrompt, words: Sequence[str]) -> dict[str, str]:
    """`name=value`, and the rest in order; what is left over belongs to the last argument."""
    names = [argument.name for argument in prompt.arguments]
    given: dict[str, str] = {}
    plain: list[str] = []
    for word in words:
        name, found, value = word.partition("=")
        if found and name in names:
            given[name] = value
        else:
            plain.append(word)
    left = [name for name in names if name not in given]
    for place, name in enumerate(left[: len(plain)]):
        given[name] = plain[place] if place < len(left) - 1 else " ".join(plain[place:])
    if missing := [each.name for each in prompt.arguments if each.required and each.name not in given]:
        usage = " ".join(f"<{each.name}>" if each.required else f"[{each.name}]" for each in prompt.arguments)
        raise OpenAgentError(
            "invalid_argument",
            f"/{prompt.server}:{prompt.name} needs {', '.join(missing)}.",
            hint=f"Write /{prompt.server}:{prompt.name} {usage}.",
        )
    return given


def messages_of(result: "types.GetPromptResult") -> list[McpPromptMessage]:
    return [McpPromptMessage(role=each.role, part=_part(each.content)) for each in result.messages]


def _part(content: "types.ContentBlock") -> UserPart:
    match content.type:
        case "text":
            return TextPart(content.text)
        case "image" if content.mime_type in _IMAGES:
            return ImagePart(media_type=content.mime_type, data=content.data)
        case "resource":
            return TextPart(f"[{content.resource.uri}]\n{getattr(content.resource, 'text', '')}")
        case _:
            return TextPart(f"[{content.type} left out]")


def as_message(messages: Sequence[McpPromptMessage]) -> list[UserPart]:
    """One user message of a prompt, in which the assistant may have been made to speak too."""
    return [
        TextPart(f"[assistant]\n{each.part.text}")
        if each.role == "assistant" and isinstance(each.part, TextPart)
        else each.part
        for each in messages
    ]
