"""Programs that people use, on their way out of the jail: their own registries on loopback, under made-up names."""

import asyncio
import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from openagent.protocol import events as e
from openagent.protocol.messages import NotePart
from openagent.protocol.ops import TrustAdd
from openagent.protocol.safety import TrustEntry
from tests.jail.conftest import needs_bwrap

from .doing import answer, ask, asked, call, messages_of, results_of, shell
from .house import house, until
from .loopback import JAIL_NAMES, registries
from .test_egress import begin, ended, questions

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
    beside = Path(sys.executable).parent / program
    found = str(beside) if beside.exists() else shutil.which(program)
    if found is None:
        pytest.skip(f"there is no {program} on this machine")
    return found


@pytest.mark.parametrize("program", PROGRAMS)
async def test_a_program_waits_for_the_answer_and_goes_on_or_is_told_no(tmp_path: Path, program: str):
    needed("python3" if program == "pip" else program)
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


async def test_a_server_started_by_npx_waits_for_its_package_and_then_serves(tmp_path: Path):
    needed("npx")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    async with registries(workspace) as (served, pem):
        options = ["-y", f"--registry=https://npm.test:{served.port}", f"--cafile={pem}"]
        servers = {"demo": {"command": "npx", "args": [*options, "demo"]}}
        (tmp_path / "home").mkdir()
        (tmp_path / "home" / "mcpServers.json").write_text(json.dumps({"mcpServers": servers}))
        script = [call("greet"), {"text": "done"}]
        async with house(tmp_path, script, config=JAIL_NAMES) as h, await h.client(interactive=True) as client:
            session, attachment = await begin(h, client)
            question = await asked(attachment)
            assert (question.ask.tool, question.ask.summary) == ("network", f"npm.test:{served.port}")
            assert question.ask.reason == f"The MCP server demo wants to connect to npm.test:{served.port}."
            assert served.requests == []
            await answer(client, question, decision="allow", scope="session")
            await until(attachment, lambda event: isinstance(event, e.McpServerStatus) and event.status == "up")
            await ended(attachment)
            [result] = await results_of(client, session)
            assert result.text == "hello from a server"


async def test_a_projects_hook_run_by_uv_waits_for_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", f"{Path(needed('uv')).parent}:{os.environ['PATH']}")
    workspace = tmp_path / "workspace"
    (workspace / ".openagent").mkdir(parents=True)
    async with registries(workspace) as (served, pem):
        command = (
            f"SSL_CERT_FILE={pem} uv run -q --no-project --with demo "
            f"--index-url https://pypi.test:{served.port}/simple python -c 'import demo; print(demo.GREETING)'"
        )
        group = {"matcher": "", "hooks": [{"type": "command", "command": command, "timeout": 20}]}
        (workspace / ".openagent" / "hooks.json").write_text(json.dumps({"hooks": {"UserPromptSubmit": [group]}}))
        script = [{"text": "done"}]
        async with house(tmp_path, script, config=JAIL_NAMES) as h, await h.client(interactive=True) as client:
            await ask(client, TrustAdd, TrustEntry, cwd=str(h.workspace))
            session, attachment = await begin(h, client)
            question = await asked(attachment)
            assert question.ask.summary == f"pypi.test:{served.port}"
            assert question.ask.reason.startswith("The hook `SSL_CERT_FILE=")
            await answer(client, question, decision="allow", scope="session")
            seen = await ended(attachment)
            assert [(event.outcome, event.detail) for event in seen if isinstance(event, e.HookRan)] == [("done", "")]
            parts = [part for message in await messages_of(client, session) for part in message.parts]
            assert [part.text for part in parts if isinstance(part, NotePart)] == ["hello from a package"]


async def test_ssh_which_knows_no_proxy_asks_for_its_host_all_the_same(tmp_path: Path):
    needed("ssh")
    greetings: list[bytes] = []

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-demo\r\n")
        greetings.append(await reader.readline())
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
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
