"""A collector proposes what may go. This one lets the oldest whole turns go, and nothing that is pinned."""

from collections.abc import Sequence

from openagent.plugins.collector import CollectGoal, Collection, ContextItem, Summarize


class DropOldest:
    name = "oldest"

    async def collect(
        self, context: Sequence[ContextItem], goal: CollectGoal, summarize: Summarize
    ) -> Collection | None:
        turns = sorted({item.message.turn for item in context})
        freed, hidden = 0, list[tuple[int, int]]()
        for turn in turns[: max(len(turns) - goal.keep_turns, 0)]:
            if freed >= goal.free_tokens:
                break
            for item in context:
                if item.message.turn == turn and not item.pinned:
                    hidden.append((item.message.number, item.message.number))
                    freed += item.tokens
        return Collection(hidden=hidden) if hidden else None
