"""What goes on beside a session's turns: sub-agents at work, and commands in the background.

It is written down when it begins and struck out when it has ended, so that whoever loads a session whose daemon has
stopped knows what ended with it, and can tell.
"""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from openagent.core.audit import entry
from openagent.plugins.store import AuditEntry, BackgroundWork, Rows
from openagent.protocol.events import BackgroundFinished, Event, MessageAdded, SubagentFinished
from openagent.protocol.messages import CallEnd, Message, NotePart

if TYPE_CHECKING:
    from openagent.core.session import Session

LONGEST = 300
"""Characters of a task or a command."""
_HEADING = "The daemon stopped, or put this session away, meanwhile. What the session had at work ended with that:"


class Background:
    def __init__(self, session: "Session", lost: Sequence[BackgroundWork]) -> None:
        self._session = session
        self._lost = list(lost)
        """Nothing that a session has in the background outlives its being put away."""
        self._working: dict[str, BackgroundWork] = {}

    def begin(self, work: BackgroundWork) -> None:
        """Also to say more about one that has begun. Stored with what is recorded next."""
        work = msgspec.structs.replace(work, what=" ".join(work.what.split())[:LONGEST], at=work.at or time.time())
        self._working[work.id] = work
        self._session.recorder.post_begun(work)

    def end(self, name: str) -> BackgroundWork | None:
        """Whoever waits for it has been told, or is told with what is recorded next. Returns what ended."""
        work = self._working.pop(name, None)
        if work is not None:
            self._session.recorder.post_ended(name)
        return work

    def finished(self, event: BackgroundFinished) -> list[AuditEntry]:
        """What the audit trail is told: when the command's call had its result, it was still running."""
        work = self.end(event.command_id)
        if work is None:
            return []
        return [_outcome(work, event, "stopped" if event.lost else "failed" if event.exit_code else "done")]

    async def tell_lost(self) -> None:
        """What ended with an earlier daemon becomes part of the history, which the model reads with its next turn."""
        session, lost = self._session, self._lost
        if not lost:
            return
        events: list[Event] = []
        lines: list[str] = []
        audit: list[AuditEntry] = []
        for work in lost:
            copy = await session.runtime.copy_left(work.child) if work.child else ""
            if work.kind == "command":
                finished = BackgroundFinished(command_id=work.id, exit_code=None, lost=True)
                events.append(finished)
                audit.append(_outcome(work, finished, "interrupted"))
            elif work.child:
                events.append(
                    SubagentFinished(child=work.child, template=work.template, reason="interrupted", copy=copy)
                )
            if work.for_model:
                lines.append(_line(work, copy))
        messages: list[Message] = []
        if lines and session.info.turn_count:
            note = NotePart("background", "\n".join([_HEADING, *lines]))
            number, turn = session.recorder.next_number, session.info.turn_count
            messages = [Message(number=number, role="user", parts=[note], turn=turn, created_at=time.time())]
        await session.record(
            *events,
            *(MessageAdded(message=message) for message in messages),
            rows=Rows(messages=messages, ended=[work.id for work in lost], audit=audit),
        )
        self._lost = []


def _outcome(work: BackgroundWork, event: BackgroundFinished, ended: CallEnd) -> AuditEntry:
    about = {"tool": "shell", "background": work.id, "exit_code": event.exit_code, "duration_ms": event.duration_ms}
    return entry("command", work.what, ended=ended, **about)


def _line(work: BackgroundWork, copy: str) -> str:
    if work.kind == "command":
        return f"- the command {work.id} was killed, its exit code is not known: {work.what}"
    name = f"{work.id} ({work.child})" if work.child and work.child != work.id else work.id
    line = f"- the sub-agent {name} ended before it was done: {work.what}"
    if copy:
        command = "openagent workspaces"
        return (
            f"{line}\n  What it wrote is kept in the copy {copy}: `{command} diff {copy}` shows it, "
            f"`{command} merge {copy}` brings it back, `{command} remove {copy} --force` drops it."
        )
    return f"{line}\n  It left no edits." if work.child else f"{line}\n  It had not begun."
