"""Telling people and models when a session's commands touched what the person's own git would run."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from openagent.core.audit import entry
from openagent.daemon.loaded_sessions import LoadedSessions
from openagent.plugins.gate import FrontGate, Gate, Scene
from openagent.plugins.tool import ToolOutcome
from openagent.protocol.errors import ErrorInfo
from openagent.protocol.events import ErrorRaised
from openagent.protocol.messages import NotePart, ToolCallPart
from openagent.workspace.git_guard import Disarmed

_SHOWN = 8
_STOPPED = (
    "Something in the jail armed {place} again each time, so all that ran in the jail was stopped, also in the "
    "background."
)


class GitWatch:
    """Hears from the workspaces' guard what became of repositories, and tells people at once."""

    def __init__(self, loaded: LoadedSessions, loop: asyncio.AbstractEventLoop) -> None:
        self._loaded = loaded
        self._loop = loop
        self._untold: dict[str, list[Disarmed]] = {}

    def disarmed(self, session: str, found: list[Disarmed], kept: Path) -> None:
        """From any thread."""
        self._untold.setdefault(session, []).extend(found)
        self._loop.call_soon_threadsafe(self._tell_people, session, found, kept)

    def take_untold(self, session: str) -> list[Disarmed]:
        """What the session's model has not been told."""
        return self._untold.pop(session, [])

    def _tell_people(self, session: str, found: Sequence[Disarmed], kept: Path) -> None:
        loaded = self._loaded.find(session)
        if loaded is None:
            return
        out, left = _lines(found, left=False), _lines(found, left=True)
        stopped = [each.path for each in found if each.stopped]
        said: list[str] = []
        if out:
            said.append(f"A command changed what git would run outside the jail. It was taken out: {out}.")
        if left:
            said.append(
                f"A command left something in git's own files that can run programs or reach elsewhere: {left}."
            )
        if stopped:
            said.append(_STOPPED.format(place=stopped[0]))
        hint = "Look at it before you go on with git there."
        if out:
            hint = f"{hint} The originals are in {kept}."
        audit = [
            entry("git_metadata", each.path, what=each.what, left=each.left, stopped=each.stopped) for each in found
        ]
        error = ErrorInfo("permission_denied", " ".join(said), hint=hint)
        loaded.post(ErrorRaised(error=error), audit=audit)


class GitGate(FrontGate):
    """Another gate, which also tells the model what became of the repositories its call wrote to."""

    def __init__(self, gate: Gate, watch: GitWatch) -> None:
        super().__init__(gate)
        self._watch = watch

    async def after_call(self, scene: Scene, call: ToolCallPart, outcome: ToolOutcome) -> Sequence[NotePart]:
        notes = await self._gate.after_call(scene, call, outcome)
        if found := self._watch.take_untold(scene.info.id):
            return [*notes, NotePart("git", _told(found))]
        return notes


def _told(found: Sequence[Disarmed]) -> str:
    text = "The user was told what this call did to git's own files."
    if out := _lines(found, left=False):
        text += f" Programs named there would run outside the jail, so these were taken out again: {out}."
    if left := _lines(found, left=True):
        text += f" Left as it is: {left}."
    if stopped := [each.path for each in found if each.stopped]:
        text += " " + _STOPPED.format(place=stopped[0])
    return text


def _lines(found: Sequence[Disarmed], *, left: bool) -> str:
    shown = list(dict.fromkeys(str(each) for each in found if each.left is left and not each.stopped))
    more = f"; and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return "; ".join(shown[:_SHOWN]) + more
