"""Turns a second against workers, and a turn's and an op's time in a team beside a daemon alone.

python -m benchmarks.team_speed
"""

import argparse
import asyncio
import shutil
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks.cluster import Member, cluster
from openagent.client import Client
from openagent.protocol import events as e
from openagent.protocol.sessions import SessionGet

SCRIPT: dict[str, Any] = {"steps": [{"text": "Said."}], "loop": True}


async def _turn(client: Client, session: str, attachment: Any) -> None:
    await client.send(session, "go")
    async for event in attachment.events():
        if isinstance(event, e.TurnCompleted):
            return


async def _median_ms(times: int, act: Callable[[], Awaitable[Any]]) -> float:
    took = list[float]()
    for _ in range(times):
        began = time.perf_counter()
        await act()
        took.append((time.perf_counter() - began) * 1000)
    return round(statistics.median(took), 1)


async def _speed(member: Member, workspace: Path, sessions: int, turns: int) -> float:
    """Turns a second, with as many sessions at once."""
    client = await member.client()
    attached = [
        (made.id, await client.attach(made.id))
        for made in [await client.create_session(str(workspace)) for _ in range(sessions)]
    ]

    async def talk(session: str, attachment: Any) -> None:
        for _ in range(turns):
            await _turn(client, session, attachment)

    await asyncio.gather(*(_turn(client, *each) for each in attached))
    began = time.perf_counter()
    await asyncio.gather(*(talk(*each) for each in attached))
    took = time.perf_counter() - began
    await client.close()
    return round(sessions * turns / took, 1)


async def _measure(member: Member, workspace: Path, sessions: int, turns: int) -> dict[str, float]:
    client = await member.client()
    session = (await client.create_session(str(workspace))).id
    attachment = await client.attach(session)
    await _turn(client, session, attachment)
    asked = await _median_ms(40, lambda: client.request(SessionGet(id=client.next_id(), session=session)))
    turn = await _median_ms(30, lambda: _turn(client, session, attachment))
    await client.close()
    return {
        "an op, ms": asked,
        "a turn of one step, ms": turn,
        "turns a second": await _speed(member, workspace, sessions, turns),
    }


async def _team(workers: int, options: argparse.Namespace) -> dict[str, float]:
    folder = Path(tempfile.mkdtemp(prefix="oas"))
    try:
        async with cluster(folder, SCRIPT, gateways=1, workers=workers) as team:
            for member in team.members:
                await (await member.client()).close()
            return await _measure(team.gateways[0], team.workspace, options.sessions, options.turns)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _alone(options: argparse.Namespace) -> dict[str, float]:
    """One daemon on the same PostgreSQL, without Redis."""
    folder = Path(tempfile.mkdtemp(prefix="oas"))
    try:
        async with cluster(folder, SCRIPT, gateways=0, workers=0) as team:
            lines = [line for line in team.config.read_text().splitlines() if not line.startswith("redis")]
            team.config.write_text("\n".join(lines))
            member = Member(team, "all", "alone")
            team.workers = [member]
            await member.start()
            return await _measure(member, team.workspace, options.sessions, options.turns)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _main(options: argparse.Namespace) -> None:
    print(f"alone      {await _alone(options)}", flush=True)
    for workers in (1, 2, 3):
        print(f"{workers} workers  {await _team(workers, options)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.team_speed")
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--turns", type=int, default=10)
    asyncio.run(_main(parser.parse_args()))


if __name__ == "__main__":
    main()
