"""Files of the workspace that the jail keeps from being read, until a call that names one is allowed."""

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from msgspec.structs import replace

from openagent.plugins.jail import KeepsSecrets, offers
from openagent.policy.facts import CallFacts
from openagent.policy.paths import names_credentials
from openagent.policy.units import command_text, is_command, units_of
from openagent.protocol.undo import ChangedFile

if TYPE_CHECKING:
    from openagent.core.session import Session


async def open_what_is_named(session: "Session", facts: CallFacts) -> None:
    """Before an allowed command runs. Whoever allowed it read the names in it; what it would only come across (`grep
    -r`) stays shut. An opened file can be read by the session's later commands, too, as long as its jail stands."""
    if not is_command(facts):
        return
    shell = await session.shell.get()
    kept = shell.secrets() if offers(shell, KeepsSecrets) else ()
    text = command_text(facts)
    if not kept or not offers(shell, KeepsSecrets) or not any(_may_be_named(path.name, text) for path in kept):
        return
    named = _named(facts)
    if opened := [path for path in kept if any(fnmatchcase(str(path), pattern) for pattern in named)]:
        await shell.open_to(opened)


def without_secrets(files: Sequence[ChangedFile]) -> list[ChangedFile]:
    """For somebody who may not read the workspace: a patch shows lines around the change, too."""
    hidden = (names_credentials(each.path) or names_credentials(each.old_path) for each in files)
    return [replace(each, patch="") if hide else each for each, hide in zip(files, hidden, strict=True)]


def _named(facts: CallFacts) -> set[str]:
    """Paths or patterns that say themselves that they are about secrets: `cat *` names nothing."""
    words = {
        word
        for unit in units_of(facts)
        for word in (*unit.paths, *unit.argv, *(finding.detail for finding in unit.findings))
        if word and names_credentials(word)
    }
    return {os.path.normpath(os.path.join(facts.cwd or facts.workspace, word)) for word in words}


def _may_be_named(name: str, text: str) -> bool:
    return name in text or (any(character in text for character in "*?[") and name[:2] in text)
