"""What a team does and costs: turns a second against workers and what bounds them, a step's time beside a daemon alone,
memory by sessions and clients, and what a turn costs in processor, PostgreSQL and Redis.

    python -m benchmarks.team_speed
    python -m benchmarks.team_speed --sessions 4 --turns 3 --held 0 10    # a quick try

The model is the simulator, which answers at once, in a process of its own. `--write` puts the tables into
benchmarks/results/team.md.
"""

import argparse
import asyncio
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from psycopg.rows import dict_row
from redis import asyncio as redis

from benchmarks.chaos_report import write
from benchmarks.cluster import Cluster, Member, cluster
from benchmarks.model import scripted_model, shell_step
from benchmarks.processes import children_of, cpu_of_family, memory_mb, parent_of, shared_out_mb
from openagent.client import Attachment, Client
from openagent.protocol import events as e
from openagent.protocol.sessions import SessionGet

STEPS = 10
SHORT, LONG = "go", "long"
SCRIPT: dict[str, Any] = {
    "referee": False,
    "conversations": [
        {"name": "long", "match": LONG, "steps": [*[shell_step("true")] * STEPS, {"text": "Done."}], "loop": True},
        {"name": "short", "steps": [{"text": "Said."}], "loop": True},
    ],
}
SPEED, MEMORY, COST = "Speed", "Memory", "What a turn costs"
SETTLES_WITHIN = 30.0


class Speed(NamedTuple):
    name: str
    op_ms: float
    turn_ms: float
    step_ms: float
    turns_a_second: float
    busy: dict[str, float]
    """Processors that each kind of process used while turns ran at once."""


class Cost(NamedTuple):
    """Of one turn."""

    cpu_ms: dict[str, float]
    events: float
    event_bytes: float
    row_bytes: float
    """In all tables and indexes, after it."""
    commits: float
    rows_written: float
    log_bytes: float
    redis_commands: float
    redis_bytes: float


class Held(NamedTuple):
    sessions: int
    worker_mb: float
    gateway_mb: float
    database_mb: float
    redis_mb: float


class House(NamedTuple):
    """A team, or one daemon, to be measured."""

    team: Cluster
    door: Member
    model: int

    async def families(self) -> dict[str, list[int]]:
        """Process ids by what they are."""
        with psycopg.connect(self.team.database) as connection:
            server = parent_of(connection.info.backend_pid)
        found = {"gateway": [each.process.pid for each in self.team.gateways if each.process]}
        found["workers"] = [each.process.pid for each in self.team.workers if each.process]
        found |= {"PostgreSQL": [server], "Redis": [self.team.redis.pid], "model": [self.model]}
        return {**found, "clients": [os.getpid()]}

    async def cpu(self) -> dict[str, float]:
        """Of this program only its own: the others are its children."""
        found = dict[str, float]()
        for name, pids in (await self.families()).items():
            own = name == "clients"
            found[name] = time.process_time() if own else sum(cpu_of_family(pid) for pid in pids if pid)
        return found


@asynccontextmanager
async def _house(workers: int) -> AsyncGenerator[House, None]:
    """Without workers: one daemon on the same PostgreSQL, without Redis."""
    folder = Path(tempfile.mkdtemp(prefix="oas"))
    try:
        with scripted_model(folder, SCRIPT) as model:
            simulator = next(pid for pid in children_of(os.getpid()) if _runs(pid, "devtools.simulator"))
            async with cluster(folder, SCRIPT, gateways=int(workers > 0), workers=workers, model_url=model.url) as team:
                if not workers:
                    lines = [line for line in team.config.read_text().splitlines() if not line.startswith("redis")]
                    team.config.write_text("\n".join(lines))
                    team.workers = [Member(team, "all", "alone")]
                    await team.workers[0].start()
                for member in team.members:
                    await (await member.client()).close()
                yield House(team, (team.gateways or team.workers)[0], simulator)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _runs(pid: int, module: str) -> bool:
    return module.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()


async def _turn(client: Client, attachment: Attachment, text: str = SHORT) -> int:
    """Returns how many events were told."""
    await client.send(attachment.session, text)
    told = 0
    async for event in attachment.events():
        told += 1
        if isinstance(event, e.TurnCompleted):
            break
    return told


async def _median_ms(times: int, act: Callable[[], Awaitable[Any]]) -> float:
    took = list[float]()
    for _ in range(times):
        began = time.perf_counter()
        await act()
        took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took)


async def _attached(client: Client, house: House, text: str = SHORT) -> Attachment:
    """The first message says which conversation of the script it is."""
    made = await client.create_session(str(house.team.workspace))
    attachment = await client.attach(made.id)
    await _turn(client, attachment, text)
    return attachment


