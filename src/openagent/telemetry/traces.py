"""The trace of every turn: which one it belongs to, and the parts it is made of.

Parts are told when they have ended, from the events that clients hear, too. Their names and attributes are those of
OpenTelemetry's conventions for generative AI. What was said, asked or printed is in none of them.
"""

import hashlib
import time
from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct

from openagent.protocol.events import Event, ToolFinished, TurnCompleted, TurnStarted
from openagent.protocol.trace_context import TraceContext, context_of_op, new_trace, read_traceparent
from openagent.telemetry.watched_provider import Attempted

Attributes = dict[str, str | int | float | list[str]]
_VENDORS = {"gemini": "gcp.gemini", "azure": "azure.ai.openai", "github": "azure.ai.inference"}
"""Providers that the conventions know by other names."""


class Span(Struct, frozen=True):
    """A part of a trace that has ended."""

    name: str
    kind: Literal["internal", "client"]
    context: TraceContext
    parent: str
    """The part that it belongs to; empty: none."""
    started: float
    """Seconds since 1970."""
    ended: float
    attributes: Attributes
    error: str = ""
    """Why it failed, in a word."""


class _Turn(Struct):
    context: TraceContext
    parent: str
    model: str
    agent: str
    started: float


class Traces:
    def __init__(self, about: Callable[[str], tuple[str, str]], tell: Callable[[Span], None] | None) -> None:
        """`about` tells of a session the one it works for and its template. `tell` hears of each part that ended."""
        self._about = about
        self._tell = tell
        self._turns: dict[str, _Turn] = {}
        self._mcp: dict[tuple[str, str], str] = {}
        """Calls that MCP servers carry out, and which."""

    def hearers(self) -> "list[tuple[type[Event], Callable[[Any], None]]]":
        return [
            (TurnStarted, self._turn_started),
            (TurnCompleted, self._turn_completed),
            (ToolFinished, self._tool_finished),
        ]

    def request(self, session: str) -> TraceContext | None:
        """A new part, for a request to a model; None where no turn runs."""
        turn = self._turns.get(session)
        return turn.context.inside() if turn else None

    def call(self, session: str, call_id: str) -> TraceContext | None:
        """The part that is a tool call. Asked at any time, it is the same."""
        if (turn := self._turns.get(session)) is None:
            return None
        span = hashlib.blake2b(f"{turn.context.span} {call_id}".encode(), digest_size=8).hexdigest()
        return TraceContext(turn.context.trace, span, turn.context.sampled)

    def mcp_called(self, session: str, call_id: str, server: str) -> None:
        if self._tell is not None and session in self._turns:
            self._mcp[session, call_id] = server

    def attempted(self, attempt: Attempted) -> None:
        """One attempt at a request has ended."""
        request, context = attempt.request, read_traceparent(attempt.request.traceparent)
        if self._tell is None or context is None or not context.sampled:
            return
        turn, now = self._turns.get(request.session), time.time()
        attributes: Attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _VENDORS.get(attempt.provider, attempt.provider),
            "gen_ai.request.model": request.model,
            "gen_ai.conversation.id": request.session,
        }
        if attempt.first is not None:
            attributes["gen_ai.response.time_to_first_chunk"] = attempt.first
        if (answer := attempt.answer) is not None:
            used = answer.usage
            attributes |= {
                "gen_ai.response.model": answer.model or request.model,
                "gen_ai.response.finish_reasons": [answer.stop_reason],
                "gen_ai.usage.input_tokens": used.input_tokens,
                "gen_ai.usage.output_tokens": used.output_tokens,
                "gen_ai.usage.cache_read.input_tokens": used.cached_tokens,
                "gen_ai.usage.cache_creation.input_tokens": used.cache_write_tokens,
            }
        parent, name = turn.context.span if turn else "", f"chat {request.model}"
        self._tell(Span(name, "client", context, parent, now - attempt.seconds, now, attributes, attempt.cause))

    def _turn_started(self, event: TurnStarted) -> None:
        works_for, template = self._about(event.session)
        above = self._turns.get(works_for)
        given = context_of_op(event.op_id) or (above.context if above else TraceContext(new_trace()))
        self._turns[event.session] = _Turn(given.inside(), given.span, event.model, template or "openagent", event.at)

    def _turn_completed(self, event: TurnCompleted) -> None:
        turn = self._turns.pop(event.session, None)
        if turn is None or self._tell is None or not turn.context.sampled:
            return
        provider, _, model = turn.model.partition("/")
        attributes: Attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": _VENDORS.get(provider, provider),
            "gen_ai.agent.name": turn.agent,
            "gen_ai.conversation.id": event.session,
            "gen_ai.request.model": model or turn.model,
            "gen_ai.usage.input_tokens": event.usage.input_tokens,
            "gen_ai.usage.output_tokens": event.usage.output_tokens,
            "openagent.turn.end": event.reason,
            "openagent.turn.steps": event.steps,
            "openagent.turn.cost_usd": event.cost_usd,
        }
        error = event.error.code if event.error is not None and event.reason != "done" else ""
        ended = event.at  # its duration is that of the whole turn, which may have been cut short once
        name = f"invoke_agent {turn.agent}"
        self._tell(Span(name, "internal", turn.context, turn.parent, turn.started, ended, attributes, error))

    def _tool_finished(self, event: ToolFinished) -> None:
        server = self._mcp.pop((event.session, event.call_id), "")
        turn, context = self._turns.get(event.session), self.call(event.session, event.call_id)
        if turn is None or context is None or self._tell is None or not context.sampled:
            return
        attributes: Attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": event.tool,
            "gen_ai.tool.call.id": event.call_id,
            "gen_ai.tool.type": "function",
            "gen_ai.conversation.id": event.session,
        }
        if server:
            attributes |= {"mcp.method.name": "tools/call", "openagent.mcp.server": server}
        error = event.ended if event.ended != "done" else ""
        started = event.at - event.duration_ms / 1000
        kind = "client" if server else "internal"
        name = f"execute_tool {event.tool}"
        self._tell(Span(name, kind, context, turn.context.span, started, event.at, attributes, error))
