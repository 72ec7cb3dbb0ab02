"""What the append-only audit table is told about a call, and about a session."""

import time
from typing import Any

from msgspec import Struct

from openagent.core.seen import CallFiles
from openagent.plugins.store import AuditEntry
from openagent.plugins.tool import ToolEffect, ToolOutcome
from openagent.policy.facts import Decision
from openagent.protocol.messages import CallEnd, ToolCallPart

LONGEST_SUBJECT = 8192


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
    return AuditEntry(kind=kind, subject=subject[:LONGEST_SUBJECT], detail=detail, at=time.time())


def audit_call(call: ToolCallPart, performed: Performed) -> list[AuditEntry]:
    """What was decided and, when it ran, what came of it."""
    entries = [_decided(call, performed)]
    if performed.effect is None:
        return entries
    about = {
        "tool": call.name,
        "call_id": call.id,
        "is_error": performed.outcome.is_error,
        "duration_ms": performed.duration_ms,
        "output_bytes": len(performed.outcome.text.encode(errors="replace")),
    }
    display = performed.outcome.display
    if performed.effect == "execute":
        entries.append(
            entry(
                "command",
                performed.summary,
                **about,
                exit_code=display.exit_code,
                background=display.background,
            )
        )
    elif display.files:
        entries += [
            entry("file_written", file.path, tool=call.name, call_id=call.id, bytes=file.bytes)
            for file in display.files
        ]
    else:
        entries.append(entry("call", performed.summary, **about))
    return entries


def _decided(call: ToolCallPart, performed: Performed) -> AuditEntry:
    decision, about = performed.decision, {"tool": call.name, "call_id": call.id}
    if decision is None:
        reason = performed.outcome.text.partition("\n")[0][:200]
        return entry("decision", performed.summary or call.name, **about, decision="none", reason=reason)
    return entry(
        "decision",
        performed.summary,
        **about,
        decision=decision.kind,
        rule=decision.rule,
        risk=decision.risk,
        reason=decision.reason,
    )
