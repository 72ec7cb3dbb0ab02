"""A team under fire: users send messages while workers, gateways, Redis and database connections are taken away.

    python -m benchmarks.chaos --users 10 --sessions 3 --seconds 120

At the end all must be quiet, and every message that was acknowledged stands in its session once, answered once.
"""

import argparse
import asyncio
import contextlib
import random
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.cluster import Balancer, Cluster, Member, cluster
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
TAKEN_OVER = "has taken it over"
QUIET_WITHIN = 180.0


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
        self.acknowledged: dict[str, tuple[str, float]] = {}
        """By what a message says: its session, and when it was acknowledged."""
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
            await self._do(lambda client, op=op: client.request(op))
            self.acknowledged[text] = (session, time.time())
            await asyncio.sleep(random.uniform(0.3, 1.7) * pause)

    async def read(self, session: str) -> list[Message]:
        pages: list[Message] = []
        before: int | None = None
        while True:
            op = MessagesPage(id=f"read-{session}-{before}", session=session, limit=500, before=before)
            page = await self._do(lambda client, op=op: client.request(op))
            pages = [*page.messages, *pages]
            if not page.has_more:
                return pages
            before = page.messages[0].number


class Faults:
    def __init__(self, team: Cluster) -> None:
        self._team = team
        self.done: list[tuple[float, str]] = []
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

    def _note(self, what: str) -> None:
        self.done.append((time.time(), what))
        print(f"  {time.strftime('%H:%M:%S')} {what}", flush=True)

    def _soon(self, seconds: float, what: Callable[[], Awaitable[None]]) -> None:
        async def later() -> None:
            await asyncio.sleep(seconds)
            await what()

        self._later.append(asyncio.create_task(later()))

    async def _kill(self, member: Member) -> None:
        if member.process is None:
            return
        self._note(f"{member.name} killed")
        await member.kill()
        self._soon(8, member.start)

    async def kill_worker(self) -> None:
        await self._kill(random.choice(self._team.workers))

    async def kill_gateway(self) -> None:
        await self._kill(random.choice(self._team.gateways))

    async def restart_redis(self) -> None:
        self._note("redis stopped for 3 s")
        await self._team.redis.stop()
        self._soon(3, self._team.redis.start)

    async def cut_database(self) -> None:
        with psycopg.connect(self._team.database, autocommit=True) as connection:
            cut = connection.execute(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND datname = current_database()"
            ).fetchone()
        self._note(f"{cut[0] if cut else 0} database connections cut")

    async def freeze_worker(self) -> None:
        member = random.choice(self._team.workers)
        self._note(f"{member.name} frozen for 60 s")
        member.send(signal.SIGSTOP)

        async def wake() -> None:
            member.send(signal.SIGCONT)

        self._soon(60, wake)


async def quiet(team: Cluster) -> float:
    began = time.monotonic()
    asked = (
        "SELECT (SELECT count(*) FROM sessions WHERE open_turn <> 0 OR queued <> 0)"
        " + (SELECT count(*) FROM procrastinate_jobs WHERE task_name = 'turn' AND status IN ('todo', 'doing'))"
    )
    while time.monotonic() - began < QUIET_WITHIN:
        with psycopg.connect(team.database) as connection:
            row = connection.execute(asked).fetchone()
        if row is not None and row[0] == 0:
            break
        await asyncio.sleep(1)
    return time.monotonic() - began


def stuck(team: Cluster) -> list[Any]:
    with psycopg.connect(team.database) as connection:
        return connection.execute(
            "SELECT id, status, open_turn, queued FROM sessions WHERE open_turn <> 0 OR queued <> 0"
            " OR status NOT IN ('idle', 'error')"
        ).fetchall()


def judge(said: dict[str, list[Message]], users: list[User], happened: list[tuple[float, str]]) -> dict[str, Any]:
    lost, doubled, unanswered, twice = list[str](), list[str](), list[str](), list[str]()
    waits: dict[str, tuple[float, float]] = {}
    for user in users:
        for text, (session, at) in user.acknowledged.items():
            messages = said[session]
            places = [place for place, each in enumerate(messages) if each.role == "user" and each.text == text]
            if not places:
                lost.append(text)
                continue
            if len(places) > 1:
                doubled.append(text)
            answers = [each for each in messages if each.role == "assistant" and each.text == f"You said: {text}"]
            whole = [each for each in answers if each.stop_reason != "interrupted"]
            if len(whole) > 1:
                twice.append(text)
            after = [
                each for each in messages[places[0] :] if each.role == "assistant" and each.stop_reason != "interrupted"
            ]
            if not after:
                unanswered.append(text)
            else:
                waits[text] = (at, max(after[0].created_at - at, 0.0))
    took = sorted(wait for _, wait in waits.values())
    recovery: dict[str, list[float]] = defaultdict(list)
    for at, what in happened:
        hit = [wait - (at - begun) for begun, wait in waits.values() if begun < at < begun + wait]
        if hit:
            recovery[" ".join(what.split()[1:3]) if what[0] in "gw" else what.split(" for")[0]].append(max(hit))
    taken_over = sum(TAKEN_OVER in each.text for messages in said.values() for each in messages if each.role == "user")
    return {
        "acknowledged": sum(len(user.acknowledged) for user in users),
        "lost": lost,
        "doubled": doubled,
        "answered twice": twice,
        "unanswered": unanswered,
        "taken over": taken_over,
        "answer p50": round(statistics.median(took), 2) if took else None,
        "answer p95": round(took[int(len(took) * 0.95)], 2) if took else None,
        "answer max": round(took[-1], 2) if took else None,
        "longest wait after": {what: round(max(times), 1) for what, times in recovery.items()},
    }


async def fire(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
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
        faults, end = Faults(team), time.monotonic() + options.seconds
        speaking = [asyncio.create_task(user.speak(end, options.pause)) for user in users]
        await faults.until(end, options.every, options.only)
        await asyncio.gather(*speaking)
        print("all is said; waiting until it is quiet", flush=True)
        quiet_after = await quiet(team)
        said = {session: await user.read(session) for user in users for session in user.sessions}
        result = judge(said, users, faults.done)
        refused = sum((user.refused for user in users), Counter[str]())
        return {
            **result,
            "stuck": stuck(team),
            "quiet after": round(quiet_after, 1),
            "refused": dict(refused.most_common(8)),
            "faults": len(faults.done),
        }


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
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="oac"))
    try:
        result = asyncio.run(fire(folder, options))
    finally:
        if options.keep:
            print(folder)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    for what, value in result.items():
        print(f"{what:20} {value}")
    failed = [result[what] for what in ("lost", "doubled", "answered twice", "unanswered", "stuck") if result[what]]
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
