"""MCP servers in sessions, and `mcp.*`."""

import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from openagent.config.cache import ConfigCache
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.plugins.store import Store
from openagent.plugins.tool import Tool
from openagent.protocol import locations, ops
from openagent.protocol.events import McpServerStatus
from openagent.protocol.mcp import McpImported, McpServerInfo, McpServers
from openagent.protocol.sessions import SessionInfo, SettingsChange
from openagent.services.mcp_servers import ServerBook, unknown
from openagent.tools.mcp.definitions import ServerDefinition
from openagent.tools.mcp.host import MCPHost
from openagent.tools.mcp.server import McpServer
from openagent.vault.redact import Redactor

if TYPE_CHECKING:
    from openagent.core.session import Session
    from openagent.daemon.manager import SessionManager


class McpService:
    def __init__(
        self,
        store: Store,
        configs: ConfigCache,
        redactor: Redactor,
        make_host: Callable[[Callable[[Path, McpServer], None]], MCPHost],
        tell: Callable[[Path, McpServerStatus], None],
    ) -> None:
        """`tell` reaches everybody who works in a workspace."""
        self._book = ServerBook(store, configs, redactor)
        self._home = Path(locations.data_home(configs.environment({})))
        self._redactor = redactor
        self._tell = tell
        self._sessions: SessionManager | None = None
        self.host = make_host(self._changed)

    def handlers(self, manager: "SessionManager") -> dict[type[ops.Op], Handler]:
        self._sessions = manager
        return {
            ops.McpList: self._list,
            ops.McpTest: self._test,
            ops.McpAdd: self._add,
            ops.McpRemove: self._remove,
            ops.McpSwitch: self._switch,
            ops.McpImport: self._import,
        }

    async def tools(self, session: SessionInfo) -> Sequence[Tool]:
        workspace = Path(session.cwd)
        found = await self._book.found(workspace)
        return await self.host.tools(workspace, found.servers, session.id, session.settings.disabled_mcp_servers)

    async def server_names(self, workspace: Path) -> Collection[str]:
        """Of those that count there."""
        return (await self._book.found(workspace)).servers.keys()

    async def tool_names(self, workspace: Path) -> Collection[str]:
        """Starts the servers, if need be."""
        found = await self._book.found(workspace)
        return {tool.name for tool in await self.host.tools(workspace, found.servers, "", ())}

    def _changed(self, workspace: Path, server: McpServer) -> None:
        detail = self._redactor.redact(server.detail)
        tools = len(server.tools)
        self._tell(
            workspace,
            McpServerStatus(server=server.name, status=server.status, detail=detail, tools=tools, at=time.time()),
        )

    async def _list(self, connection: Connection, op: ops.McpList) -> McpServers:
        if not op.session:
            return await self._shown(_workspace(op.cwd))
        session = (await self._session(op.session)).info
        return await self._shown(Path(session.cwd), session.settings.disabled_mcp_servers)

    async def _test(self, connection: Connection, op: ops.McpTest) -> McpServers:
        workspace = _workspace(op.cwd) or self._home
        found = await self._book.found(workspace)
        if op.name and op.name not in found.servers:
            raise unknown(op.name)
        for server in await self.host.servers(workspace, found.servers):
            if op.name in ("", server.name):
                await server.settled()
        shown = await self._shown(workspace)
        return McpServers([each for each in shown.servers if op.name in ("", each.name)], shown.notices)

    async def _shown(self, workspace: Path | None, left_out: Collection[str] = ()) -> McpServers:
        found = await self._book.found(workspace)
        running = self.host.running(workspace) if workspace else {}
        return McpServers(
            [self._info(each, running.get(each.name), left_out) for each in found.servers.values()], found.problems
        )

    def _info(self, definition: ServerDefinition, server: McpServer | None, left_out: Collection[str]) -> McpServerInfo:
        status = "disabled" if not definition.enabled else server.status if server else "idle"
        return McpServerInfo(
            name=definition.name,
            transport=definition.transport,
            target=self._redactor.redact(definition.target),
            status=status,
            detail=self._redactor.redact(server.detail) if server else "",
            tools=[tool.name for tool in server.tools] if server else [],
            source=definition.source,
            description=definition.description,
            in_session=definition.enabled and definition.name not in left_out,
        )

    async def _add(self, connection: Connection, op: ops.McpAdd) -> ops.Done:
        await self._book.add(op.name, op.server, replace=op.replace)
        return ops.Done()

    async def _remove(self, connection: Connection, op: ops.McpRemove) -> ops.Done:
        await self._book.remove(op.name)
        return ops.Done()

    async def _switch(self, connection: Connection, op: ops.McpSwitch) -> ops.Done:
        if not op.session:
            await self._book.switch(op.name, op.on, _workspace(op.cwd))
            return ops.Done()
        session = await self._session(op.session)
        if op.name not in (await self._book.found(session.workspace)).servers:
            raise unknown(op.name)
        others = [name for name in session.info.settings.disabled_mcp_servers if name != op.name]
        change = SettingsChange(disabled_mcp_servers=others if op.on else [*others, op.name])
        await session.update(None, change, op.id)
        return ops.Done()

    async def _import(self, connection: Connection, op: ops.McpImport) -> McpImported:
        return await self._book.import_from(Path(op.path))

    async def _session(self, session: str) -> "Session":
        assert self._sessions is not None
        return await self._sessions.get(session)


def _workspace(cwd: str) -> Path | None:
    return Path(cwd) if cwd else None
