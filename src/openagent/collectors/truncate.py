"""Drop the oldest turns until enough is free."""

from collections.abc import Sequence

from openagent.plugins.collector import CollectGoal, Collection, ContextItem, Summarize


class Truncate:
    name = "truncate"

    async def collect(
        self, context: Sequence[ContextItem], goal: CollectGoal, summarize: Summarize
    ) -> Collection | None:
        turns = list(dict.fromkeys(item.message.turn for item in context))
        droppable = set(turns[: -max(goal.keep_turns, 1)]) or set(turns[:-1])
        freed, last = 0, 0
        for item in context:
            if item.message.turn not in droppable:
                break
            if freed >= goal.free_tokens and item.message.role == "user":
                break
            freed += item.tokens
            last = item.message.number
        if not freed:
            return None
        return Collection(hidden=[(context[0].message.number, last)])
