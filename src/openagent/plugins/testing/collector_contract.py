"""What every Collector must do. A plugin author subclasses `CollectorContract` and gives it a fixture:

    class TestMyCollector(CollectorContract):
        @pytest.fixture
        def collector(self) -> Collector: return MyCollector()

and has a fixture `anyio_backend` that says "asyncio".
"""

from collections.abc import Sequence

import pytest

from openagent.plugins.collector import CollectGoal, Collector, ContextItem
from openagent.protocol.messages import Message, NotePart, TextPart, ToolCallPart, ToolResultPart


def conversation(turns: int, tokens: int = 500) -> list[ContextItem]:
    """Rules first, then turns of a question, a call, its result and an answer."""
    items = [ContextItem(Message(1, "user", [NotePart("rules:x", "Rules.", pinned=True)], turn=1), 20, pinned=True)]
    for turn in range(1, turns + 1):
        first = len(items) + 1
        call = ToolCallPart(f"call_{turn}", "read_file", {"path": "a"})
        for number, message in enumerate(
            (
                Message(first, "user", [TextPart(f"question {turn}")], turn=turn),
                Message(first + 1, "assistant", [call], turn=turn),
                Message(first + 2, "tool", [ToolResultPart(call.id, call.name, "x" * tokens * 4)], turn=turn),
                Message(first + 3, "assistant", [TextPart(f"answer {turn}")], turn=turn),
            )
        ):
            items.append(ContextItem(message, tokens if number == 2 else 20))
    return items


async def summarize(messages: Sequence[Message], instruction: str) -> str:
    return f"A summary of {len(messages)} messages."


class CollectorContract:
    pytestmark = pytest.mark.anyio

    def test_it_has_a_name(self, collector: Collector) -> None:
        assert collector.name
        assert collector.name.strip() == collector.name

    async def test_an_empty_context_has_nothing_to_gain(self, collector: Collector) -> None:
        assert await collector.collect([], CollectGoal(1000, 5), summarize) is None

    @pytest.mark.parametrize("turns", [1, 3, 20])
    @pytest.mark.parametrize("free", [1, 2_000, 1_000_000])
    async def test_what_it_proposes_is_there_and_not_pinned(self, collector: Collector, turns: int, free: int) -> None:
        context = conversation(turns)
        proposed = await collector.collect(context, CollectGoal(free, 2), summarize)
        if proposed is None:
            return
        last = context[-1].message.number
        assert all(1 <= low <= high <= last for low, high in proposed.hidden)
        pinned = {item.message.number for item in context if item.pinned}
        assert not any(low <= number <= high for number in pinned for low, high in proposed.hidden)
        results = {item.message.number for item in context if item.message.role == "tool"}
        assert set(proposed.replaced) <= results

    async def test_a_long_conversation_becomes_shorter(self, collector: Collector) -> None:
        proposed = await collector.collect(conversation(30), CollectGoal(5_000, 2), summarize)
        assert proposed is not None
        assert proposed.hidden or proposed.replaced

    async def test_the_newest_turns_are_kept_while_others_are_left(self, collector: Collector) -> None:
        context = conversation(30)
        proposed = await collector.collect(context, CollectGoal(2_000, 3), summarize)
        assert proposed is not None
        newest = {item.message.number for item in context if item.message.turn > 27}
        assert not any(low <= number <= high for number in newest for low, high in proposed.hidden)
        assert not newest & set(proposed.replaced)
