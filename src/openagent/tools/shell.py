"""shell"""

from typing import Annotated

from openagent.plugins.tool import ToolContext, ToolOutcome, tool
from openagent.tools.command_outcome import command_outcome

DEFAULT_TIMEOUT = 600.0


@tool(effect="execute", summary="command")
async def shell(
    context: ToolContext,
    command: Annotated[str, "Bash. The directory and environment persist between calls."],
    timeout: Annotated[float, "Seconds until it is killed."] = DEFAULT_TIMEOUT,
) -> ToolOutcome:
    """Run a command. It cannot answer prompts: use non-interactive flags."""
    running = await context.shell()
    result = await running.run(command, timeout=timeout, on_output=context.output)
    return command_outcome(context, result, timeout=timeout)
