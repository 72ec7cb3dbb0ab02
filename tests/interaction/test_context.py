"""What a model is shown, what is taken out of it, and how it comes back: through the client, over a whole daemon."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from devtools.simulator import Simulator
from openagent.client import Client
from openagent.protocol import events as e
from openagent.protocol.context import (
    ContextCollect,
    ContextGivenBack,
    ContextPin,
    ContextProposal,
    ContextReport,
    ContextRestore,
    ContextShow,
)
from openagent.protocol.conversation import MessagesPage
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.tools import ToolRan, ToolRun
from openagent.protocol.undo import SessionUndo
from openagent.protocol.usage import UsageAsk

from .doing import turn
from .house import House, house, house_over, new_session, until

pytestmark = pytest.mark.anyio

SUMMARY = "Decisions: the port is 4711."
LOG = {"name": "shell", "arguments": {"command": "seq 1 1500"}}


def script(*steps: dict[str, Any]) -> dict[str, Any]:
    """Summaries are asked for with words of their own; everything else goes through the steps, over and over."""
    writing = {"name": "summary", "match": {"last_user": "your summary will stand"}, "steps": [{"text": SUMMARY}]}
    return {"conversations": [{**writing, "loop": True}, {"name": "main", "steps": list(steps), "loop": True}]}


async def say(client: Client, session: str, *texts: str) -> list[e.Event]:
    attachment = await client.attach(session)
    seen: list[e.Event] = []
    try:
        for text in texts:
            await client.send(session, text)
            ended, events = await attachment.until_turn_ends()
            assert ended.reason == "done", ended.error
            seen += events
    finally:
        await attachment.detach()
    return seen


async def show(client: Client, session: str) -> ContextReport:
    return await client.request(ContextShow(id=client.next_id(), session=session))


async def collect(client: Client, session: str, collector: str = "", *, dry_run: bool = False) -> ContextProposal:
    op = ContextCollect(id=client.next_id(), session=session, collector=collector, dry_run=dry_run)
    return await client.request(op)


async def restore(client: Client, session: str, collection: int = 0) -> ContextGivenBack:
    op = ContextRestore(id=client.next_id(), session=session, collection=collection)
    return await client.request(op)


async def recall(client: Client, session: str, **arguments: Any) -> ToolRan:
    return await client.request(ToolRun(id=client.next_id(), session=session, tool="recall", arguments=arguments))


async def stored(client: Client, session: str) -> bytes:
    page = await client.request(MessagesPage(id=client.next_id(), session=session, limit=1000))
    return msgspec.json.encode(page.messages)


def conversation(h: House) -> list[Any]:
    return h.sim.requests[-1].json()["messages"][1:]


async def test_the_breakdown_counts_a_message_for_each_kind_of_thing_in_it(tmp_path: Path) -> None:
    async with house(tmp_path, script({"thinking": "Hm.", "text": "Done."})) as h, await h.client() as client:
        session = await new_session(h, client)
        await turn(client, await client.attach(session), "look")
        counts = {section.name: section.items for section in (await show(client, session)).sections}
        assert (counts["user"], counts["thinking"], counts["assistant"]) == (1, 1, 1)


async def test_the_breakdown_tells_what_takes_how_much_and_sums_up_to_what_the_provider_counted(tmp_path: Path) -> None:
    steps = script(
        {"text": "Looking.", "tool_calls": [LOG]}, {"text": "Done.", "usage": {"input": 9_000, "output": 100}}
    )
    async with house(tmp_path, steps) as h, await h.client() as client:
        session = await new_session(h, client, instructions="Be kind.")
        attachment = await client.attach(session)
        ended, _ = await turn(client, attachment, "look")
        assert ended.reason == "done"
        report = await show(client, session)
        assert report.used_tokens == 9_100
        assert not report.estimated
        by_name = {section.name: section for section in report.sections}
        assert list(by_name) == ["tools", "system", "instructions", "user", "assistant", "tool: shell"]
        assert sum(section.tokens for section in report.sections) == pytest.approx(9_100, rel=0.01)
        assert by_name["tool: shell"].tokens > by_name["system"].tokens > by_name["instructions"].tokens > 0
        assert [(each.number, each.section) for each in report.messages] == [
            *((1, "user"), (2, "assistant"), (3, "tool: shell"), (4, "assistant")),
        ]
        seen = await until(
            attachment, lambda event: isinstance(event, e.ContextShown) and event.used_tokens == report.used_tokens
        )
        assert isinstance(told := seen[-1], e.ContextShown)
        assert msgspec.to_builtins(told.sections) == msgspec.to_builtins(report.sections)


async def test_the_threshold_is_told_while_the_answer_streams_and_collected_before_the_next_step(
    tmp_path: Path,
) -> None:
    long = {"text": "w" * 40_000, "chunk_chars": 4_000, "chunk_ms": 50, "usage": {"input": 95_000, "output": 10_000}}
    ends = {"text": "end", "usage": {"input": 110_000}}
    steps = script({"text": "ok", "usage": {"input": 94_000, "output": 10}}, long, ends, {"text": "end"})
    async with house(tmp_path, steps, config="[context]\nkeep_turns = 1\n") as h, await h.client() as client:
        session = await new_session(h, client)
        assert not any(isinstance(event, e.ContextThreshold) for event in await say(client, session, "a"))
        seen = await say(client, session, "b")
        kinds = [type(event) for event in seen]
        told = kinds.index(e.ContextThreshold)
        assert kinds.index(e.TextDelta) < told < len(kinds) - 1 - kinds[::-1].index(e.TextDelta), "while it streams"
        assert kinds.count(e.ContextThreshold) == 1
        assert e.ContextCollected not in kinds
        seen = await say(client, session, "c", "d")
        collected = next(event for event in seen if isinstance(event, e.ContextCollected))
        assert (collected.reason, collected.collector) == ("threshold", "hybrid")
        assert collected.tokens_after < collected.tokens_before
        assert SUMMARY in collected.summary
        assert SUMMARY in h.sim.requests[-1].body
        assert "wwwww" not in h.sim.requests[-1].body


async def test_a_long_turn_is_collected_between_its_steps(tmp_path: Path) -> None:
    """One turn of many steps: nothing older than it, and still there is room again."""
    steps = [{"tool_calls": [{"name": "shell", "arguments": {"command": f"seq {n} 2500"}}]} for n in range(9)]
    config = "[context]\nthreshold = 16\ngoal = 11\n"
    async with house(tmp_path, script(*steps, {"text": "end"}), config=config) as h, await h.client() as client:
        session = await new_session(h, client, collector="evict")
        seen = await say(client, session, "do all of it")
        assert any(isinstance(event, e.ContextCollected) for event in seen)
        sent = conversation(h)
        assert "do all of it" in [message.get("content") for message in sent[:2]], "what it works on stays"
        assert "recall(message=" in str(sent)
        calls = [call["id"] for message in sent for call in message.get("tool_calls", ())]
        assert calls == [message["tool_call_id"] for message in sent if message["role"] == "tool"]


@pytest.mark.parametrize("collector", ["truncate", "summarize", "hybrid", "evict"])
async def test_a_preview_changes_nothing_and_restoring_shows_exactly_what_was_shown(
    tmp_path: Path, collector: str
) -> None:
    steps = script({"text": "Looking.", "tool_calls": [LOG]}, {"text": "Done."})
    async with house(tmp_path, steps, config="[context]\nkeep_turns = 1\n") as h, await h.client() as client:
        session = await new_session(h, client)
        await say(client, session, *"abcdef")
        kept, before = await stored(client, session), await show(client, session)
        asked = len(h.sim.requests)
        preview = await collect(client, session, collector, dry_run=True)
        assert not preview.done
        assert len(h.sim.requests) == asked, "a preview asks no model"
        assert await show(client, session) == before
        done = await collect(client, session, collector)
        assert done.done
        assert (done.hidden, done.shortened) == (preview.hidden, preview.shortened)
        assert done.tokens_after <= preview.tokens_after < done.tokens_before
        after = await show(client, session)
        assert len(after.messages) < len(before.messages) or any(message.shortened for message in after.messages)
        assert [each.holds for each in after.collections] == [True]
        back = await restore(client, session)
        assert back.tokens_after == done.tokens_before
        now = await show(client, session)
        assert (now.messages, now.sections) == (before.messages, before.sections)
        assert [each.holds for each in now.collections] == [False]
        assert await stored(client, session) == kept, "nothing is destroyed"
        with pytest.raises(OpenAgentError, match="Nothing was collected"):
            await restore(client, session)


async def test_a_pinned_message_stays_and_can_be_let_go(tmp_path: Path) -> None:
    steps = script({"text": "Looking.", "tool_calls": [LOG]}, {"text": "Done."})
    async with house(tmp_path, steps, config="[context]\nkeep_turns = 1\n") as h, await h.client() as client:
        session = await new_session(h, client)
        await say(client, session, "the first", *"abcde")
        for message in (1, 7):
            await client.request(ContextPin(id=client.next_id(), session=session, message=message))
        done = await collect(client, session, "hybrid")
        report = await show(client, session)
        assert [each.number for each in report.messages][:3] == [1, 6, 7], "a result stays with its call"
        assert done.hidden == [(2, 5), (8, 20)]
        assert [each.number for each in report.messages if each.pinned] == [1, 7]
        await client.request(ContextPin(id=client.next_id(), session=session, message=1, on=False))
        await say(client, session, *"fghij")
        await collect(client, session, "truncate")
        numbers = [each.number for each in (await show(client, session)).messages]
        assert numbers[:2] == [6, 7]
        with pytest.raises(OpenAgentError, match="not shown a message 2"):
            await client.request(ContextPin(id=client.next_id(), session=session, message=2))


async def test_a_restart_shows_the_model_the_same_bytes(tmp_path: Path) -> None:
    steps = script({"text": "Looking.", "tool_calls": [LOG]}, {"text": "Done."})
    config = "[context]\nkeep_turns = 1\n"
    async with Simulator(steps) as sim:
        async with house_over(tmp_path, sim, config=config) as h, await h.client() as client:
            session = await new_session(h, client)
            await say(client, session, *"abcd")
            await client.request(ContextPin(id=client.next_id(), session=session, message=1))
            await collect(client, session, "hybrid")
            await say(client, session, "e")
            await collect(client, session, "evict")
            await say(client, session, "f")
            before = conversation(h)
        async with house_over(tmp_path, sim, config=config) as h, await h.client() as client:
            await say(client, session, "g")
            assert conversation(h)[: len(before)] == before


async def test_a_summary_that_cannot_be_written_costs_no_turn(tmp_path: Path) -> None:
    steps = script({"text": "a" * 30_000, "usage": {"input": 110_000}}, {"text": "b"})
    steps["conversations"][0]["steps"] = [{"fault": "unauthorized"}]
    async with house(tmp_path, steps, config="[context]\nkeep_turns = 1\n") as h, await h.client() as client:
        session = await new_session(h, client)
        seen = await say(client, session, "Look at src/a/b.py. Never push.", "and now", "go on", "and on")
        collected = [event for event in seen if isinstance(event, e.ContextCollected)]
        assert collected
        assert "No summary could be written" in collected[0].note
        assert "src/a/b.py" in collected[0].summary
        assert "Never push." in collected[0].summary


async def test_summaries_are_paid_for_and_hold_no_secrets(tmp_path: Path) -> None:
    steps = script({"text": "a " + "x" * 30_000}, {"text": "b"})
    key = "sk-ant-api03-aaaaaaaaaaaaaaaaaaaaaaaa"
    steps["conversations"][0]["steps"] = [{"text": f"{SUMMARY} Key: {key}"}]
    async with house(tmp_path, steps, config="[context]\nkeep_turns = 1\n") as h, await h.client() as client:
        session = await new_session(h, client)
        await say(client, session, f"Always use {key}.", "2", "3", "4")
        done = await collect(client, session)
        assert SUMMARY in done.summary
        assert key not in done.summary
        report = await client.request(UsageAsk(id=client.next_id(), by="activity"))
        assert {row.key: row.requests for row in report.rows}["summarizing"] == 1


async def test_the_model_searches_and_reads_back_what_was_left_out_and_nothing_else(tmp_path: Path) -> None:
    find = {"tool_calls": [{"name": "recall", "arguments": {"query": "the secret word"}}]}
    read = {"tool_calls": [{"name": "recall", "arguments": {"message": 1}}]}
    steps = script(
        {"text": "Noted."},
        {"text": "b " + "x" * 6_000},
        {"text": "c"},
        {"text": "d"},
        find,
        read,
        {"text": "It is plum."},
    )
    async with house(tmp_path, steps, config="[context]\nkeep_turns = 1\n") as h, await h.client() as client:
        session = await new_session(h, client)
        await say(client, session, "The secret word is plum.", "b", "c", "Visible secret word here.")
        offered = [tool["function"]["name"] for tool in h.sim.requests[0].json()["tools"]]
        assert "recall" in offered, "from the first request on, so that the prefix does not change"
        await collect(client, session, "truncate")
        await say(client, session, "What was it?")
        results = [message["content"] for message in conversation(h) if message["role"] == "tool"]
        assert results[0].startswith("message 1 (turn 1, user): The secret word is plum.")
        assert "Visible" not in results[0]
        assert results[1] == "The secret word is plum."
        assert (await recall(client, session, message=7)).is_error
        assert "Nothing that was left out" in (await recall(client, session, query="nonsense")).text


async def test_what_was_taken_back_is_not_recalled(tmp_path: Path) -> None:
    async with house(tmp_path, script({"text": "ok " + "x" * 3_000})) as h, await h.client() as client:
        session = await new_session(h, client)
        await say(client, session, "one apple", "two apples", "three apples")
        op = SessionUndo(id=client.next_id(), session=session, turn=2, files=False, conversation=True)
        await client.request(op)
        await say(client, session, *(f"more {n}" for n in range(8)))
        await collect(client, session, "truncate")
        found = (await recall(client, session, query="apple")).text
        assert "one apple" in found
        assert "two apples" not in found


async def test_turns_may_be_limited_and_collecting_left_to_people(tmp_path: Path) -> None:
    config = "[context]\nturn_limit = 4\nkeep_turns = 2\n"
    async with house(tmp_path, script({"text": "ok"}), config=config) as h, await h.client() as client:
        session = await new_session(h, client, collector="truncate")
        seen = await say(client, session, *"abcdefgh")
        assert {event.reason for event in seen if isinstance(event, e.ContextCollected)} == {"turn_limit"}
    (tmp_path / "by-hand").mkdir()
    steps = script({"text": "ok " + "x" * 8_000, "usage": {"input": 127_000}})
    async with house(tmp_path / "by-hand", steps, config="[context]\nauto = false\n") as h, await h.client() as client:
        session = await new_session(h, client, collector="truncate")
        seen = await say(client, session, *"abcdefgh")
        assert not any(isinstance(event, e.ContextCollected) for event in seen)
        assert (await collect(client, session)).done


async def test_an_unknown_collector_and_a_running_turn_are_refused_in_a_sentence(tmp_path: Path) -> None:
    slow = {"text": "slowly " * 20, "chunk_ms": 200, "chunk_chars": 8}
    async with house(tmp_path, script({"text": "ok"}, slow)) as h, await h.client() as client:
        session = await new_session(h, client)
        await say(client, session, "a")
        with pytest.raises(OpenAgentError, match="no collector named 'magic'"):
            await collect(client, session, "magic")
        attachment = await client.attach(session)
        await client.send(session, "b")
        async for event in attachment.events():
            if isinstance(event, e.TextDelta):
                break
        with pytest.raises(OpenAgentError, match="middle of a turn"):
            await collect(client, session)
        await client.cancel(session)
