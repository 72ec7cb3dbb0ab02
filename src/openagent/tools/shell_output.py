"""shell_output"""

from typing import Annotated, Literal

from msgspec.structs import replace

from openagent.plugins.jail import BackgroundCommand
from openagent.plugins.tool import ToolContext, ToolOutcome, tool
from openagent.tools.command_outcome import command_outcome


@tool(
    effect="none",
    kind="read",
    words=("read background output", "reading background output", "read background output"),
    summary="id",
    known_as=("BashOutput", "KillShell"),
)
async def shell_output(
    context: ToolContext,
    id: Annotated[str, "Leave out to list them."] = "",  # noqa: A002
    action: Literal["read", "kill"] = "read",
) -> ToolOutcome:
    """Commands that went to the background: list them, read what one printed so far, or kill it."""
    running = await context.shell()
    if not id:
        listed = "\n".join(map(_described, running.background()))
        return ToolOutcome(listed or "No command is in the background.")
    result = await running.kill_background(id) if action == "kill" else running.read_background(id)
    outcome = command_outcome(context, result)
    if action == "kill":
        return ToolOutcome(f"Killed {id}.\n{outcome.text}", display=outcome.display)
    return replace(outcome, waiting=not result.ended)


def _described(command: BackgroundCommand) -> str:
    if command.running:
        state = "running"
    else:
        killed = "killed by its timeout" if command.timed_out else "killed"
        state = killed if command.exit_code is None else f"exit code {command.exit_code}"
    return f"{command.id}\t{state}\t{command.duration_ms / 1000:.0f} s\t{' '.join(command.command.split())[:200]}"
