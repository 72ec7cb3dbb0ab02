"""Templates: whose count where, what a session made from one starts with, and `templates.*`."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from openagent.agents.template_files import (
    SUFFIXES,
    check_template,
    read_template,
    template_in,
    template_of,
    write_template,
)
from openagent.config import opencode, peers
from openagent.config.cache import ConfigCache
from openagent.config.frozen import Frozen
from openagent.config.plugin_folders import installed
from openagent.config.problems import did_you_mean
from openagent.config.trust import FOLDER
from openagent.core.runtime import ModelResolver
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.daemon.manager import FromTemplate
from openagent.plugins.store import Store
from openagent.plugins.tool import Tool
from openagent.protocol import locations
from openagent.protocol.errors import ErrorInfo, OpenAgentError
from openagent.protocol.op import Done
from openagent.protocol.sessions import SessionInfo
from openagent.protocol.templates import (
    Template,
    TemplateInfo,
    TemplateList,
    TemplatesExport,
    TemplatesGet,
    TemplatesImport,
    TemplatesList,
    TemplateSource,
    TemplatesRead,
    TemplatesRemove,
    TemplatesSave,
    TemplatesWrite,
    TemplateText,
)
from openagent.sessions.settings_check import slip_of

AGENTS = "agents"
"""The folder of templates: under `.openagent` in a project, and beside the person's config.toml."""
MAX_FILES = 500
MAX_DEPTH = 4
MOST_NAMED = 30
RECHECK_SECONDS = 1.0
TEAM_TOOLS = frozenset({"agent", "agent_result", "flow"})
_READS = frozenset({"read", "none", "network"})


class TemplateNames(NamedTuple):
    """What a template may name, in one workspace."""

    more_tools: Callable[[SessionInfo], Awaitable[Sequence[Tool]]]
    mcp_servers: Callable[[Path], Awaitable[Collection[str]]]
    check_model: ModelResolver


class _Found(NamedTuple):
    templates: TemplateList
    at: float


