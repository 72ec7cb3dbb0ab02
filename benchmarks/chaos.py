"""A team under fire: users send messages while workers, gateways, Redis and database connections are taken away.

    python -m benchmarks.chaos --users 10 --sessions 3 --seconds 120
    python -m benchmarks.chaos --haproxy --users 100 --sessions 3 --seconds 600 --every 20 --write

At the end all must be quiet, and every message that was acknowledged stands in its session once, answered once. With
`--write` the tables become a part of benchmarks/results/team.md.
"""

import argparse
import asyncio
import contextlib
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.chaos_report import Fault, Found, Spoken, as_markdown, judge, write
from benchmarks.cluster import Balancer, Cluster, Member, cluster
from benchmarks.processes import memory_mb
from openagent.client import Client, connect
from openagent.protocol.conversation import MessageSend, MessagesPage
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.messages import Message
from openagent.protocol.people import PeopleAdd
from openagent.protocol.tokens import TokensCreate

SCRIPT: dict[str, Any] = {
    "latency_ms": 300,
    "chunk_ms": 40,
    "chunk_chars": 8,
    "steps": [{"text": "You said: {last_user}"}],
    "loop": True,
}
QUIET_WITHIN = 180.0
DONE_WITHIN = 120.0
"""Seconds after which a user stops trying to get one thing done, and it counts as stuck."""
READ_WITHIN = 300.0
FROZEN_S = 60.0


class GaveUpError(Exception):
    """Nobody did it for so long that nobody waits any more."""


class User:
    def __init__(self, number: int, team: Cluster, balancer: Balancer | None) -> None:
        self.number = number
        self._team = team
        self._balancer = balancer
        self._token = ""
        self._folder = str(team.workspace)
        self._client: Client | None = None
        self.sessions: list[str] = []
        self._said = 0
        self.spoken: list[Spoken] = []
        self.given_up: list[str] = []
        self.refused: Counter[str] = Counter()

    async def _at_a_gateway(self) -> Client:
        while self._client is None:
            with contextlib.suppress(OSError, OpenAgentError, TimeoutError):
                async with asyncio.timeout(10):
                    self._client = await self._connected()
            if self._client is None:
                await asyncio.sleep(0.2)
        return self._client

    async def _connected(self) -> Client:
        name = f"user {self.number}"
        if self._balancer is not None:
            return await connect(url=self._balancer.url, token=self._token, name=name, env={})
        return await connect(socket=str(random.choice(self._team.gateways).socket), name=name, auto_start=False, env={})

    async def become_a_person(self, admin: Client) -> None:
        """With a folder and a token of their own."""
        person = await admin.request(PeopleAdd(id=admin.next_id(), email=f"user{self.number}@example.org"))
        self._folder = person.folder
        made = await admin.request(
            TokensCreate(id=admin.next_id(), name=f"user {self.number}", scopes=["read", "chat"], person=person.id)
        )
        self._token = made.secret

    async def _do(self, what: Callable[[Client], Awaitable[Any]]) -> Any:
        """Until it is done, through whichever gateway answers."""
        try:
            async with asyncio.timeout(DONE_WITHIN):
                return await self._try_until_done(what)
        except TimeoutError:
            raise GaveUpError from None

    async def _try_until_done(self, what: Callable[[Client], Awaitable[Any]]) -> Any:
        while True:
            client = await self._at_a_gateway()
            try:
                async with asyncio.timeout(45):
                    return await what(client)
            except (OpenAgentError, OSError, TimeoutError) as problem:
                self.refused[type(problem).__name__ + ": " + str(problem)[:60]] += 1
                code = problem.info.code if isinstance(problem, OpenAgentError) else ""
                if code not in ("busy", "store_unavailable", "conflict"):
                    self._client = None
                    with contextlib.suppress(Exception):
                        async with asyncio.timeout(5):
                            await client.close()
                await asyncio.sleep(0.3)

    async def begin(self, sessions: int) -> None:
        for _ in range(sessions):
            made = await self._do(lambda client: client.create_session(self._folder))
            self.sessions.append(made.id)

    async def speak(self, until: float, pause: float) -> None:
        while time.monotonic() < until:
            number = self._said = self._said + 1
            session = self.sessions[number % len(self.sessions)]
            text = f"message {number} of user {self.number}"
            op = MessageSend(id=f"chaos-{self.number}-{number}", session=session, text=text, again=True)
            asked = time.time()
            try:
                await self._do(lambda client, op=op: client.request(op))
            except GaveUpError:
                self.given_up.append(f"{text} to {session}")
                continue
            self.spoken.append(Spoken(text, session, asked, time.time()))
            await asyncio.sleep(random.uniform(0.3, 1.7) * pause)

    async def read_all(self) -> dict[str, list[Message]]:
        said = dict[str, list[Message]]()
        for session in self.sessions:
            try:
                said[session] = await self._read(session)
            except GaveUpError:
                self.given_up.append(f"reading {session}")
        return said

    async def _read(self, session: str) -> list[Message]:
        pages: list[Message] = []
        before: int | None = None
        while True:
            op = MessagesPage(id=f"read-{session}-{before}", session=session, limit=500, before=before)
            page = await self._do(lambda client, op=op: client.request(op))
            pages = [*page.messages, *pages]
            if not page.has_more:
                return pages
            before = page.messages[0].number


