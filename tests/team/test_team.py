"""Gateways and workers as processes of their own, on a real PostgreSQL and a real Redis."""

import asyncio
import os
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from benchmarks.cluster import cluster
from openagent.client import Attachment, Client
from openagent.protocol import events as e
from openagent.protocol.conversation import AsksList, PermissionAnswer, TurnCancel
from openagent.protocol.daemon import DaemonStatus
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.metrics import MetricsExport
from openagent.protocol.terminals import TerminalInput, TerminalOpen
from tests.interaction.doing import messages_of, shell
from tests.interaction.house import PATIENCE, until

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]


def _ended(event: e.AnyEvent) -> bool:
    return isinstance(event, e.TurnCompleted)


async def _both(
    one: Attachment, other: Attachment, wanted: Callable[[e.AnyEvent], bool]
) -> tuple[list[e.Event], list[e.Event]]:
    return await asyncio.gather(until(one, wanted), until(other, wanted))


def _numbered(seen: list[e.Event]) -> list[int]:
    return [event.seq for event in seen if event.durable]


async def _attached_without_redis(client: Client, session: str) -> Attachment:
    """As soon as the gateway has noticed that it is gone."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                return await client.attach(session)
            except OpenAgentError as problem:
                if problem.info.code not in ("busy", "store_unavailable"):
                    raise
                await asyncio.sleep(0.1)


async def test_any_gateway_serves_any_session_and_redis_may_go_and_come_back(tmp_path: Path) -> None:
    script = [shell("touch done"), {"text": "Allowed."}, shell("touch more"), {"text": "Without."}, {"text": "With."}]
    async with cluster(tmp_path, script) as team, AsyncExitStack() as stack:
        here = await team.gateways[0].client(interactive=True)
        there = await team.gateways[1].client(interactive=True)
        session = (await here.create_session(str(team.workspace), mode="ask")).id
        one, other = await here.attach(session), await there.attach(session)

        await here.send(session, "first")
        seen, same = await _both(one, other, lambda event: isinstance(event, e.PermissionRequested))
        asked = same[-1]
        assert isinstance(asked, e.PermissionRequested)
        (waiting,) = (await there.request(AsksList(id=there.next_id()))).asks
        assert waiting.session == session
        await there.request(
            PermissionAnswer(id=there.next_id(), session=session, ask=asked.ask.id, decision="allow", scope="once")
        )
        more, same_more = await _both(one, other, _ended)
        seen, same = [*seen, *more], [*same, *same_more]
        # Not without gaps: what is recorded without an event takes a number, too.
        assert _numbered(seen) == _numbered(same) == sorted(set(_numbered(seen)))
        assert isinstance(seen[-1], e.TurnCompleted)
        assert (seen[-1].reason, seen[-1].text) == ("done", "Allowed.")
        assert (team.workspace / "done").exists()

        opened = await here.request(TerminalOpen(id=here.next_id(), session=session, columns=80, rows=24))
        joined = TerminalOpen(id=there.next_id(), session=session, terminal=opened.terminal, columns=80, rows=24)
        await there.request(joined)
        await there.request(TerminalInput(id=there.next_id(), terminal=opened.terminal, text="echo $((20+22))\n"))
        await until(one, lambda event: isinstance(event, e.TerminalOutput) and "42" in event.text)
        await until(other, lambda event: isinstance(event, e.TerminalOutput) and "42" in event.text)

        await there.send(session, "second")
        await _both(one, other, lambda event: isinstance(event, e.PermissionRequested))
        await here.request(TurnCancel(id=here.next_id(), session=session))
        seen, same = await _both(one, other, _ended)
        assert isinstance(same[-1], e.TurnCompleted)
        assert same[-1].reason == "cancelled"

        await team.redis.stop()
        later = await stack.enter_async_context(await team.gateways[1].client())
        late = await _attached_without_redis(later, session)
        assert late.snapshot is not None
        assert [each.text for each in late.snapshot.messages if each.role == "user"] == ["first", "second"]
        await here.send(session, "third")
        seen, same = await _both(one, other, _ended)
        assert isinstance(same[-1], e.TurnCompleted)
        assert (same[-1].reason, same[-1].text) == ("done", "Without.")
        last = _numbered(same)[-1]
        assert _numbered(await until(late, _ended))[-1] == last
        await team.redis.start()
        await there.send(session, "fourth")
        seen, same = await _both(one, other, _ended)
        assert isinstance(seen[-1], e.TurnCompleted)
        assert seen[-1].text == "With."
        also = await until(late, _ended)
        assert _numbered(seen) == _numbered(same) == _numbered(also) == sorted(set(_numbered(seen)))
        assert _numbered(seen)[0] > last


async def test_a_lost_workers_turn_goes_on_at_another_and_the_transcript_says_so(tmp_path: Path) -> None:
    script = [shell("echo once >> runs; echo begun; cat gate"), {"text": "Gone on with."}]
    async with cluster(tmp_path, script, settings="team.lost_after = 8") as team:
        os.mkfifo(team.workspace / "gate")
        client = await team.gateways[0].client()
        session = (await client.create_session(str(team.workspace))).id
        attachment = await client.attach(session)
        await client.send(session, "go")
        await until(attachment, lambda event: isinstance(event, e.ToolOutput) and "begun" in event.text)
        lost = team.holder_of(session)
        while (await client.request(DaemonStatus(id=client.next_id()))).running != 1:
            pass
        others = await asyncio.gather(*(client.create_session(str(team.workspace)) for _ in range(6)))
        assert {team.holder_of(each.id).name for each in others} == {"w0", "w1"}, "who has a turn is not left out"
        await lost.kill()
        seen = await until(attachment, _ended)
        assert isinstance(seen[-1], e.TurnCompleted)
        assert seen[-1].reason == "interrupted"
        seen = await until(attachment, _ended)
        assert isinstance(seen[-1], e.TurnCompleted)
        assert (seen[-1].reason, seen[-1].text) == ("done", "Gone on with.")
        assert team.holder_of(session) is not lost
        said = [message.text for message in await messages_of(client, session) if message.role == "user"]
        assert said[0] == "go"
        assert len(said) == 2
        assert "was lost, and another one has taken it over" in said[1]
        assert (team.workspace / "runs").read_text() == "once\n"

        for worker in team.workers:
            await worker.kill()
        await client.send(session, "anybody there?")
        told = (await client.request(MetricsExport(id=client.next_id()))).text
        assert "\nopenagent_team_turns_waiting 1.0\n" in told, "what an autoscaler goes by"
