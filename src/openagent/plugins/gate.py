"""A gate hears of each message, each call and the end of each turn before it happens. The rules of folders, slash
commands and hooks are gates.

It tells the model things, and may stop a message, a call or the end of a turn. It can make a decision stricter and
answer in place of a person; it never lifts a denial.
"""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from msgspec import Struct

from openagent.plugins.tool import ToolOutcome
from openagent.protocol.messages import NotePart, ToolCallPart
from openagent.protocol.sessions import SessionInfo


@functools.lru_cache(maxsize=256)
def folder_at(path: str) -> Path:
    """Asked several times in every step, and a path remembers what was made of it."""
    return Path(path)


class Scene(Struct, frozen=True):
    """The session that a gate is asked about, as it is now."""

    info: SessionInfo
    directory: str
    """Where the session's shell stands."""
    told: Mapping[str, str]
    """The pinned notes that the model sees now: source to text."""
    query: str = ""
    """What to look for in place of the message's own words."""

    @property
    def workspace(self) -> Path:
        return folder_at(self.info.cwd)


class Admission(Struct, frozen=True):
    notes: Sequence[NotePart] = ()
    blocked: str = ""
    """Why the message must not reach the model; empty when it may."""
    model: str = ""
    """What answers this turn, in place of the session's model."""


class Ruling(Struct, frozen=True):
    decision: Literal["allow", "ask", "deny"] | None = None
    reason: str = ""
    by: str = ""
    arguments: dict[str, Any] | None = None
    """What the call is made with instead. Policy decides about these."""


NO_RULING = Ruling()


class Gate(Protocol):
    def opening(self, workspace: Path) -> Sequence[NotePart]:
        """What a new session is told before its first message."""
        ...

    async def admit(self, scene: Scene, text: str) -> Admission:
        """A person's message is about to be answered."""
        ...

    async def before_call(self, scene: Scene, call: ToolCallPart) -> Ruling: ...

    async def before_ask(self, scene: Scene, call: ToolCallPart) -> Ruling:
        """A person is about to be asked."""
        ...

    async def after_call(self, scene: Scene, call: ToolCallPart, outcome: ToolOutcome) -> Sequence[NotePart]: ...

    async def before_end(self, scene: Scene, answer: str, *, again: bool) -> str:
        """Why the turn must go on; empty when it may end. `again`: it has been told to go on before."""
        ...


class OpenGate:
    """Holds up nothing."""

    def opening(self, workspace: Path) -> Sequence[NotePart]:
        return ()

    async def admit(self, scene: Scene, text: str) -> Admission:
        return Admission()

    async def before_call(self, scene: Scene, call: ToolCallPart) -> Ruling:
        return NO_RULING

    async def before_ask(self, scene: Scene, call: ToolCallPart) -> Ruling:
        return NO_RULING

    async def after_call(self, scene: Scene, call: ToolCallPart, outcome: ToolOutcome) -> Sequence[NotePart]:
        return ()

    async def before_end(self, scene: Scene, answer: str, *, again: bool) -> str:
        return ""


class FrontGate:
    """In front of another one, which does whatever this one does not do itself."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def opening(self, workspace: Path) -> Sequence[NotePart]:
        return self._gate.opening(workspace)

    async def admit(self, scene: Scene, text: str) -> Admission:
        return await self._gate.admit(scene, text)

    async def before_call(self, scene: Scene, call: ToolCallPart) -> Ruling:
        return await self._gate.before_call(scene, call)

    async def before_ask(self, scene: Scene, call: ToolCallPart) -> Ruling:
        return await self._gate.before_ask(scene, call)

    async def after_call(self, scene: Scene, call: ToolCallPart, outcome: ToolOutcome) -> Sequence[NotePart]:
        return await self._gate.after_call(scene, call, outcome)

    async def before_end(self, scene: Scene, answer: str, *, again: bool) -> str:
        return await self._gate.before_end(scene, answer, again=again)
