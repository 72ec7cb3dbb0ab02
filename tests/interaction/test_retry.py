"""A person retries: at once while a turn waits for its provider, and a turn that was cut short continues."""

import asyncio
from pathlib import Path

import pytest

from devtools.simulator import Simulator
from openagent.protocol import events as e
from openagent.protocol.conversation import TurnRetry
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.messages import Message, NotePart, TextPart
from openagent.protocol.undo import SessionUndo

from .doing import ask, messages_of, one_turn, results_of, shell, turn
from .house import house, house_over, new_session, until

pytestmark = pytest.mark.anyio

REFUSED = {"name": "401", "times": 1}


def said(messages: list[Message]) -> list[str]:
    return [message.text for message in messages if any(isinstance(part, TextPart) for part in message.parts)]


async def test_a_turn_that_waits_for_its_provider_tries_at_once(tmp_path: Path) -> None:
    away = {"text": "There.", "fault": {"name": "503", "times": 1, "retry_after": 500}}
    async with house(tmp_path, [away]) as h, await h.client() as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await client.send(session, "go")
        waiting = (await until(attachment, lambda event: isinstance(event, e.RetryScheduled)))[-1]
        assert isinstance(waiting, e.RetryScheduled)
        assert waiting.delay_s >= 500
        async with await h.client() as another:
            later = await another.attach(session)
            assert later.snapshot is not None
            assert later.snapshot.retrying is not None
            assert later.snapshot.retrying.delay_s == waiting.delay_s
            sent = await ask(another, TurnRetry, session=session)
        assert sent.turn == 1
        completed, _ = await attachment.until_turn_ends()
        assert (completed.reason, completed.text) == ("done", "There.")
        assert said(await messages_of(client, session)) == ["go", "There."]


async def test_what_a_provider_asked_for_does_not_hold_up_a_person(tmp_path: Path) -> None:
    limited = {"text": "There.", "fault": {"name": "429", "times": 1, "retry_after": 500}}
    async with house(tmp_path, [limited]) as h, await h.client() as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await client.send(session, "go")
        await until(attachment, lambda event: isinstance(event, e.RetryScheduled))
        await ask(client, TurnRetry, session=session)
        completed, _ = await attachment.until_turn_ends()
        assert completed.text == "There."


async def test_a_turn_that_failed_continues_after_what_it_had_done(tmp_path: Path) -> None:
    script = [shell("echo once >> log"), {"text": "Done so far.", "fault": REFUSED}]
    async with house(tmp_path, script) as h, await h.client() as client:
        session, failed, _ = await one_turn(h, client)
        assert (failed.reason, failed.steps) == ("error", 2)
        attachment = await client.attach(session)
        await ask(client, TurnRetry, session=session)
        completed, seen = await attachment.until_turn_ends()
        assert (completed.turn, completed.reason, completed.text) == (1, "done", "Done so far.")
        assert (h.workspace / "log").read_text() == "once\n"
        assert said(await messages_of(client, session)) == ["go", "Done so far."]
        assert len(await results_of(client, session)) == 1
        assert [event.turn for event in seen if isinstance(event, e.TurnStarted)] == [1]
        attachment = await client.attach(session)
        assert attachment.snapshot is not None
        (end,) = attachment.snapshot.turns
        assert (end.reason, end.steps, end.error) == ("done", 3, None)
        assert end.usage.input_tokens > failed.usage.input_tokens
        assert attachment.snapshot.info.turn_count == 1


async def test_an_answer_that_was_cut_off_goes_on_where_it_stopped(tmp_path: Path) -> None:
    slow = {"chunks": ["Once", " upon"], "fault": {"name": "stall", "after": 2, "times": 1}}
    async with house(tmp_path, [slow, {"text": " a time."}]) as h, await h.client() as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await client.send(session, "go")
        await until(attachment, lambda event: isinstance(event, e.TextDelta) and event.text == " upon")
        await client.cancel(session)
        stopped, _ = await attachment.until_turn_ends()
        assert stopped.reason == "cancelled"
        await ask(client, TurnRetry, session=session)
        completed, _ = await attachment.until_turn_ends()
        assert completed.text == " a time."
        messages = await messages_of(client, session)
        assert said(messages) == ["go", "Once upon", " a time."]
        (note,) = [part for message in messages for part in message.parts if isinstance(part, NotePart)]
        assert note.source == "retry"
        assert [message.turn for message in messages] == [1] * len(messages)


