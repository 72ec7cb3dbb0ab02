"""Hundreds of commands that would change something, by their effect: nothing changes behind a read-only wall."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from openagent.policy.decision import decide
from openagent.policy.facts import CallFacts
from openagent.policy.rules import RuleSet
from openagent.protocol.sessions import Mode
from tests.jail.conftest import needs_bwrap
from tests.jail.effects import commands

_ORDINARY_UID = 65534
_ROOT = Path(__file__).parents[2]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


def changed(wall: str, *arguments: str) -> dict[str, list[str]]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.jail.effects", wall, *arguments],
        capture_output=True,
        text=True,
        cwd=_ROOT,
        env={**os.environ, "PYTHONPATH": f"{_ROOT}{os.pathsep}{_ROOT / 'src'}"},
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["commands"] >= 300
    return told["changed"]


@needs_bwrap
@pytest.mark.timeout(300)
@pytest.mark.parametrize("wall", ["plan", "ask"])
def test_no_command_changes_anything_behind_a_wall(wall: str) -> None:
    assert changed(wall) == {}


@needs_bwrap
@needs_root
@pytest.mark.timeout(300)
@pytest.mark.parametrize("wall", ["plan", "ask"])
def test_no_command_of_an_ordinary_user_changes_anything_behind_a_wall(wall: str) -> None:
    assert changed(wall, "--uid", str(_ORDINARY_UID), "--below", "/srv") == {}


@pytest.mark.parametrize("mode", ["plan", "ask"])
def test_whatever_is_let_run_unasked_is_let_run_behind_the_wall(mode: Mode) -> None:
    for command in commands():
        facts = CallFacts("shell", "execute", command, "/home/me/project", {"command": command}, runs="command")
        decision = decide(facts, mode, RuleSet.builtin())
        assert decision.kind != "allow" or decision.wall == "read", command
        assert mode == "ask" or decision.kind != "ask", command
