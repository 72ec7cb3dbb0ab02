"""A repository that brings modules of its own: whoever indexes it runs none of them."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from devtools.simulator import ThreadedSimulator
from openagent.plugins.isolation import ROOT, bare_environment, isolated, without_this_folder

from ..cli.machine import PATIENCE, Machine, Started

_NAMES = ("openagent", "msgspec", "sqlite3", "runpy", "pip", "tree_sitter", "sitecustomize", "usercustomize")
_PROGRAM = [sys.executable, "-P", "-m", "openagent"]
"""As the installed program starts: nothing of the folder it is started in is its own."""


def _make_hostile(repository: Path, tell: Path) -> None:
    for name in _NAMES:
        (repository / name).mkdir()
        (repository / name / "__init__.py").write_text(f"open({str(tell)!r}, 'a').write(__name__)\n")
    (repository / "till.py").write_text("def total(items):\n    return sum(items)\n")


def test_a_daemon_started_in_a_hostile_repository_indexes_it_and_runs_nothing_of_it(tmp_path: Path) -> None:
    with ThreadedSimulator([]) as sim:
        machine = Machine(tmp_path, sim)
        tell = tmp_path / "ran"
        _make_hostile(machine.workspace, tell)
        with Started(
            [*_PROGRAM, "serve"],
            env=machine.env,
            cwd=machine.workspace,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as serving:
            try:
                _until_it_listens(machine.home / "daemon.sock", serving)
                build = [*_PROGRAM, "index", "build", "--json"]
                built = subprocess.run(build, env=machine.env, cwd=machine.workspace, capture_output=True, check=False)
                assert json.loads(built.stdout)["indexed"] >= 1, built.stderr
                assert os.readlink(f"/proc/{serving.pid}/cwd") == "/"
            finally:
                serving.terminate()
                serving.communicate()
    assert not tell.exists(), tell.read_text()


def _until_it_listens(socket: Path, serving: Started) -> None:
    deadline = time.monotonic() + PATIENCE
    while not socket.exists():
        assert time.monotonic() < deadline
        assert serving.poll() is None
        time.sleep(0.005)


def test_a_python_beside_the_daemon_is_isolated_and_has_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tell = tmp_path / "ran"
    _make_hostile(tmp_path, tell)
    probe = tmp_path / "places"
    probe.mkdir()
    (probe / "probe.py").write_text(
        "import json, os, sys, msgspec, openagent\n"
        "print(json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ), openagent.__file__]))\n"
    )
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-the-test")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    command = isolated("probe", "one", "two", places=[probe, Path(__file__).parents[2] / "src"])
    ran = subprocess.run(command, env=bare_environment(), cwd=ROOT, capture_output=True, check=True)
    arguments, folder, environment, ours = json.loads(ran.stdout)
    assert arguments == ["one", "two"]
    assert folder == "/"
    assert not {"ANTHROPIC_API_KEY", "PYTHONPATH", "HOME"} & environment.keys()
    assert not Path(ours).is_relative_to(tmp_path)
    assert not tell.exists()


def test_the_folder_a_program_is_started_in_is_not_looked_through_for_modules(tmp_path: Path) -> None:
    assert without_this_folder(["", str(tmp_path), "/usr/lib/python3"], str(tmp_path)) == ["/usr/lib/python3"]
    ours = str(Path(__file__).parents[2] / "src")
    assert ours in without_this_folder([ours, "/usr/lib/python3"], ours)
