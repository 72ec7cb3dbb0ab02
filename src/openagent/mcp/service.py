"""MCP servers in sessions, and `mcp.*`."""

import logging
import time
from collections.abc import Callable, Collection, Sequence
from difflib import get_close_matches
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

import msgspec

from openagent.config.cache import ConfigCache
from openagent.core.model_call import ask_aside
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.daemon.late_binding import Late
from openagent.mcp.logins import McpLogins
from openagent.mcp.secrets import McpSecrets
from openagent.mcp.servers import ServerBook, unknown
from openagent.plugins.provider import ModelRequest
from openagent.plugins.store import Store
from openagent.plugins.tool import Tool
from openagent.protocol import locations
from openagent.protocol.auth import LoginStarted
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import McpServerLate, McpServerStatus
from openagent.protocol.mcp import (
    McpAdd,
    McpCatalog,
    McpCatalogue,
    McpCatalogueEntry,
    McpImport,
    McpImported,
    McpKept,
    McpList,
    McpLogin,
    McpLoginFinish,
    McpLogout,
    McpPrompt,
    McpPromptGet,
    McpPromptList,
    McpPromptMessages,
    McpPrompts,
    McpRemove,
    McpResourceContents,
    McpResourceList,
    McpResourceRead,
    McpResources,
    McpServerEntry,
    McpServerInfo,
    McpServers,
    McpSessionServers,
    McpShow,
    McpSwitch,
    McpTest,
)
from openagent.protocol.messages import TextPart, UserPart
from openagent.protocol.op import Done
from openagent.protocol.sessions import SessionInfo, SettingsChange
from openagent.tools.mcp.catalogue import CATALOGUE
from openagent.tools.mcp.definitions import ServerDefinition
from openagent.tools.mcp.host import MCPHost
from openagent.tools.mcp.prompts import arguments_from, as_message, messages_of, prompts_of
from openagent.tools.mcp.resources import contents_of, resources_of
from openagent.tools.mcp.sampling import NAME as SAMPLING
from openagent.tools.mcp.sampling import Sampled, SampleRequest, SamplingTool
from openagent.tools.mcp.server import Authorize, McpServer, Sample
from openagent.vault.redact import Redactor
from openagent.vault.vault import Vault

if TYPE_CHECKING:
    from openagent.core.session import Session
    from openagent.daemon.manager import SessionManager


_log = logging.getLogger(__name__)


