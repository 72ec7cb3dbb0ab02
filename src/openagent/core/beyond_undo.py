"""What undo could not bring back stays as it is in `auto`, until a person says otherwise.

The jail holds it read-only. A command that meets it is asked for and, allowed, run again; a file tool is asked for
before it writes.
"""

import os
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from openagent.core.audit import Performed
from openagent.core.read_only_wall import met_the_wall
from openagent.grants.openings import Opening
from openagent.plugins.jail import ReadingJail, offers
from openagent.plugins.tool import ToolOutcome
from openagent.policy.facts import CallFacts, Decision
from openagent.policy.units import command_text, units_of
from openagent.protocol.sessions import Wall

if TYPE_CHECKING:
    from openagent.core.session import Session

_RUN_AGAIN = (
    "[It met files that undo could not bring back, which are read-only until a person allows it. This is its second "
    "run, which a person allowed.]"
)
_KEPT = "[openagent: read-only until the user allows it, because undo could not bring it back: {places}]"
_REFUSAL = re.compile(r"Read-only file system|Device or resource busy|\b(?:EROFS|EBUSY)\b", re.IGNORECASE)
_WORDS = re.compile(r"[^\s'\"‘’`:,;()\[\]<>|&=]+")
_LINES_READ = 200
_MOST_RUNS = 4
"""Of one command: each may meet another place."""
_SHOWN = 3


def held(session: "Session", granted: Sequence[Opening]) -> tuple[str, ...]:
    """As far as nobody allowed it. The workspace itself: nothing in it could be brought back."""
    writes = session.runtime.writes
    if writes is None or session.permits.mode != "auto":
        return ()
    paths = writes.known_unsaved(session.workspace, session.id)
    if not paths:
        return ()
    allowed = [each.subject for each in granted if each.kind == "unsaved"]
    return tuple(str(path) for path in paths if not any(_within(str(path), place) for place in allowed))


async def look_for_unsaved(session: "Session") -> None:
    """Before the jail is opened for a call: it costs nothing but at the first call in a workspace, when all of it is
    looked at anyway."""
    if session.runtime.writes is not None and session.permits.mode == "auto":
        await session.runtime.writes.unsaved(session.workspace, session.id)


async def run_held(
    session: "Session", facts: CallFacts, decision: Decision, run: Callable[[Wall, bool], Awaitable[Performed]]
) -> Performed:
    """`run` makes the call behind a wall; the second word is whether it was made before."""
    if session.permits.mode != "auto" or session.runtime.writes is None:
        return await run("write", False)
    if facts.effect == "write":
        return await _ask_to_write(session, facts, decision) or await run("write", False)
    wall: Wall = "write"
    if str(session.workspace) in _held(session) and facts.walled and offers(session.runtime.jail, ReadingJail):
        wall = "read"
    performed = await run(wall, False)
    for _ in range(_MOST_RUNS):
        if decision.rule == "builtin:read-only" or not (places := _held(session)):
            break
        place = await _met(session, performed.outcome, command_text(facts), places)
        if not place:
            return _told_of(session, performed, places)
        said = await _ask(session, place, places, command=command_text(facts))
        if said.kind == "deny":
            why = f"Denied: undo could not bring {_named(session, place)} back, and it was not let be changed: "
            return told(performed, why + said.reason)
        performed = told(await run("write", True), _RUN_AGAIN)
    return performed


async def _ask_to_write(session: "Session", facts: CallFacts, decision: Decision) -> Performed | None:
    for path in (path for unit in units_of(facts) for path in unit.paths):
        places = _held(session)
        full = _full(str(session.workspace), path)
        if not any(_within(full, place) for place in places):
            continue
        place = area(full, str(session.workspace)) if str(session.workspace) not in places else str(session.workspace)
        name = _named(session, full)
        said = await _ask(session, place, places, path=name)
        if said.kind == "deny":
            refused = ToolOutcome(f"Denied: undo could not bring {name} back: {said.reason}", is_error=True)
            return Performed(refused, msgspec.structs.replace(decision, kind="deny", reason=said.reason), 0.0)
    return None


async def _ask(session: "Session", place: str, places: Sequence[str], **about: str) -> Decision:
    workspace = str(session.workspace)
    within = [_named(session, each) for each in places if _within(each, place)]
    more = f" and {len(within) - _SHOWN} more" if len(within) > _SHOWN else ""
    what = "anything here" if place == workspace else f"{', '.join(within[:_SHOWN])}{more}"
    return await session.permits.leaving.ask(
        Opening("unsaved", place), f"It wants to change what undo could not bring back: {what}.", **about
    )


def area(path: str, workspace: str) -> str:
    """What is asked about at once: all that lies in the same folder of the workspace, or a work tree's repository."""
    if not _within(path, workspace):
        return path
    below = os.path.relpath(path, workspace)
    return workspace if below == "." else os.path.join(workspace, below.split("/", 1)[0])


async def _met(session: "Session", outcome: ToolOutcome, command: str, places: Sequence[str]) -> str:
    """The area that a command was kept from changing; empty when it was not, as far as its output tells."""
    workspace = str(session.workspace)
    if workspace in places:
        return workspace if await met_the_wall(session, outcome) else ""
    if not (lines := _refusals(outcome)):
        return ""
    directory = (await session.shell.get()).directory
    for line in lines:
        for word in _WORDS.findall(line):
            path = _full(directory, word)
            if met := next((place for place in places if _within(path, place)), ""):
                return area(met, workspace)
    areas = dict.fromkeys(area(place, workspace) for place in places)
    if outcome.display.exit_code in (0, None) or all("/" in line for line in lines):
        return ""
    for each in areas:
        name = os.path.basename(each) if _within(each, workspace) else "git"
        if name in command or _within(directory, each):
            return each
    return ""


def _refusals(outcome: ToolOutcome) -> list[str]:
    if not _REFUSAL.search(outcome.text):
        return []
    return [line for line in outcome.text.splitlines()[-_LINES_READ:] if _REFUSAL.search(line)]


def _told_of(session: "Session", performed: Performed, places: Sequence[str]) -> Performed:
    """A refusal that cannot be traced to a place: the model hears where it may come from."""
    if performed.outcome.display.exit_code in (0, None) or not _refusals(performed.outcome):
        return performed
    areas = dict.fromkeys(_named(session, area(place, str(session.workspace))) for place in places)
    return told(performed, _KEPT.format(places=", ".join(areas)))


def told(performed: Performed, more: str) -> Performed:
    outcome = msgspec.structs.replace(performed.outcome, text=f"{performed.outcome.text}\n{more}")
    return msgspec.structs.replace(performed, outcome=outcome)


def _held(session: "Session") -> tuple[str, ...]:
    return session.permits.leaving.openings.held


def _named(session: "Session", place: str) -> str:
    return os.path.relpath(place, session.workspace) if _within(place, str(session.workspace)) else place


def _full(directory: str, path: str) -> str:
    return os.path.normpath(os.path.join(directory, path))


def _within(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/")
