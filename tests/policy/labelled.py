"""The labelled commands, and the one way the tests ask about them."""

import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from openagent.policy.decision import decide
from openagent.policy.facts import CallFacts, Decision, Effect
from openagent.policy.rules import RuleSet
from openagent.protocol.sessions import Mode
from openagent.protocol.words import about
from openagent.tools.registry import built_in_tools

WORKSPACE = "/home/me/project"
TOOLS = {tool.name: tool for tool in built_in_tools()}


class Labelled(NamedTuple):
    command: str
    expect: str
    full: str
    risk: str
    note: str
    unread: bool
    """It is asked about in a jail too, in every mode that runs commands."""


def labelled_commands() -> list[Labelled]:
    groups = tomllib.loads(Path(__file__).with_name("commands.toml").read_text())["group"]
    return [
        Labelled(
            command,
            group["expect"],
            group.get("full", "allow"),
            group.get("risk", ""),
            group["note"],
            group.get("unread", False),
        )
        for group in groups
        for command in group["commands"]
    ]


def facts_of(
    tool: str, effect: Effect, subject: str, workspace: str = WORKSPACE, arguments: dict[str, Any] | None = None
) -> CallFacts:
    """As a call of a built-in tool is judged; without its arguments, its subject is all that runs."""
    facts = CallFacts(tool, effect, subject, workspace, runs=about(tool).runs)
    if arguments is None:
        return facts
    touched = TOOLS[tool].touches(arguments)
    return replace(facts, paths=touched.paths, urls=touched.urls, runs=touched.runs, text=touched.text)


def decided(
    command: str,
    mode: Mode = "ask",
    rules: RuleSet | None = None,
    cwd: str = "",
    workspace: str = WORKSPACE,
    *,
    walled: bool = True,
) -> Decision:
    facts = CallFacts("shell", "execute", command, workspace, runs="command", cwd=cwd, walled=walled)
    return decide(facts, mode, rules or RuleSet.builtin())