class McpService:
    def __init__(
        self,
        store: Store,
        configs: ConfigCache,
        redactor: Redactor,
        vault: Vault,
        *,
        sessions: "Late[SessionManager]",
        make_host: Callable[[Callable[[Path, McpServer], None], Sample, Authorize], MCPHost],
        tell: Callable[[Path, McpServerStatus], None],
    ) -> None:
        """`tell` reaches everybody who works in a workspace."""
        self._book = ServerBook(store, configs, redactor, McpSecrets(vault))
        self._environment = configs.environment
        self._home = Path(locations.data_home(configs.environment({})))
        self._redactor = redactor
        self._tell = tell
        self._sessions = sessions
        self._sampling = SamplingTool(self._answer)
        self._logins = McpLogins(vault, self._start_anew)
        self._own: dict[str, dict[str, ServerDefinition]] = {}
        """Servers that were given to one session alone."""
        self._late: dict[str, dict[str, str]] = {}
        """By session: servers that needed longer to start than its turn waited, and what was last told of each."""
        self.host = make_host(self._changed, self._sample, self._logins.auth)

    def handlers(self) -> list[Handler]:
        return [
            McpList.handled_by(self._list),
            McpTest.handled_by(self._test),
            McpShow.handled_by(self._show),
            McpAdd.handled_by(self._add),
            McpRemove.handled_by(self._remove),
            McpSwitch.handled_by(self._switch),
            McpImport.handled_by(self._import),
            McpCatalog.handled_by(self._catalog),
            McpLogin.handled_by(self._login),
            McpLoginFinish.handled_by(self._finish_login),
            McpLogout.handled_by(self._logout),
            McpSessionServers.handled_by(self._set_own),
            McpResources.handled_by(self._resources),
            McpResourceRead.handled_by(self._read_resource),
            McpPrompts.handled_by(self._prompts),
            McpPromptGet.handled_by(self._get_prompt),
        ]

    async def tools(self, session: SessionInfo) -> Sequence[Tool]:
        workspace = Path(session.cwd)
        servers = (await self._book.found(workspace)).servers
        own = self._own.get(session.id, {})
        without = session.settings.disabled_mcp_servers
        running = self._sessions().loaded(session.id)
        turn = running if running is not None and running.running else None
        tools = await self.host.tools(
            workspace,
            {**servers, **own},
            session.id,
            without,
            alone=bool(own),
            awaited=lambda names, seconds: self._await(turn, names, seconds),
        )
        starting = {
            each.name
            for each in self.host.running(workspace, session.id if own else "").values()
            if each.status == "starting" and each.name not in without
        }
        self._leave_out(turn, starting)
        return [*tools, self._sampling] if tools else tools

    def _await(self, turn: "Session | None", names: Sequence[str], seconds: float) -> None:
        if turn is None:
            return
        for name in names:
            self._late.setdefault(turn.id, {})[name] = "awaited"
            turn.post(McpServerLate(server=name, state="awaited", seconds=seconds))

    def _leave_out(self, turn: "Session | None", names: Collection[str]) -> None:
        if turn is None:
            return
        for name in sorted(names):
            late = self._late.setdefault(turn.id, {})
            if late.get(name) != "left_out":
                late[name] = "left_out"
                turn.post(McpServerLate(server=name, state="left_out"))

    def _join(self, workspace: Path, server: McpServer) -> None:
        """A turn that waited for it, or went on without it, has its tools from the next step on."""
        for session, late in list(self._late.items()):
            found = self._sessions().loaded(session)
            if found is None:
                del self._late[session]
            elif server.name in late and found.workspace == workspace and server.status in ("up", "failed"):
                told = late.pop(server.name)
                if server.status == "failed":
                    late[server.name] = "failed"
                if found.running and told != server.status:
                    detail = self._redactor.redact(server.detail)
                    state, tools = ("joined", len(server.offer.tools)) if server.status == "up" else ("failed", 0)
                    found.post(McpServerLate(server=server.name, state=state, tools=tools, detail=detail))
                    found.tools.outdated = True

    def offers(self, session: str, tool: Tool, window: int) -> bool:
        return tool is not self._sampling and self.host.offers(session, tool, window)

    async def prompts(self, workspace: Path) -> list[McpPrompt]:
        """For people, who write `/server:prompt`. Starts servers where need be."""
        return prompts_of(await self._running(workspace))

    async def prompt(self, workspace: Path, server: str, name: str, words: Sequence[str]) -> list[UserPart]:
        """What `/server:name words…` says to the agent."""
        for prompt in await self.prompts(workspace):
            if (prompt.server, prompt.name) == (server, name):
                running = await self._server(workspace, server)
                return as_message(messages_of(await running.prompt(name, arguments_from(prompt, words))))
        raise OpenAgentError(
            "not_found", f"The MCP server {server!r} has no prompt {name!r}.", hint="`openagent mcp prompts`."
        )

    # A server asks a session's model

    async def _sample(self, session: str, request: SampleRequest) -> Sampled:
        """Decided on, shown and audited like any call."""
        asked = await self._session(session)
        outcome = await asked.run_tool(SAMPLING, msgspec.to_builtins(request), "")
        if outcome.is_error:
            raise OpenAgentError("permission_denied", outcome.text)
        return Sampled(outcome.text, outcome.display.model, outcome.display.stop_reason)

    async def _answer(self, session: str, request: SampleRequest) -> Sampled:
        asked = await self._session(session)
        resolved = asked.runtime.resolve_model(
            asked.info.settings.model, env=asked.env, cwd=asked.workspace, whose=asked.keys_of
        )
        answer = await ask_aside(
            asked,
            resolved,
            ModelRequest(
                model=resolved.model,
                system=request.system,
                messages=request.messages,
                max_output_tokens=request.max_tokens,
                temperature=request.temperature,
                session=asked.id,
            ),
            "sampling",
        )
        text = "".join(part.text for part in answer.parts if isinstance(part, TextPart))
        return Sampled(text, resolved.name, answer.stop_reason)

    # What clients ask for

    async def server_names(self, workspace: Path) -> Collection[str]:
        """Of those that count there."""
        return (await self._book.found(workspace)).servers.keys()

    async def servers_of(self, session: SessionInfo) -> Collection[str]:
        """Also those that were given to it alone."""
        return {*(await self._book.found(Path(session.cwd))).servers, *self._own.get(session.id, {})}

    async def all_are_up(self, session: SessionInfo) -> bool:
        """All have said what they offer: those that are switched off need not."""
        workspace = Path(session.cwd)
        own = self._own.get(session.id, {})
        wanted = {**(await self._book.found(workspace)).servers, **own}
        running = self.host.running(workspace, session.id if own else "")
        return all(
            name in running and running[name].status == "up" for name, server in wanted.items() if server.enabled
        )

    def _changed(self, workspace: Path, server: McpServer) -> None:
        self._join(workspace, server)
        self._tell(
            workspace,
            McpServerStatus(
                server=server.name,
                status=server.status,
                detail=self._redactor.redact(server.detail),
                tools=len(server.offer.tools),
                warnings=server.warnings,
                at=time.time(),
            ),
        )

    async def _list(self, connection: Connection, op: McpList) -> McpServers:
        if not op.session:
            return await self._shown(_workspace(op.cwd))
        session = (await self._session(op.session)).info
        return await self._shown(Path(session.cwd), session.settings.disabled_mcp_servers, session.id)

    async def _test(self, connection: Connection, op: McpTest) -> McpServers:
        workspace = _workspace(op.cwd) or self._home
        if op.server is not None:
            return McpServers([await self._tried(op.name, op.server, workspace)])
        found = await self._book.found(workspace)
        if op.name and op.name not in found.servers:
            raise unknown(op.name)
        for server in await self.host.servers(workspace, found.servers):
            if op.name in ("", server.name):
                await server.settled()
        shown = await self._shown(workspace)
        return McpServers([each for each in shown.servers if op.name in ("", each.name)], shown.notices)

    async def _tried(self, name: str, entry: McpServerEntry, workspace: Path) -> McpServerInfo:
        """Started as for a session of its own, and ended again."""
        definition = self._book.trial(name, await self._book.completed(name, entry))
        if definition.problem:
            return self._info(definition, None, ())
        trial = f"trial-{token_hex(6)}"
        try:
            (server,) = await self.host.servers(workspace, {name: definition}, trial)
            await server.settled()
            return self._info(definition, server, ())
        finally:
            await self.host.end_own(trial)

    async def _show(self, connection: Connection, op: McpShow) -> McpKept:
        return await self._book.shown(op.name)

    async def _shown(self, workspace: Path | None, left_out: Collection[str] = (), session: str = "") -> McpServers:
        found = await self._book.found(workspace)
        own = self._own.get(session, {})
        running = self.host.running(workspace, session if own else "") if workspace else {}
        servers = {**found.servers, **own}
        return McpServers(
            [self._info(each, running.get(each.name), left_out) for each in servers.values()], found.problems
        )

    def _info(self, definition: ServerDefinition, server: McpServer | None, left_out: Collection[str]) -> McpServerInfo:
        idle = "failed" if definition.problem else "idle"
        status = "disabled" if not definition.enabled else server.status if server else idle
        return McpServerInfo(
            name=definition.name,
            transport=definition.transport,
            target=self._redactor.redact(definition.target),
            status=status,
            detail=self._redactor.redact(server.detail if server else definition.problem),
            tools=[tool.name for tool in server.offer.tools] if server else [],
            source=definition.source,
            origin=self._book.origin(definition),
            description=definition.description,
            resources=len(server.offer.resources) if server else 0,
            prompts=len(server.offer.prompts) if server else 0,
            warnings=server.warnings if server else [],
            in_session=definition.enabled and definition.name not in left_out,
        )

    async def _add(self, connection: Connection, op: McpAdd) -> Done:
        await self._book.add(op.name, op.server, replace=op.replace)
        await self.host.end(op.name)
        return Done()

    async def _set_own(self, connection: Connection, op: McpSessionServers) -> Done:
        session = await self._session(op.session)
        given = self._book.given(op.servers)
        if given == self._own.get(session.id, {}):
            return Done()
        self._own.pop(session.id, None)
        await self.host.end_own(session.id)
        if given:
            self._own[session.id] = given
        return Done()

    async def _remove(self, connection: Connection, op: McpRemove) -> Done:
        await self._book.remove(op.name)
        await self.host.end(op.name)
        return Done()

    async def _switch(self, connection: Connection, op: McpSwitch) -> Done:
        if not op.session:
            await self._book.switch(op.name, op.on, _workspace(op.cwd))
            if not op.on:
                await self.host.end(op.name)
            return Done()
        session = await self._session(op.session)
        servers = (await self._book.found(session.workspace)).servers
        if op.name not in {**servers, **self._own.get(session.id, {})}:
            raise unknown(op.name)
        others = [name for name in session.info.settings.disabled_mcp_servers if name != op.name]
        change = SettingsChange(disabled_mcp_servers=others if op.on else [*others, op.name])
        await session.update(None, change, op.id)
        return Done()

    async def _import(self, connection: Connection, op: McpImport) -> McpImported:
        return await self._book.import_from(Path(op.path))

    async def _catalog(self, connection: Connection, op: McpCatalog) -> McpCatalogue:
        entries = [self._with_what_is_set(entry) for entry in CATALOGUE if op.name in ("", entry.name)]
        if not entries:
            near = get_close_matches(op.name, [entry.name for entry in CATALOGUE], n=1)
            guess = f"Did you mean {near[0]!r}? " if near else ""
            raise OpenAgentError(
                "not_found",
                f"There is no MCP server {op.name!r} in the catalogue.",
                hint=f"{guess}`openagent mcp catalog` lists them; any other is added with its command or --url.",
            )
        return McpCatalogue(entries)

    def _with_what_is_set(self, entry: McpCatalogueEntry) -> McpCatalogueEntry:
        env = self._environment({})
        needs = [msgspec.structs.replace(each, is_set=bool(env.get(each.name))) for each in entry.needs]
        return msgspec.structs.replace(entry, needs=needs)

    async def _login(self, connection: Connection, op: McpLogin) -> LoginStarted:
        found = (await self._book.found(_workspace(op.cwd))).servers.get(op.name)
        if found is None:
            raise unknown(op.name)
        if found.problem:
            raise OpenAgentError("config_error", found.problem, hint="Set it for the daemon, or in the server's entry.")
        return await self._logins.start(found)

    async def _finish_login(self, connection: Connection, op: McpLoginFinish) -> Done:
        await self._logins.finish(op.login, op.answer)
        return Done()

    async def _logout(self, connection: Connection, op: McpLogout) -> Done:
        await self._logins.log_out(op.name)
        return Done()

    async def start(self) -> None:
        """Seals what an earlier version stored in clear."""
        try:
            await self._book.seal_what_is_stored()
        except OpenAgentError:
            _log.exception("MCP server keys could not be moved to the vault and stay in the database")

    async def close(self) -> None:
        await self._logins.close()
        await self.host.close()

    def _start_anew(self, name: str) -> None:
        self.host.start_anew(name)

    async def _resources(self, connection: Connection, op: McpResources) -> McpResourceList:
        running = await self._running(Path(op.cwd), op.server)
        return McpResourceList(resources_of(running))

    async def _read_resource(self, connection: Connection, op: McpResourceRead) -> McpResourceContents:
        server = await self._server(Path(op.cwd), op.server)
        return McpResourceContents(contents_of(await server.read_resource(op.uri)))

    async def _prompts(self, connection: Connection, op: McpPrompts) -> McpPromptList:
        return McpPromptList(prompts_of(await self._running(Path(op.cwd), op.server)))

    async def _get_prompt(self, connection: Connection, op: McpPromptGet) -> McpPromptMessages:
        server = await self._server(Path(op.cwd), op.server)
        return McpPromptMessages(messages_of(await server.prompt(op.name, op.arguments)))

    async def _running(self, workspace: Path, name: str = "") -> dict[str, McpServer]:
        """Those that are up, or are within the time a turn would wait for them."""
        found = await self._book.found(workspace)
        if name and name not in found.servers:
            raise unknown(name)
        await self.host.settle(await self.host.servers(workspace, found.servers))
        running = self.host.running(workspace)
        return {each: server for each, server in running.items() if name in ("", each) and server.status == "up"}

    async def _server(self, workspace: Path, name: str) -> McpServer:
        if server := (await self._running(workspace, name)).get(name):
            return server
        raise OpenAgentError(
            "tool_error", f"The MCP server {name!r} is not up.", hint=f"`openagent mcp test {name}` tells why."
        )

    async def _session(self, session: str) -> "Session":
        return await self._sessions().get(session)


def _workspace(cwd: str) -> Path | None:
    return Path(cwd) if cwd else None
