"""Leaving the jail for what is no host: folders outside, ports of the machine, the container engine, credentials."""

import asyncio
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from openagent.client import Attachment, Client
from openagent.protocol import events as e
from tests.jail.conftest import needs_bwrap

from ..servers import patient
from .doing import answer, asked, call, results_of, shell
from .house import house, until
from .loopback import web_server
from .test_egress import begin, ended, questions
from .test_modes import below_home

pytestmark = [pytest.mark.anyio, needs_bwrap]


@pytest.fixture
def outside() -> Iterator[Path]:
    """Not below /tmp, which a jail has of its own, and where this checkout may be."""
    with below_home() as folder:
        (folder / "notes").write_text("kept outside\n")
        yield folder.resolve()


async def test_a_folder_that_a_command_names_is_opened_after_the_answer(tmp_path: Path, outside: Path):
    script = [
        shell("cd /usr/share"),
        shell(f"cat {outside}/notes && pwd"),
        shell(f"head -1 {outside}/notes"),
        {"text": "done"},
    ]
    async with house(tmp_path, script) as h, await h.client(interactive=True) as client:
        session, attachment = await begin(h, client, mode="ask")
        question = await asked(attachment)
        assert (question.ask.tool, question.ask.summary) == ("folder", str(outside))
        assert question.ask.call_id
        await answer(client, question, decision="allow", scope="session")
        assert questions(await ended(attachment)) == []
        _, read, again = await results_of(client, session)
        assert read.text.startswith("kept outside\n/usr/share\n")
        assert "this is a new shell in /usr/share" in read.text
        assert again.text == "kept outside"


async def test_a_folder_that_is_not_opened_is_not_there_and_the_model_hears_why(tmp_path: Path, outside: Path):
    script = [shell(f"cat {outside}/notes"), {"text": "done"}]
    async with house(tmp_path, script) as h, await h.client(interactive=True) as client:
        session, attachment = await begin(h, client, mode="ask")
        await answer(client, await asked(attachment), decision="deny", reason="not mine")
        await ended(attachment)
        [result] = await results_of(client, session)
        assert "No such file or directory" in result.text
        assert f"{outside} is outside the jail and was not opened to it, because not mine" in result.text


async def test_what_a_model_asks_for_holds_for_that_command_alone(tmp_path: Path, outside: Path):
    wish = {"leave": [f"rw:{outside}"], "justification": "The results belong there."}
    script = [
        call("shell", command=f"echo made > {outside}/made", **wish),
        shell(f"echo more > {outside}/more"),
        {"text": "done"},
    ]
    async with house(tmp_path, script) as h, await h.client(interactive=True) as client:
        session, attachment = await begin(h, client)
        question = await asked(attachment)
        assert (question.ask.tool, question.ask.summary) == ("folder_write", str(outside))
        assert question.ask.reason == "The model asks to leave the jail for it: The results belong there."
        await answer(client, question, decision="allow", scope="once")
        await ended(attachment)
        first, second = await results_of(client, session)
        assert (outside / "made").read_text() == "made\n", first.text
        assert second.is_error
        assert not (outside / "more").exists()


async def test_a_refused_wish_keeps_its_command_from_running(tmp_path: Path, outside: Path):
    script = [
        call("shell", command="touch ran", leave=[str(outside)]),
        call("shell", command="touch ran", leave=["/"]),
        call("shell", command="touch ran", leave=["what?"]),
        {"text": "done"},
    ]
    async with house(tmp_path, script) as h, await h.client(interactive=True) as client:
        session, attachment = await begin(h, client)
        await answer(client, await asked(attachment), decision="deny", reason="stay inside")
        assert questions(await ended(attachment)) == []
        refused, never, nothing = await results_of(client, session)
        assert refused.text == f"Denied: {outside}: stay inside"
        assert "/ holds a home directory or system files" in never.text
        assert "'what?' is no host" in nothing.text
        assert not (h.workspace / "ran").exists()


async def test_a_port_of_this_machine_becomes_the_jails_own(tmp_path: Path):
    async with web_server() as near:
        ask = f"exec 3<>/dev/tcp/127.0.0.1/{near.port} && printf 'GET / HTTP/1.1\\r\\n\\r\\n' >&3 && cat <&3"
        script = [
            shell("true"),
            call("shell", command=ask, leave=[f"localhost:{near.port}"]),
            shell(ask),
            {"text": "."},
        ]
        async with house(tmp_path, script) as h, await h.client(interactive=True) as client:
            session, attachment = await begin(h, client)
            question = await asked(attachment)
            assert question.ask.summary == f"localhost:{near.port}"
            await answer(client, question, decision="allow", scope="once")
            await ended(attachment)
            _, reached, closed = await results_of(client, session)
            assert "hello from outside" in reached.text, reached.text
            assert re.search("Connection (refused|reset)", closed.text), closed.text


