"""Programs that people use, on their way out of the jail: their own registries on loopback, under made-up names."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from openagent.client import Client
from openagent.protocol import events as e
from openagent.protocol.messages import NotePart, ToolResultPart
from openagent.protocol.safety import TrustAdd
from tests.jail.conftest import needs_bwrap

from ..servers import patient
from .doing import answer, ask, asked, call, messages_of, results_of, shell
from .house import PATIENCE, House, house, new_session
from .loopback import JAIL_NAMES, Served, registries
from .test_egress import begin, ended, questions, resolved, waiting

pytestmark = [pytest.mark.anyio, needs_bwrap, pytest.mark.timeout(120)]

PROGRAMS = {
    "curl": ("far.test", "curl -sS --cacert {pem} https://far.test:{port}/x", "hello from outside"),
    "pip": (
        "pypi.test",
        "python3 -m pip install -q --disable-pip-version-check --retries 0 --target lib --cert {pem} "
        "--index-url https://pypi.test:{port}/simple demo; cat lib/demo.py",
        "hello from a package",
    ),
    "npm": (
        "npm.test",
        "npm install --silent --no-audit --no-fund --fetch-retries=0 --cafile={pem} "
        "--registry=https://npm.test:{port} demo && cat node_modules/demo/package.json",
        '"name": "demo"',
    ),
    "git": (
        "git.test",
        "GIT_SSL_CAINFO={pem} git clone -q https://git.test:{port}/demo.git && cat demo/greeting",
        "hello from a repository",
    ),
}


def needed(program: str) -> str:
    """As the jail finds it."""
    if program == "pip":
        if subprocess.run(("python3", "-m", "pip", "--version"), capture_output=True, check=False).returncode:
            pytest.skip("this machine's own Python has no pip")
        return "python3"
    beside = Path(sys.executable).parent / program
    found = str(beside) if beside.exists() else shutil.which(program)
    if found is None:
        pytest.skip(f"there is no {program} on this machine")
    return found


@pytest.mark.parametrize("program", PROGRAMS)
async def test_a_program_waits_for_the_answer_and_goes_on_or_is_told_no(tmp_path: Path, program: str):
    needed(program)
    host, command, greeting = PROGRAMS[program]
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    async with registries(workspace) as (served, pem):
        command = command.format(pem=pem, port=served.port)
        script = [shell(command), shell(command), {"text": "done"}]
        async with house(tmp_path, script, config=JAIL_NAMES) as h, await h.client(interactive=True) as client:
            session, attachment = await begin(h, client)
            refused = await asked(attachment)
            assert refused.ask.summary == f"{host}:{served.port}"
            await answer(client, refused, decision="deny", reason="not now")
            allowed = await asked(attachment)  # of the second command: a refusal is asked about once for each
            assert served.requests == []
            await answer(client, allowed, decision="allow", scope="session")
            assert questions(await ended(attachment)) == []
            no, yes = await results_of(client, session)
            assert no.is_error
            assert f"{host}:{served.port} was not reached, because not now" in no.text
            assert greeting in yes.text, yes.text
            assert not yes.is_error


COMMANDS = tuple(PROGRAMS)
"""Those a model runs, one after another in one turn where what is said of each is the same."""


@asynccontextmanager
async def out_of_the_house(
    tmp_path: Path, steps: Callable[[int, Path], list[dict[str, Any]]], *, config: str = ""
) -> AsyncGenerator[tuple[House, Served]]:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    async with registries(workspace) as (served, pem):
        script = [*steps(served.port, pem), {"text": "done"}]
        async with house(tmp_path, script, config=f"{JAIL_NAMES}{config}") as h:
            yield h, served


def one_by_one(port: int, pem: Path) -> list[dict[str, Any]]:
    for program in COMMANDS:
        needed(program)
    return [shell(command.format(pem=pem, port=port)) for _, command, _ in PROGRAMS.values()]


async def test_programs_that_nobody_answers_in_time_are_told_no(tmp_path: Path):
    async with (
        out_of_the_house(tmp_path, one_by_one, config="[limits]\nask_timeout = 0.3\n") as (h, served),
        await h.client(interactive=True) as client,
    ):
        session, attachment = await begin(h, client)
        seen = await ended(attachment)
        hosts = [f"{host}:{served.port}" for host, _, _ in PROGRAMS.values()]
        assert questions(seen) == hosts
        assert [event.by for event in seen if isinstance(event, e.PermissionResolved)] == ["timeout"] * len(hosts)
        for host, result in zip(hosts, await results_of(client, session), strict=True):
            assert result.is_error
            assert f"{host} was not reached, because nobody answered in time" in result.text
        assert served.requests == []


async def test_programs_side_by_side_wait_each_for_its_own_answer(tmp_path: Path):
    def steps(port: int, pem: Path) -> list[dict[str, Any]]:
        runs = [step["tool_calls"][0]["arguments"]["command"] for step in one_by_one(port, pem)]
        return [shell(f"({first}) & ({second}) & wait") for first, second in (runs[1:3], (runs[0], runs[3]))]

    async with out_of_the_house(tmp_path, steps) as (h, served), await h.client(interactive=True) as client:
        session, attachment = await begin(h, client)
        for pair in (COMMANDS[1:3], (COMMANDS[0], COMMANDS[3])):
            hosts = [f"{PROGRAMS[program][0]}:{served.port}" for program in pair]
            both = {question.ask.summary: question for question in (await asked(attachment), await asked(attachment))}
            assert sorted(both) == sorted(hosts)
            requests = len(served.requests)
            await answer(client, both[hosts[0]], decision="deny", reason="not now")
            assert len(served.requests) == requests
            await answer(client, both[hosts[1]], decision="allow", scope="session")
        assert questions(await ended(attachment)) == []
        for (no, yes), result in zip(((1, 2), (0, 3)), await results_of(client, session), strict=True):
            refused, allowed = (PROGRAMS[COMMANDS[index]] for index in (no, yes))
            assert f"{refused[0]}:{served.port} was not reached, because not now" in result.text
            assert refused[2] not in result.text
            assert allowed[2] in result.text


async def test_two_runs_of_one_program_are_one_question(tmp_path: Path):
    def steps(port: int, pem: Path) -> list[dict[str, Any]]:
        needed("npm")
        run = PROGRAMS["npm"][1].format(pem=pem, port=port)
        return [shell(f"mkdir a b; (cd a && {run}) & (cd b && {run}) & wait")]

    async with out_of_the_house(tmp_path, steps) as (h, _), await h.client(interactive=True) as client:
        session, attachment = await begin(h, client)
        await answer(client, await asked(attachment), decision="allow", scope="once")
        assert questions(await ended(attachment)) == []
        [result] = await results_of(client, session)
        assert result.text.count(PROGRAMS["npm"][2]) == 2


async def test_programs_go_on_when_whoever_was_asked_is_gone_and_another_answers(tmp_path: Path):
    async with out_of_the_house(tmp_path, one_by_one) as (h, _):
        async with await h.client(interactive=True) as client:
            session, attachment = await begin(h, client)
            question = await asked(attachment)
        for _ in COMMANDS[1:]:
            async with await h.client(interactive=True) as client:
                attachment = await client.attach(session)
                assert waiting(attachment) == [question.ask.id]
                await answer(client, question, decision="allow")
                question = await asked(attachment)
        async with await h.client(interactive=True) as client:
            attachment = await client.attach(session)
            await answer(client, question, decision="allow")
            assert questions(await ended(attachment)) == []
            results = await results_of(client, session)
        for (_, _, greeting), result in zip(PROGRAMS.values(), results, strict=True):
            assert greeting in result.text


async def test_programs_that_are_stopped_take_their_questions_with_them(tmp_path: Path):
    async with out_of_the_house(tmp_path, one_by_one) as (h, served), await h.client(interactive=True) as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        for host, _, _ in PROGRAMS.values():
            await client.send(session, "go")
            question = await asked(attachment)
            assert question.ask.summary == f"{host}:{served.port}"
            async with asyncio.timeout(PATIENCE):
                await client.cancel(session)
            taken_back = await resolved(attachment)
            assert (taken_back.ask_id, taken_back.by) == (question.ask.id, "withdrawn")
        assert waiting(await client.attach(session)) == []
        assert served.requests == []


class Beside(NamedTuple):
    """A program beside the session's shell, which a turn waits for."""

    host: str
    asks: str
    lay: Callable[[Path, int, Path], list[dict[str, Any]]]
    """Writes what makes the daemon start it; returns what the model does with it."""
    greeting: str