async def _speed(name: str, house: House, options: argparse.Namespace) -> Speed:
    async with await house.door.client() as client:
        one = await _attached(client, house)
        op = await _median_ms(2 * options.turns, lambda: _get(client, one.session))
        turn = await _median_ms(2 * options.turns, lambda: _turn(client, one))
        other = await _attached(client, house, LONG)
        long = await _median_ms(max(options.turns // 3, 1), lambda: _turn(client, other, LONG))
        many = [await _attached(client, house) for _ in range(options.sessions)]

        async def talk(attachment: Attachment) -> None:
            for _ in range(options.turns):
                await _turn(client, attachment)

        before, began = await house.cpu(), time.perf_counter()
        await asyncio.gather(*(talk(each) for each in many))
        took = time.perf_counter() - began
        after = await house.cpu()
    busy = {what: (after[what] - before[what]) / took for what in after}
    return Speed(name, op, turn, (long - turn) / STEPS, options.sessions * options.turns / took, busy)


async def _get(client: Client, session: str) -> None:
    await client.request(SessionGet(id=client.next_id(), session=session))


# What a turn costs


class Counted(NamedTuple):
    cpu: dict[str, float]
    database: dict[str, float]
    redis: dict[str, float]


async def _count(house: House) -> Counted:
    asked = (
        "SELECT xact_commit AS commits, tup_inserted + tup_updated + tup_deleted AS rows_written,"
        " pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 AS log_bytes,"
        " pg_database_size(current_database()) AS size, (SELECT count(*) FROM events) AS events,"
        " (SELECT coalesce(sum(octet_length(payload)), 0) FROM events) AS event_bytes"
        " FROM pg_stat_database WHERE datname = current_database()"
    )
    with psycopg.connect(house.team.database) as connection:
        row = connection.cursor(row_factory=dict_row).execute(asked).fetchone()
    link: Any = redis.from_url(house.team.redis.url)
    told = {**await link.info("stats"), **await link.info("memory")}
    await link.aclose()
    names = ("total_commands_processed", "total_net_input_bytes", "used_memory")
    assert row is not None
    return Counted(
        await house.cpu(), {name: float(value) for name, value in row.items()}, {name: told[name] for name in names}
    )


async def _cost(house: House, options: argparse.Namespace, text: str) -> Cost:
    """Over many turns, one after the other in several sessions; what a team does anyway is taken off."""
    rounds = options.turns if text == SHORT else max(options.turns // 5, 1)
    turns = options.sessions * rounds
    async with await house.door.client() as client:
        many = [await _attached(client, house, text) for _ in range(options.sessions)]
        first, began = await _count(house), time.perf_counter()
        await asyncio.sleep(options.settle)
        idle_for, idle = time.perf_counter() - began, await _count(house)
        began = time.perf_counter()
        for _ in range(rounds):
            await asyncio.gather(*(_turn(client, each, text) for each in many))
        await asyncio.sleep(options.settle)  # the statistics of PostgreSQL come a moment later
        last, lasted = await _count(house), time.perf_counter() - began

    def each(part: str, name: str) -> float:
        ends = [getattr(counted, part)[name] for counted in (first, idle, last)]
        return (ends[2] - ends[1] - (ends[1] - ends[0]) * lasted / idle_for) / turns

    return Cost(
        cpu_ms={what: 1000 * each("cpu", what) for what in last.cpu if what not in ("model", "clients")},
        events=each("database", "events"),
        event_bytes=each("database", "event_bytes"),
        row_bytes=each("database", "size"),
        commits=each("database", "commits"),
        rows_written=each("database", "rows_written"),
        log_bytes=each("database", "log_bytes"),
        redis_commands=each("redis", "total_commands_processed"),
        redis_bytes=each("redis", "total_net_input_bytes"),
    )


# Memory


async def _held(house: House, counts: Sequence[int]) -> list[Held]:
    """So many sessions, each with a client of its own that follows it, and none at work."""
    clients, found = list[Client](), list[Held]()
    try:
        for count in sorted(counts):
            while len(clients) < count:
                client = await house.door.client()
                clients.append(client)
                await _attached(client, house)
            found.append(await _memory(house, count))
    finally:
        for client in clients:
            await client.close()
    return found


async def _memory(house: House, sessions: int) -> Held:
    """When it does not change any more."""
    families = await house.families()
    (worker,), (gateway,) = families["workers"], families["gateway"]
    before, deadline = -1.0, time.monotonic() + SETTLES_WITHIN
    while abs(memory_mb(worker) - before) > 0.5 and time.monotonic() < deadline:
        before = memory_mb(worker)
        await asyncio.sleep(2)
    (server,) = families["PostgreSQL"]
    database = sum(shared_out_mb(pid) for pid in (server, *children_of(server)))
    return Held(sessions, memory_mb(worker), memory_mb(gateway), database, memory_mb(house.team.redis.pid))


# The report


def _table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    lines = [f"| {' | '.join(map(str, row))} |" for row in rows]
    return [f"| {' | '.join(header)} |", "|" + "---|" * len(header), *lines]


def _speed_text(found: Sequence[Speed]) -> str:
    kinds = list(found[-1].busy)
    rows = [
        [
            each.name,
            f"{each.op_ms:.1f} ms",
            f"{each.turn_ms:.0f} ms",
            f"{each.step_ms:.0f} ms",
            f"{each.turns_a_second:.0f}",
            *(f"{each.busy.get(kind, 0.0):.2f}" for kind in kinds),
        ]
        for each in found
    ]
    header = ["", "an op", "a turn of one step", "a further step", "turns a second", *kinds]
    load = os.getloadavg()[2]
    return "\n".join(
        [
            f"## {SPEED}",
            "",
            f"`python -m benchmarks.team_speed` on {time.strftime('%Y-%m-%d')}, {os.cpu_count()} processors for all"
            f" that is named here, load over the last quarter of an hour {load:.1f}. A further step is a command in the"
            " jail and the next request. The last columns: processors in use while turns ran at once; what is near 1"
            " for one process, or in sum near the number of processors, is what bounds it.",
            "",
            *_table(header, rows),
            "",
        ]
    )


def _memory_text(found: Sequence[Held]) -> str:
    rows = [
        [
            each.sessions,
            *(f"{size:.0f} MB" for size in (each.worker_mb, each.gateway_mb, each.database_mb, each.redis_mb)),
        ]
        for each in found
    ]
    least, most = found[0], found[-1]
    more = max(most.sessions - least.sessions, 1)
    worker = (most.worker_mb - least.worker_mb) * 1000 / more
    gateway = (most.gateway_mb - least.gateway_mb) * 1000 / more
    return "\n".join(
        [
            f"## {MEMORY}",
            "",
            "One gateway, one worker; each session is held by the worker, idle after a turn, and followed by a client"
            " of its own.",
            "",
            *_table(["sessions and clients", "worker", "gateway", "PostgreSQL", "Redis"], rows),
            "",
            f"A session held costs a worker {worker:.0f} kB, an attached client a gateway {gateway:.0f} kB.",
            "",
        ]
    )


def _cost_text(short: Cost, long: Cost) -> str:
    def row(name: str, get: Callable[[Cost], float], unit: str) -> list[str]:
        one, further = get(short), (get(long) - get(short)) / STEPS
        return [name, f"{one:.1f} {unit}".strip(), f"{further:.1f} {unit}".strip()]

    rows = [
        *(row(f"processor time, {what}", lambda cost, what=what: cost.cpu_ms[what], "ms") for what in short.cpu_ms),
        row("events that are kept", lambda cost: cost.events, ""),
        row("… their size", lambda cost: cost.event_bytes / 1000, "kB"),
        row("database, with indexes", lambda cost: cost.row_bytes / 1000, "kB"),
        row("commits", lambda cost: cost.commits, ""),
        row("rows written", lambda cost: cost.rows_written, ""),
        row("write-ahead log", lambda cost: cost.log_bytes / 1000, "kB"),
        row("commands to Redis", lambda cost: cost.redis_commands, ""),
        row("bytes to Redis", lambda cost: cost.redis_bytes / 1000, "kB"),
    ]
    return "\n".join(
        [
            f"## {COST}",
            "",
            "One gateway, one worker; short answers, and a further step is `true` in the jail. What an idle team does"
            " anyway is taken off.",
            "",
            *_table(["", "a turn of one step", "each further step"], rows),
            "",
        ]
    )


async def _main(options: argparse.Namespace) -> dict[str, str]:
    speeds = list[Speed]()
    costs = list[Cost]()
    for workers in (0, 1, 2, 3):
        async with _house(workers) as house:
            name = f"{workers} worker{'s' * (workers > 1)}" if workers else "a daemon alone, on PostgreSQL"
            speeds.append(await _speed(name, house, options))
            print(speeds[-1], flush=True)
            if workers == 1:
                for text in (SHORT, LONG):
                    costs.append(await _cost(house, options, text))
                    print(costs[-1], flush=True)
    async with _house(1) as house:
        held = await _held(house, options.held)
    return {SPEED: _speed_text(speeds), COST: _cost_text(*costs), MEMORY: _memory_text(held)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.team_speed")
    parser.add_argument("--sessions", type=int, default=20, help="at once")
    parser.add_argument("--turns", type=int, default=20, help="in each of them")
    parser.add_argument("--held", type=int, nargs="+", default=[0, 100, 300], help="sessions for the memory")
    parser.add_argument("--settle", type=float, default=5.0, help="seconds before the costs are read")
    parser.add_argument("--write", action="store_true", help="put the tables into benchmarks/results/team.md")
    options = parser.parse_args()
    texts = asyncio.run(_main(options))
    print("\n".join(texts.values()))
    if options.write:
        for title, text in texts.items():
            write(title, text)


if __name__ == "__main__":
    main()
