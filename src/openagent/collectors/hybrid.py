"""By age: what is recent stays, the middle is summarised, what is ancient goes."""

from collections.abc import Callable, Sequence

from openagent.collectors.choosing import Unit, numbers, size
from openagent.collectors.summarize import worth_summarizing
from openagent.collectors.summary import page_tokens, summary_of
from openagent.plugins.collector import CollectGoal, Collection, Collector, ContextItem, Summarize


def collector(redact: Callable[[str], str]) -> Collector:
    return Hybrid(redact)


class Hybrid:
    name = "hybrid"

    def __init__(self, redact: Callable[[str], str] = str) -> None:
        self._redact = redact

    async def collect(
        self, context: Sequence[ContextItem], goal: CollectGoal, summarize: Summarize
    ) -> Collection | None:
        going = worth_summarizing(context, goal)
        if not going:
            return None
        middle = _newest(going, page_tokens(goal.window) // 2)
        summary = await summary_of(going[: -len(middle)], middle, goal, summarize)
        return Collection(hidden=numbers(going), summary=self._redact(summary.text), note=summary.note)


def _newest(some: Sequence[Unit], tokens: int) -> list[Unit]:
    """At least one, and as many as make up so many tokens: one request can be about that."""
    taken: list[Unit] = []
    for unit in reversed(some):
        tokens -= size([unit])
        if taken and tokens < 0:
            break
        taken.append(unit)
    return taken[::-1]
