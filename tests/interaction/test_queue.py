"""Messages sent while a turn runs: shown, edited, held back by a cancel, and said after a restart."""

from pathlib import Path

import pytest

from devtools.simulator import Simulator
from openagent.client import Attachment, Client
from openagent.protocol import events as e
from openagent.protocol.conversation import MessageSend
from openagent.protocol.daemon import DaemonStatus
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.messages import TextPart
from openagent.protocol.queue import QueueEdit, QueueMove, QueueRemove, QueueResume, QueueShow
from openagent.protocol.sessions import QueuedMessage, SessionGet, SessionList

from .doing import ask, messages_of
from .house import House, house, house_over, new_session, until

pytestmark = pytest.mark.anyio

SLOW_THEN_ECHO = {
    "conversations": [
        {
            "match": {"last_user": "slow"},
            "steps": [{"chunks": ["one ", "moment"], "fault": {"name": "stall", "after": 1}}],
            "loop": True,
        },
        {"steps": [{"text": "You said: {last_user}"}], "loop": True},
    ]
}


async def waiting_behind(h: House, client: Client, *texts: str) -> tuple[Attachment, list[str]]:
    """A session in mid-answer with these messages in its queue, and their ids."""
    attachment = await client.attach(await new_session(h, client))
    await client.send(attachment.session, "slow")
    await until(attachment, lambda event: isinstance(event, e.TextDelta))
    return attachment, [(await client.send(attachment.session, text)).queued for text in texts]


def texts(queued: list[QueuedMessage]) -> list[str]:
    return [part.text for message in queued for part in message.parts if isinstance(part, TextPart)]


async def said(client: Client, session: str) -> list[str]:
    return [message.text for message in await messages_of(client, session) if message.role == "user"]


async def until_said(attachment: Attachment, text: str) -> None:
    await until(attachment, lambda event: isinstance(event, e.TurnCompleted) and event.text == f"You said: {text}")


async def test_a_cancel_holds_the_queue_back_and_the_next_message_is_said_before_it(tmp_path: Path) -> None:
    async with house(tmp_path, SLOW_THEN_ECHO) as h, await h.client() as client:
        attachment, _ = await waiting_behind(h, client, "first", "second")
        await client.cancel(attachment.session)
        changed = (await until(attachment, lambda event: isinstance(event, e.QueueChanged)))[-1]
        assert isinstance(changed, e.QueueChanged)
        assert (changed.held, texts(changed.queued)) == (True, ["first", "second"])
        snapshot = (await client.attach(attachment.session)).snapshot
        assert snapshot is not None
        assert (snapshot.held, snapshot.info.held, snapshot.info.queued) == (True, True, 2)
        assert await said(client, attachment.session) == ["slow"]

        await client.send(attachment.session, "no, this")
        await until_said(attachment, "second")
        assert await said(client, attachment.session) == ["slow", "no, this", "first", "second"]
        info = await ask(client, SessionGet, session=attachment.session)
        assert (info.queued, info.held) == (0, False)


async def test_what_is_held_back_goes_on_when_somebody_says_so(tmp_path: Path) -> None:
    async with house(tmp_path, SLOW_THEN_ECHO) as h, await h.client() as client:
        attachment, _ = await waiting_behind(h, client, "first")
        await client.cancel(attachment.session)
        await ask(client, QueueResume, session=attachment.session)
        await until_said(attachment, "first")


async def test_queued_messages_are_edited_moved_and_removed_before_they_are_said(tmp_path: Path) -> None:
    async with house(tmp_path, SLOW_THEN_ECHO) as h, await h.client() as client, await h.client() as other:
        attachment, ids = await waiting_behind(h, client, "a", "b", "c", "d")
        session = attachment.session
        watching = await other.attach(session)
        await ask(client, QueueEdit, session=session, queued=ids[1], text="B")
        await ask(client, QueueRemove, session=session, queued=ids[0])
        moved = await ask(client, QueueMove, session=session, queued=ids[3], position=1)
        assert texts(moved.queued) == ["d", "B", "c"]
        assert (await ask(other, QueueShow, session=session)).queued == moved.queued
        heard = await until(watching, lambda event: isinstance(event, e.QueueChanged) and len(event.queued) == 3)
        assert [texts(event.queued) for event in heard if isinstance(event, e.QueueChanged)][-1] == ["B", "c", "d"]
        with pytest.raises(OpenAgentError) as refused:
            await ask(client, QueueRemove, session=session, queued=ids[0])
        assert refused.value.info.code == "not_found"
        with pytest.raises(OpenAgentError, match="empty"):
            await ask(client, QueueEdit, session=session, queued=ids[1], text=" ")

        h.sim.release()
        await until_said(attachment, "c")
        assert await said(client, session) == ["slow", "d", "B", "c"]


async def test_lists_and_the_status_tell_how_many_messages_wait(tmp_path: Path) -> None:
    async with house(tmp_path, SLOW_THEN_ECHO) as h, await h.client() as client:
        attachment, _ = await waiting_behind(h, client, "a", "b")
        listed = await ask(client, SessionList)
        assert [info.queued for info in listed.sessions if info.id == attachment.session] == [2]
        assert (await ask(client, DaemonStatus)).queued == 2


@pytest.mark.parametrize("held", [False, True])
async def test_queued_messages_go_on_by_themselves_after_a_restart_unless_held_back(tmp_path: Path, held: bool) -> None:
    async with Simulator(SLOW_THEN_ECHO) as sim:
        async with house_over(tmp_path, sim) as h, await h.client() as client:
            attachment, ids = await waiting_behind(h, client, "x", "first", "second")
            await ask(client, QueueRemove, session=attachment.session, queued=ids[0])
            if held:
                await client.cancel(attachment.session)
        async with house_over(tmp_path, sim) as h, await h.client() as client:
            again = await client.attach(attachment.session, after=0)
            if held:
                shown = await ask(client, QueueShow, session=attachment.session)
                assert (texts(shown.queued), shown.held) == (["first", "second"], True)
                assert await said(client, attachment.session) == ["slow"]
                await ask(client, QueueResume, session=attachment.session)
            await until_said(again, "second")
            assert await said(client, attachment.session) == ["slow", "first", "second"]


async def test_a_message_whose_answer_was_lost_is_said_once_however_often_it_comes(tmp_path: Path) -> None:
    async with Simulator(SLOW_THEN_ECHO) as sim:
        async with house_over(tmp_path, sim) as h, await h.client() as client:
            attachment, _ = await waiting_behind(h, client)
            session = attachment.session
            hello = MessageSend(id="web-2", session=session, text="hello", again=True)
            queued = await client.request(hello)
            assert await client.request(hello) == queued
            await client.cancel(session)
            await ask(client, QueueResume, session=session)
            await until_said(attachment, "hello")
        async with house_over(tmp_path, sim) as h, await h.client() as client:
            assert (await client.request(hello)).turn == 2
            more = MessageSend(id="web-3", session=session, text="more", again=True)
            assert (await client.request(more)).turn == 3
            assert await said(client, session) == ["slow", "hello", "more"]
