"""What happens in a session, under the names that Socket.IO clients know it by."""

from typing import Any

import msgspec
from msgspec import Struct

from openagent.protocol.events import (
    AnyEvent,
    ErrorRaised,
    MessageAdded,
    Metrics,
    PermissionNoted,
    PermissionRequested,
    SessionDeleted,
    StatusChanged,
    TextDelta,
    ToolStarted,
)
from openagent.protocol.messages import Message, ToolResultPart
from openagent.protocol.sessions import PermissionAsk, Risk, Snapshot

Said = tuple[str, dict[str, Any]]
"""An event's name and what it carries."""


class Sent(Struct, frozen=True, rename="camel"):
    agent_id: str


class Response(Sent, frozen=True, rename="camel"):
    """`agent:response`: a piece of an answer, or (not partial) all of it."""

    content: str
    is_partial: bool
    metadata: dict[str, Any]


class ToolCall(Sent, frozen=True, rename="camel"):
    """`agent:tool_call`: a tool runs, or waits for `tool:approve`."""

    tool_call_id: str
    tool_name: str
    arguments: dict[str, Any]
    requires_approval: bool
    risk_level: Risk


class ToolResult(Sent, frozen=True, rename="camel"):
    """`agent:tool_result`."""

    tool_call_id: str
    result: str
    success: bool
    execution_time: float
    """In milliseconds."""


class Status(Sent, frozen=True, rename="camel"):
    """`agent:status`."""

    status: str
    details: str = ""


class Problem(Sent, frozen=True, rename="camel"):
    """`agent:error`."""

    error: str
    recoverable: bool


class MetricsUpdate(Struct, frozen=True, rename="camel"):
    """`metrics:update`."""

    timestamp: float
    """In milliseconds, as JavaScript counts."""
    agents: dict[str, Any]
    system: dict[str, Any]
    openai_usage: dict[str, Any]


NAMES: dict[type[Struct], str] = {
    Response: "agent:response",
    ToolCall: "agent:tool_call",
    ToolResult: "agent:tool_result",
    Status: "agent:status",
    Problem: "agent:error",
    MetricsUpdate: "metrics:update",
}


class Telling:
    """For one client."""

    def __init__(self) -> None:
        self._asked: set[str] = set()
        """Calls that were told of when they were asked about."""
        self._risks: dict[str, Risk] = {}

    def snapshot(self, snapshot: Snapshot) -> list[Struct]:
        session = snapshot.info.id
        asks = [self._ask(session, each) for each in snapshot.permissions]
        return [Status(session, snapshot.info.status), *asks]

    def event(self, event: AnyEvent) -> list[Struct]:
        match event:
            case TextDelta():
                told = {"messageNumber": event.message_number}
                return [Response(event.session, event.text, is_partial=True, metadata=told)]
            case MessageAdded():
                return self._message(event.session, event.message)
            case PermissionNoted():
                self._risks[event.call_id] = event.risk
                return []
            case PermissionRequested():
                return [self._ask(event.session, event.ask)]
            case ToolStarted() if event.call_id not in self._asked:
                risk = self._risks.get(event.call_id, "low")
                return [ToolCall(event.session, event.call_id, event.tool, event.arguments, False, risk)]
            case StatusChanged():
                return [Status(event.session, event.status, event.detail)]
            case ErrorRaised():
                return [Problem(event.session, event.error.message, event.error.recoverable)]
            case SessionDeleted():
                return [Problem(event.session, "The session was deleted.", recoverable=False)]
            case Metrics():
                return [_metrics(event)]
            case _:
                return []

    def _ask(self, session: str, ask: PermissionAsk) -> ToolCall:
        self._asked.add(ask.call_id)
        return ToolCall(session, ask.call_id, ask.tool, ask.arguments, True, ask.risk)

    def _message(self, session: str, message: Message) -> list[Struct]:
        if message.role == "assistant" and message.text:
            told = {
                "messageNumber": message.number,
                "turn": message.turn,
                "model": message.model,
                "stopReason": message.stop_reason,
                "usage": msgspec.to_builtins(message.usage),
            }
            return [Response(session, message.text, is_partial=False, metadata=told)]
        results = [part for part in message.parts if isinstance(part, ToolResultPart)]
        for each in results:
            self._asked.discard(each.call_id)
            self._risks.pop(each.call_id, None)
        return [ToolResult(session, each.call_id, each.text, not each.is_error, each.duration_ms) for each in results]


def said(what: Struct) -> list[Said]:
    """Under its name, and under that of its agent alone, which some clients listen to."""
    name, told = NAMES[type(what)], msgspec.to_builtins(what)
    own = [(name.replace("agent:", f"agent:{what.agent_id}:"), told)] if isinstance(what, Sent) else []
    return [(name, told), *own]


_OF_THE_SYSTEM = (
    *("sessions", "running", "clients", "rss_bytes", "cpu_percent"),
    *("system_cpu_percent", "system_memory_bytes", "system_memory_total_bytes"),
)
_OF_USAGE = ("spend_today_usd", "tokens_today", "unpriced_today")


def _metrics(event: Metrics) -> MetricsUpdate:
    return MetricsUpdate(
        timestamp=event.at * 1000,
        agents={each.id: msgspec.to_builtins(each) for each in event.agents},
        system={name: getattr(event, name) for name in _OF_THE_SYSTEM},
        openai_usage={name: getattr(event, name) for name in _OF_USAGE},
    )
