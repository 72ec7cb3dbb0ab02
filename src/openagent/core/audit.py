"""What the append-only audit table is told: of calls the decision before and the outcome after, and who did what."""

import time
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import msgspec
from msgspec import Struct

from openagent.core.files_seen import CallFiles
from openagent.plugins.store import AuditEntry
from openagent.plugins.tool import Tool, ToolEffect, ToolOutcome
from openagent.policy.facts import Decision
from openagent.protocol.messages import CallEnd, ToolCallPart, ToolResultPart
from openagent.protocol.sessions import SessionInfo, Settings
from openagent.protocol.words import subject_of

LONGEST_SUBJECT = 8192
LONGEST_VALUE = 200
_DEFAULTS = Settings()


class Actor(Struct, frozen=True):
    """Who has something done, and from where."""

    by: str = "daemon"
    """The kind of client, as it calls itself: cli, tui, web, …"""
    name: str = "daemon"
    """`owner`, or the token's name."""
    address: str = ""
    """The unix socket or the address that it came from."""
    op: str = ""
    """What was asked for."""
    person: str = ""
    """The id of the person behind it, where people log in."""


NOBODY = Actor()
"""The daemon does it of itself."""
_acting: ContextVar[Actor] = ContextVar("acting", default=NOBODY)


def actor() -> Actor:
    return _acting.get()


@contextmanager
def acting(who: Actor) -> Generator[None, None, None]:
    """What is told from here on, also by tasks that are started from here, is told of them."""
    before = _acting.set(who)
    try:
        yield
    finally:
        _acting.reset(before)


class Performed(Struct, frozen=True):
    """A call that has come to its end, one way or another."""

    outcome: ToolOutcome
    decision: Decision | None
    """None when it did not come to one: the call made no sense, or was cancelled."""
    duration_ms: float
    summary: str = ""
    effect: ToolEffect | None = None
    """None when nothing was run."""
    stopped: bool = False
    """It was cut short."""
    rewritten: dict[str, Any] | None = None
    """What it was made with, when a gate wanted other arguments than the model gave."""
    files: CallFiles | None = None
    """What it saw and wrote of files; None when nothing was run."""

    @property
    def ended(self) -> CallEnd:
        if self.stopped:
            return "stopped"
        if self.decision is not None and self.decision.kind == "deny":
            return "denied"
        return "failed" if self.outcome.is_error else "done"

    @property
    def reason(self) -> str:
        """In a few words, for people, when it did not end as done."""
        if self.ended == "denied" and self.decision is not None:
            return self.decision.reason.rstrip(".")
        return ""


def entry(kind: str, subject: str, **detail: Any) -> AuditEntry:
    who = _acting.get()
    told = {"by": who.by, "actor": who.name, "from": who.address, "op": who.op, "person": who.person} | detail
    return AuditEntry(
        kind=kind,
        subject=subject[:LONGEST_SUBJECT],
        detail={name: value for name, value in told.items() if value != ""},
        at=time.time(),
    )


def audit_decision(call: ToolCallPart, decision: Decision, summary: str) -> AuditEntry:
    """Before anything runs."""
    return entry(
        "decision",
        summary,
        tool=call.name,
        call_id=call.id,
        decision=decision.kind,
        rule=decision.rule,
        risk=decision.risk,
        reason=decision.reason,
    )


def audit_outcome(call: ToolCallPart, performed: Performed) -> list[AuditEntry]:
    """After it: what came of it, or why nothing ran."""
    if performed.effect is None:
        if performed.decision is not None:
            return [audit_decision(call, performed.decision, performed.summary)]
        return [_not_run(call, performed.outcome.text.partition("\n")[0][:200], performed.summary)]
    about = {
        "tool": call.name,
        "call_id": call.id,
        "ended": performed.ended,
        "is_error": performed.outcome.is_error,
        "duration_ms": performed.duration_ms,
        "output_bytes": len(performed.outcome.text.encode(errors="replace")),
    }
    display = performed.outcome.display
    if performed.effect == "execute":
        more = {"exit_code": display.exit_code, "background": display.background}
        return [entry("command", performed.summary, **about, **more)]
    if display.files:
        return [
            entry("file_written", file.path, tool=call.name, call_id=call.id, bytes=file.bytes)
            for file in display.files
        ]
    return [entry("call", performed.summary, **about)]


def audit_closed(tools: Mapping[str, Tool], closed: Iterable[tuple[ToolCallPart, ToolResultPart]]) -> list[AuditEntry]:
    """Of calls that came to no end of their own: those that ran were cut short, and what they did stays done."""
    return [_closed(tools.get(call.name), call, result) for call, result in closed]


def _closed(tool: Tool | None, call: ToolCallPart, result: ToolResultPart) -> AuditEntry:
    subject = subject_of(call.name, call.arguments) or call.name
    if result.ended == "not_run":
        return _not_run(call, result.reason, subject)
    kind = "command" if tool is not None and tool.effect == "execute" else "call"
    about = {"tool": call.name, "call_id": call.id, "ended": result.ended, "is_error": True, "reason": result.reason}
    return entry(kind, subject, **about)


def audit_update(before: SessionInfo, after: SessionInfo) -> AuditEntry:
    """What of a session's settings became what: its mode above all."""
    was, now = msgspec.to_builtins(before.settings), msgspec.to_builtins(after.settings)
    changed = {
        name: [was.get(name, _default(name)), now.get(name, _default(name))]
        for name in {**was, **now}
        if was.get(name) != now.get(name)
    }
    if before.name != after.name:
        changed["name"] = [before.name, after.name]
    if before.archived != after.archived:
        changed["archived"] = [before.archived, after.archived]
    told = [f"{name} {old} → {new}" if name == "mode" else name for name, (old, new) in changed.items()]
    return entry("session", f"updated: {', '.join(told)}" if told else "updated", changed=_bounded(changed))


def _default(name: str) -> Any:
    return getattr(_DEFAULTS, name)


def _bounded(changed: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: [each[:LONGEST_VALUE] if isinstance(each, str) else each for each in values]
        for name, values in changed.items()
    }


def _not_run(call: ToolCallPart, reason: str, subject: str) -> AuditEntry:
    about = {"tool": call.name, "call_id": call.id, "decision": "none", "reason": reason}
    return entry("decision", subject or call.name, **about)