@pytest.mark.skipif(shutil.which("ssh-agent") is None, reason="there is no ssh on this machine")
async def test_the_container_engine_and_credentials_are_opened_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    person = tmp_path / "person"
    person.mkdir()
    (person / ".netrc").write_text("machine far.test login me password x\n")
    monkeypatch.setenv("HOME", str(person))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/engine.sock")
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(tmp_path / "agent.sock")], stdout=subprocess.DEVNULL)
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent.sock"))

    async def engine(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nengine")
        writer.close()

    server = await asyncio.start_unix_server(patient(engine), tmp_path / "engine.sock")
    script = [
        call("shell", command="curl -sS --unix-socket ${DOCKER_HOST#unix://} http://engine/", leave=["docker"]),
        call("shell", command="cat ~/.netrc; echo x > ~/.netrc", leave=["netrc"]),
        call("shell", command="ssh-add -l", leave=["ssh-agent"]),
        {"text": "done"},
    ]
    try:
        async with house(tmp_path, script) as h, await h.client(interactive=True) as client:
            session, attachment = await begin(h, client)
            for tool, subject in (("engine", "container engine"), ("credential", "netrc"), ("credential", "ssh-agent")):
                question = await asked(attachment)
                assert (question.ask.tool, question.ask.summary, question.ask.risk) == (tool, subject, "high")
                await answer(client, question, decision="allow", scope="once")
            await ended(attachment)
            containers, netrc, keys = await results_of(client, session)
            assert containers.text.startswith("engine"), containers.text
            assert "login me" in netrc.text
            assert "Read-only file system" in netrc.text
            assert "The agent has no identities" in keys.text
    finally:
        agent.terminate()
        agent.wait()
        server.close()
        await server.wait_closed()


async def test_a_model_can_propose_what_it_would_like_to_be_granted(tmp_path: Path):
    words = ["make", "deploy", "staging"]
    script = [
        call("shell", command="make deploy staging now", prefix_rule=words, justification="To see it live."),
        call("shell", command="make deploy staging later"),
        {"text": "done"},
    ]
    async with house(tmp_path, script) as h, await h.client(interactive=True) as client:
        _, attachment = await begin(h, client, mode="ask")
        question = await asked(attachment)
        [proposed] = [choice for choice in question.ask.choices if choice.id == "session:prefix"]
        assert proposed.covers.startswith("`make deploy staging` with any arguments, unless they change what it does")
        await answer(client, question, decision="allow", scope="session", choice=proposed.id)
        assert questions(await ended(attachment)) == []


async def test_who_allows_a_command_opens_the_folder_that_it_writes_to(tmp_path: Path, outside: Path):
    script = [
        shell(f"echo made > {outside}/made"),
        shell(f'python3 -c \'open("{outside}/more", "w")\''),
        {"text": "done"},
    ]
    async with house(tmp_path, script) as h, await h.client(interactive=True) as client:
        session, attachment = await begin(h, client, mode="auto")
        question = await asked(attachment)
        assert (question.ask.tool, question.ask.rule) == ("shell", "builtin:writes-outside")
        await answer(client, question, decision="allow")
        await _allowing_reads(client, attachment)
        written, _ = await results_of(client, session)
        assert not written.is_error, written.text
        assert (outside / "made").read_text() == "made\n"
        assert not (outside / "more").exists()


async def _allowing_reads(client: Client, attachment: Attachment) -> None:
    """A folder that is named may be looked into."""
    while not isinstance((seen := (await until(attachment, _asks_or_ends))[-1]), e.TurnCompleted):
        assert isinstance(seen, e.PermissionRequested)
        assert seen.ask.tool == "folder"
        await answer(client, seen, decision="allow")


def _asks_or_ends(event: e.Event) -> bool:
    return isinstance(event, e.PermissionRequested | e.TurnCompleted)


async def test_who_allows_a_containers_command_opens_the_engine_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async def engine(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nengine")
        writer.close()

    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/engine.sock")
    server = await asyncio.start_unix_server(patient(engine), tmp_path / "engine.sock")
    look = "curl -sS --unix-socket ${DOCKER_HOST#unix://} http://engine/"
    script = [shell(f"docker rm no-such-container; {look}"), shell(look), {"text": "done"}]
    async with house(tmp_path, script) as h, await h.client(interactive=True) as client:
        session, attachment = await begin(h, client, mode="auto")
        question = await asked(attachment)
        assert (question.ask.tool, question.ask.rule) == ("shell", "builtin:containers")
        await answer(client, question, decision="allow")
        assert questions(await ended(attachment)) == []
        opened, closed = await results_of(client, session)
        assert opened.text.splitlines()[-2 if "[openagent" in opened.text else -1].endswith("engine"), opened.text
        assert closed.is_error
    server.close()
    await server.wait_closed()
