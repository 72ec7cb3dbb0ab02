"""Every client attached to a session sees the same thing, live, however it comes and goes."""

import asyncio
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openagent.client import Attachment, Client
from openagent.protocol import events as e
from openagent.protocol.codec import encode_event
from openagent.protocol.daemon import DaemonFollow

from .doing import shell
from .house import House, house, new_session, until

pytestmark = pytest.mark.anyio

BUSY_TURN = [
    {
        "thinking": "Let me see.",
        "text": "Looking.",
        "tool_calls": [{"name": "shell", "arguments": {"command": "echo a"}}],
    },
    {
        "text": "More.",
        "tool_calls": [
            {"name": "read_file", "arguments": {"path": "none.txt"}},
            {"name": "shell", "arguments": {"command": "echo b; echo c >&2; exit 4"}},
        ],
    },
    {"text": "All done, and here are a few more words.", "chunk_chars": 3},
]


async def follow(attachment: Attachment, turns: int) -> list[e.Event]:
    seen: list[e.Event] = []
    for _ in range(turns):
        seen += await until(attachment, lambda event: isinstance(event, e.TurnCompleted))
    seen += await until(attachment, lambda event: isinstance(event, e.StatusChanged) and event.status == "idle")
    return seen


async def test_socket_websocket_and_in_process_clients_see_the_same_events_in_the_same_order(tmp_path: Path) -> None:
    async with house(tmp_path, BUSY_TURN, web=True) as h:
        clients = [await h.client(), await h.web_client(), await h.in_process_client()]
        session = await new_session(h, clients[0])
        attachments = [await client.attach(session) for client in clients]
        await clients[1].send(session, "go")
        first, second, third = await asyncio.gather(*(follow(attachment, 1) for attachment in attachments))
        assert len(first) > 20
        assert [encode_event(event) for event in first] == [encode_event(event) for event in second]
        assert [encode_event(event) for event in first] == [encode_event(event) for event in third]
        for client in clients:
            await client.close()


async def test_who_asks_by_the_beginning_of_an_id_misses_nothing_that_follows_the_answer(tmp_path: Path) -> None:
    async with house(tmp_path, BUSY_TURN) as h, await h.client() as one, await h.client() as two:
        session = await new_session(h, one)
        attachment = await one.attach(session)
        await one.send(session, "go")
        seen = await follow(attachment, 1)
        late = await two.attach(session[:12], after=attachment.snapshot.seq if attachment.snapshot else 0)
        missed = await follow(late, 1)
        assert [event.seq for event in missed] == [event.seq for event in seen if type(event).durable]


async def test_a_client_that_attaches_in_the_middle_of_an_answer_sees_all_of_it(tmp_path: Path) -> None:
    script = [{"chunks": ["alpha ", "beta ", "gamma"], "fault": {"name": "stall", "after": 2}}]
    async with house(tmp_path, script) as h, await h.client() as one, await h.client() as two:
        session = await new_session(h, one)
        attachment = await one.attach(session)
        await one.send(session, "go")
        await until(attachment, lambda event: isinstance(event, e.TextDelta) and "beta" in event.text)
        late = await two.attach(session)
        assert late.snapshot is not None
        assert late.snapshot.live is not None
        assert late.snapshot.live.parts[0].text == "alpha beta "  # type: ignore[union-attr]
        again = await two.attach(session, after=late.seq)
        live = (await until(again, lambda event: isinstance(event, e.LiveState)))[-1]
        assert isinstance(live, e.LiveState)
        assert live.live == late.snapshot.live
        h.sim.release()
        _, rest = await late.until_turn_ends()
        assert "".join(event.text for event in rest if isinstance(event, e.TextDelta)) == "gamma"


async def test_a_client_that_attaches_while_a_command_runs_sees_it_run_and_what_it_printed(tmp_path: Path) -> None:
    script = [shell("echo first; until [ -e go ]; do sleep 0.05; done; echo second"), {"text": "done"}]
    async with house(tmp_path, script) as h, await h.client() as one, await h.client() as two:
        session = await new_session(h, one)
        attachment = await one.attach(session)
        await one.send(session, "go")
        await until(attachment, lambda event: isinstance(event, e.ToolOutput) and "first" in event.text)
        late = await two.attach(session)
        assert late.snapshot is not None
        (running,) = late.snapshot.running
        assert (running.tool, running.output) == ("shell", "first\n")
        assert running.started_at > 0
        (h.workspace / "go").touch()
        _, rest = await late.until_turn_ends()
        assert "".join(event.text for event in rest if isinstance(event, e.ToolOutput)) == "second\n"
        again = await two.attach(session)
        assert again.snapshot is not None
        assert again.snapshot.running == []


