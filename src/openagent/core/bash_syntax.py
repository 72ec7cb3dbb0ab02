"""Commands that policy cannot read. What bash cannot read either needs nobody's leave: none of it would be run."""

import shlex
from typing import TYPE_CHECKING

from openagent.core.read_only_wall import ReadingShell
from openagent.plugins.tool import ToolOutcome
from openagent.policy.facts import CallFacts
from openagent.policy.units import command_text, is_readable
from openagent.protocol.display import Display

if TYPE_CHECKING:
    from openagent.core.session import Session

_SYNTAX_ERROR = 2
_PATIENCE = 10.0


async def syntax_error(session: "Session", facts: CallFacts) -> ToolOutcome | None:
    """What bash says to text that is none of its language; None for everything else."""
    if is_readable(facts):
        return None
    text = command_text(facts)
    check = f"-n -c {shlex.quote(text)}"
    command = f"(if shopt -q extglob; then bash -O extglob {check}; else bash {check}; fi)"
    shell = await session.shell.get()
    if facts.walled:
        shell = ReadingShell(shell)
    result = await shell.run(command, timeout=_PATIENCE, cwd=str(session.workspace), merged=True)
    if result.exit_code == _SYNTAX_ERROR and "\n" in text and "extglob" in text:
        # A line before may allow patterns that are errors without it.
        result = await shell.run(f"bash -O extglob {check}", timeout=_PATIENCE, cwd=str(session.workspace), merged=True)
    if result.exit_code != _SYNTAX_ERROR:
        return None
    said = f"{result.stdout.rstrip()}\n[exit code {_SYNTAX_ERROR}: nothing was run]"
    return ToolOutcome(said, is_error=True, display=Display(summary="syntax error", exit_code=_SYNTAX_ERROR))
