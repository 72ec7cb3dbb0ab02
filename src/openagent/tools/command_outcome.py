"""What a model is told about a command that ran."""

from openagent.plugins.jail import CommandResult
from openagent.plugins.tool import ToolContext, ToolOutcome
from openagent.protocol.display import Display
from openagent.tools.scratch import head_and_tail, keep_log, shortened


def command_outcome(context: ToolContext, result: CommandResult, *, timeout: float | None = None) -> ToolOutcome:
    parts = [result.stdout.rstrip("\n")]
    if result.stderr:
        parts.append(f"[stderr]\n{result.stderr.rstrip(chr(10))}")
    parts = [_kept(context, result, "\n".join(part for part in parts if part))]
    if result.timed_out:
        parts.append(f"[killed after {timeout:g} s]" if timeout else "[killed]")
    elif result.background and result.exit_code is None:
        parts.append(f"[still running in the background as {result.background}]")
    elif result.exit_code:
        parts.append(f"[exit code {result.exit_code}]")
    text = "\n".join(part for part in parts if part) or "[no output]"
    failed = result.timed_out or (result.exit_code not in (0, None))
    summary = "" if result.exit_code in (0, None) else f"exit {result.exit_code}"
    background = result.background if result.exit_code is None else None
    display = Display(summary=summary, exit_code=result.exit_code, background=background or "")
    return ToolOutcome(text, is_error=failed, display=display)


def _kept(context: ToolContext, result: CommandResult, text: str) -> str:
    if result.log and (log := keep_log(context, result.log, finished=not result.background)):
        name, size = log
        return head_and_tail(text.encode(errors="replace"), size, name)
    return shortened(context, text)
