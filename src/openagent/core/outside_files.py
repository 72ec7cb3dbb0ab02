"""Files outside the workspace that file tools name: the walls that hold for commands hold for them.

A command is let out to a folder when a person says so, or, without a jail, runs wherever it wants once it may run. A
file tool reaches no more than that, and no less; nor is anybody asked about a call that could not be made anyway.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from openagent.grants.openings import Opening
from openagent.plugins.jail import Jail, OpenableJail
from openagent.plugins.places import lies_in
from openagent.policy.facts import CallFacts, Decision
from openagent.protocol.sessions import Mode

_UNHELD = "host"
_NOT_OPENABLE = "It is outside the workspace, and this kind of jail cannot be opened to it."
_SEVERAL = (
    "It names files in more than one place: make one call for the workspace, and one for each folder outside of it."
)
_OWN_RULE = "builtin:writes-outside"


def folders_outside(facts: CallFacts) -> Sequence[Path]:
    """Where the files lie that it names outside the workspace, by where those folders really are."""
    if not facts.opens_files:
        return ()
    away = (path for path in _named(facts) if not _inside(path, facts) and "\0" not in path)
    return [Path(folder) for folder in dict.fromkeys(map(_folder, away)) if not _inside(folder, facts)]


def _named(facts: CallFacts) -> list[str]:
    return [os.path.normpath(os.path.join(facts.workspace, os.path.expanduser(path))) for path in facts.paths]


def _inside(path: str, facts: CallFacts) -> bool:
    return lies_in(path, [facts.workspace])


def _folder(path: str) -> str:
    """The folder that it is or lies in; of those that are yet to be made, the one that is there."""
    while not os.path.isdir(path) and path != "/":
        path = os.path.dirname(path)
    return os.path.realpath(path)


def outside(facts: CallFacts) -> Opening | None:
    """What a call would have to be let out to."""
    if not (folders := folders_outside(facts)):
        return None
    folder = os.path.commonpath([str(folder) for folder in folders])
    return Opening("folder_write" if facts.effect == "write" else "folder", folder)


def behind_walls(jail: Jail, facts: CallFacts, call: Decision, said: Decision, mode: Mode) -> Decision:
    """`call` is what is decided about it by its paths alone, `said` about opening the jail to where they are."""
    opening = outside(facts)
    assert opening is not None
    if call.kind == "deny":
        return call
    if Path(opening.subject) not in folders_outside(facts) or _is_mixed(facts):
        return replace(call, kind="deny", reason=_SEVERAL, rule="jail:folder")
    if why := _why_not(jail, opening):
        return replace(call, kind="deny", reason=why, rule="jail:folder")
    if _reached_anyway(jail, opening, mode):
        return call
    if said.kind == "allow":
        return replace(said, risk=call.risk) if call.rule == _OWN_RULE else call
    if said.kind == "ask":
        return call if call.kind == "ask" else replace(said, reason="It is outside the workspace.")
    return said


def _is_mixed(facts: CallFacts) -> bool:
    return any(_inside(path, facts) for path in _named(facts))


def _why_not(jail: Jail, opening: Opening) -> str:
    """Why nobody can let it out to there."""
    if jail.kind == _UNHELD:
        return ""
    if not isinstance(jail, OpenableJail):
        return _NOT_OPENABLE
    if opening.kind == "folder" and jail.shows(opening.subject):
        return ""
    why = jail.why_not(opening.kind, opening.subject)
    return f"It is outside the workspace: {why}." if why else ""


def _reached_anyway(jail: Jail, opening: Opening, mode: Mode) -> bool:
    if jail.kind == _UNHELD:
        return mode == "full"
    return opening.kind == "folder" and isinstance(jail, OpenableJail) and jail.shows(opening.subject)
