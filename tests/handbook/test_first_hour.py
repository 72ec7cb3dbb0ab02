"""A newcomer's first hour: what the handbook has them type is typed, in its order, in a plain shell. No step fails.

Stand-ins speak for the servers: llama.cpp by its own HTTP API, a login server that insists on the registered redirect,
and the scripted provider. Of what is typed, only the servers' addresses are others.
"""

import asyncio
import os
import re
import shlex
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from devtools.simulator import Simulator

from ..models.browser import visit
from ..models.own_server import own_server
from ..models.test_own_servers import listed
from ..providers_oauth.authorization_server import AuthorizationServer
from .pages import ROOT, blocks, typed_and_shown

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(900)]

LLAMA_CPP = {
    "/v1/models": listed({"id": "qwen3-8b", "owned_by": "llamacpp", "meta": {"n_ctx_train": 40960}}),
    "/props": {"default_generation_settings": {"n_ctx": 9216}, "total_slots": 1},
}
ANSWER = {"steps": [{"text": "It adds up prices."}], "loop": True}
REPAIR = [
    {"tool_calls": [{"name": "read_file", "arguments": {"path": "till.py"}}]},
    {"tool_calls": [{"name": "edit_file", "arguments": {"path": "till.py", "old": " - 1", "new": ""}}]},
    {"text": "Repaired."},
]


class Newcomer:
    """A person with a shell and a browser, on a machine where nothing is set up."""

    def __init__(self, root: Path, elsewhere: dict[str, str], login: str, **env: str) -> None:
        self._here = root
        self._notes = root / "where-the-shell-is"
        self._elsewhere = elsewhere
        self._login = login
        self.told = ""
        """What the last line typed printed on the other stream."""
        program = root / "bin" / "openagent"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m openagent "$@"\n')
        program.chmod(0o755)
        self.env = {
            "HOME": str(root),
            "PATH": f"{program.parent}:{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(sys.path),
            "LANG": "C.UTF-8",
            **env,
        }

    async def types(self, line: str) -> str:
        """What is printed. Fails where the shell would show an error."""
        for shown, real in self._elsewhere.items():
            line = line.replace(shown, real)
        script = (
            f"cd {shlex.quote(str(self._here))}\n{line}\nended=$?; pwd > {shlex.quote(str(self._notes))}; exit $ended"
        )
        process = await asyncio.create_subprocess_exec(
            *("bash", "-o", "pipefail", "-c", script),
            env=self.env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        out, told = await asyncio.gather(process.stdout.read(), self._reads(process))
        assert await process.wait() == 0, f"{line}\n{out.decode()}{told}"
        assert "Traceback" not in told
        self.told = told
        self._here = Path(self._notes.read_text().strip())
        return out.decode()

    async def _reads(self, process: asyncio.subprocess.Process) -> str:
        """And opens the address of a login in the browser."""
        assert process.stderr is not None
        told = ""
        while line := (await process.stderr.readline()).decode():
            told += line
            if address := re.search(rf"{re.escape(self._login)}/authorize\S*", line):
                assert "You are logged in" in await visit(address[0])
        return told

    def file(self, name: str) -> str:
        return (self._here / name).read_text()


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


async def test_every_line_of_the_first_hour_works_as_it_is_typed(tmp_path: Path) -> None:
    lines = typed_and_shown((ROOT / "docs" / "first-hour.md").read_text())
    assert len(lines) > 25
    redirect = f"http://localhost:{free_port()}/done"
    async with AuthorizationServer(client_id="agents") as login, Simulator(ANSWER) as sim:
        login.redirects = {redirect}
        with own_server(sim, LLAMA_CPP) as port:
            elsewhere = {
                "http://127.0.0.1:8080": f"http://127.0.0.1:{port}",
                "https://login.example.com": login.url,
                "https://models.example.com": sim.base_url,
                "http://localhost:8976/done": redirect,
            }
            stand_ins = {"OPENAGENT_LOCAL_SERVERS": f"llamacpp:{port}", "ANTHROPIC_BASE_URL": sim.base_url}
            newcomer = Newcomer(tmp_path, elsewhere, login.url, **stand_ins)
            try:
                said = await typed_by(newcomer, lines, sim)
                await the_rest_of_the_handbook(newcomer)
            finally:
                await newcomer.types("openagent stop")
    assert "Everything required is here." in said["openagent doctor"]
    assert "desk/qwen3-8b" in said["openagent models list desk"]
    assert said['openagent run "What does this project do?"'] == "It adds up prices.\n"
    assert "-    return sum(prices) - 1\n+    return sum(prices)\n" in said["openagent diff"]
    assert "till.py" in said["openagent undo"]
    assert said['openagent run -m office/gpt-5 "Who are you?"'] == "It adds up prices.\n"


async def typed_by(
    newcomer: Newcomer, lines: list[tuple[str, list[re.Pattern[str]]]], sim: Simulator
) -> dict[str, str]:
    said: dict[str, str] = {}
    for line, shown in lines:
        if "Repair total()" in line:
            sim.reset({"steps": REPAIR})
        said[line] = await newcomer.types(line)
        missing = [each.pattern for each in shown if not each.search(said[line] + newcomer.told)]
        assert not missing, f"{line}\n{said[line]}{newcomer.told}"
        if "Repair total()" in line:
            sim.reset(ANSWER)
            assert newcomer.file("till.py") == "def total(prices):\n    return sum(prices)\n"
    assert newcomer.file("till.py") == "def total(prices):\n    return sum(prices) - 1\n", "undone"
    return said


async def the_rest_of_the_handbook(newcomer: Newcomer) -> None:
    """Prompts of the page on the command line, and the program in Python."""
    prompts, *_ = blocks((ROOT / "docs" / "cli.md").read_text(), "")
    for line in prompts.splitlines():
        await newcomer.types(line)
    program: Any = next(block for block in blocks((ROOT / "docs" / "programs.md").read_text(), "python"))
    answered = await newcomer.types(f"{shlex.quote(sys.executable)} -c {shlex.quote(program)}")
    assert "It adds up prices." in answered
    assert "\ndone, " in answered
