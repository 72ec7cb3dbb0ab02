"""How turns and calls ended is part of the conversation: for whoever watched, and for whoever comes later."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from openagent.client import Client
from openagent.protocol import events as e
from openagent.protocol.conversation import MessagesPage
from openagent.protocol.messages import CallEnd
from openagent.protocol.sessions import EndedTurn

from .doing import answer, ask, asked, call, messages_of, one_turn, results_of, shell, turn
from .house import house, house_over, new_session, until

pytestmark = pytest.mark.anyio

REFUSED = [call("write_file", path="a", content="b"), {"text": "Fine."}]


async def ends_of(client: Client, session: str) -> list[EndedTurn]:
    """As a client learns them that was not there: from a snapshot and from a page, which agree."""
    attachment = await client.attach(session)
    assert attachment.snapshot is not None
    page = await ask(client, MessagesPage, session=session)
    assert page.turns == attachment.snapshot.turns
    return page.turns


async def call_ends(client: Client, session: str) -> list[tuple[CallEnd, str]]:
    return [(result.ended, result.reason) for result in await results_of(client, session)]


def told(seen: list[e.Event]) -> list[tuple[CallEnd, str]]:
    return [(event.ended, event.reason) for event in seen if isinstance(event, e.ToolFinished)]


async def test_what_a_turn_failed_on_is_there_for_whoever_comes_later(tmp_path: Path) -> None:
    refused_once = {"text": "Well.", "fault": {"name": "401", "times": 1}}
    async with house(tmp_path, [refused_once]) as h, await h.client() as client:
        session, completed, _ = await one_turn(h, client)
        assert completed.reason == "error"
        attachment = await client.attach(session)
        done, _ = await turn(client, attachment, "again")
        async with await h.client() as another:
            failed, well = await ends_of(another, session)
        assert (failed, well) == (completed.ended, done.ended)
        assert failed.error is not None
        assert failed.error.code == "auth_failed"
        assert failed.error.hint
        assert (well.reason, well.steps, well.cost_usd) == ("done", 1, done.cost_usd)


async def test_pages_tell_of_the_turns_they_show(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": str(number)} for number in range(4)]) as h, await h.client() as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        for _ in range(4):
            await turn(client, attachment)
        async with await h.client() as another:
            newest = await another.attach(session, messages=3)
            assert newest.snapshot is not None
            assert [end.turn for end in newest.snapshot.turns] == [3, 4]
        older = await ask(client, MessagesPage, session=session, before=5, limit=3)
        assert [end.turn for end in older.turns] == [1, 2]


async def test_who_stopped_a_turn_is_kept_with_what_it_cut_short(tmp_path: Path) -> None:
    calls = [shell("touch begun; sleep 300"), shell("echo never"), call("read_file", path="never")]
    script = [{"tool_calls": [made for step in calls for made in step["tool_calls"]]}, {"text": "I see."}]
    async with house(tmp_path, script) as h, await h.client(name="a person") as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await client.send(session, "go")
        await until(attachment, lambda event: isinstance(event, e.ToolStarted))
        await client.cancel(session)
        completed, seen = await attachment.until_turn_ends()
        assert (completed.reason, completed.by) == ("cancelled", "a person")
        cut = [("stopped", "the user stopped the turn"), *[("not_run", "the user stopped the turn")] * 2]
        assert told(seen) == await call_ends(client, session) == cut
        assert [end.by for end in await ends_of(client, session)] == ["a person"]
        texts = [result.text for result in await results_of(client, session)]
        assert ["Not run" in text for text in texts] == [False, True, True]


async def test_a_call_that_waited_for_approval_when_its_turn_was_stopped_never_ran(tmp_path: Path) -> None:
    async with house(tmp_path, [call("write_file", path="a", content="b")]) as h:
        async with await h.client(interactive=True) as client:
            session = await new_session(h, client, mode="ask")
            attachment = await client.attach(session)
            await client.send(session, "go")
            await asked(attachment)
            await client.cancel(session)
            await attachment.until_turn_ends()
            assert await call_ends(client, session) == [("not_run", "the user stopped the turn before approval")]
        assert not (h.workspace / "a").exists()


@pytest.mark.parametrize(("words", "reason"), [("", "the user said no"), ("Use the other file.", "Use the other file")])
async def test_a_denied_call_says_what_the_person_said(tmp_path: Path, words: str, reason: str) -> None:
    async with house(tmp_path, REFUSED) as h, await h.client(interactive=True) as client:
        session = await new_session(h, client, mode="ask")
        attachment = await client.attach(session)
        await client.send(session, "go")
        await answer(client, await asked(attachment), decision="deny", reason=words)
        _, seen = await attachment.until_turn_ends()
        assert told(seen) == await call_ends(client, session) == [("denied", reason)]


async def test_a_call_that_a_rule_denied_says_which_and_why(tmp_path: Path) -> None:
    async with house(tmp_path, REFUSED) as h, await h.client() as client:
        session, _, _ = await one_turn(h, client, mode="plan")
        ((ended, reason),) = await call_ends(client, session)
        assert ended == "denied"
        assert "plan" in reason


async def test_a_call_that_nobody_answered_for_is_denied_for_that(tmp_path: Path) -> None:
    impatient = "[limits]\nask_timeout = 0.01\n"
    async with house(tmp_path, REFUSED, config=impatient) as h, await h.client(interactive=True) as client:
        session, _, _ = await one_turn(h, client, mode="ask")
        assert await call_ends(client, session) == [("denied", "Nobody answered in time")]


async def test_failed_and_done_calls_are_told_apart(tmp_path: Path) -> None:
    script = [
        shell("exit 3"),
        call("read_file", path="none"),
        call("nothing_like_it"),
        shell("true"),
        {"text": "Fine."},
    ]
    async with house(tmp_path, script) as h, await h.client() as client:
        session, _, seen = await one_turn(h, client)
        assert [ended for ended, _ in told(seen)] == ["failed", "failed", "failed", "done"]
        assert await call_ends(client, session) == told(seen)


async def test_a_turn_that_met_its_budget_says_so_afterwards(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "Fine."}]) as h, await h.client() as client:
        session, _, _ = await one_turn(h, client, budget_tokens=10)
        (end,) = await ends_of(client, session)
        assert (end.reason, end.error.code if end.error else "") == ("budget", "budget_exceeded")


async def test_a_daemon_that_stops_interrupts_its_turns_and_says_so(tmp_path: Path) -> None:
    script: list[dict[str, Any]] = [shell("sleep 300"), {"text": "Where were we?"}]
    async with house(tmp_path, script) as h, await h.client() as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await client.send(session, "go")
        await until(attachment, lambda event: isinstance(event, e.ToolStarted))
    async with house_over(tmp_path, h.sim) as h, await h.client() as client:
        (end,) = await ends_of(client, session)
        assert (end.reason, end.by) == ("interrupted", "")
        assert await call_ends(client, session) == [("stopped", "the daemon stopped")]


async def test_a_stopped_answer_keeps_what_was_said(tmp_path: Path) -> None:
    async with (
        house(tmp_path, [{"chunks": ["Once", " upon"], "fault": {"name": "stall", "after": 2}}]) as h,
        await h.client() as client,
    ):
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await client.send(session, "go")
        await until(attachment, lambda event: isinstance(event, e.TextDelta))
        await client.cancel(session)
        async with asyncio.timeout(20):
            await attachment.until_turn_ends()
        last = (await messages_of(client, session))[-1]
        assert last.stop_reason == "cancelled"
        assert [end.reason for end in await ends_of(client, session)] == ["cancelled"]
