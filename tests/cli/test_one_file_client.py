"""The client as one file: what it offers works, or says in a sentence where it does.

`make dist` runs these with the file it built (OPENAGENT_CLIENT). Otherwise what the file would hold is laid out as
scripts/client.spec says, and what it leaves out cannot be imported.
"""

import json
import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from devtools.simulator import ThreadedSimulator
from openagent.cli.commands import COMMANDS

from .machine import MODEL, PATIENCE, Machine, Ran
from .pseudo_terminal import Terminal

ROOT = Path(__file__).parents[2]
_AS_ONE_FILE = """
import runpy, sys
class Left:
    def find_spec(self, name, path=None, target=None):
        if any(name == each or name.startswith(each + ".") for each in {excluded!r}):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Left())
sys.frozen, sys.executable = True, {executable!r}
runpy.run_path({entry!r}, run_name="__main__")
"""


@dataclass
class _Spec:
    datas: Sequence[tuple[str, str]] = ()
    excludes: Sequence[str] = ()
    clients: Sequence[str] = field(default_factory=list[str])


def _spec() -> _Spec:
    """What scripts/client.spec tells PyInstaller, which is not here."""
    told = _Spec()

    def analysis(*_: object, **named: Any) -> Any:
        told.datas, told.excludes = named["datas"], named["excludes"]
        return type("Analysis", (), {"pure": (), "scripts": (), "binaries": (), "datas": ()})

    def nothing(*_: object, **__: object) -> list[Any]:
        return []

    hooks = ModuleType("PyInstaller.utils.hooks")
    vars(hooks).update(collect_data_files=nothing, collect_submodules=nothing)
    before = {name: sys.modules.get(name) for name in ("PyInstaller", "PyInstaller.utils", "PyInstaller.utils.hooks")}
    sys.modules.update(dict.fromkeys(before, hooks))
    try:
        scripts = str(ROOT / "scripts")
        ran = runpy.run_path(
            f"{scripts}/client.spec", {"SPECPATH": scripts, "Analysis": analysis, "PYZ": nothing, "EXE": nothing}
        )
    finally:
        for name, module in before.items():
            sys.modules.pop(name)
            if module is not None:
                sys.modules[name] = module
    told.clients = sorted(ran["CLIENTS"])
    return told


def _laid_out(folder: Path) -> list[str]:
    spec = _spec()
    (folder / "openagent").mkdir()
    for name in spec.clients:
        source = ROOT / "src/openagent" / name
        if source.is_dir():
            shutil.copytree(source, folder / "openagent" / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source.with_suffix(".py"), folder / "openagent")
    for given, target in spec.datas:
        file = (ROOT / "scripts" / given).resolve()
        (folder / target).mkdir(parents=True, exist_ok=True)
        if file.is_dir():
            shutil.copytree(file, folder / target, dirs_exist_ok=True)
        else:
            shutil.copy(file, folder / target)
    code = _AS_ONE_FILE.format(
        excluded=list(spec.excludes), executable=str(folder / "openagent"), entry=str(ROOT / "scripts/client_entry.py")
    )
    return [sys.executable, "-P", "-c", code]


@dataclass
class OneFile:
    words: Sequence[str]
    machine: Machine

    def __call__(self, *arguments: str) -> Ran:
        ran = subprocess.run(
            [*self.words, *arguments],
            env=self.machine.env,
            cwd=self.machine.workspace,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE,
            check=False,
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, sim: ThreadedSimulator) -> Generator[OneFile, None, None]:
    """With the installed package beside it, on PATH."""
    place = tmp_path_factory.mktemp("client")
    built = os.environ.get("OPENAGENT_CLIENT")
    words = [built] if built else _laid_out(place)
    programs = place / "programs"
    programs.mkdir()
    (programs / "openagent").write_text(f'#!/bin/sh\nunset PYTHONPATH\nexec {sys.executable} -P -m openagent "$@"\n')
    (programs / "openagent").chmod(0o755)
    paths = {"PATH": f"{programs}:/usr/bin:/bin", "PYTHONPATH": str(place)}
    client = OneFile(words, Machine(place / "machine", sim, paths))
    yield client
    assert client("stop").returncode == 0


def test_the_guided_tour_runs(client: OneFile, tmp_path: Path) -> None:
    ran = client("demo", "--cwd", str(tmp_path / "tour"))
    assert ran.returncode == 0, ran.stderr
    assert "All 5 tests pass now." in ran.stdout
    assert (tmp_path / "tour" / "pages.py").is_file()


def test_every_command_explains_itself(client: OneFile) -> None:
    for name in COMMANDS:
        ran = client(name, "--help")
        assert ran.returncode == 0, ran.stderr
        assert "Usage:" in ran.stdout


def test_the_handbook_is_inside(client: OneFile) -> None:
    assert "uv tool install openagent" in client("help", "install").stdout


@pytest.mark.parametrize(
    "words",
    ["sessions list", "models list", "usage", "config show", "tools list", "extras list", "protocol schema", "doctor"],
)
def test_what_asks_a_daemon_works(client: OneFile, words: str) -> None:
    ran = client(*words.split(), *([] if words == "protocol schema" else ["--json"]))
    assert ran.returncode == 0, ran.stderr
    json.loads(ran.stdout)


def test_the_terminal_program_opens(client: OneFile) -> None:
    with Terminal(client.machine, size=(100, 30), program=client.words) as terminal:
        terminal.until("○ ready")
        terminal.until(MODEL.rpartition("/")[2])


def test_what_speaks_for_a_daemon_is_handed_to_the_installed_package(client: OneFile) -> None:
    ran = client("rpc")
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("words", [["serve"], ["acp"], ["rpc"], ["mcp", "serve"], ["run", "hi"], ["demo"]])
def test_without_an_installed_package_a_sentence_says_where_to_get_it(
    client: OneFile, tmp_path: Path, sim: ThreadedSimulator, words: list[str]
) -> None:
    paths = {**client.machine.extra, "PATH": "/usr/bin:/bin"}
    ran = OneFile(client.words, Machine(tmp_path, sim, paths))(*words)
    assert ran.returncode == 1
    assert "uv tool install openagent" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert "sessions show" not in ran.stdout


def test_it_says_how_it_is_updated(client: OneFile) -> None:
    ran = client("update")
    assert ran.returncode == 1
    assert "by putting a newer file in its place" in ran.stderr
