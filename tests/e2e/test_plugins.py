"""The example plugin, installed beside the real program: each kind at work, and a broken one beside it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from devtools.simulator.threaded import ThreadedSimulator

from .binary import Binary

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugin"
SCRIPT = [
    {"tool_calls": [{"name": "word_count", "arguments": {"path": "poem.txt"}}]},
    {"tool_calls": [{"name": "shell", "arguments": {"command": "echo from the shell"}}]},
    {"text": "Counted."},
]
CONFIG = """\
[providers.parrot]
kind = "plugin"
plugin = "echo"

[context]
collector = "oldest"

[jail]
kind = "plugin"
plugin = "plain"
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, built and installed without a network, and a plugin whose import fails."""
    folder = tmp_path_factory.mktemp("plugins")
    source, target = folder / "source", folder / "installed"
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
    quiet = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore"}
    subprocess.run([*install, "--target", str(target), str(source)], check=True, env=quiet)
    (target / "broken_plugin.py").write_text('raise RuntimeError("no luck today")\n')
    metadata = target / "broken_plugin-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-plugin\nVersion: 1.0\n")
    names = ("tools", "commands", "collectors", "providers", "jails")
    entries = "".join(f"[openagent.{name}]\nbroken = broken_plugin:thing\n" for name in names)
    (metadata / "entry_points.txt").write_text(entries)
    return target


def test_every_kind_of_plugin_works_in_the_real_program(tmp_path: Path, installed: Path) -> None:
    with ThreadedSimulator(SCRIPT) as simulator:
        binary = Binary(tmp_path, simulator.base_url)
        binary.env["PYTHONPATH"] = str(installed)
        binary.env["OPENAGENT_CONFIG"] = str(tmp_path / "config.toml")
        del binary.env["OPENAGENT_JAIL_KIND"]
        (tmp_path / "config.toml").write_text(CONFIG)
        (binary.workspace / "poem.txt").write_text("roses are red")
        daemon = binary.serve()
        try:
            listed = binary.run("plugins", "list", "--json")
            assert listed.returncode == 1
            found: list[dict[str, Any]] = json.loads(listed.stdout)["plugins"]
            good = {(each["kind"], each["name"]) for each in found if not each["error"]}
            assert good == {
                ("tools", "word_count"),
                ("providers", "echo"),
                ("collectors", "oldest"),
                ("jails", "plain"),
                ("commands", "hello"),
            }
            broken = [each["error"] for each in found if each["name"] == "broken"]
            assert len(broken) == 5
            assert all("RuntimeError: no luck today" in error for error in broken)

            assert binary.run("hello", "plugin").stdout == "Hello, plugin.\n"
            assert "hello" in binary.run("--help").stdout
            failed = binary.run("broken")
            assert failed.returncode == 1
            assert "no luck today" in failed.stderr
            assert "plugin" in binary.run("doctor").stdout

            parrot = binary.run("run", "--model", "parrot/any", "are you there")
            assert parrot.stdout == "You said: are you there\n"

            counted = binary.run("run", "--mode", "full", "--model", "compatible/scripted", "count", "--output", "json")
            assert json.loads(counted.stdout)["text"] == "Counted."
            session = json.loads(counted.stdout)["session"]
            shown = binary.run("sessions", "show", session).stdout
            assert "3 words" in shown
            assert "plain, no walls" in binary.run("status", "--json").stdout
            collected = binary.run("context", "collect", session)
            assert "no collector" not in collected.stdout + collected.stderr
        finally:
            daemon.terminate()
            daemon.wait(20)


def test_a_plugin_installed_beside_a_running_daemon_is_listed_and_works(tmp_path: Path, installed: Path) -> None:
    with ThreadedSimulator([SCRIPT[0], SCRIPT[-1]]) as simulator:
        binary = Binary(tmp_path, simulator.base_url)
        packages = tmp_path / "packages"
        packages.mkdir()
        binary.env["PYTHONPATH"] = str(packages)
        (binary.workspace / "poem.txt").write_text("roses are red")
        daemon = binary.serve()
        try:
            assert "There are no plugins." in binary.run("plugins", "list").stdout
            shutil.copytree(installed, packages, dirs_exist_ok=True)
            assert "word_count" in binary.run("plugins", "list").stdout
            counted = binary.run("run", "--model", "compatible/scripted", "count", "--output", "json")
            session = json.loads(counted.stdout)["session"]
            assert "3 words" in binary.run("sessions", "show", session).stdout
        finally:
            daemon.terminate()
            daemon.wait(20)


@pytest.mark.timeout(400)
def test_the_examples_own_tests_pass(installed: Path, tmp_path: Path) -> None:
    # A folder of its own: at its end pytest would clear away those of earlier runs, which can take minutes.
    own = ("--basetemp", str(tmp_path / "own"))
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-c",
            "pyproject.toml",
            "--rootdir",
            ".",
            *own,
        ],
        cwd=EXAMPLE,
        env={**os.environ, "PYTHONPATH": str(installed), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stdout[-2000:]