async def test_a_turn_that_a_daemon_left_open_is_continued_by_the_next(tmp_path: Path) -> None:
    script = [shell("echo once >> log"), {"text": "Late.", "fault": {"name": "hang", "times": 1}}]
    async with Simulator(script) as sim:
        async with house_over(tmp_path, sim) as h, await h.client() as client:
            session = await new_session(h, client)
            attachment = await client.attach(session)
            await client.send(session, "go")
            await until(attachment, lambda event: isinstance(event, e.ToolFinished))
        async with house_over(tmp_path, sim) as h, await h.client() as client:
            attachment = await client.attach(session)
            assert attachment.snapshot is not None
            assert [end.reason for end in attachment.snapshot.turns] == ["interrupted"]
            await ask(client, TurnRetry, session=session)
            completed, _ = await attachment.until_turn_ends()
            assert (completed.turn, completed.text) == (1, "Late.")
            assert (h.workspace / "log").read_text() == "once\n"
            assert said(await messages_of(client, session)) == ["go", "Late."]


async def test_there_is_nothing_to_retry_after_a_turn_that_ended_well(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "Done."}]) as h, await h.client() as client:
        session = await new_session(h, client)
        with pytest.raises(OpenAgentError, match="nothing to retry"):
            await ask(client, TurnRetry, session=session)
        await turn(client, await client.attach(session))
        with pytest.raises(OpenAgentError, match="not cut short"):
            await ask(client, TurnRetry, session=session)


async def test_a_turn_at_work_is_not_retried(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "Late.", "fault": "hang"}]) as h, await h.client() as client:
        session = await new_session(h, client)
        await client.send(session, "go")
        with pytest.raises(OpenAgentError, match="waits for no provider"):
            await ask(client, TurnRetry, session=session)
        await client.cancel(session)


async def test_a_turn_that_was_taken_back_is_not_continued(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "Well.", "fault": REFUSED}]) as h, await h.client() as client:
        session, _, _ = await one_turn(h, client)
        await ask(client, SessionUndo, session=session, turn=1, conversation=True)
        with pytest.raises(OpenAgentError, match="taken back"):
            await ask(client, TurnRetry, session=session)


async def test_of_two_who_retry_at_once_one_continues_the_turn(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "Well.", "fault": REFUSED}]) as h, await h.client() as client:
        session, _, _ = await one_turn(h, client)
        attachment = await client.attach(session)
        async with await h.client() as another:
            told = await asyncio.gather(
                *(ask(each, TurnRetry, session=session) for each in (client, another)), return_exceptions=True
            )
        assert sum(isinstance(each, OpenAgentError) for each in told) == 1
        await attachment.until_turn_ends()
        assert said(await messages_of(client, session)) == ["go", "Well."]


async def test_messages_that_were_held_back_follow_a_turn_that_continues(tmp_path: Path) -> None:
    slow = {"chunks": ["Fi", "rst"], "fault": {"name": "stall", "after": 1, "times": 1}}
    script = [slow, {"text": "rst."}, {"text": "Second."}]
    async with house(tmp_path, script) as h, await h.client() as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await client.send(session, "one")
        await client.send(session, "two")
        await until(attachment, lambda event: isinstance(event, e.TextDelta))
        await client.cancel(session)
        await attachment.until_turn_ends()
        await ask(client, TurnRetry, session=session)
        assert [(await attachment.until_turn_ends())[0].text for _ in range(2)] == ["rst.", "Second."]
        assert said(await messages_of(client, session)) == ["one", "Fi", "rst.", "two", "Second."]


async def test_a_retry_waits_in_line_for_the_turns_of_others(tmp_path: Path) -> None:
    slowly = {"match": "be slow", "steps": [{"text": "Slow.", "fault": "hang"}]}
    script = {"conversations": [slowly, {"steps": [{"text": "Well.", "fault": REFUSED}]}]}
    async with house(tmp_path, script, config="[turns]\nat_once = 1\n") as h, await h.client() as client:
        session, _, _ = await one_turn(h, client)
        attachment = await client.attach(session)
        other = await new_session(h, client)
        slow = await client.attach(other)
        await client.send(other, "be slow")
        await until(slow, lambda event: isinstance(event, e.TurnStarted))
        sent = await ask(client, TurnRetry, session=session)
        assert (sent.turn, sent.place) == (0, 1)
        await client.cancel(other)
        completed, _ = await attachment.until_turn_ends()
        assert (completed.turn, completed.reason) == (1, "done")