def npx_server(tmp_path: Path, port: int, pem: Path) -> list[dict[str, Any]]:
    needed("npx")
    return npx_servers(tmp_path, port, pem, demo="npm.test")


def npx_servers(tmp_path: Path, port: int, pem: Path, **hosts: str) -> list[dict[str, Any]]:
    options = ["-y", "--fetch-retries=0", f"--cafile={pem}"]
    servers = {
        name: {"command": "npx", "args": [*options, f"--registry=https://{host}:{port}", "demo"]}
        for name, host in hosts.items()
    }
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "mcpServers.json").write_text(json.dumps({"mcpServers": servers}))
    return [call("greet")]


def uv_hook(tmp_path: Path, port: int, pem: Path) -> list[dict[str, Any]]:
    return uv_hooks(tmp_path, port, pem, "pypi.test")


def uv_hooks(tmp_path: Path, port: int, pem: Path, *hosts: str) -> list[dict[str, Any]]:
    needed("uv")
    commands = [
        f"UV_HTTP_RETRIES=0 SSL_CERT_FILE={pem} uv run -q --no-project --with demo "
        f"--index-url https://{host}:{port}/simple python -c 'import demo; print(demo.GREETING)' # {number}"
        for number, host in enumerate(hosts)  # the same command twice would be run once
    ]
    hooks = [{"type": "command", "command": command, "timeout": 20} for command in commands]
    group = {"matcher": "", "hooks": hooks}
    folder = tmp_path / "workspace" / ".openagent"
    folder.mkdir()
    (folder / "hooks.json").write_text(json.dumps({"hooks": {"UserPromptSubmit": [group]}}))
    return []


