"""What the shell is offered when Tab is pressed."""

import subprocess
from dataclasses import replace

import pytest

from .machine import Machine


def offered(machine: Machine, line: str) -> list[str]:
    words = line.split(" ")
    env = {"_OPENAGENT_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = replace(machine, extra=env).run()
    assert done.returncode == 0, done.stderr
    return [entry.split(",", 1)[1] for entry in done.stdout.splitlines() if entry]


def test_commands_options_and_values_are_offered(fresh: Machine) -> None:
    assert "sessions" in offered(fresh, "openagent se")
    assert offered(fresh, "openagent index bui") == ["build"]
    assert "--mode" in offered(fresh, "openagent run --mo")
    assert offered(fresh, "openagent run --mode e") == ["edits"]


def test_sessions_are_offered_while_a_daemon_runs_and_none_is_started_for_it(fresh: Machine) -> None:
    assert offered(fresh, "openagent attach ") == []
    assert fresh.run("status").returncode == 1
    session = fresh.turn("Hi")
    assert offered(fresh, "openagent attach ") == [session]
    assert offered(fresh, f"openagent run --session {session[:6]}") == [session]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_a_script(fresh: Machine, shell: str) -> None:
    done = fresh.run("completion", shell)
    assert "_OPENAGENT_COMPLETE" in done.stdout
    if shell == "bash":
        assert subprocess.run(["bash", "-n"], input=done.stdout, text=True, check=False).returncode == 0
