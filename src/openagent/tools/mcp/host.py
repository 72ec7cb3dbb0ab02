"""All servers: which run for which workspace, and what they offer there together."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from openagent.plugins.call_watch import CallWatch
from openagent.plugins.held_time import HeldTime
from openagent.plugins.tool import Tool
from openagent.tools.mcp import resources, sampling
from openagent.tools.mcp.definitions import ServerDefinition
from openagent.tools.mcp.find_tools import Shelf
from openagent.tools.mcp.server import Authorize, MayConnect, McpServer, Missed, Patience, Sample
from openagent.tools.mcp.tool import McpTool
from openagent.tools.mcp.words import tool_name

if TYPE_CHECKING:
    from openagent.tools.mcp.wire import StartProcess

SETTLE = 5.0
"""Seconds from a server's start in which turns wait for it. One that needs longer joins when it is up."""
UNTOLD = 1.0
"""Seconds of that which nobody is told of."""
IDLE = 1800.0
"""Seconds after which the servers of a workspace where nobody works are ended."""


Awaited = Callable[[Sequence[str], float], None]
_Place = tuple[Path, str]
"""A workspace, and the session that has servers of its own there, if it is one's."""


@dataclass
class _Group:
    servers: dict[str, McpServer] = field(default_factory=dict[str, McpServer])
    used: float = 0.0
    shelf: Shelf = field(default_factory=Shelf)


async def _may_always_connect(_definition: ServerDefinition, _workspace: Path) -> str:
    return ""


