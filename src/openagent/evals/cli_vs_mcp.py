"""The same questions to agents that have a command, and to agents that have an MCP server: what each way costs."""

import re
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import msgspec
from msgspec import Struct

from openagent.client import Client
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import Event, ToolStarted
from openagent.protocol.mcp import McpServerEntry, McpSessionServers
from openagent.protocol.sessions import SessionUpdate, SettingsChange

Way = Literal["cli", "mcp"]
WAYS: tuple[Way, ...] = ("cli", "mcp")
_OWN = Path(__file__).parent / "cli_vs_mcp.toml"


class Scenario(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    prompt: str
    expect: str
    """A regular expression that a right answer holds."""


class ByCommand(Struct, frozen=True, forbid_unknown_fields=True):
    hint: str


class ByServer(Struct, frozen=True, forbid_unknown_fields=True):
    hint: str
    servers: dict[str, McpServerEntry]


class Scenarios(Struct, frozen=True, forbid_unknown_fields=True):
    scenario: list[Scenario]
    cli: ByCommand
    mcp: ByServer
    files: dict[str, str] = {}
    """That the workspace begins with."""


class Taken(Struct, frozen=True):
    """One question, asked one way."""

    scenario: str
    way: Way
    right: bool
    ended: str
    steps: int
    calls: tuple[str, ...]
    input_tokens: int
    output_tokens: int
    cost_usd: float
    unpriced: int
    seconds: float
    answer: str = ""


def read_scenarios(file: Path | None, only: Sequence[str]) -> Scenarios:
    try:
        found = msgspec.convert(tomllib.loads((file or _OWN).read_text()), Scenarios)
    except (OSError, tomllib.TOMLDecodeError, msgspec.ValidationError) as problem:
        raise OpenAgentError("invalid_argument", f"{file} cannot be read: {problem}.") from None
    if unknown := set(only) - {each.name for each in found.scenario}:
        raise OpenAgentError("not_found", f"There is no scenario {', '.join(sorted(unknown))}.")
    return msgspec.structs.replace(found, scenario=[each for each in found.scenario if not only or each.name in only])


async def take_all(
    client: Client, scenarios: Scenarios, model: str, repeats: int, told: Callable[[Taken], None]
) -> list[Taken]:
    """One after the other, the two ways in turn: what a provider's cache or load does meets both."""
    found: list[Taken] = []
    for _ in range(repeats):
        for scenario in scenarios.scenario:
            for way in WAYS:
                found.append(await _take(client, scenarios, scenario, way, model))
                told(found[-1])
    return found


async def _take(client: Client, scenarios: Scenarios, scenario: Scenario, way: Way, model: str) -> Taken:
    with TemporaryDirectory(prefix="openagent-eval-", ignore_cleanup_errors=True) as folder:
        for name, text in scenarios.files.items():
            (Path(folder) / name).write_text(text)
        only: dict[str, list[str]] = {"tools": ["shell"], "mcp_servers": []} if way == "cli" else {"tools": []}
        settings: dict[str, Any] = {"mode": "full", **({"model": model} if model else {}), **only}
        session = (await client.create_session(folder, name=f"eval {scenario.name}, {way}", **settings)).id
        if way == "mcp":
            await _give_servers(client, session, scenarios.mcp.servers)
        hint = scenarios.cli.hint if way == "cli" else scenarios.mcp.hint
        attachment = await client.attach(session, messages=0)
        began = time.monotonic()
        try:
            await client.send(session, f"{scenario.prompt}\n\n{hint}")
            ended, seen = await attachment.until_turn_ends()
        finally:
            await attachment.detach()
        return Taken(
            scenario.name,
            way,
            ended.reason == "done" and re.search(scenario.expect, ended.text) is not None,
            ended.reason,
            ended.steps,
            _called(seen),
            ended.usage.input_tokens,
            ended.usage.output_tokens,
            ended.cost_usd,
            ended.unpriced,
            round(time.monotonic() - began, 2),
            ended.text,
        )


async def _give_servers(client: Client, session: str, servers: dict[str, McpServerEntry]) -> None:
    """These and none of the person's own."""
    await client.request(McpSessionServers(id=client.next_id(), session=session, servers=servers))
    change = SettingsChange(mcp_servers=list(servers))
    await client.request(SessionUpdate(id=client.next_id(), session=session, settings=change))


def _called(seen: Sequence[Event]) -> tuple[str, ...]:
    return tuple(event.tool for event in seen if isinstance(event, ToolStarted))


def by_way(taken: Sequence[Taken], of: Callable[[Taken], float]) -> dict[str, list[tuple[float, float]]]:
    """For each scenario, pairs of the two ways, command first."""
    grouped: dict[str, Mapping[Way, list[float]]] = {}
    for each in taken:
        grouped.setdefault(each.scenario, {"cli": [], "mcp": []})[each.way].append(of(each))
    return {name: list(zip(ways["cli"], ways["mcp"], strict=True)) for name, ways in grouped.items()}
