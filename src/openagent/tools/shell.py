"""shell"""

from typing import Annotated

from openagent.plugins.tool import ToolContext, ToolOutcome, tool

DEFAULT_TIMEOUT = 600.0


@tool(effect="execute", summary="command")
async def shell(
    context: ToolContext,
    command: Annotated[str, "Bash. The directory and environment persist between calls."],
    timeout: Annotated[float, "Seconds after which it is killed."] = DEFAULT_TIMEOUT,
) -> ToolOutcome:
    """Run a command. Returns its output and exit code. It cannot answer prompts: use non-interactive flags."""
    running = await context.shell()
    result = await running.run(command, timeout=timeout, on_output=context.output)
    parts = [result.stdout.rstrip("\n")]
    if result.stderr:
        parts.append(f"[stderr]\n{result.stderr.rstrip(chr(10))}")
    if result.truncated:
        parts.append(f"[output shortened; all of it is in {result.log}]" if result.log else "[output shortened]")
    if result.timed_out:
        parts.append(f"[killed after {timeout:g} s]")
    elif result.background:
        parts.append(f"[still running in the background as {result.background}]")
    elif result.exit_code:
        parts.append(f"[exit code {result.exit_code}]")
    text = "\n".join(part for part in parts if part) or "[no output]"
    failed = result.timed_out or (result.exit_code not in (0, None))
    summary = "" if result.exit_code in (0, None) else f"exit {result.exit_code}"
    return ToolOutcome(text, is_error=failed, display={"exit_code": result.exit_code, "summary": summary})
