"""What runs on macOS, as far as Linux can tell: in a Python without what only Linux has (macos/sitecustomize.py)."""

import json
import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from devtools.simulator import ThreadedSimulator
from tests.cli.machine import Machine, is_running, shell

WITHOUT_LINUX = str(Path(__file__).parent / "macos")
_ALL_MODULES = """
import importlib, os, pkgutil, sys
import openagent
assert (sys.platform, os.uname().sysname, hasattr(os, "O_PATH")) == ("darwin", "Darwin", False)
for module in pkgutil.walk_packages(openagent.__path__, "openagent."):
    if not module.name.endswith(("__main__", "migrations.env")):  # programs, and not modules of anybody
        importlib.import_module(module.name)
"""


@pytest.fixture(scope="module")
def sim() -> Generator[ThreadedSimulator, None, None]:
    with ThreadedSimulator([{"text": "Hello."}]) as sim:
        yield sim


@pytest.fixture(scope="module")
def mac(tmp_path_factory: pytest.TempPathFactory, sim: ThreadedSimulator) -> Generator[Machine, None, None]:
    """One daemon without a jail."""
    machine = _mac(tmp_path_factory.mktemp("mac"), sim)
    _configure(machine, '[jail]\nkind = "host"\n')
    machine.turn("Begin.")
    yield machine
    pid = machine.daemon_pid()
    assert machine.run("stop").returncode == 0
    assert pid is not None
    assert not is_running(pid)


def _mac(root: Path, sim: ThreadedSimulator) -> Machine:
    return Machine(root, sim, {"PYTHONPATH": WITHOUT_LINUX})


def _configure(machine: Machine, text: str) -> None:
    file = machine.root / ".config" / "openagent" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def _call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": arguments}]}


def _results(machine: Machine) -> list[str]:
    """What the model was told of its calls."""
    messages = machine.sim.requests[-1].json()["messages"]
    return [message["content"] for message in messages if message["role"] == "tool"]


def test_every_module_can_be_imported() -> None:
    env = {**os.environ, "PYTHONPATH": WITHOUT_LINUX}
    ran = subprocess.run([sys.executable, "-c", _ALL_MODULES], env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_a_whole_turn_with_shell_and_files_is_done_and_taken_back(mac: Machine) -> None:
    (mac.workspace / "kept.txt").write_text("a line of before\n")
    session = mac.turn(
        "Work.",
        script=[
            shell("mkdir -p made && cd made && export NUMBER=7 && echo from the shell"),
            _call("write_file", path="notes/new.txt", content="one\ntwo\n"),
            _call("edit_file", path="notes/new.txt", old="two", new="three"),
            _call("read_file", path="notes/new.txt"),
            _call("grep", pattern="three"),
            _call("glob", pattern="**/*.txt"),
            _call("list_dir", path="notes"),
            shell("echo $NUMBER in ${PWD##*/}; rm ../kept.txt"),
            {"text": "Done."},
        ],
    )
    told = _results(mac)
    assert "from the shell" in told[0]
    assert "three" in told[3]
    assert "notes/new.txt" in told[4]
    assert "kept.txt" in told[5]
    assert "new.txt" in told[6]
    assert "7 in made" in told[7]
    assert (mac.workspace / "notes" / "new.txt").read_text() == "one\nthree\n"
    assert mac.run("undo", session).returncode == 0
    assert (mac.workspace / "kept.txt").read_text() == "a line of before\n"
    assert not (mac.workspace / "notes").exists()


def test_the_search_without_ripgrep_finds_the_same(mac: Machine) -> None:
    (mac.workspace / "sought.txt").write_text("a needle\n")
    mac.turn("Search.", script=[_call("grep", pattern="needle", path=str(mac.workspace)), {"text": "Done."}])
    assert "sought.txt:1:a needle" in _results(mac)[0]
    searched = subprocess.run(
        [sys.executable, "-m", "openagent.tools.search_files", str(mac.workspace)],
        input=json.dumps(
            {"pattern": "needle", "path": ".", "glob": "", "ignore_case": False, "around": 0, "mode": "lines"}
        ),
        env=mac.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert searched.stdout == "sought.txt\x001:a needle\n", searched.stderr


@pytest.mark.parametrize("named", ["out/file", "out/new", "through", "inner/../out/file"])
def test_no_link_leads_a_file_tool_out_of_the_workspace(mac: Machine, tmp_path: Path, named: str) -> None:
    (tmp_path / "file").write_text("outside\n")
    for link, target in (("out", tmp_path), ("through", tmp_path / "file")):
        (mac.workspace / link).unlink(missing_ok=True)
        (mac.workspace / link).symlink_to(target)
    (mac.workspace / "inner").mkdir(exist_ok=True)
    calls = [_call("write_file", path=named, content="inside"), _call("read_file", path=named), {"text": "Done."}]
    mac.turn("Follow.", script=calls)
    assert all("outside the workspace" in told for told in _results(mac)), _results(mac)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]
    assert (tmp_path / "file").read_text() == "outside\n"


def test_links_that_stay_inside_are_followed(mac: Machine) -> None:
    (mac.workspace / "real").mkdir(exist_ok=True)
    (mac.workspace / "relative").symlink_to("real")
    (mac.workspace / "absolute").symlink_to(mac.workspace / "real")
    script = [
        _call("write_file", path="relative/a.txt", content="first\n"),
        _call("read_file", path="absolute/a.txt"),
        {"text": "Done."},
    ]
    mac.turn("Follow.", script=script)
    assert (mac.workspace / "real" / "a.txt").read_text() == "first\n"
    assert "first" in _results(mac)[1]


def test_what_a_killed_command_had_started_is_gone(mac: Machine) -> None:
    command = "sleep 4242.1 & (sleep 4242.2 & echo $!) ; sleep 4242.3"
    mac.turn("Wait.", script=[_call("shell", command=command, timeout=2), shell("echo next"), {"text": "Done."}])
    assert "next" in _results(mac)[1]
    assert not [words for words in _command_lines() if words.startswith("sleep 4242.")]


def test_what_an_earlier_command_left_running_survives_the_end_of_a_later_one(mac: Machine) -> None:
    mac.turn(
        "Serve.",
        script=[
            shell("nohup sleep 4343.1 >/dev/null 2>&1 & echo $! >server.pid"),
            _call("shell", command="sleep 4343.2", timeout=1),
            shell("kill $(cat server.pid) && echo it was there"),
            {"text": "Done."},
        ],
    )
    assert "it was there" in _results(mac)[2]


def test_the_daemon_tells_how_it_is(mac: Machine) -> None:
    status = mac.json("status")
    assert status["rss_bytes"] > 10 << 20
    assert status["jail"] == "host, not jailed"


def test_nothing_set_means_docker_and_without_an_engine_one_sentence_says_so(
    tmp_path: Path, sim: ThreadedSimulator
) -> None:
    machine = _mac(tmp_path, sim)
    try:
        doctor = json.loads(machine.run("doctor", "--json").stdout)
        named = {check["name"]: check for check in doctor["checks"]}
        assert "bwrap" not in named
        assert "There is no container engine (Docker or Podman) on this machine." in named["jail"]["detail"]
        assert "Docker Desktop" in named["jail"]["detail"]
    finally:
        machine.run("stop")


def _command_lines() -> list[str]:
    found: list[str] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found
