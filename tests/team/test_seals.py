"""What comes through Redis counts when one of the team said it, here, of late, and once."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import msgspec
import pytest
from redis import asyncio as redis

from benchmarks.cluster import Member, cluster
from openagent.daemon.callers import Caller
from openagent.protocol import events as e
from openagent.protocol.codec import encode_op
from openagent.protocol.conversation import MessageSend
from openagent.protocol.sessions import SessionGet
from openagent.protocol.terminals import TerminalInput, TerminalOpen
from openagent.protocol.tools import ToolRun
from openagent.team.frames import Sign, Who, ops_of, sign_of, told_to
from openagent.team.seal import GOOD_FOR, Seal
from tests.interaction.house import PATIENCE, until

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]


def test_a_seal_holds_in_its_place_once_in_its_order_and_for_a_while(caplog: pytest.LogCaptureFixture) -> None:
    now = [1_000_000.0]
    own, theirs = (Seal(b"k" * 32, lambda: now[0]) for _ in range(2))
    first, second, third = (own.seal("ops", {"c": "1", "b": b"{}", "n": number}) for number in range(3))
    assert theirs.holds("ops", first)
    assert theirs.holds("ops", third)
    with caplog.at_level(logging.WARNING):
        assert not theirs.holds("ops", third), "twice"
        assert not theirs.holds("ops", second), "behind what came after it"
        assert not theirs.holds("told", first), "elsewhere"
        assert not theirs.holds("ops", {**third, b"c": b"2"}), "changed"
        assert not theirs.holds("ops", {**third, b"more": b""}), "added to"
        assert not theirs.holds("ops", {b"c": b"1", b"b": b"{}", b"n": b"9"}), "unsealed"
        assert not theirs.holds("ops", Seal(b"x" * 32, lambda: now[0]).seal("ops", {"c": "1"})), "of another key"
    assert "message from Redis refused" in caplog.text
    late = own.seal("ops", {"c": "1"})
    now[0] += GOOD_FOR + 1
    assert not theirs.holds("ops", late)
    assert theirs.holds("ops", own.seal("ops", {"c": "1"}))
    now[0] += 100 * GOOD_FOR
    newcomer = Seal(b"k" * 32, lambda: now[0])
    assert theirs.holds("ops", newcomer.seal("ops", {"c": "1"})), "and who was heard long ago is forgotten"
    assert not theirs.holds("ops", first)


async def _said_by(member: Member, words: str, times: int = 1) -> None:
    async with asyncio.timeout(PATIENCE):
        while member.log.count(words) < times:
            await asyncio.sleep(0.05)


async def test_who_writes_into_redis_speaks_for_nobody(tmp_path: Path) -> None:
    script = {"steps": [{"text": "Said."}], "loop": True}
    async with cluster(tmp_path, script, gateways=1, workers=1) as team:
        (gateway,), (worker,) = team.gateways, team.workers
        client = await gateway.client()
        session = (await client.create_session(str(team.workspace))).id
        attached = await client.attach(session)
        await client.send(session, "first")
        await until(attached, lambda event: isinstance(event, e.TurnCompleted))
        opened = await client.request(TerminalOpen(id=client.next_id(), session=session, columns=80, rows=24))
        typed = TerminalInput(
            id=client.next_id(), terminal=opened.terminal, text="echo typed >> typed; echo $((6*7))\n"
        )
        await client.request(typed)
        await until(attached, lambda event: isinstance(event, e.TerminalOutput) and "42" in event.text)

        link: Any = redis.from_url(team.redis.url)
        [ops] = [key.decode() async for key in link.scan_iter(match=ops_of("*"))]
        heard = [fields for _, fields in await link.xrange(ops)]
        as_owner = Who(Caller("owner", "the owner", frozenset({"admin", "approve"}), ("/",)), "forged", True)
        fields = {b"g": b"elsewhere", b"c": b"1", b"k": b"op", b"w": msgspec.json.encode(as_owner)}
        for op in (
            ToolRun(id="f1", session=session, tool="shell", arguments={"command": "touch forged"}),
            MessageSend(id="f2", session=session, text="forged"),
        ):
            await link.xadd(ops, {**fields, b"b": encode_op(op)})
        await link.xadd(ops, {**heard[-1], b"b": encode_op(MessageSend(id="f3", session=session, text="changed"))})
        for frame in heard:
            await link.xadd(ops, frame)
        [told] = [key.decode() async for key in link.scan_iter(match=told_to("*"))]
        await link.xadd(told, {b"k": b"dismissed", b"c": b"owner"})
        await link.set(sign_of("worker", "evil"), msgspec.json.encode(Sign()))
        await _said_by(worker, "it bears no seal of this team's")
        await _said_by(worker, "it was said before")
        await _said_by(gateway, "it bears no seal of this team's", 2)

        await client.send(session, "second")
        await until(attached, lambda event: isinstance(event, e.TurnCompleted))
        info = await client.request(SessionGet(id=client.next_id(), session=session))
        assert info.turn_count == 2
        assert (team.workspace / "typed").read_text() == "typed\n"
        assert not (team.workspace / "forged").exists()
        assert team.holder_of((await client.create_session(str(team.workspace))).id) is worker
        await link.aclose()
        await client.close()
