"""What undo could not bring back stays as it is, until a person says otherwise.

In `auto` and `edits` a call that is seen to change it is asked for before it runs, in every mode where a rule says so.
In `auto`, and under such a rule, the jail holds it read-only, too: a command that meets it all the same ends as it
ends, and the model is told how to ask.
"""

import os
import re
from collections.abc import Generator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from openagent.core.audit import Performed
from openagent.core.read_only_wall import COMPLAINT, HARMLESS, told
from openagent.grants.openings import Opening
from openagent.plugins.jail import OpenableJail, offers
from openagent.plugins.tool import ToolOutcome
from openagent.policy.builtin.catalogue import Level
from openagent.policy.facts import CallFacts, Decision
from openagent.policy.paths import resolve
from openagent.policy.units import Unit, command_text, is_shell, units_of

if TYPE_CHECKING:
    from openagent.core.session import Session

BY_PEOPLE = ("answer:", "user:", "project:", "session:")
"""Rules of a decision that a person took."""
_KEPT = (
    "[openagent: {places} can only be read until the user allows more, because undo could not bring it back, and a "
    "write was refused. What else the command did is done; it is not run again. To ask the user, run what is left of "
    "it as a command with leave {leave}]"
)
_REFUSAL = re.compile(r"Read-only file system|Device or resource busy|\b(?:EROFS|EBUSY)\b", re.IGNORECASE)
_WORDS = re.compile(r"[^\s'\"‘’`:,;()\[\]<>|&=]+")
_LINES_READ = 200
_SHOWN = 3
_GIT_SHARED = re.compile(
    "add|am|branch|cherry-pick|commit|commit-tree|fetch|filter-branch|gc|hash-object|maintenance|merge|notes|pack-refs|"
    "prune|pull|rebase|reflog|repack|replace|revert|stash|tag|update-ref|worktree|write-tree"
)
"""Verbs that write to what a work tree shares with its repository. Its index and HEAD are its own."""
_NEW_BRANCH = re.compile(r"-[bBcC]|--(?:create|force-create|orphan)\b")


class _Change(NamedTuple):
    path: str
    whole: bool
    """With all that is below it."""


def held(session: "Session", granted: Sequence[Opening]) -> tuple[str, ...]:
    """What the jail holds read-only, as far as nobody allowed it: in `auto` all, elsewhere what a person's rule says.
    The workspace itself: nothing in it could be brought back."""
    lost = _lost(session, granted)
    return lost if session.permits.mode == "auto" else _ruled(session, lost)


def _lost(session: "Session", granted: Sequence[Opening]) -> tuple[str, ...]:
    writes = session.runtime.writes
    paths = writes.known_unsaved(session.workspace, session.id) if writes is not None else ()
    if not paths:
        return ()
    allowed = [each.subject for each in granted if each.kind == "unsaved"]
    return tuple(str(path) for path in paths if not any(_within(str(path), place) for place in allowed))


async def look_for_unsaved(session: "Session", facts: CallFacts, decision: Decision) -> None:
    """Before the jail is opened for a call: it costs nothing but at the first call in a workspace, when all of it is
    looked at anyway."""
    if session.runtime.writes is not None and _concerns(session, facts, decision):
        await session.runtime.writes.unsaved(session.workspace, session.id)


def _concerns(session: "Session", facts: CallFacts, decision: Decision) -> bool:
    return _goes_unasked(session, facts, decision) or session.permits.limits("unsaved")


def _goes_unasked(session: "Session", facts: CallFacts, decision: Decision) -> bool:
    """In `auto` every call that a jail holds; in `edits` what could change something and nobody was asked about."""
    if facts.effect != "write" and not (facts.walled and facts.effect == "execute"):
        return False
    edits = session.permits.mode == "edits" and decision.wall == "write" and not decision.rule.startswith(BY_PEOPLE)
    return edits or session.permits.mode == "auto"


def _ruled(session: "Session", places: Sequence[str]) -> tuple[str, ...]:
    """Those of which a person's rule says that they are to be asked about, or left alone: it holds in every mode."""
    if session.permits.mode == "plan" or not session.permits.limits("unsaved"):
        return ()
    workspace = str(session.workspace)
    said = {each: session.permits.decide(Opening("unsaved", area(each, workspace)).facts(workspace)) for each in places}
    return tuple(each for each, says in said.items() if says.kind != "allow" and says.rule.startswith(BY_PEOPLE))


async def ask_before(session: "Session", facts: CallFacts, decision: Decision) -> Decision:
    """Asks for what the call is seen to change and undo could not bring back."""
    if not _concerns(session, facts, decision) or not (facts.effect == "write" or is_shell(facts)):
        return decision
    leaving, workspace = session.permits.leaving, str(session.workspace)
    lost = _lost(session, leaving.granted)
    if not (places := lost if _goes_unasked(session, facts, decision) else _ruled(session, lost)):
        return decision
    seen = _seen_to_change(facts, workspace, places)
    for place, path in seen.items():
        said = await _ask(session, place, places, facts, path)
        if said.kind == "deny":
            reason = f"undo could not bring {_named(session, path)} back: {said.reason}"
            return msgspec.structs.replace(decision, kind="deny", reason=reason)
    if workspace in places and not seen and is_shell(facts) and facts.walled:
        return msgspec.structs.replace(decision, wall="read")
    return decision