class MCPHost:
    def __init__(
        self,
        start: "StartProcess",
        *,
        reserved: Collection[str],
        on_change: Callable[[Path, McpServer], None],
        sample: Sample,
        authorize: Authorize,
        share: float = 10.0,
        patience: Patience | None = None,
        held_for: Callable[[Path, str], HeldTime] = lambda _workspace, _server: HeldTime(),
        may_connect: MayConnect = _may_always_connect,
        missed: Missed | None = None,
        watch: CallWatch | None = None,
    ) -> None:
        """`start` runs a server's command in the jail; `reserved` are the names of other tools; `sample` asks the
        model of a session; `share` is the percent of a model's window that schemas may take; `held_for` counts the time
        in which a server waits for a person, which is not its own."""
        self._start = start
        self._reserved = frozenset((*reserved, "find_tools", *resources.NAMES, sampling.NAME))
        self._on_change = on_change
        self._sample = sample
        self._authorize = authorize
        self._share = share
        self._patience = patience or Patience()
        self._held_for = held_for
        self._may_connect = may_connect
        self._missed = missed
        self._watch = watch
        self._groups: dict[_Place, _Group] = {}
        self._lock = asyncio.Lock()
        self._closing: set[asyncio.Task[None]] = set()

    async def tools(
        self,
        workspace: Path,
        definitions: Mapping[str, ServerDefinition],
        session: str,
        without: Collection[str] = (),
        *,
        alone: bool = False,
        awaited: Awaited | None = None,
    ) -> Sequence[Tool]:
        """What the servers offer right now, but for those that the session leaves out. Starts those that are new, ends
        those that are gone. `alone`: they run for this session and no other. `awaited` hears of those that are waited
        for, and for how many seconds at most."""
        if not definitions and not self._groups:
            return ()
        own = session if alone else ""
        servers = await self.servers(workspace, definitions, own)
        await self.settle([server for server in servers if server.name not in without], awaited)
        group = self._groups.get((workspace, own))
        return group.shelf.of(session, without) if group else ()

    async def settle(self, servers: Sequence[McpServer], awaited: Awaited | None = None) -> None:
        """Gives those that have just been started a while."""
        now = time.monotonic()
        starting = [server for server in servers if server.status == "starting" and server.began + SETTLE > now]
        if not starting:
            return
        until = max(server.began for server in starting) + SETTLE
        settling = [asyncio.create_task(server.settled()) for server in starting]
        try:
            _, slow = await asyncio.wait(settling, timeout=min(UNTOLD, until - now))
            left = until - time.monotonic()
            if slow and left > 0:
                if awaited is not None:
                    awaited([server.name for server in starting if server.status == "starting"], left)
                await asyncio.wait(settling, timeout=left)
        finally:
            for waiting in settling:
                waiting.cancel()

    async def servers(
        self, workspace: Path, definitions: Mapping[str, ServerDefinition], own: str = ""
    ) -> list[McpServer]:
        """`own` is the session that they run for alone."""
        place = (workspace, own)
        async with self._lock:
            await self._end_idle(place)
            group = self._groups.setdefault(place, _Group())
            group.used = time.monotonic()
            wanted = {name: each for name, each in definitions.items() if each.enabled and not each.problem}
            gone = [server for server in group.servers.values() if wanted.get(server.name) != server.definition]
            for server in gone:
                del group.servers[server.name]
            await asyncio.gather(*(server.close() for server in gone))
            for name, definition in wanted.items():
                if name not in group.servers:
                    group.servers[name] = McpServer(
                        definition,
                        workspace,
                        self._start,
                        lambda server: self._changed(place, server),
                        patience=self._patience,
                        sample=self._sample,
                        authorize=self._authorize,
                        held=self._held_for(workspace, name),
                        may_connect=self._may_connect,
                        missed=self._missed,
                        watch=self._watch,
                    )
            if gone:
                self._name_tools(group)
            return list(group.servers.values())

    async def end(self, name: str) -> None:
        """Wherever it runs, but for sessions that have one of this name of their own. Returns when it has ended; where
        it still counts, it starts again with the next turn."""
        async with self._lock:
            ended: list[McpServer] = []
            for (_, own), group in self._groups.items():
                if not own and (server := group.servers.pop(name, None)):
                    ended.append(server)
                    self._name_tools(group)
            await asyncio.gather(*(server.close() for server in ended))

    def start_anew(self, name: str) -> None:
        """With the next turn, or whatever else asks for servers."""
        for group in self._groups.values():
            if server := group.servers.pop(name, None):
                self._closing.add(closing := asyncio.create_task(server.close()))
                closing.add_done_callback(self._closing.discard)

    async def end_own(self, session: str) -> None:
        """Those that run for this session alone."""
        async with self._lock:
            for place in [place for place in self._groups if place[1] == session]:
                await self._end(place)

    def running(self, workspace: Path, own: str = "") -> dict[str, McpServer]:
        group = self._groups.get((workspace, own))
        return dict(group.servers) if group else {}

    def offers(self, session: str, tool: Tool, window: int) -> bool:
        """Whether a tool's schema goes into requests: not when all of them would crowd the model's window."""
        for group in self._groups.values():
            if tool is group.shelf.find or group.shelf.tools.get(tool.name) is tool:
                return group.shelf.offers(session, tool, window * self._share / 100)
        return True

    @property
    def all_servers(self) -> list[McpServer]:
        """Of every workspace where somebody works."""
        return [server for group in self._groups.values() for server in group.servers.values()]

    async def close(self) -> None:
        servers = self.all_servers
        self._groups.clear()
        await asyncio.gather(*(server.close() for server in servers), *self._closing)

    async def _end_idle(self, used: _Place) -> None:
        now = time.monotonic()
        for place in [place for place, group in self._groups.items() if now - group.used > IDLE and place != used]:
            await self._end(place)

    async def _end(self, place: _Place) -> None:
        group = self._groups.pop(place)
        await asyncio.gather(*(server.close() for server in group.servers.values()))

    def _changed(self, place: _Place, server: McpServer) -> None:
        group = self._groups.get(place)
        if group is not None and group.servers.get(server.name) is server:
            self._name_tools(group)
            self._on_change(place[0], server)

    def _name_tools(self, group: _Group) -> None:
        """A name that another tool has, built in or of another server, gets the server's in front."""
        offered = [(server, tool) for server in group.servers.values() for tool in server.offer.tools]
        counts = Counter(tool_name(tool.name) for _, tool in offered)
        for server in group.servers.values():
            server.shadowing = [tool.name for tool in server.offer.tools if tool_name(tool.name) in self._reserved]
        named: dict[str, McpTool] = {}
        for server, tool in offered:
            plain = tool_name(tool.name)
            clashes = counts[plain] > 1 or plain in self._reserved
            name = tool_name(server.name, tool.name) if clashes else plain
            if name not in self._reserved and name not in named:
                named[name] = McpTool(server, tool, name)
        group.shelf.fill(dict(group.servers), named)
