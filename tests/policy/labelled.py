"""The labelled commands, and the one way the tests ask about them."""

import tomllib
from pathlib import Path
from typing import NamedTuple

from openagent.policy.decision import decide
from openagent.policy.facts import CallFacts, Decision
from openagent.policy.rules import RuleSet
from openagent.protocol.sessions import Mode

WORKSPACE = "/home/me/project"


class Labelled(NamedTuple):
    command: str
    expect: str
    full: str
    risk: str
    note: str


def labelled_commands() -> list[Labelled]:
    groups = tomllib.loads(Path(__file__).with_name("commands.toml").read_text())["group"]
    return [
        Labelled(command, group["expect"], group.get("full", "allow"), group.get("risk", ""), group["note"])
        for group in groups
        for command in group["commands"]
    ]


def decided(
    command: str,
    mode: Mode = "ask",
    rules: RuleSet | None = None,
    cwd: str = "",
    workspace: str = WORKSPACE,
    *,
    walled: bool = True,
) -> Decision:
    facts = CallFacts(tool="shell", effect="execute", subject=command, workspace=workspace, cwd=cwd, walled=walled)
    return decide(facts, mode, rules or RuleSet.builtin())