BESIDE = {
    "npx": Beside("npm.test", "The MCP server demo wants to connect", npx_server, "hello from a server"),
    "uv": Beside("pypi.test", "The hook `UV_HTTP_RETRIES=0 SSL_CERT_FILE=", uv_hook, "hello from a package"),
}


@asynccontextmanager
async def started(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    program: str,
    *,
    config: str = "",
    lay: Callable[[Path, int, Path], list[dict[str, Any]]] | None = None,
) -> AsyncGenerator[tuple[House, Served, Client]]:
    if program == "uv":
        monkeypatch.setenv("PATH", f"{Path(needed('uv')).parent}:{os.environ['PATH']}")

    def steps(port: int, pem: Path) -> list[dict[str, Any]]:
        return (lay or BESIDE[program].lay)(tmp_path, port, pem)

    async with (
        out_of_the_house(tmp_path, steps, config=config) as (h, served),
        await h.client(interactive=True) as client,
    ):
        await ask(client, TrustAdd, cwd=str(h.workspace))
        yield h, served, client


async def greetings(client: Client, session: str) -> list[str]:
    """What came of those that got through."""
    parts = [part for message in await messages_of(client, session) for part in message.parts]
    return [part.text for part in parts if isinstance(part, NotePart | ToolResultPart)]


def complaints(seen: list[e.Event]) -> list[str]:
    """What a person is told of those that did not."""
    servers = [event.detail for event in seen if isinstance(event, e.McpServerStatus) and event.status == "failed"]
    return servers + [event.detail for event in seen if isinstance(event, e.HookRan) and event.outcome != "done"]


@pytest.mark.parametrize("program", BESIDE)
async def test_a_server_and_a_hook_wait_for_their_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
):
    host, asks, _, greeting = BESIDE[program]
    async with started(tmp_path, monkeypatch, program) as (h, served, client):
        session, attachment = await begin(h, client)
        question = await asked(attachment)
        assert (question.ask.tool, question.ask.summary) == ("network", f"{host}:{served.port}")
        assert question.ask.reason.startswith(asks)
        assert served.requests == []
        await answer(client, question, decision="allow", scope="session")
        seen = await ended(attachment)
        assert questions(seen) == []
        assert complaints(seen) == []
        assert await greetings(client, session) == [greeting]


@pytest.mark.parametrize("program", BESIDE)
async def test_a_server_and_a_hook_that_are_refused_say_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
):
    host = BESIDE[program].host
    async with started(tmp_path, monkeypatch, program) as (h, served, client):
        session, attachment = await begin(h, client)
        await answer(client, await asked(attachment), decision="deny", reason="not now")
        seen = await ended(attachment)
        assert questions(seen) == []
        [complaint] = complaints(seen)
        assert f"did not let this connection to {host}:{served.port} out of the jail: not now." in complaint
        assert BESIDE[program].greeting not in await greetings(client, session)
        assert served.requests == []


@pytest.mark.parametrize("program", BESIDE)
async def test_a_server_and_a_hook_that_nobody_answers_in_time_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
):
    limit = "[limits]\nask_timeout = 0.3\n"
    async with started(tmp_path, monkeypatch, program, config=limit) as (h, served, client):
        _, attachment = await begin(h, client)
        seen = await ended(attachment)
        assert [event.by for event in seen if isinstance(event, e.PermissionResolved)] == ["timeout"]
        [complaint] = complaints(seen)
        assert "out of the jail: nobody answered in time." in complaint
        assert served.requests == []


