"""What a model is told about a command that ran."""

from openagent.plugins.jail import CommandResult
from openagent.plugins.tool import ToolContext, ToolOutcome
from openagent.protocol.display import Display
from openagent.tools.scratch import head_and_tail, keep_log, shortened

LONGEST = 24 * 3600.0


def timeout_problem(timeout: float) -> ToolOutcome | None:
    """A refusal, when a command cannot have that long."""
    if 0 < timeout <= LONGEST:
        return None
    return ToolOutcome(
        f"The timeout must be more than 0 and at most {LONGEST:.0f} seconds, not {timeout:g}. Nothing was run.",
        is_error=True,
    )


def command_outcome(context: ToolContext, result: CommandResult, *, timeout: float | None = None) -> ToolOutcome:
    parts = [result.stdout.rstrip("\n")]
    if result.stderr:
        parts.append(f"[stderr]\n{result.stderr.rstrip(chr(10))}")
    parts = [_kept(context, result, "\n".join(part for part in parts if part))]
    runs = bool(result.background) and result.exit_code is None and not result.timed_out and not result.ended
    if runs:
        parts.append(f"[still running in the background as {result.background}]")
    elif result.timed_out:
        parts.append(f"[killed after {timeout or round(result.duration_ms / 1000, 1):g} s]")
    elif result.exit_code is None:
        parts.append("[killed]" if result.background else "[exit code unknown]")
    elif result.exit_code:
        parts.append(f"[exit code {result.exit_code}]")
    parts += [f"[openagent: {note}]" for note in result.notes]
    text = "\n".join(part for part in parts if part) or "[no output]"
    failed = not runs and result.exit_code != 0
    summary = "" if not failed else "killed" if result.exit_code is None else f"exit {result.exit_code}"
    display = Display(summary=summary, exit_code=result.exit_code, background=result.background if runs else "")
    return ToolOutcome(text, is_error=failed, display=display)


def _kept(context: ToolContext, result: CommandResult, text: str) -> str:
    if result.log and (log := keep_log(context, result.log, finished=not result.background)):
        name, size = log
        return head_and_tail(text.encode(errors="replace"), size, name)
    return shortened(context, text)