def _seen_to_change(facts: CallFacts, workspace: str, places: Sequence[str]) -> dict[str, str]:
    """What is to be asked about, each with what of it the call names."""
    units = units_of(facts)
    if workspace in places and facts.effect == "execute":
        return {workspace: workspace} if any(unit.level is not Level.SAFE for unit in units) else {}
    found: dict[str, str] = {}
    for change in (change for unit in units for change in _changes(unit, workspace, places)):
        for place in places:
            if _meets(change, place):
                found.setdefault(area(place, workspace), place if change.whole else change.path)
    return found


def _changes(unit: Unit, workspace: str, places: Sequence[str]) -> Generator[_Change]:
    whole = os.path.basename(unit.argv[0]) == "mv" or unit.meets("recursive-delete")
    for finding in unit.findings:
        if finding.rule.kind == "write" or finding.rule.name in ("writes-outside", "protected-file"):
            yield _Change(resolve(finding.detail, unit.cwd), whole)
    if os.path.basename(unit.argv[0]) == "git" and unit.level is not Level.SAFE:
        verb, rest, folder = _git(unit)
        if verb == "clean" and re.search(r"(?:^| )-[a-z]*[xX]", rest):
            yield _Change(folder, whole=True)
        shared = _GIT_SHARED.fullmatch(verb) or (verb in ("checkout", "switch") and _NEW_BRANCH.search(rest))
        if shared and _within(folder, workspace):
            yield from (_Change(place, whole=False) for place in places if not _within(place, workspace))


def _git(unit: Unit) -> tuple[str, str, str]:
    """Its verb, what follows, and the folder in which it works."""
    folder, words = unit.cwd or "", list(unit.argv[1:])
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option in ("-C", "-c", "--git-dir", "--work-tree") and words:
            value = words.pop(0)
            folder = resolve(value, folder) if option == "-C" else folder
    return (words[0], " ".join(words[1:]), folder) if words else ("", "", folder)


def _meets(change: _Change, place: str) -> bool:
    real_path, real_place = os.path.realpath(change.path), os.path.realpath(place)
    pairs = ((change.path, place), (real_path, real_place))
    if any(_within(path, held) or (change.whole and _within(held, path)) for path, held in pairs):
        return True
    return fnmatchcase(place, change.path)


async def _ask(session: "Session", place: str, places: Sequence[str], facts: CallFacts, path: str) -> Decision:
    within = [_named(session, each) for each in places if _within(each, place)]
    more = f" and {len(within) - _SHOWN} more" if len(within) > _SHOWN else ""
    what = "anything here" if place == str(session.workspace) else f"{', '.join(within[:_SHOWN])}{more}"
    about = {"command": command_text(facts)} if is_shell(facts) else {"path": _named(session, path)}
    return await session.permits.leaving.ask(
        Opening("unsaved", place), f"It wants to change what undo could not bring back: {what}.", **about
    )


def asked_for(session: "Session", wished: Opening) -> Sequence[Opening]:
    """What a call that asks to write has to be opened to: in the workspace to nothing, but for what is held."""
    if wished.kind != "folder_write" or session.permits.mode == "plan":
        return [wished]
    workspace = str(session.workspace)
    met = [place for place in _held(session) if _within(wished.subject, place) or _within(place, wished.subject)]
    if met:
        return [Opening("unsaved", each) for each in dict.fromkeys(area(place, workspace) for place in met)]
    return [] if _within(wished.subject, workspace) else [wished]


def area(path: str, workspace: str) -> str:
    """What is asked about at once: all that lies in the same folder of the workspace, or a work tree's repository."""
    if not _within(path, workspace):
        return path
    below = os.path.relpath(path, workspace)
    return workspace if below == "." else os.path.join(workspace, below.split("/", 1)[0])


async def told_of_what_is_held(session: "Session", decision: Decision, performed: Performed) -> Performed:
    """A command that met it: the model hears of it, as far as its output tells. What one that only reads prints may
    be what it read."""
    places = _held(session) if offers(session.runtime.jail, OpenableJail) else ()
    if decision.rule == "builtin:read-only" or not places:
        return performed
    areas = await _met(session, performed.outcome, places)
    if not areas:
        return performed
    named = ", ".join(_named(session, each) for each in areas[:_SHOWN]) + (", …" if len(areas) > _SHOWN else "")
    leave = msgspec.json.encode([f"rw:{each}" for each in areas[:_SHOWN]]).decode()
    return told(performed, _KEPT.format(places=named, leave=leave))


async def _met(session: "Session", outcome: ToolOutcome, places: Sequence[str]) -> Sequence[str]:
    """What it was kept from changing: what its output names, or all of it where that names no place."""
    lines = _refusals(outcome)
    if not lines or outcome.display.exit_code is None:
        return ()
    directory, workspace = (await session.shell.get()).directory, str(session.workspace)
    found: dict[str, None] = {}
    for path in (_full(directory, word) for line in lines for word in _WORDS.findall(line)):
        found.update((area(place, workspace), None) for place in places if _within(path, place))
    nowhere = [line for line in lines if "/" not in line]
    if not found and any(outcome.display.exit_code != 0 or COMPLAINT.search(line) for line in nowhere):
        found.update((area(place, workspace), None) for place in places)
    return list(found)


def _refusals(outcome: ToolOutcome) -> list[str]:
    if not _REFUSAL.search(outcome.text):
        return []
    lines = outcome.text.splitlines()[-_LINES_READ:]
    return [line for line in lines if _REFUSAL.search(line) and not HARMLESS.search(line)]


def _held(session: "Session") -> tuple[str, ...]:
    return session.permits.leaving.openings.held


def _named(session: "Session", place: str) -> str:
    return os.path.relpath(place, session.workspace) if _within(place, str(session.workspace)) else place


def _full(directory: str, path: str) -> str:
    return os.path.normpath(os.path.join(directory, path))


def _within(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/")