async def test_two_servers_at_once_wait_each_for_its_own_answer(tmp_path: Path):
    needed("npx")
    hosts = {"ours": "npm.test", "theirs": "other.test"}

    def steps(port: int, pem: Path) -> list[dict[str, Any]]:
        return npx_servers(tmp_path, port, pem, **hosts)

    async with out_of_the_house(tmp_path, steps) as (h, served), await h.client(interactive=True) as client:
        session, attachment = await begin(h, client)
        both = {question.ask.summary: question for question in (await asked(attachment), await asked(attachment))}
        assert served.requests == []
        await answer(client, both[f"other.test:{served.port}"], decision="deny", reason="not now")
        await answer(client, both[f"npm.test:{served.port}"], decision="allow", scope="session")
        [complaint] = complaints(await ended(attachment))
        assert f"other.test:{served.port} out of the jail: not now." in complaint
        assert await greetings(client, session) == [BESIDE["npx"].greeting]


async def test_two_hooks_at_once_wait_each_for_its_own_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def lay(place: Path, port: int, pem: Path) -> list[dict[str, Any]]:
        return uv_hooks(place, port, pem, "pypi.test", "other.test")

    async with started(tmp_path, monkeypatch, "uv", lay=lay) as (h, served, client):
        _, attachment = await begin(h, client)
        both = {question.ask.summary: question for question in (await asked(attachment), await asked(attachment))}
        assert sorted(both) == [f"other.test:{served.port}", f"pypi.test:{served.port}"]
        assert served.requests == []
        await answer(client, both[f"other.test:{served.port}"], decision="deny", reason="not now")
        await answer(client, both[f"pypi.test:{served.port}"], decision="allow", scope="session")
        seen = await ended(attachment)
        assert questions(seen) == []
        [complaint] = complaints(seen)
        assert f"other.test:{served.port} out of the jail: not now." in complaint
        [done] = [event.command for event in seen if isinstance(event, e.HookRan) and event.outcome == "done"]
        assert f"https://pypi.test:{served.port}/" in done
        assert any(request.split()[1].endswith(".whl") for request in served.requests)


async def test_two_hooks_of_one_host_are_one_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def lay(place: Path, port: int, pem: Path) -> list[dict[str, Any]]:
        return uv_hooks(place, port, pem, "pypi.test", "pypi.test")

    async with started(tmp_path, monkeypatch, "uv", lay=lay) as (h, served, client):
        session, attachment = await begin(h, client)
        question = await asked(attachment)
        assert question.ask.summary == f"pypi.test:{served.port}"
        await answer(client, question, decision="allow", scope="session")
        seen = await ended(attachment)
        assert questions(seen) == []
        assert complaints(seen) == []
        assert "\n".join(await greetings(client, session)).split("\n") == [BESIDE["uv"].greeting] * 2


@pytest.mark.parametrize("program", BESIDE)
async def test_a_server_and_a_hook_go_on_when_whoever_was_asked_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
):
    async with started(tmp_path, monkeypatch, program) as (h, served, client):
        await client.close()
        async with await h.client(interactive=True) as first:
            session, attachment = await begin(h, first)
            question = await asked(attachment)
        assert served.requests == []
        async with await h.client(interactive=True) as second:
            attachment = await second.attach(session)
            assert waiting(attachment) == [question.ask.id]
            await answer(second, question, decision="allow")
            await ended(attachment)
            assert await greetings(second, session) == [BESIDE[program].greeting]


async def test_a_hook_that_is_stopped_takes_its_question_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async with started(tmp_path, monkeypatch, "uv") as (h, served, client):
        session, attachment = await begin(h, client)
        await asked(attachment)
        async with asyncio.timeout(PATIENCE):
            await client.cancel(session)
        assert (await resolved(attachment)).by == "withdrawn"
        assert waiting(await client.attach(session)) == []
        assert served.requests == []


async def test_ssh_which_knows_no_proxy_asks_for_its_host_all_the_same(tmp_path: Path):
    needed("ssh")
    greetings: list[bytes] = []

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-demo\r\n")
        greetings.append(await reader.readline())
        writer.close()

    server = await asyncio.start_server(patient(greet), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    command = f"GIT_SSH_COMMAND='ssh -p {port}' git clone git@git.test:demo.git"
    script = [shell(command), shell(command), {"text": "done"}]
    async with house(tmp_path, script, config=JAIL_NAMES) as h, await h.client(interactive=True) as client:
        session, attachment = await begin(h, client)
        question = await asked(attachment)
        assert question.ask.summary == f"git.test:{port}"
        await answer(client, question, decision="deny", reason="not now")
        await answer(client, await asked(attachment), decision="allow")
        await ended(attachment)
        refused, _ = await results_of(client, session)
        assert f"OpenAgent did not let this connection to git.test:{port} out of the jail: not now." in refused.text
        assert [greeting[:8] for greeting in greetings] == [b"SSH-2.0-"]
    server.close()
    await server.wait_closed()