def _rows(team: Cluster, asked: str, values: list[Any] | None = None) -> list[tuple[Any, ...]]:
    with psycopg.connect(team.database, autocommit=True, connect_timeout=10) as connection:
        return connection.execute(asked, values).fetchall()  # pyright: ignore[reportArgumentType]


class Faults:
    def __init__(self, team: Cluster, lost_after: float) -> None:
        self._team = team
        self._lost_after = lost_after
        self.done: list[Fault] = []
        self._troubled: set[str] = set()
        """Those that are down or frozen: the next trouble is somebody else's."""
        self._later: list[asyncio.Task[None]] = []

    async def until(self, end: float, every: float, only: str) -> None:
        all_kinds = [self.kill_worker, self.kill_gateway, self.restart_redis, self.cut_database, self.freeze_worker]
        kinds = [each for each in all_kinds if only in each.__name__]
        turn = 0
        while time.monotonic() + every < end:
            await asyncio.sleep(every)
            await kinds[turn % len(kinds)]()
            turn += 1
        await asyncio.gather(*self._later)

    def _note(self, kind: str, what: str, lasts: float, sessions: frozenset[str] | None = None) -> None:
        self.done.append(Fault(time.time(), kind, lasts, sessions))
        print(f"  {time.strftime('%H:%M:%S')} {what}", flush=True)

    def _soon(self, seconds: float, what: Callable[[], Awaitable[None]], member: Member | None = None) -> None:
        if member is not None:
            self._troubled.add(member.name)

        async def later() -> None:
            await asyncio.sleep(seconds)
            await what()
            if member is not None:
                self._troubled.discard(member.name)

        self._later.append(asyncio.create_task(later()))

    def _one_of(self, members: list[Member]) -> Member | None:
        well = [each for each in members if each.name not in self._troubled]
        return random.choice(well) if well else None

    def _had_by(self, worker: Member) -> frozenset[str]:
        asked = "SELECT sessions.id FROM sessions JOIN daemons ON sessions.daemon = daemons.id WHERE home = %s"
        return frozenset(str(row[0]) for row in _rows(self._team, asked, [str(worker.home)]))

    async def kill_worker(self) -> None:
        if (worker := self._one_of(self._team.workers)) is not None:
            had = await asyncio.to_thread(self._had_by, worker)
            self._note("a worker killed", f"{worker.name} killed", self._lost_after + 10, had)
            await worker.kill()
            self._soon(8, worker.start, worker)

    async def kill_gateway(self) -> None:
        if (gateway := self._one_of(self._team.gateways)) is not None:
            self._note("a gateway killed", f"{gateway.name} killed", 5)
            await gateway.kill()
            self._soon(8, gateway.start, gateway)

    async def restart_redis(self) -> None:
        self._note("Redis stopped for 3 s, and empty then", "redis stopped for 3 s", 5)
        await self._team.redis.stop()
        self._soon(3, self._team.redis.start)

    async def cut_database(self) -> None:
        self._note("all connections to PostgreSQL cut", "database connections cut", 5)
        await asyncio.to_thread(
            _rows,
            self._team,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND datname = current_database()",
        )

    async def freeze_worker(self) -> None:
        if (worker := self._one_of(self._team.workers)) is not None:
            had = await asyncio.to_thread(self._had_by, worker)
            self._note(f"a worker frozen for {FROZEN_S:g} s", f"{worker.name} frozen", self._lost_after + 10, had)
            worker.send(signal.SIGSTOP)

            async def wake() -> None:
                worker.send(signal.SIGCONT)

            self._soon(FROZEN_S, wake, worker)


class Memory:
    """The most that a process of each kind took, and the least that the machine had left."""

    def __init__(self, team: Cluster) -> None:
        self._team = team
        self.most: Counter[str] = Counter()
        self.least_left = float("inf")

    async def watch(self) -> None:
        while True:
            for member in self._team.members:
                if member.process is not None:
                    with contextlib.suppress(OSError, StopIteration):
                        self.most[member.role] = max(self.most[member.role], round(memory_mb(member.process.pid)))
            lines = Path("/proc/meminfo").read_text().splitlines()
            left = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
            self.least_left = min(self.least_left, left / 1024**2)
            await asyncio.sleep(1)


