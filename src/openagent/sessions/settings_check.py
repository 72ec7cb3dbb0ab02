"""A session's settings, checked where they come in, whichever way: what cannot be meant is refused with the nearest
thing that can."""

import math
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from openagent.config.problems import did_you_mean
from openagent.config.settings import ToolSettings
from openagent.core.audit import actor
from openagent.core.runtime import ModelResolver
from openagent.plugins.tool import Tool
from openagent.protocol.errors import ErrorInfo, OpenAgentError
from openagent.protocol.sessions import SessionInfo, Settings, SettingsChange

_BOUNDS: dict[str, tuple[float, float]] = {
    "max_steps": (1, 1_000_000),
    "turn_timeout": (0.001, 31_536_000),
    "max_output_tokens": (1, 10_000_000),
    "temperature": (0, 2),
    "budget_usd": (0, 1_000_000),
    "budget_tokens": (0, 10**12),
}
_SLIP = 0.85
"""How alike two names are when one is a slip of the pen, as `reed_file` is; `list_directory` is not `list_dir`."""
MoreTools = Callable[[SessionInfo], Awaitable[Sequence[Tool]]]


class SettingsCheck:
    def __init__(
        self,
        built_in: Iterable[str],
        *,
        more_tools: MoreTools,
        mcp_servers: Callable[[SessionInfo], Awaitable[Collection[str]]],
        all_are_up: Callable[[SessionInfo], Awaitable[bool]],
        resolve_model: ModelResolver,
        collectors: Mapping[str, object],
    ) -> None:
        """`more_tools` are those of plugins, skills and MCP servers; `all_are_up` tells whether the servers have said
        what they offer."""
        self._built_in = frozenset(built_in)
        self._more_tools = more_tools
        self._mcp_servers = mcp_servers
        self._all_are_up = all_are_up
        self._resolve_model = resolve_model
        self._collectors = collectors

    async def __call__(
        self, change: SettingsChange, workspace: Path, env: Mapping[str, str], session: SessionInfo | None = None
    ) -> None:
        """Raises OpenAgentError('invalid_argument'). What a session has already may stay, wherever it has gone."""
        given = {name: value for name, value in msgspec.structs.asdict(change).items() if value not in (UNSET, None)}
        check_numbers(given)
        if model := given.get("model"):
            self._check_model(model, workspace, env)
        if (collector := given.get("collector")) and collector not in self._collectors:
            raise _unknown("collector", collector, self._collectors, listed=True)
        info = session or SessionInfo("", "", str(workspace), time.time(), time.time())
        await self._check_servers(given, info)
        await self._check_tools(given, info)

    def notices(self, settings: ToolSettings) -> list[ErrorInfo]:
        """What the files take away and is no tool: a slip of the pen, where anything else may be an MCP server's."""
        named = {"tools.disabled": settings.disabled, "tools.off": settings.off}
        return [
            ErrorInfo("config_error", f"`{key}` names {name!r}, which is no tool.", hint=f"Did you mean {near!r}?")
            for key, names in named.items()
            for name in names
            if (near := slip_of(name, self._built_in))
        ]

    def _check_model(self, model: str, workspace: Path, env: Mapping[str, str]) -> None:
        try:
            person = actor().person
            self._resolve_model(model, env=env, cwd=workspace, whose=(f"person/{person}",) if person else ())
        except OpenAgentError as problem:
            code = "auth_failed" if problem.info.code == "auth_failed" else "invalid_argument"
            raise OpenAgentError(code, problem.info.message, hint=problem.info.hint) from None

    async def _check_servers(self, given: Mapping[str, Any], info: SessionInfo) -> None:
        named = [*given.get("mcp_servers", ()), *given.get("disabled_mcp_servers", ())]
        kept = {*(info.settings.mcp_servers or ()), *info.settings.disabled_mcp_servers}
        if not named or kept.issuperset(named):
            return
        known = await self._mcp_servers(info)
        for name in named:
            if name not in known and name not in kept:
                raise _unknown("MCP server", name, known)

    async def _check_tools(self, given: Mapping[str, Any], info: SessionInfo) -> None:
        kept = {*(info.settings.tools or ()), *info.settings.disabled_tools}
        named = [*given.get("tools", ()), *given.get("disabled_tools", ())]
        unknown = [name for name in named if name not in self._built_in and name not in kept]
        if not unknown:
            return
        plain = msgspec.structs.replace(info, settings=Settings())
        known = {*self._built_in, *(tool.name for tool in await self._more_tools(plain))}
        for name in unknown:
            # A server that is down has tools that nobody can know.
            if name not in known and (slip_of(name, known) or await self._all_are_up(plain)):
                raise _unknown("tool", name, known)


def slip_of(name: str, known: Collection[str]) -> str:
    """The one that was meant, where there can be little doubt."""
    if name in known or not (near := did_you_mean(name, known)):
        return ""
    return near if sorted(near) == sorted(name) or SequenceMatcher(None, name, near).ratio() >= _SLIP else ""


def check_numbers(given: Mapping[str, Any]) -> None:
    for name, (least, most) in _BOUNDS.items():
        value = given.get(name)
        if value is not None and not (math.isfinite(value) and least <= value <= most):
            more = "more than 0" if name == "turn_timeout" else f"{least:,} or more"
            raise OpenAgentError(
                "invalid_argument",
                f"`{name}` must be {more} and at most {most:,}, not {value:g}.",
                hint="Give such a number, or leave it out.",
            )


def _unknown(what: str, name: str, known: Iterable[str], *, listed: bool = False) -> OpenAgentError:
    near = did_you_mean(name, known)
    hint = f"Did you mean {near!r}?" if near else ""
    if listed or (not near and what == "MCP server"):
        hint = f"{hint} There are: {', '.join(sorted(known)) or 'none'}.".strip()
    elif not near:
        hint = "`openagent tools list` shows the ones there are."
    return OpenAgentError("invalid_argument", f"There is no {what} named {name!r}.", hint=hint)