class Wanderer:
    """A client that drops its connection whenever the plan says so, and comes back with the last seq it saw."""

    def __init__(self, house: House, session: str, patience: list[int]) -> None:
        self._house = house
        self._session = session
        self._patience = patience
        self.seen: list[e.Event] = []
        self.seq = 0

    async def follow(self, last_turn: int) -> None:
        for patience in [*self._patience, 10**9]:
            client: Client = await self._house.client()
            attachment = await client.attach(self._session, after=self.seq)
            try:
                if await self._read(attachment, patience, last_turn):
                    return
            finally:
                await client.close()

    async def _read(self, attachment: Attachment, patience: int, last_turn: int) -> bool:
        async for event in attachment.events():
            if type(event).durable:
                self.seen.append(event)
            self.seq = attachment.seq
            if isinstance(event, e.TurnCompleted) and event.turn == last_turn:
                return True
            patience -= 1
            if patience <= 0:
                return False
        return False


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plans=st.lists(st.lists(st.integers(1, 25), max_size=8), min_size=1, max_size=3), turns=st.integers(1, 3))
def test_random_disconnects_lose_and_double_nothing(
    tmp_path_factory: pytest.TempPathFactory, plans: list[list[int]], turns: int
) -> None:
    async def scenario() -> None:
        script = {"loop": True, "steps": BUSY_TURN}
        async with house(tmp_path_factory.mktemp("wander"), script) as h, await h.client() as steady:
            session = await new_session(h, steady)
            attachment = await steady.attach(session, after=0)
            wanderers = [Wanderer(h, session, plan) for plan in plans]
            following = [asyncio.create_task(wanderer.follow(turns)) for wanderer in wanderers]
            expected: list[e.Event] = []
            for _ in range(turns):
                await steady.send(session, "go")
                expected += await until(attachment, lambda event: isinstance(event, e.TurnCompleted))
            await asyncio.wait_for(asyncio.gather(*following), 20)
            durable = [encode_event(event) for event in expected if type(event).durable]
            for wanderer in wanderers:
                assert [encode_event(event) for event in wanderer.seen] == durable

    asyncio.run(scenario())


async def test_a_client_that_missed_too_much_gets_a_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from openagent.daemon import daemon

    monkeypatch.setattr(daemon, "REPLAY_LIMIT", 3)
    async with house(tmp_path, BUSY_TURN) as h, await h.client() as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await client.send(session, "go")
        await attachment.until_turn_ends()
        again = await client.attach(session, after=1)
        assert again.snapshot is not None
        assert again.snapshot.messages[-1].text.startswith("All done")


async def test_someone_who_follows_the_daemon_hears_of_every_session(tmp_path: Path) -> None:
    async with house(tmp_path, {"loop": True, "steps": [{"text": "hi"}]}) as h, await h.client() as watcher:
        await watcher.request(DaemonFollow(id="f"))
        async with watcher.all_events() as heard, await h.client() as client:
            sessions = {await new_session(h, client) for _ in range(3)}
            for session in sessions:
                await client.send(session, "go")
            ended: set[str] = set()
            created: set[str] = set()
            async with asyncio.timeout(60):
                while ended != sessions:
                    event = await heard.get()
                    if isinstance(event, e.SessionCreated):
                        created.add(event.session)
                    if isinstance(event, e.TurnCompleted):
                        ended.add(event.session)
                    assert not isinstance(event, e.TextDelta)
            assert created == sessions


async def test_twenty_sessions_run_fifty_steps_at_once_without_an_error(tmp_path: Path) -> None:
    steps = [{"tool_calls": [{"name": "shell", "arguments": {"command": f"echo {n}"}}]} for n in range(50)]
    async with house(tmp_path, {"steps": [*steps, {"text": "done"}]}) as h, await h.client() as client:
        sessions = [await new_session(h, client) for _ in range(20)]
        attachments = [await client.attach(session) for session in sessions]
        order = list(sessions)
        random.Random(7).shuffle(order)
        for session in order:
            await client.send(session, "go")
        ends = await asyncio.gather(*(attachment.until_turn_ends() for attachment in attachments))
        assert {(completed.reason, completed.steps) for completed, _ in ends} == {("done", 51)}
