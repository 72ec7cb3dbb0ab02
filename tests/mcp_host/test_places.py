"""Where people have their servers installed, and what of the machine a server finds in the jail."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from openagent.protocol.mcp import McpAdd, McpCatalog, McpTest
from openagent.protocol.safety import TrustAdd
from tests.jail.conftest import needs_bwrap

from ..interaction.doing import ask, call, one_turn, results_of
from ..interaction.house import house
from .bench import SCRIPTED, plant

pytestmark = [pytest.mark.anyio, needs_bwrap]

PROGRAM = "#!/usr/bin/env python3\nimport sys; sys.path.insert(0, {beside!r})\nimport scripted; scripted.main()\n"


def install(package: Path, place: str = "dist/index") -> Path:
    """A program that needs something of its package which is not in its own folder."""
    program = package / place
    program.parent.mkdir(parents=True)
    program.write_text(PROGRAM.format(beside=str(package)))
    program.chmod(0o755)
    shutil.copy(SCRIPTED, package / "scripted.py")
    (package / "package.json").write_text("{}")
    return program


def linked(program: Path, folder: Path, name: str) -> Path:
    folder.mkdir(parents=True)
    (folder / name).symlink_to(program)
    return folder / name


async def test_servers_are_found_where_people_install_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    person, workspace = tmp_path / "person", tmp_path / "workspace"
    monkeypatch.setenv("HOME", str(person))
    # npm install -g --prefix ~/.local
    linked(install(person / ".local/lib/node_modules/far"), person / ".local/bin", "far-mcp")
    # npm install, in the project
    linked(install(workspace / "node_modules/near"), workspace / "node_modules/.bin", "near-mcp")
    script = install(person / "code/weather", "build/index.py")
    plant(
        tmp_path,
        prefixed={"command": "far-mcp"},
        local={"command": "near-mcp"},
        whole={"command": str(person / ".local/bin/far-mcp")},
        script={"command": "python3", "args": [str(script)]},
        here={"command": "python3", "args": ["${workspaceFolder}/scripted_server.py"], "cwd": "node_modules"},
    )
    async with house(tmp_path, []) as h, await h.client() as client:
        tested = (await ask(client, McpTest, cwd=str(h.workspace))).servers
        assert {each.name: (each.status, each.detail) for each in tested} == dict.fromkeys(
            ("prefixed", "local", "whole", "script", "here"), ("up", "")
        )


async def test_folders_are_let_in_by_the_persons_own_entry_and_the_error_says_what_is_hidden(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "list.txt").write_text("milk")
    read = {"command": "bash", "args": ["-c", f"cat {notes}/list.txt >&2 && exec python3 scripted_server.py"]}
    write = {"command": "bash", "args": ["-c", f"touch {notes}/new && exec python3 scripted_server.py"]}
    plant(
        tmp_path,
        blind=read,
        reader={**read, "folders": [str(notes)]},
        scribe={**write, "folders": [str(notes)]},
        writer={**write, "folders": [f"{notes}:rw"], "tools": ["echo", "pid"], "without_tools": ["pid"]},
        greedy={**read, "folders": [str(Path.home())]},
        missing={"command": "no-such-program"},
    )
    async with house(tmp_path, [call("writer__echo", text="hi"), {"text": "ok"}]) as h, await h.client() as client:
        (h.workspace / ".mcp.json").write_text(
            f'{{"mcpServers": {{"theirs": {{"command": "cat", "args": ["x"], "folders": ["{notes}"]}}}}}}'
        )
        await ask(client, TrustAdd, cwd=str(h.workspace))
        found = {each.name: each for each in (await ask(client, McpTest, cwd=str(h.workspace))).servers}
        assert f'{notes}/list.txt is on this machine, but the jail hides it. `"folders"' in found["blind"].detail
        assert f"`openagent mcp allow blind {notes}`" in found["blind"].detail
        assert (found["reader"].status, found["reader"].detail) == ("up", "")
        assert f"`openagent mcp allow scribe {notes} --write`" in found["scribe"].detail
        assert (found["writer"].status, found["writer"].tools) == ("up", ["echo"])
        assert (notes / "new").exists()
        assert "cannot be let in: " in found["greedy"].detail
        assert "There is no program 'no-such-program'" in found["missing"].detail
        assert f"A project's file cannot let {notes} in" in found["theirs"].detail
        session, completed, _ = await one_turn(h, client)
        assert completed.reason == "done"
        assert (await results_of(client, session))[0].text == "hi"


async def test_programs_and_folders_below_var_tmp_are_found_too(tmp_path: Path) -> None:
    with TemporaryDirectory(dir="/var/tmp", prefix="openagent-test-") as room:
        script, notes = install(Path(room, "package"), "build/index.py"), Path(room, "notes")
        notes.mkdir()
        (notes / "list.txt").write_text("milk")
        read = ["-c", f"open('{notes}/list.txt'); exec(open('scripted_server.py').read())"]
        plant(
            tmp_path,
            program={"command": "python3", "args": [str(script)]},
            folder={"command": "python3", "args": read, "folders": [str(notes)]},
        )
        async with house(tmp_path, []) as h, await h.client() as client:
            tested = (await ask(client, McpTest, cwd=str(h.workspace))).servers
            assert {each.name: (each.status, each.detail) for each in tested} == {
                "program": ("up", ""),
                "folder": ("up", ""),
            }


RELATIVE = """#!/usr/bin/env python3
import os, sys
os.chdir(os.path.dirname(os.path.realpath(__file__)))
open(os.environ["MEMORY_FILE_PATH"], "w").write("kept")
sys.path.insert(0, os.path.dirname(os.getcwd()))
import scripted; scripted.main()
"""


async def test_the_catalogues_memory_is_kept_in_the_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real one takes a relative path for one in its own folder, too."""
    person = tmp_path / "person"
    monkeypatch.setenv("HOME", str(person))
    program = install(person / ".local/lib/node_modules/memory")
    program.write_text(RELATIVE)
    linked(program, person / ".local/bin", "mcp-server-memory")
    async with house(tmp_path, []) as h, await h.client() as client:
        (known,) = (await ask(client, McpCatalog, name="memory")).entries
        await ask(client, McpAdd, name="memory", server=known.server)
        (server,) = (await ask(client, McpTest, cwd=str(h.workspace))).servers
        assert (server.status, server.detail) == ("up", "")
        assert (h.workspace / ".openagent-memory.jsonl").read_text() == "kept"
