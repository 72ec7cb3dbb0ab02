"""A team that becomes a newer version, one process after the other, while users send messages through HAProxy.

    python -m benchmarks.upgrade --from HEAD~20            # from that commit to the sources as they lie here
    python -m benchmarks.upgrade --from HEAD --migration   # to a version with one more migration, made for this

At the end every message that was acknowledged stands in its session once, answered once. It says, too, what an
old process does that is started on the new database.
"""

import argparse
import asyncio
import contextlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.chaos import SCRIPT, User, quiet, stuck, what_was_said
from benchmarks.chaos_report import Fault, judge, told
from benchmarks.cluster import Balancer, Cluster, Member, cluster
from openagent.protocol.sessions import SessionList

ROOT = Path(__file__).parents[1]
BETWEEN = 3.0
"""Seconds that a new process works beside old ones before the next is exchanged."""
PATIENCE = 30.0
_MIGRATION = '''\
"""Made to try an upgrade."""

import sqlalchemy as sa
from alembic import op

revision = "{new}"
down_revision = "{old}"


def upgrade() -> None:
    op.add_column("sessions", sa.Column("tried", sa.String, nullable=False, server_default=""))
    op.add_column("messages", sa.Column("tried", sa.String))
    op.create_index("tried_sessions", "sessions", ["tried"])
    op.create_table("tried", sa.Column("id", sa.String, primary_key=True))
'''


def old_sources(folder: Path, commit: str) -> Path:
    folder.mkdir()
    packed = subprocess.run(("git", "archive", commit, "src"), cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(("tar", "-x", "-C", str(folder)), input=packed, check=True)
    return folder / "src"


def new_sources(folder: Path, *, with_a_migration: bool) -> Path:
    shutil.copytree(
        ROOT / "src/openagent", folder / "openagent", ignore=shutil.ignore_patterns("web_dist", "__pycache__")
    )
    if with_a_migration:
        schema = folder / "openagent/store/schema.py"
        old = head_of(folder)
        new = f"{int(old) + 1:04}"
        schema.write_text(schema.read_text().replace(f'HEAD = "{old}"', f'HEAD = "{new}"'))
        made = folder / f"openagent/store/migrations/versions/{new}_tried.py"
        made.write_text(_MIGRATION.format(new=new, old=old))
    return folder


def head_of(sources: Path) -> str:
    return (sources / "openagent/store/schema.py").read_text().partition('HEAD = "')[2].partition('"')[0]


async def works(member: Member) -> None:
    """It can be asked as soon as it runs; what is in the database, when that is open."""
    async with await member.client() as client:
        await client.request(SessionList(id=client.next_id(), limit=1))


class Upgrade:
    def __init__(self, team: Cluster) -> None:
        self._team = team
        self.done: list[tuple[float, str]] = []
        self.took: dict[str, str] = {}

    async def of_all(self, new: Path) -> None:
        self._team.source = new
        for member in (*self._team.workers, *self._team.gateways):
            await self._exchange(member)
            await asyncio.sleep(BETWEEN)

    async def _exchange(self, member: Member) -> None:
        self.done.append((time.time(), f"{member.name} exchanged"))
        before = self._schema()
        began = time.monotonic()
        await member.stop()
        ended = time.monotonic()
        await member.start()
        await works(member)
        ready = time.monotonic()
        after = self._schema()
        self.took[member.name] = f"ended in {ended - began:.1f} s, there again {ready - ended:.1f} s later"
        if after != before:
            self.took[member.name] += f", database {before} -> {after}"
        print(f"  {time.strftime('%H:%M:%S')} {member.name}: {self.took[member.name]}", flush=True)

    def _schema(self) -> str:
        with psycopg.connect(self._team.database) as connection:
            row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        return row[0] if row else ""


async def an_old_one_again(team: Cluster, old: Path) -> str:
    """What it says, and how it ends, when it is started on the new database."""
    team.source = old
    late = Member(team, "worker", "late")
    await late.start()
    assert late.process is not None
    working, ending = asyncio.create_task(works(late)), asyncio.create_task(late.process.wait())
    await asyncio.wait({working, ending}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
    if working.done() and working.exception() is None:
        does = "works"
    else:
        await asyncio.wait({ending}, timeout=PATIENCE)
        does = f"ends with {late.process.returncode}"
    working.cancel()
    await late.kill()
    await asyncio.gather(working, ending, return_exceptions=True)
    said = (late.home / "output").read_text().strip().splitlines()
    return ": ".join((does, *said[-1:]))


@contextlib.asynccontextmanager
async def _people(team: Cluster, folder: Path, count: int, sessions: int) -> AsyncGenerator[list[User], None]:
    balancer = Balancer(folder, [gateway.port for gateway in team.gateways], host="127.0.0.1")
    await balancer.start()
    try:
        users = [User(number, team, balancer) for number in range(count)]
        async with await team.gateways[0].client() as admin:
            for user in users:
                await user.become_a_person(admin)
        await asyncio.gather(*(user.begin(sessions) for user in users))
        yield users
    finally:
        await balancer.stop()


async def run(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    old = old_sources(folder / "old", options.of)
    new = new_sources(folder / "new", with_a_migration=options.migration)
    for sources in (old, new):
        subprocess.run((sys.executable, "-m", "compileall", "-q", str(sources)), check=True)
    print(f"schema {head_of(old)} -> {head_of(new)}", flush=True)
    settings = f'people.folder = "{folder / "people"}"'
    async with cluster(folder, SCRIPT, gateways=2, workers=2, settings=settings, source=old) as team:
        for member in team.members:
            await works(member)
        async with _people(team, folder, options.users, options.sessions) as users:
            end = asyncio.Event()
            speaking = [asyncio.create_task(_speak(user, end, options.pause)) for user in users]
            await asyncio.sleep(BETWEEN)
            upgrade = Upgrade(team)
            await upgrade.of_all(new)
            end.set()
            await asyncio.gather(*speaking)
            quiet_after = await quiet(team)
            spoken = [each for user in users for each in user.spoken]
            steps = [Fault(at, what, 5.0, None) for at, what in upgrade.done]
            verdict = judge(await what_was_said(users), spoken, steps)
            refused = sum((user.refused for user in users), Counter[str]())
            return {
                "schema": f"{head_of(old)} -> {head_of(new)}",
                **told(verdict),
                "given up": [each for user in users for each in user.given_up],
                "stuck": stuck(team),
                "quiet after": round(quiet_after, 1),
                "asked again": dict(refused.most_common(8)),
                **upgrade.took,
                "an old one again": await an_old_one_again(team, old),
            }


async def _speak(user: User, end: asyncio.Event, pause: float) -> None:
    """In short stretches, until the last process is exchanged."""
    while not end.is_set():
        await user.speak(time.monotonic() + BETWEEN, pause)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.upgrade")
    parser.add_argument("--from", dest="of", default="HEAD", help="the commit that is upgraded from")
    parser.add_argument("--migration", action="store_true", help="the new version has one migration more")
    parser.add_argument("--users", type=int, default=10)
    parser.add_argument("--sessions", type=int, default=2, help="for each user")
    parser.add_argument("--pause", type=float, default=1.75, help="seconds between two messages of a user, about")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="oau"))
    try:
        result = asyncio.run(run(folder, options))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for what, value in result.items():
        print(f"{what:20} {value}")
    return int(any(result[what] for what in ("lost", "doubled", "answered twice", "unanswered", "given up", "stuck")))


if __name__ == "__main__":
    sys.exit(main())