async def quiet(team: Cluster) -> float:
    began = time.monotonic()
    asked = (
        "SELECT (SELECT count(*) FROM sessions WHERE open_turn <> 0 OR queued <> 0)"
        " + (SELECT count(*) FROM procrastinate_jobs WHERE task_name = 'turn' AND status IN ('todo', 'doing'))"
    )
    while time.monotonic() - began < QUIET_WITHIN and (await asyncio.to_thread(_rows, team, asked))[0][0]:
        await asyncio.sleep(1)
    return time.monotonic() - began


def stuck(team: Cluster) -> list[str]:
    asked = (
        "SELECT id, status, open_turn, queued FROM sessions WHERE open_turn <> 0 OR queued <> 0"
        " OR status NOT IN ('idle', 'error')"
    )
    return [str(row) for row in _rows(team, asked)]


async def what_was_said(users: list[User]) -> dict[str, list[Message]]:
    said = dict[str, list[Message]]()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(READ_WITHIN):
            for each in await asyncio.gather(*(user.read_all() for user in users)):
                said.update(each)
    return said


async def fire(folder: Path, options: argparse.Namespace) -> Found:
    settings = f'team.lost_after = {options.lost_after}\npeople.folder = "{folder / "people"}"'
    async with (
        cluster(folder, SCRIPT, gateways=2, workers=options.workers, settings=settings) as team,
        contextlib.AsyncExitStack() as stack,
    ):
        for member in team.members:
            await (await member.client()).close()
        balancer = None
        if options.haproxy:
            balancer = Balancer(folder, [gateway.port for gateway in team.gateways])
            await balancer.start()
            stack.push_async_callback(balancer.stop)
        users = [User(number, team, balancer) for number in range(options.users)]
        if balancer is not None:
            async with await team.gateways[0].client() as admin:
                for user in users:
                    await user.become_a_person(admin)
        await asyncio.gather(*(user.begin(options.sessions) for user in users))
        print(f"{sum(len(user.sessions) for user in users)} sessions", flush=True)
        memory = Memory(team)
        watching = asyncio.create_task(memory.watch())
        faults, end = Faults(team, options.lost_after), time.monotonic() + options.seconds
        speaking = [asyncio.create_task(user.speak(end, options.pause)) for user in users]
        await faults.until(end, options.every, options.only)
        await asyncio.gather(*speaking)
        print("all is said; waiting until it is quiet", flush=True)
        quiet_after = await quiet(team)
        said = await what_was_said(users)
        watching.cancel()
        return Found(
            judge(said, [each for user in users for each in user.spoken], faults.done),
            stuck=await asyncio.to_thread(stuck, team),
            given_up=[each for user in users for each in user.given_up],
            quiet_after=quiet_after,
            refused=sum((user.refused for user in users), Counter[str]()),
            memory=memory.most,
            least_left=memory.least_left,
        )


async def _bounded(folder: Path, options: argparse.Namespace) -> Found:
    """However badly it goes, it ends, and takes all its processes with it."""
    this = asyncio.current_task()
    assert this is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, this.cancel)
    longest = options.seconds + FROZEN_S + DONE_WITHIN + QUIET_WITHIN + READ_WITHIN + 300
    async with asyncio.timeout(longest):
        return await fire(folder, options)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chaos")
    parser.add_argument("--users", type=int, default=10)
    parser.add_argument("--sessions", type=int, default=3, help="for each user")
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--every", type=float, default=12, help="seconds between two faults")
    parser.add_argument("--pause", type=float, default=1.75, help="seconds between two messages of a user, about")
    parser.add_argument("--only", default="", help="faults of this kind: worker, kill, redis, cut, freeze …")
    parser.add_argument("--lost-after", type=float, default=20)
    parser.add_argument("--haproxy", action="store_true", help="each user is a person, and comes through HAProxy")
    parser.add_argument("--keep", action="store_true", help="leave the logs where they are")
    parser.add_argument("--write", action="store_true", help="put the tables into benchmarks/results/team.md")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="oac"))
    try:
        found = asyncio.run(_bounded(folder, options))
    except (asyncio.CancelledError, TimeoutError) as problem:
        print(f"It did not end by itself: {type(problem).__name__}.")
        return 2
    finally:
        if options.keep:
            print(folder)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    title = f"Under fire: {options.users} users, {options.users * options.sessions} sessions, {options.seconds:g} s"
    text = as_markdown(title, found, workers=options.workers, haproxy=options.haproxy)
    print(text)
    if options.write:
        write(title, text)
    return int(found.failed)


if __name__ == "__main__":
    sys.exit(main())
