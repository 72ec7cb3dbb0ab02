"""What it takes to decide on a command, and to load what is known about commands."""

import json
import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path

from benchmarks.effort import Effort
from benchmarks.rows import Row, median_row, milliseconds, percentile, row
from openagent.policy.decision import decide
from openagent.policy.facts import CallFacts
from openagent.policy.rules import RuleSet

_LABELLED = Path(__file__).parent.parent / "tests" / "policy" / "commands.toml"
_RECORDED = "OPENAGENT_BENCH_COMMANDS"
_LOAD = "import time; b = time.perf_counter(); import openagent.policy.analysis; print(time.perf_counter() - b)"


def decisions(effort: Effort) -> list[Row]:
    commands = _commands()
    taken: list[float] = []
    _decide("ls")
    for command in commands:
        began = time.perf_counter()
        _decide(command)
        taken.append(1000 * (time.perf_counter() - began))
    loads = [_load() for _ in range(effort.answers)]
    note = f"{len(commands)} commands; {_RECORDED}=FILE.jsonl takes others"
    return [
        median_row("one decision on a command, median", taken, "ms", note=note),
        row("one decision on a command, p99", percentile(taken, 0.99), "ms", at_most=5),
        median_row("load what is known about commands", milliseconds(loads), "ms", note="once, after a daemon's start"),
    ]


def _commands() -> list[str]:
    if recorded := os.environ.get(_RECORDED):
        return [json.loads(line)["command"] for line in Path(recorded).read_text().splitlines()]
    groups = tomllib.loads(_LABELLED.read_text())["group"]
    return [command for group in groups for command in group["commands"]]


def _decide(command: str) -> None:
    facts = CallFacts("shell", "execute", command, "/home/user/project", runs="command")
    decide(facts, "ask", RuleSet.builtin())


def _load() -> float:
    return float(subprocess.run([sys.executable, "-c", _LOAD], check=True, capture_output=True, text=True).stdout)
