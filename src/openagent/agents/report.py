"""What a sub-agent's caller reads when it has ended."""

import difflib
import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from openagent.plugins.tool import ToolOutcome
from openagent.plugins.workspace import Conflict
from openagent.protocol.display import AgentRun, Display
from openagent.protocol.errors import ErrorInfo
from openagent.protocol.sessions import TurnEnd

LONGEST_ANSWER = 12_000
LONGEST_CONFLICT = 3_000
MOST_FILES = 40
_ENDS: dict[TurnEnd, str] = {
    "cancelled": "it was cancelled by a person",
    "step_limit": "it reached its limit of steps",
    "time_limit": "it reached its limit of time",
    "budget": "the budget does not cover the next request",
    "loop": "it did the same over and over",
    "max_tokens": "its answer was cut off",
    "refused": "its model refused",
    "error": "it failed",
    "interrupted": "the daemon stopped meanwhile",
}


class Report(Struct, frozen=True):
    session: str
    """Empty when it could not be started."""
    template: str
    reason: TurnEnd
    text: str = ""
    steps: int = 0
    cost_usd: float = 0.0
    tokens: int = 0
    changed: list[str] = []
    conflicts: list[Conflict] = []
    copy: str = ""
    error: ErrorInfo | None = None
    withheld: list[str] = []
    """Tools that its template names and its caller has not."""
    only_read: bool = False
    """Its template writes, but its caller may not."""
    notices: list[str] = []
    """What its template names that is not here."""

    @property
    def well(self) -> bool:
        return self.reason == "done" and not self.conflicts and self.error is None


def told(reports: Sequence[Report]) -> ToolOutcome:
    """One outcome for all that one call started."""
    share = LONGEST_ANSWER // len(reports)
    texts = [_text(report, share) for report in reports]
    done = sum(report.well for report in reports)
    cost = sum(report.cost_usd for report in reports)
    summary = f"{done} of {len(reports)} done" if len(reports) > 1 or not done else "done"
    agents = [
        AgentRun(
            session=report.session,
            template=report.template,
            reason=report.reason,
            cost_usd=report.cost_usd,
            changed=report.changed,
            conflicts=[conflict.path for conflict in report.conflicts],
            copy=report.copy,
        )
        for report in reports
    ]
    display = Display(summary=f"{summary}, ${cost:.4f}" if cost else summary, agents=agents)
    return ToolOutcome("\n\n".join(texts), is_error=done == 0, display=display)


def moved(text: str, workspace: Path, other: Path) -> str:
    """Whole paths of one workspace as paths of another: a caller does not know the copy that its sub-agent works in,
    and the copy is gone when the caller reads of it."""
    if workspace == other:
        return text
    return re.sub(rf"(?<![\w.-]){re.escape(str(workspace))}(?![\w.-])", lambda _: str(other), text)


def _text(report: Report, share: int) -> str:
    state = "done" if report.reason == "done" else f"NOT done, {_ENDS[report.reason]}"
    steps = f", {report.steps} steps" if report.steps else ""
    lines = [f"## {report.template} ({report.session or 'not started'}): {state}{steps}"]
    lines += report.notices
    if report.withheld:
        lines.append(f"It worked without {', '.join(report.withheld)}, which this session does not have.")
    if report.only_read:
        lines.append("It could only read, as this session can.")
    if report.error:
        lines.append(f"{report.error.message} {report.error.hint}".strip())
    if report.text:
        cut = len(report.text) > share
        lines.append(report.text[:share] + (f"\n[… {len(report.text) - share} characters more]" if cut else ""))
    if report.changed:
        shown = ", ".join(report.changed[:MOST_FILES])
        more = len(report.changed) - MOST_FILES
        lines.append(f"Merged into this workspace: {shown}{f' and {more} more' if more > 0 else ''}.")
    lines += [_conflict(conflict) for conflict in report.conflicts]
    if report.copy:
        why = "What conflicts" if report.conflicts else "What it wrote"
        lines.append(
            f"{why} is kept in the copy {report.copy}: `openagent workspaces diff {report.copy}` shows it, "
            f"`openagent workspaces merge {report.copy}` brings it back."
        )
    return "\n".join(lines)


def _conflict(conflict: Conflict) -> str:
    """What the sub-agent did to the file, and nothing of what others did meanwhile, so that whoever reads it can do it
    here as well."""
    line = f"Conflict in {conflict.path}: {conflict.reason}. This workspace keeps its own version."
    if conflict.copy is None:
        return line
    before, after = (conflict.base or "").splitlines(), conflict.copy.splitlines()
    change = list(difflib.unified_diff(before, after, "before", "sub-agent", lineterm="", n=2))
    if not change:
        return line
    return f"{line} What the sub-agent changed in it, not in here yet:\n" + "\n".join(change)[:LONGEST_CONFLICT]