class TemplateService:
    def __init__(self, configs: ConfigCache, store: Store, built_in: Sequence[Tool], names: TemplateNames) -> None:
        self._configs = configs
        self._store = store
        self._names = names
        self._built_in = {tool.name for tool in built_in} | TEAM_TOOLS
        self._reading = {tool.name for tool in built_in if tool.effect in _READS} | TEAM_TOOLS
        self._own = Path(locations.config_file(configs.environment({}))).parent / AGENTS
        self._found: dict[Path | None, _Found] = {}

    def handlers(self) -> list[Handler]:
        return [
            TemplatesList.handled_by(self._list),
            TemplatesGet.handled_by(self._get),
            TemplatesSave.handled_by(self._save),
            TemplatesRemove.handled_by(self._remove),
            TemplatesImport.handled_by(self._import),
            TemplatesExport.handled_by(self._export),
            TemplatesRead.handled_by(self._read),
            TemplatesWrite.handled_by(self._write),
        ]

    async def all(self, workspace: Path | None) -> TemplateList:
        """By name. Looks again after a second; within a turn, they stay as they were when it began."""
        frozen = Frozen.current()
        if frozen is None:
            return await self._look(workspace)
        if (self, workspace) not in frozen.found:
            frozen.found[self, workspace] = await self._look(workspace)
        return frozen.found[self, workspace]

    async def _look(self, workspace: Path | None) -> TemplateList:
        known = self._found.get(workspace)
        if known is None or time.monotonic() - known.at > RECHECK_SECONDS:
            stored = await self._store.templates()
            found = await asyncio.to_thread(self._collect, workspace, stored)
            known = self._found[workspace] = _Found(found, time.monotonic())
        return known.templates

    async def find(self, name: str, workspace: Path | None) -> TemplateInfo:
        listed = (await self.all(workspace)).templates
        by_name = {info.template.name: info for info in listed}
        if name in by_name:
            return by_name[name]
        near = get_close_matches(name, by_name, n=1)
        guess = f"Did you mean {near[0]!r}? " if near else ""
        raise OpenAgentError(
            "not_found",
            f"There is no template {name!r}.",
            hint=f"{guess}There are: {', '.join([*by_name][:MOST_NAMED])}{', …' if len(by_name) > MOST_NAMED else '.'}",
        )

    async def settings(self, name: str, workspace: Path, env: Mapping[str, str]) -> FromTemplate:
        """What a session made from it starts with. What it names that is not there is left out, and told."""
        usable = await self.usable((await self.find(name, workspace)).template, workspace, env)
        template = usable.template
        given: dict[str, Any] = {
            "instructions": template.prompt,
            "replace_prompt": template.replace_prompt,
            "model": template.model,
            "tools": template.tools,
            "mcp_servers": template.mcp_servers,
            "mode": template.mode,
            "max_steps": template.max_steps,
            "turn_timeout": template.timeout,
            "budget_usd": template.budget_usd,
            "label": template.label,
        }
        said = {key: value for key, value in given.items() if value not in (None, "")}
        return FromTemplate(said, template.disabled_tools, usable.notices)

    async def usable(self, template: Template, workspace: Path, env: Mapping[str, str]) -> "Usable":
        """As much of it as there is here. A file may come from another program, or another machine."""
        model = self._model(template, workspace, env)
        servers = await self._servers(template, workspace)
        tools = await self._tools(template, workspace)
        changes: dict[str, Any] = {"model": ""} if model else {}
        if servers:
            changes["mcp_servers"] = [name for name in template.mcp_servers or () if name not in servers]
        if tools:
            changes["tools"] = [name for name in template.tools or () if name not in tools]
        notices = [*model, *servers.values(), *tools.values()]
        return Usable(msgspec.structs.replace(template, **changes), notices)

    def _model(self, template: Template, workspace: Path, env: Mapping[str, str]) -> list[ErrorInfo]:
        if not template.model:
            return []
        try:
            self._names.check_model(template.model, env=env, cwd=workspace)
        except OpenAgentError as problem:
            what = f"model {template.model!r}, which cannot answer here: the session's own does"
            return [_missing(template, what, problem.info.message)]
        return []

    async def _servers(self, template: Template, workspace: Path) -> dict[str, ErrorInfo]:
        known = await self._names.mcp_servers(workspace) if template.mcp_servers else ()
        return {
            name: _missing(template, f"MCP server {name!r}, which is not set up here: it works without")
            for name in template.mcp_servers or ()
            if name not in known
        }

    async def _tools(self, template: Template, workspace: Path) -> dict[str, ErrorInfo]:
        if set(template.tools or ()) <= self._built_in:
            return {}
        anybody = SessionInfo("", "", str(workspace), time.time(), time.time())
        known = {*self._built_in, *(tool.name for tool in await self._names.more_tools(anybody))}
        found: dict[str, ErrorInfo] = {}
        for name in template.tools or ():
            if name not in known:
                near = did_you_mean(name, known)
                what = f"tool {name!r}, which does not exist here: it works without"
                found[name] = _missing(template, what, f"Did you mean {near!r}?" if near else "")
        return found

    # Which templates there are

    def _collect(self, workspace: Path | None, stored: Sequence[Template]) -> TemplateList:
        notices: list[str] = []
        env = self._configs.environment({})
        plugins = [place for plugin in installed(env) for place in plugin.places(AGENTS)]
        own = [self._own, *peers.at_home(env, AGENTS), *plugins]
        ranked = self._of_project(workspace, notices)
        ranked += [info for place in own for info in _read_folder(place, "user", notices)]
        ranked += [info for file in opencode.at_home(env) for info in _read_config(file, "user", notices)]
        ranked += [TemplateInfo(template, "database") for template in stored]
        ranked += [TemplateInfo(template, "starter") for template in starters()]
        chosen: dict[str, TemplateInfo] = {}
        for info in ranked:
            name = info.template.name
            if first := chosen.get(name):
                chosen[name] = msgspec.structs.replace(first, hides=[*first.hides, info.source])
            else:
                chosen[name] = msgspec.structs.replace(info, writes=self._writes(info.template))
        return TemplateList([chosen[name] for name in sorted(chosen)], notices)

    def _of_project(self, workspace: Path | None, notices: list[str]) -> list[TemplateInfo]:
        """A stranger's personas are kept from a person's agents as its settings are."""
        if workspace is None:
            return []
        folder = self._configs.project_folder(workspace)
        home = Path(self._configs.environment({}).get("HOME") or Path.home())
        places = [folder / FOLDER / AGENTS, *(peers.in_project(folder, AGENTS) if folder != home else ())]
        places = [place for place in places if _files(place)]
        configs = [file for file in opencode.in_project(folder) if folder != home]
        if (places or configs) and not self._configs.trust.trusts(folder):
            where = ", ".join(map(str, [*places, *configs]))
            notices.append(f"{where}: its templates are left out until `openagent trust` says so.")
            return []
        found = [info for place in places for info in _read_folder(place, "project", notices)]
        return [*found, *(info for file in configs for info in _read_config(file, "project", notices))]

    def _writes(self, template: Template) -> bool:
        if template.mode == "plan":
            return False
        has = self._built_in if template.tools is None else template.tools
        return any(name not in self._reading and name not in template.disabled_tools for name in has)

    # What clients ask for

    async def _list(self, connection: Connection, op: TemplatesList) -> TemplateList:
        self._found.clear()  # a person may have changed something a moment ago
        return await self.all(_workspace(op.cwd))

    async def _get(self, connection: Connection, op: TemplatesGet) -> TemplateInfo:
        self._found.clear()
        return await self.find(op.name, _workspace(op.cwd))

    async def _save(self, connection: Connection, op: TemplatesSave) -> TemplateInfo:
        return await self._keep(check_template(op.template), replace=op.replace)

    async def _import(self, connection: Connection, op: TemplatesImport) -> TemplateInfo:
        file = op.file or "template"
        read = template_in(op.text, file)
        return msgspec.structs.replace(await self._keep(read.template, replace=op.replace), notices=read.notes(file))

    async def _keep(self, template: Template, *, replace: bool) -> TemplateInfo:
        for name in template.tools or ():
            if near := slip_of(name, self._built_in):  # anything else may be an MCP server's, somewhere
                hint = f"Did you mean {near!r}?"
                raise OpenAgentError("invalid_argument", f"There is no tool named {name!r}.", hint=hint)
        await self._store.save_template(template, replace=replace)
        self._found.clear()
        return TemplateInfo(template, "database", writes=self._writes(template))

    async def _remove(self, connection: Connection, op: TemplatesRemove) -> Done:
        info = await self.find(op.name, _workspace(op.cwd))
        if info.source != "database" and "database" not in info.hides:
            where = f"stands in {info.file}" if info.file else "belongs to the program"
            raise OpenAgentError(
                "conflict",
                f"The template {op.name!r} {where}, not in the database.",
                hint="Remove the file." if info.file else "Save one of the same name: it counts instead.",
            )
        await self._store.remove_template(op.name)
        self._found.clear()
        return Done()

    async def _export(self, connection: Connection, op: TemplatesExport) -> TemplateText:
        template = (await self.find(op.name, _workspace(op.cwd))).template
        return TemplateText(template.name, write_template(template))

    async def _read(self, connection: Connection, op: TemplatesRead) -> Template:
        return read_template(op.text, op.file or "template", unfinished=True)

    async def _write(self, connection: Connection, op: TemplatesWrite) -> TemplateText:
        return TemplateText(op.template.name, write_template(op.template))


