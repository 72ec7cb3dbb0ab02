"""MCP servers: whose files count where, and `mcp.*`."""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from openagent.config.cache import ConfigCache
from openagent.config.expand import expand
from openagent.config.project import project_folder
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.plugins.tool import Tool
from openagent.protocol import locations, ops
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import McpServerStatus
from openagent.protocol.mcp import McpImported, McpServerEntry, McpServerInfo, McpServers
from openagent.tools.mcp.definitions import FoundServers, ServerDefinition, define, read_servers
from openagent.tools.mcp.host import MCPHost
from openagent.tools.mcp.server import McpServer
from openagent.vault.redact import Redactor

OWN_FILE = "mcpServers.json"
"""Beside the person's config.toml."""
PROJECT_FILES = (".mcp.json", "mcpServers.json")
MAX_FILE = 1 << 20


def own_file(configs: ConfigCache) -> Path:
    return Path(locations.config_file(configs.environment({}))).with_name(OWN_FILE)


class McpService:
    def __init__(
        self,
        configs: ConfigCache,
        redactor: Redactor,
        make_host: Callable[[Callable[[Path, McpServer], None]], MCPHost],
        tell: Callable[[Path, McpServerStatus], None],
    ) -> None:
        """`tell` reaches everybody who works in a workspace."""
        self._configs = configs
        self._redactor = redactor
        self._tell = tell
        self._file = own_file(configs)
        self.host = make_host(self._changed)

    def handlers(self) -> dict[type[ops.Op], Handler]:
        return {
            ops.McpList: self._list,
            ops.McpTest: self._test,
            ops.McpAdd: self._add,
            ops.McpRemove: self._remove,
            ops.McpSwitch: self._switch,
            ops.McpImport: self._import,
        }

    async def tools(self, workspace: Path) -> Sequence[Tool]:
        return await self.host.tools(workspace, self._found(workspace).servers)

    def _changed(self, workspace: Path, server: McpServer) -> None:
        detail = self._redactor.redact(server.detail)
        tools = len(server.tools)
        self._tell(
            workspace,
            McpServerStatus(server=server.name, status=server.status, detail=detail, tools=tools, at=time.time()),
        )

    # Which servers there are

    def _found(self, workspace: Path | None) -> FoundServers:
        """The person's own, and those of a trusted project; a name of the person's own is theirs."""
        own = self._read(self._file)
        servers, problems = dict(own.servers), list(own.problems)
        if workspace is not None:
            folder = project_folder(workspace, self._configs.environment({}))
            files = [file for name in PROJECT_FILES if (file := folder / name).is_file() and file != self._file]
            if files and not self._configs.trust.trusts(folder):
                problems.append(f"{folder}: its MCP servers are left out until `openagent trust` says so.")
            elif files:
                for file in files:
                    found = self._read(file)
                    servers = {**found.servers, **servers}
                    problems += found.problems
        off = set(own.disabled)
        chosen = {
            name: msgspec.structs.replace(each, enabled=each.enabled and name not in off)
            for name, each in servers.items()
        }
        return FoundServers(chosen, problems, own.disabled)

    def _read(self, file: Path) -> FoundServers:
        try:
            if file.stat().st_size > MAX_FILE:
                return FoundServers({}, [f"{file}: it is larger than {MAX_FILE >> 20} MB."], [])
            found = read_servers(file.read_bytes(), str(file), self._expand)
        except FileNotFoundError:
            return FoundServers({}, [], [])
        except OSError as problem:
            return FoundServers({}, [f"{file}: {problem.strerror}."], [])
        for each in found.servers.values():
            for value in (*each.env.values(), *each.headers.values()):
                if len(value) >= 12:
                    self._redactor.register(value)
        return found

    def _expand(self, text: str) -> str:
        expanded = expand(text, self._configs.environment({}))
        if expanded.unset or expanded.malformed:
            missing = ", ".join(expanded.unset) or expanded.malformed
            raise OpenAgentError("config_error", f"The variable {missing} is not set.", hint="Set it for the daemon.")
        return expanded.text

    # What clients ask for

    async def _list(self, connection: Connection, op: ops.McpList) -> McpServers:
        return self._shown(_workspace(op.cwd))

    async def _test(self, connection: Connection, op: ops.McpTest) -> McpServers:
        workspace = _workspace(op.cwd) or Path(locations.data_home(self._configs.environment({})))
        found = self._found(workspace)
        if op.name and op.name not in found.servers:
            raise _unknown(op.name)
        for server in await self.host.servers(workspace, found.servers):
            if op.name in ("", server.name):
                await server.settled()
        shown = self._shown(workspace)
        return McpServers([each for each in shown.servers if op.name in ("", each.name)], shown.notices)

    def _shown(self, workspace: Path | None) -> McpServers:
        found = self._found(workspace)
        running = self.host.running(workspace) if workspace else {}
        return McpServers([self._info(each, running.get(each.name)) for each in found.servers.values()], found.problems)

    def _info(self, definition: ServerDefinition, server: McpServer | None) -> McpServerInfo:
        status = "disabled" if not definition.enabled else server.status if server else "idle"
        return McpServerInfo(
            name=definition.name,
            transport=definition.transport,
            target=self._redactor.redact(definition.target),
            status=status,
            detail=self._redactor.redact(server.detail) if server else "",
            tools=[tool.name for tool in server.tools] if server else [],
            source=definition.source,
        )

    async def _add(self, connection: Connection, op: ops.McpAdd) -> ops.Done:
        define(op.name, op.server, str(self._file), lambda text: text)
        content = self._content()
        if op.name in content["mcpServers"] and not op.replace:
            raise OpenAgentError(
                "conflict", f"There is an MCP server {op.name!r} already.", hint="Remove it first, or replace it."
            )
        content["mcpServers"][op.name] = msgspec.to_builtins(op.server)
        self._write(content)
        return ops.Done()

    async def _remove(self, connection: Connection, op: ops.McpRemove) -> ops.Done:
        content = self._content()
        if content["mcpServers"].pop(op.name, None) is None:
            raise _unknown(op.name)
        content["disabled"] = [name for name in content["disabled"] if name != op.name]
        self._write(content)
        return ops.Done()

    async def _switch(self, connection: Connection, op: ops.McpSwitch) -> ops.Done:
        if op.name not in self._found(_workspace(op.cwd)).servers:
            raise _unknown(op.name)
        content = self._content()
        others = [name for name in content["disabled"] if name != op.name]
        content["disabled"] = others if op.on else [*others, op.name]
        if op.on and op.name in content["mcpServers"]:
            content["mcpServers"][op.name].pop("disabled", None)
        self._write(content)
        return ops.Done()

    async def _import(self, connection: Connection, op: ops.McpImport) -> McpImported:
        try:
            text = await asyncio.to_thread(Path(op.path).read_bytes)
            given = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
            named = msgspec.json.decode(
                given.get("mcpServers", given.get("servers", msgspec.Raw(b"{}"))), type=dict[str, dict[str, Any]]
            )
        except (OSError, msgspec.DecodeError) as problem:
            raise OpenAgentError(
                "invalid_argument", f"{op.path} cannot be read: {problem}.", hint="Name a file with `mcpServers` in it."
            ) from None
        content = self._content()
        added, kept, problems = list[str](), list[str](), list[str]()
        for name, entry in named.items():
            if name in content["mcpServers"]:
                kept.append(name)
                continue
            try:
                define(name, msgspec.convert(entry, McpServerEntry), op.path, lambda text: text)
            except (OpenAgentError, msgspec.ValidationError) as problem:
                problems.append(f"{name}: {problem.info.message if isinstance(problem, OpenAgentError) else problem}")
                continue
            content["mcpServers"][name] = entry
            added.append(name)
        if added:
            self._write(content)
        return McpImported(added, kept, problems)

    # The person's own file

    def _content(self) -> dict[str, Any]:
        try:
            content = msgspec.json.decode(self._file.read_bytes(), type=dict[str, Any])
        except FileNotFoundError:
            content = {}
        except (OSError, msgspec.DecodeError) as problem:
            raise OpenAgentError(
                "config_error", f"{self._file} cannot be read: {problem}.", hint="Correct or remove it."
            ) from None
        content.setdefault("mcpServers", {})
        content.setdefault("disabled", [])
        return content

    def _write(self, content: dict[str, Any]) -> None:
        """It may hold keys: for its owner alone."""
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = self._file.with_name(f"{OWN_FILE}.{os.getpid()}")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(msgspec.json.format(msgspec.json.encode(content)))
        temporary.replace(self._file)


def _workspace(cwd: str) -> Path | None:
    return Path(cwd) if cwd else None


def _unknown(name: str) -> OpenAgentError:
    return OpenAgentError("not_found", f"There is no MCP server {name!r}.", hint="`openagent mcp list` shows them.")
