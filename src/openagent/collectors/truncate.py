"""Drop the oldest turns until enough is free."""

from collections.abc import Callable, Sequence

from openagent.collectors.choosing import Unit, candidates, enough_of, numbers, size
from openagent.plugins.collector import CollectGoal, Collection, Collector, ContextItem, Summarize


def collector(_redact: Callable[[str], str]) -> Collector:
    return Truncate()


class Truncate:
    name = "truncate"

    async def collect(
        self, context: Sequence[ContextItem], goal: CollectGoal, summarize: Summarize
    ) -> Collection | None:
        going = oldest(context, goal.keep_turns, goal.free_tokens)
        return Collection(hidden=numbers(going)) if going else None


def oldest(context: Sequence[ContextItem], keep_turns: int, tokens: int) -> list[Unit]:
    """Whole turns where that is enough, then the oldest steps of the recent ones."""
    if tokens <= 0:
        return []
    old, recent = candidates(context, keep_turns)
    going: list[Unit] = []
    for unit in old:
        if tokens <= 0 and unit[0].message.role == "user":
            break
        going.append(unit)
        tokens -= size([unit])
    return going + enough_of(recent, tokens)
