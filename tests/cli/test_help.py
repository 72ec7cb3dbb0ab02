"""What the program says about itself."""

import subprocess
import sys

import pytest

from openagent import __version__
from openagent.cli.commands import COMMANDS

from .machine import Machine


def test_help_lists_every_command_without_loading_any(machine: Machine) -> None:
    code = "import sys; from openagent.cli.commands import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for name, entry in COMMANDS.items():
        assert f"  {name} " in ran.stdout
        assert entry.help in ran.stdout
    loaded = ran.stderr.split()
    assert not {entry.place.split(":")[0] for entry in COMMANDS.values()} & set(loaded)
    assert "asyncio" not in loaded


@pytest.mark.parametrize(
    "command",
    [
        *COMMANDS,
        *(f"sessions {each}" for each in ("list", "show", "diff", "rewind", "export", "fork", "delete")),
        *(f"index {each}" for each in ("build", "search", "symbols", "map", "status", "watch", "setup")),
        *(f"workspaces {each}" for each in ("list", "create", "diff", "merge", "remove", "backup", "restore", "gc")),
        "mcp serve",
        "policy explain",
        "policy test",
        "config show",
    ],
)
def test_every_command_explains_itself(machine: Machine, command: str) -> None:
    ran = machine.run(*command.split(), "--help")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.lower().startswith(f"usage: openagent {command}")
    assert f"  openagent {command}" in ran.stdout.split("Examples:")[1]


def test_the_version_is_told(machine: Machine) -> None:
    assert machine.run("--version").stdout == f"openagent {__version__}\n"


def test_a_misspelt_command_gets_a_suggestion(machine: Machine) -> None:
    ran = machine.run("sesions")
    assert ran.returncode == 2
    assert ran.stderr == "openagent: There is no command 'sesions'. Did you mean sessions? See `openagent --help`.\n"
    assert machine.run().stdout.startswith("Usage: openagent")
