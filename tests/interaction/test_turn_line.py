"""As many turns at once as the settings say: the others wait in a fair line, are told their place, and go on."""

from pathlib import Path

import pytest

from devtools.simulator import Simulator
from openagent.client import Attachment, Client, connect
from openagent.protocol import events as e
from openagent.protocol.daemon import DaemonStatus
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.metrics import MetricsExport
from openagent.protocol.queue import QueueResume
from openagent.protocol.sessions import SessionGet

from ..rest.calling import rest, token_with
from .doing import ask, call, messages_of
from .house import House, house, house_over, new_session, until

pytestmark = pytest.mark.anyio

ONE = "[turns]\nat_once = 1\n"
STALLED = {
    "match": {"last_user": "slow"},
    "steps": [{"chunks": ["one ", "moment"], "fault": {"name": "stall", "after": 1}}],
    "loop": True,
}
SCRIPT = {"conversations": [STALLED, {"steps": [{"text": "You said: {last_user}"}], "loop": True}]}


async def busy(h: House, client: Client) -> Attachment:
    """The one place is taken by a turn that does not end by itself."""
    attachment = await client.attach(await new_session(h, client))
    await client.send(attachment.session, "slow")
    await until(attachment, lambda event: isinstance(event, e.TextDelta))
    return attachment


async def stand_in_line(h: House, client: Client, text: str) -> tuple[Attachment, int]:
    attachment = await client.attach(await new_session(h, client))
    return attachment, (await client.send(attachment.session, text)).place


async def guest_of(h: House) -> Client:
    """Somebody with a token of their own."""
    token = await token_with(h, "read", "chat", "approve", name="guest")
    return await connect(url=h.daemon.place.web_url.replace("http", "ws") + "/ws", token=token, env={})


async def came_to(attachment: Attachment, place: int) -> e.TurnWaiting:
    event = (await until(attachment, lambda event: isinstance(event, e.TurnWaiting) and event.place == place))[-1]
    assert isinstance(event, e.TurnWaiting)
    return event


async def ended(attachment: Attachment) -> e.TurnCompleted:
    event = (await until(attachment, lambda event: isinstance(event, e.TurnCompleted)))[-1]
    assert isinstance(event, e.TurnCompleted)
    return event


async def test_turns_wait_for_a_place_are_told_which_and_move_up(tmp_path: Path) -> None:
    async with house(tmp_path, SCRIPT, config=ONE) as h, await h.client() as client, await h.client() as other:
        first = await busy(h, client)
        second, place = await stand_in_line(h, client, "b")
        third, place_of_third = await stand_in_line(h, client, "c")
        assert (place, place_of_third) == (1, 2)
        assert (await came_to(third, 2)).at_once == 1
        info = await ask(client, SessionGet, session=third.session)
        assert (info.place, info.name) == (2, "c"), "lists tell what it waits with"
        assert (await came_to(await other.attach(third.session), 2)).waiting == 2, "told to whoever comes later"
        status = await ask(client, DaemonStatus)
        assert (status.running, status.waiting, status.at_once) == (1, 2, 1)
        told = (await ask(client, MetricsExport)).text
        for line in ("turns_running 1.0", "turns_waiting 2.0", "turns_capacity 1.0"):
            assert f"\nopenagent_{line}\n" in told
        assert "openagent_turns_oldest_wait_seconds" in told

        assert (await client.cancel(second.session)) is True
        await came_to(third, 1)
        h.sim.release()
        assert [(await ended(each)).reason for each in (first, third)] == ["done", "done"]
        held = await ask(client, SessionGet, session=second.session)
        assert (held.held, held.queued, held.place) == (True, 1, 0)
        await ask(client, QueueResume, session=second.session)
        assert (await ended(second)).text == "You said: b"


async def test_one_who_sends_much_takes_turns_with_others(tmp_path: Path) -> None:
    async with house(tmp_path, SCRIPT, config=ONE, web=True) as h, await h.client() as client:
        first = await busy(h, client)
        many = [(await stand_in_line(h, client, f"many {n}"))[0] for n in range(3)]
        session = await new_session(h, client)
        async with await guest_of(h) as guest:
            own = await guest.attach(session)
            assert (await guest.send(session, "one")).place == 2, (
                "after the first of those who came before, and before the rest"
            )
            h.sim.release()
            for each in (first, own, *many):
                assert (await ended(each)).reason == "done"
        at = {each.session: (await messages_of(client, each.session))[0].created_at for each in (own, *many)}
        assert at[many[0].session] < at[own.session] < at[many[1].session] < at[many[2].session]


async def test_those_who_wait_go_on_after_a_restart(tmp_path: Path) -> None:
    async with Simulator(SCRIPT) as sim:
        async with house_over(tmp_path, sim, config=ONE) as h, await h.client() as client:
            await busy(h, client)
            waiting = [(await stand_in_line(h, client, text))[0].session for text in ("b", "c")]
        async with house_over(tmp_path, sim, config=ONE) as h, await h.client() as client:
            for session, text in zip(waiting, ("b", "c"), strict=True):
                again = await client.attach(session, after=0)
                assert (await ended(again)).text == f"You said: {text}"


async def test_a_caller_and_its_sub_agents_have_one_place_together(tmp_path: Path) -> None:
    script = {
        "conversations": [
            {"match": "look", "steps": [{"text": "seen"}], "loop": True},
            {"steps": [call("agent", tasks=[{"template": "researcher", "task": "look"}] * 2), {"text": "done"}]},
        ]
    }
    async with house(tmp_path, script, config=ONE) as h, await h.client() as client:
        attachment, place = await stand_in_line(h, client, "go")
        assert (place, (await ended(attachment)).text) == (0, "done")
        assert "seen" in str(await messages_of(client, attachment.session))


async def test_a_line_that_is_full_takes_no_more_and_says_when_to_come_again(tmp_path: Path) -> None:
    async with house(tmp_path, SCRIPT, config=f"{ONE}waiting = 1\n", web=True) as h, await h.client() as client:
        await busy(h, client)
        waiting, _ = await stand_in_line(h, client, "b")
        refused = await new_session(h, client)
        with pytest.raises(OpenAgentError, match="1 turn waits already") as problem:
            await client.send(refused, "c")
        assert problem.value.info.code == "overloaded"
        assert problem.value.info.retry_after > 0
        assert await messages_of(client, refused) == []
        async with rest(h) as caller:
            answer = await caller("POST", f"/api/agents/{refused}/message", {"text": "c"})
            assert (answer.status_code, answer.json()["code"]) == (503, "overloaded")
            assert int(answer.headers["Retry-After"]) > 0
        async with await guest_of(h) as guest:
            sent = await guest.send(refused, "of somebody else")
            assert sent.place == 2, "everybody has a share of the line"
        h.sim.release()
        assert (await ended(waiting)).reason == "done"
