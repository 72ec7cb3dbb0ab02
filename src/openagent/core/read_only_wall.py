"""Commands that were let run unasked because they seem to read, and the wall that holds them to it."""

import re
import shlex
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openagent.plugins.jail import BackgroundCommand, CommandResult, KeepsSecrets, Shell, offers
from openagent.plugins.tool import ToolOutcome
from openagent.policy.facts import Decision

if TYPE_CHECKING:
    from openagent.core.session import Session

IN_PLAN = (
    "[Plan mode: all files are read-only here, and there is no network; only /tmp and the home directory can be "
    "written. Put what has to be changed into the plan.]"
)
RUN_AGAIN = (
    "[It seemed to only read, so it ran on read-only files first. This is its second run, which a person allowed.]"
)
HID_IT = (
    "[openagent: it ran on read-only files, because it seemed to only read, and a write was refused, though it ended "
    "as if all were well ({line}). Without what hides the failure (`|| true`, `; echo`) the user is asked, and it is "
    "run again.]"
)
_COMPLAINT = re.compile(
    r"^[\w./+-]+: .*(?:Read-only file system|Permission denied|Operation not permitted)\W*$", re.IGNORECASE
)
"""As programs tell an error: their name, what they did, and why not."""
_REFUSAL = re.compile(
    r"Read-only file system|Permission denied|Operation not permitted|\b(?:EROFS|EACCES|EPERM)\b", re.IGNORECASE
)
_ABSOLUTE = re.compile(r"(?:^|[\s'\"‘`(=:])(/[^\s'\"’`:)]*)")
_NAMED = re.compile(r"([^\s:'\"‘’`]+)['\"’`]?: (?:Permission denied|Read-only|Operation not)", re.IGNORECASE)
_LINES_READ = 200
_SHOWN = 160
_PATIENCE = 10.0


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


async def met_the_wall(session: "Session", outcome: ToolOutcome) -> str:
    """The line of a failed command's output that says it was kept from changing the workspace; empty when none does."""
    return "" if outcome.display.exit_code == 0 else await _refusal(session, outcome, _REFUSAL)


async def hid_the_wall(session: "Session", outcome: ToolOutcome) -> str:
    """The same of one that ended with success all the same: its output may also be what it read, so that nobody is
    asked because of it."""
    return await _refusal(session, outcome, _COMPLAINT) if outcome.display.exit_code == 0 else ""


async def _refusal(session: "Session", outcome: ToolOutcome, pattern: re.Pattern[str]) -> str:
    if outcome.display.exit_code is None or not _REFUSAL.search(outcome.text):
        return ""
    shell = await session.shell.get()
    directory = Path(shell.directory)
    secrets = shell.secrets() if offers(shell, KeepsSecrets) else ()
    for line in outcome.text.splitlines()[-_LINES_READ:]:
        kept = not pattern.search(line) or any(path.name in line for path in secrets)
        if not kept and _is_about(line, session.workspace, directory):
            return line.strip()[:_SHOWN]
    return ""


async def go_back(session: "Session", directory: str) -> None:
    """Before a second run of a command: `cd sub && make` begins where it began before."""
    shell = await session.shell.get()
    if directory and shell.directory != directory:
        await shell.run(f"cd -- {shlex.quote(directory)}", timeout=_PATIENCE)


def _is_about(line: str, workspace: Path, directory: Path) -> bool:
    """Not when all that it names lies elsewhere, where nobody could change it, or cannot be read at all."""
    places = [Path(place) for place in _ABSOLUTE.findall(line)]
    if places and not any(place.is_relative_to(workspace) for place in places):
        return False
    named = _NAMED.search(line)
    try:
        return named is None or bool((directory / named[1]).lstat().st_mode & stat.S_IRUSR)
    except (OSError, ValueError):
        return True


def to_ask(decision: Decision, line: str) -> Decision:
    reason = f"It seemed to only read, but wants to change something: {line}"
    return Decision(kind="ask", risk="medium", reason=reason, rule=f"wall:{decision.rule.partition(':')[2]}")
