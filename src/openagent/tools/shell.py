"""shell"""

import re
from typing import Annotated

from msgspec.structs import replace

from openagent.plugins.tool import ToolContext, ToolOutcome, tool
from openagent.tools.command_outcome import command_outcome, timeout_problem

DEFAULT_TIMEOUT = 600.0
_SLEEPS = re.compile(r"(?:^|[;&|(\s])sleep\s")


@tool(
    effect="execute",
    kind="run",
    words=("run", "running", "ran"),
    summary="command",
    runs="command",
    known_as=("Bash",),
)
async def shell(
    context: ToolContext,
    command: Annotated[str, "Bash. The directory and environment persist between calls."],
    timeout: Annotated[float, "Seconds until it is killed."] = DEFAULT_TIMEOUT,
    *,
    leave: Annotated[
        list[str],
        "What it needs beyond its jail: host:port, /folder, docker, ssh-agent; rw:/folder also where it may only read.",
    ] = [],  # noqa: B006 -- never changed
    justification: Annotated[str, "Why, for the user who is asked."] = "",
    prefix_rule: Annotated[
        list[str], "First words of the commands to allow from now on, if it has to be asked for."
    ] = [],  # noqa: B006 -- never changed
) -> ToolOutcome:
    """Run a command. It cannot answer prompts: use non-interactive flags."""
    if problem := timeout_problem(timeout):
        return problem
    running = await context.shell()
    result = await running.run(command, timeout=timeout, on_output=context.output, merged=not context.apart)
    outcome = command_outcome(context, result, timeout=timeout)
    return replace(outcome, waiting=True) if _SLEEPS.search(command) else outcome