@cache
def starters() -> tuple[Template, ...]:
    """Those that come with the program."""
    files = resources.files("openagent.agents").joinpath("starters").iterdir()
    named = sorted((file.name, file.read_text(encoding="utf-8")) for file in files if file.name.endswith(".md"))
    return tuple(read_template(text, name) for name, text in named)


class Usable(NamedTuple):
    template: Template
    notices: Sequence[ErrorInfo]


def _files(folder: Path) -> list[str]:
    """In order, also of folders below: people sort their agents."""
    found: list[str] = []
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if len(Path(here).relative_to(folder).parts) >= MAX_DEPTH:
            folders.clear()
        found += [os.path.join(here, name) for name in sorted(names) if _is_agent(name)]
    return found


def _is_agent(name: str) -> bool:
    return name.endswith(SUFFIXES) and name.lower() not in ("readme.md", "agents.md", "claude.md")


def _read_folder(folder: Path, source: TemplateSource, notices: list[str]) -> list[TemplateInfo]:
    found: list[TemplateInfo] = []
    files = _files(folder)
    for file in files[:MAX_FILES]:
        try:
            read = template_in(Path(file).read_text(encoding="utf-8"), file)
            told = read.notes(file)
            notices += told
            found.append(TemplateInfo(read.template, source, file, notices=told))
        except OpenAgentError as problem:
            notices.append(str(problem))
        except (OSError, UnicodeDecodeError) as problem:
            notices.append(f"{file}: it cannot be read ({problem}).")
    if len(files) > MAX_FILES:
        notices.append(f"{folder}: only the first {MAX_FILES} files are read.")
    return found


def _read_config(file: Path, source: TemplateSource, notices: list[str]) -> list[TemplateInfo]:
    found: list[TemplateInfo] = []
    try:
        agents = opencode.entries(file, "agent")
    except OpenAgentError as problem:
        notices.append(problem.info.message)
        return []
    for name, given in agents.items():
        try:
            read = template_of(given, name, str(file))
        except OpenAgentError as problem:
            notices.append(problem.info.message)
            continue
        told = read.notes(f"{file}: {name}")
        notices += told
        found.append(TemplateInfo(read.template, source, str(file), notices=told))
    return found


def _missing(template: Template, what: str, why: str = "") -> ErrorInfo:
    return ErrorInfo("config_error", f"The template {template.name!r} names the {what}.", hint=why)


def _workspace(cwd: str) -> Path | None:
    return Path(cwd) if cwd else None
