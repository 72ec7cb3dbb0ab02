"""Have everything but the recent turns summarised."""

from collections.abc import Callable, Sequence

from openagent.collectors.choosing import Unit, candidates, enough_of, numbers, size
from openagent.collectors.summary import room_for_summary, summary_of
from openagent.plugins.collector import CollectGoal, Collection, Collector, ContextItem, Summarize


def collector(redact: Callable[[str], str]) -> Collector:
    return SummarizeOld(redact)


class SummarizeOld:
    name = "summarize"

    def __init__(self, redact: Callable[[str], str] = str) -> None:
        self._redact = redact

    async def collect(
        self, context: Sequence[ContextItem], goal: CollectGoal, summarize: Summarize
    ) -> Collection | None:
        going = worth_summarizing(context, goal)
        if not going:
            return None
        summary = await summary_of([], going, goal, summarize)
        return Collection(hidden=numbers(going), summary=self._redact(summary.text), note=summary.note)


def worth_summarizing(context: Sequence[ContextItem], goal: CollectGoal) -> list[Unit]:
    """All that is old, and as much of the recent as is needed. Nothing when the summary would be as long."""
    summary = room_for_summary(goal.window) // 4
    old, recent = candidates(context, goal.keep_turns)
    going = old + enough_of(recent, goal.free_tokens + summary - size(old))
    return going if size(going) > summary else []
