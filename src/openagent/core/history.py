"""Keeping a history one that every provider accepts: no tool call stays without its result."""

from collections.abc import Iterable

from openagent.protocol.messages import Message, ToolCallPart, ToolResultPart

INTERRUPTED = (
    "Interrupted: the daemon stopped while this call ran, so its effect is unknown. Check before repeating it."
)
CANCELLED = "Cancelled by the user before it finished."


def calls_without_result(messages: Iterable[Message]) -> list[ToolCallPart]:
    """Of the newest answer; earlier ones were completed before the next request was sent."""
    waiting: dict[str, ToolCallPart] = {}
    for message in messages:
        if message.role == "assistant":
            waiting = {call.id: call for call in message.tool_calls}
        for part in message.parts:
            if isinstance(part, ToolResultPart):
                waiting.pop(part.call_id, None)
    return list(waiting.values())


def closing_result(call: ToolCallPart, text: str) -> ToolResultPart:
    return ToolResultPart(call_id=call.id, name=call.name, text=text, is_error=True)
