"""Commands that were let run unasked because they seem to read, and the wall that holds them to it.

Nothing is run a second time. What meets the wall ends as it ends, and the model is told how to ask for more.
"""

import re
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from openagent.core.audit import Performed
from openagent.plugins.jail import BackgroundCommand, CommandResult, KeepsSecrets, Shell, offers
from openagent.plugins.tool import ToolOutcome
from openagent.plugins.worktrees import common_directory

if TYPE_CHECKING:
    from openagent.core.session import Session

IN_PLAN = (
    "[Plan mode: all files are read-only here, and there is no network; only /tmp and the home directory can be "
    "written. Put what has to be changed into the plan.]"
)
REFUSED = (
    "[openagent: it ran on read-only files, because it seems to only read, and a write was refused ({line}). What else "
    "it did is done; it is not run again. Where the write is needed, run what is left of it as a command with leave "
    '["rw:{workspace}"], and the user is asked]'
)
COMPLAINT = re.compile(
    r"^[\w./+-]+: .*(?:Read-only file system|Permission denied|Operation not permitted)\W*$", re.IGNORECASE
)
"""As programs tell an error: their name, what they did, and why not."""
_REFUSAL = re.compile(
    r"Read-only file system|Permission denied|Operation not permitted|\b(?:EROFS|EACCES|EPERM)\b", re.IGNORECASE
)
HARMLESS = re.compile(
    r"__pycache__|\.pyc\b"  # Python compiles anew
    r"|\.(?:pytest|mypy|ruff)_cache|\.eslintcache|\.tsbuildinfo|node_modules/\.(?:cache|vite)"  # these check all again
)
"""Refusals that nobody is told of: what could not be written only makes the next run faster."""
_ABSOLUTE = re.compile(r"(?:^|[\s'\"‘`(=:])(/[^\s'\"’`:)]*)")
_NAMED = re.compile(r"([^\s:'\"‘’`]+)['\"’`]?: (?:Permission denied|Read-only|Operation not)", re.IGNORECASE)
_LINES_READ = 200
_SHOWN = 160


class ReadingShell:
    """A session's shell, for a call that is to change nothing."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self.send_input = shell.send_input
        self.close_input = shell.close_input
        self.kill_background = shell.kill_background
        self.close = shell.close

    @property
    def directory(self) -> str:
        return self._shell.directory

    async def run(self, command: str, **how: Any) -> CommandResult:
        how.pop("wall", None)  # not for those who run behind it to choose
        return await self._shell.run(command, **how, wall="read")

    def secrets(self) -> Sequence[Path]:
        return self._shell.secrets() if offers(self._shell, KeepsSecrets) else ()

    async def open_to(self, paths: Sequence[Path]) -> None:
        if offers(self._shell, KeepsSecrets):
            await self._shell.open_to(paths)

    def background(self) -> list[BackgroundCommand]:
        return self._shell.background()

    def read_background(self, name: str) -> CommandResult:
        return self._shell.read_background(name)


async def told_of_the_wall(session: "Session", performed: Performed) -> Performed:
    """A call that ran behind it; the model hears of what was refused, as far as its output tells."""
    if not (line := await _refused(session, performed.outcome)):
        return performed
    if session.permits.mode == "plan":
        return told(performed, IN_PLAN)
    return told(performed, REFUSED.format(line=line, workspace=session.workspace))


def told(performed: Performed, more: str) -> Performed:
    outcome = msgspec.structs.replace(performed.outcome, text=f"{performed.outcome.text}\n{more}")
    return msgspec.structs.replace(performed, outcome=outcome)


async def _refused(session: "Session", outcome: ToolOutcome) -> str:
    """The line that says so. Of a command that ended with success the output may also be what it read: then only what
    looks as if a program complained counts."""
    if outcome.display.exit_code is None or not _REFUSAL.search(outcome.text):
        return ""
    pattern = COMPLAINT if outcome.display.exit_code == 0 else _REFUSAL
    shell = await session.shell.get()
    directory = Path(shell.directory)
    secrets = shell.secrets() if offers(shell, KeepsSecrets) else ()
    shared = common_directory(session.workspace / ".git")
    own = (session.workspace, shared) if shared else (session.workspace,)
    for line in outcome.text.splitlines()[-_LINES_READ:]:
        other = not pattern.search(line) or HARMLESS.search(line) or any(path.name in line for path in secrets)
        if not other and _is_about(line, own, directory):
            return line.strip()[:_SHOWN]
    return ""


def _is_about(line: str, own: Sequence[Path], directory: Path) -> bool:
    """Not when all that it names lies elsewhere, where nobody could change it, or cannot be read at all."""
    places = [Path(place) for place in _ABSOLUTE.findall(line)]
    if places and not any(place.is_relative_to(each) for place in places for each in own):
        return False
    named = _NAMED.search(line)
    try:
        return named is None or bool((directory / named[1]).lstat().st_mode & stat.S_IRUSR)
    except (OSError, ValueError):
        return True
