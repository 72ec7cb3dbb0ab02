"""A worker that is told to stop, several doors to one team, and processes that are both."""

import asyncio
import os
import signal
from contextlib import AsyncExitStack
from pathlib import Path

import httpx2
import pytest
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as ws_connect
from websockets.exceptions import ConnectionClosed

from benchmarks.cluster import Cluster, Member, cluster
from openagent.client import Client
from openagent.daemon import still_welcome
from openagent.protocol import events as e
from openagent.protocol.daemon import DaemonStatus
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.people import PeopleAdd, PeopleRemove, SessionShare
from openagent.protocol.tokens import TokensCreate, TokensRevoke
from tests.access.test_every_door import HELLO
from tests.interaction.doing import messages_of, shell
from tests.interaction.house import PATIENCE, until

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]


def _ended(event: e.AnyEvent) -> bool:
    return isinstance(event, e.TurnCompleted)


async def _running(client: Client) -> int:
    return (await client.request(DaemonStatus(id=client.next_id()))).running


async def _said_by(member: Member, words: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while words not in member.log:
            await asyncio.sleep(0.05)


async def test_a_worker_that_is_to_stop_ends_its_turn_and_gives_the_rest_away_at_once(tmp_path: Path) -> None:
    script = {
        "conversations": [
            {"name": "long", "match": "long", "steps": [shell("echo begun; cat gate"), {"text": "Ended here."}]},
            {"name": "short", "steps": [{"text": "Said."}], "loop": True},
        ]
    }
    async with cluster(tmp_path, script, gateways=1, workers=1) as team, AsyncExitStack() as stack:
        os.mkfifo(team.workspace / "gate")
        client = await stack.enter_async_context(await team.gateways[0].client())
        (ending,) = team.workers
        idle = await client.attach((await client.create_session(str(team.workspace))).id)
        await client.send(idle.session, "first")
        await until(idle, _ended)
        long = await client.attach((await client.create_session(str(team.workspace))).id)
        await client.send(long.session, "long")
        await until(long, lambda event: isinstance(event, e.ToolOutput) and "begun" in event.text)
        async with asyncio.timeout(PATIENCE):
            while await _running(client) != 1:
                await asyncio.sleep(0.1)

        other = Member(team, "worker", "other")
        await other.start()
        await (await other.client()).close()
        team.workers.append(other)
        ending.send(signal.SIGTERM)
        await _said_by(ending, "draining: no more jobs are taken")
        await client.send(idle.session, "second")
        seen = await until(idle, _ended)
        assert team.holder_of(idle.session) is other, "nobody waits for somebody else's turn"
        assert isinstance(seen[-1], e.TurnCompleted)
        assert seen[-1].text == "Said."
        assert team.holder_of(long.session) is ending

        (team.workspace / "gate").write_text("go on\n")
        seen = await until(long, _ended)
        assert isinstance(seen[-1], e.TurnCompleted)
        assert (seen[-1].reason, seen[-1].text) == ("done", "Ended here.")
        assert ending.process is not None
        assert await ending.process.wait() == 0
        await client.send(long.session, "more")
        await until(long, _ended)
        assert team.holder_of(long.session) is other
        said = [message.text for message in await messages_of(client, long.session) if message.role == "user"]
        assert said == ["long", "more"]


async def test_a_session_goes_on_at_another_door_and_a_revoked_token_opens_none(tmp_path: Path) -> None:
    script = {"steps": [{"text": "Said."}], "loop": True}
    async with cluster(tmp_path, script, workers=1) as team, AsyncExitStack() as stack:
        owner = await stack.enter_async_context(await team.gateways[0].client())
        await (await team.gateways[1].client()).close()
        made = await owner.request(
            TokensCreate(id=owner.next_id(), name="two doors", scopes=["read", "chat"], roots=[str(team.workspace)])
        )
        with_token = {"Authorization": f"Bearer {made.secret}"}
        one, other = (
            httpx2.AsyncClient(base_url=f"http://127.0.0.1:{gateway.port}", headers=with_token, timeout=PATIENCE)
            for gateway in team.gateways
        )
        async with one, other:
            created = await one.post("/api/agents", json={"cwd": str(team.workspace)})
            assert created.status_code == 201, created.text
            session = created.json()["id"]
            seen = await owner.attach(session)
            sent = await other.post(f"/api/agents/{session}/message", json={"text": "over the other door"})
            assert sent.is_success, sent.text
            await until(seen, _ended)
            page = (await one.get(f"/api/agents/{session}/messages")).json()
            assert [message["role"] for message in page["items"]] == ["user", "assistant"]

            await owner.request(TokensRevoke(id=owner.next_id(), token="two doors"))
            for door in (other, one):
                assert (await door.get(f"/api/agents/{session}")).status_code == 401


async def test_two_processes_that_are_both_have_one_store_and_serve_each_others_sessions(tmp_path: Path) -> None:
    script = {"steps": [{"text": "Said."}], "loop": True}
    async with cluster(tmp_path, script, gateways=0, workers=0) as team, AsyncExitStack() as stack:
        one, other = await _both_in_one(team, "one"), await _both_in_one(team, "other")
        here, there = [await stack.enter_async_context(await each.client()) for each in (one, other)]
        session = (await here.create_session(str(team.workspace))).id
        assert team.holder_of(session) is one
        followed = await there.attach(session)
        await there.send(session, "from the other")
        seen = await until(followed, _ended)
        assert isinstance(seen[-1], e.TurnCompleted)
        assert seen[-1].text == "Said."

        one.send(signal.SIGTERM)
        assert one.process is not None
        assert await one.process.wait() == 0
        with pytest.raises((OpenAgentError, OSError)):
            await here.send(session, "nobody hears it")
        await there.send(session, "goes on")
        await until(followed, _ended)
        assert team.holder_of(session) is other


async def _both_in_one(team: Cluster, name: str) -> Member:
    member = Member(team, "all", name)
    team.workers.append(member)
    await member.start()
    return member


async def test_a_link_is_joined_at_any_gateway_though_a_worker_has_the_session(tmp_path: Path) -> None:
    people = f'people.folder = "{tmp_path / "people"}"'
    async with cluster(tmp_path, [{"text": "Said."}], gateways=1, workers=1, settings=people) as team:
        (gateway,) = team.gateways
        owner = await gateway.client()
        added = PeopleAdd(id=owner.next_id(), email="ann@example.test")
        await owner.request(added)
        op = TokensCreate(id=owner.next_id(), name="ann", scopes=["read"], person="ann@example.test")
        token = (await owner.request(op)).secret
        session = (await owner.create_session(str(team.workspace))).id
        seen = await owner.attach(session)
        await owner.send(session, "go")
        await until(seen, _ended)
        shared = await owner.request(SessionShare(id=owner.next_id(), session=session, link="read"))
        with_token = {"Authorization": f"Bearer {token}"}
        address = f"http://127.0.0.1:{gateway.port}"
        async with httpx2.AsyncClient(base_url=address, headers=with_token, timeout=PATIENCE) as ann:
            joined = await ann.post("/api/sessions/join", json={"link": shared.link})
            assert (joined.status_code, joined.json().get("id")) == (200, session), joined.text
            read = await ann.get(f"/api/agents/{session}/messages")
            assert read.status_code == 200, read.text


async def test_an_invitation_of_one_gateway_is_used_at_another_and_holds_at_both(tmp_path: Path) -> None:
    people = f'people.folder = "{tmp_path / "people"}"'
    async with cluster(tmp_path, [{"text": "Said."}], gateways=2, workers=0, settings=people) as team:
        owner = await team.gateways[0].client()
        person = await owner.request(PeopleAdd(id=owner.next_id(), email="ann@example.test"))
        chosen = {"invitation": person.link.partition("#")[2], "password": "correct horse battery"}
        known = {"email": person.email, "password": chosen["password"]}
        async with AsyncExitStack() as stack:
            first, second = [
                await stack.enter_async_context(
                    httpx2.AsyncClient(base_url=f"http://127.0.0.1:{each.port}", timeout=PATIENCE)
                )
                for each in team.gateways
            ]
            come_in = await second.post("/api/invitation/password", json=chosen)
            assert come_in.status_code == 200, come_in.text
            assert (await first.post("/api/invitation/password", json=chosen)).status_code == 404
            login = come_in.headers["set-cookie"].partition(";")[0].partition("=")[2]
            headers = {"Authorization": f"Bearer {login}"}
            for gateway in (first, second):
                assert (await gateway.get("/api/me", headers=headers)).json()["name"] == person.email
                assert (await gateway.post("/api/sign-in/password", json=known)).status_code == 200
            address = f"ws://127.0.0.1:{team.gateways[1].port}/ws"
            async with ws_connect(address, additional_headers=headers) as line:
                await line.send(HELLO)
                await line.recv()
                await owner.request(PeopleRemove(id=owner.next_id(), person=person.email))
                with pytest.raises(ConnectionClosed):
                    await asyncio.wait_for(_to_its_end(line), still_welcome.LOOK_AGAIN - 3)  # it was told
            assert (await second.get("/api/me", headers=headers)).status_code == 401
            assert (await second.post("/api/sign-in/password", json=known)).status_code == 401


async def _to_its_end(line: ClientConnection) -> None:
    while True:
        await line.recv()
