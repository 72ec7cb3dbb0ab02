"""Tools given to agents and taken away, and which they have: `tools.switch`, `tools.list`."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from openagent.config.cache import ConfigCache
from openagent.config.edit import set_value
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.plugins.tool import Tool, has_tool
from openagent.protocol import locations
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.op import Done
from openagent.protocol.sessions import SessionInfo, Settings, SettingsChange
from openagent.protocol.tools import ToolInfo, ToolList, ToolsList, ToolsSwitch

if TYPE_CHECKING:
    from openagent.daemon.manager import SessionManager

TeamTools = Callable[[SessionInfo], Awaitable[Sequence[Tool]]]


class ToolSwitch:
    """For one session in its settings, for those to come in the person's own file."""

    def __init__(self, configs: ConfigCache, manager: "SessionManager", team_tools: TeamTools) -> None:
        """`team_tools`: those that hand work to others, which are made for each session."""
        self._configs = configs
        self._manager = manager
        self._team_tools = team_tools
        self._home = Path(locations.data_home(configs.environment({})))
        self._writing = asyncio.Lock()

    def handlers(self) -> list[Handler]:
        return [
            ToolsSwitch.handled_by(self._switch),
            ToolsList.handled_by(self._list),
        ]

    async def _list(self, connection: Connection, op: ToolsList) -> ToolList:
        runtime = self._manager.runtime
        if op.session:
            session = await self._manager.get(op.session)
            settings, more = session.info.settings, await runtime.more_tools(session.info)
        else:
            off = self._configs.load().settings.tools
            settings = Settings(disabled_tools=[*off.disabled, *off.off])
            more = await self._team_tools(_anywhere(self._home))
        return ToolList([_info(tool, on=has_tool(settings, tool)) for tool in (*runtime.tools, *more)])

    async def _switch(self, connection: Connection, op: ToolsSwitch) -> Done:
        if op.session:
            await self._in_session(op)
        else:
            async with self._writing:
                ours = await self._team_tools(_anywhere(self._home))
                await asyncio.to_thread(self._from_now_on, op, {tool.name for tool in ours})
        return Done()

    async def _in_session(self, op: ToolsSwitch) -> None:
        session = await self._manager.get(op.session)
        disabled = session.info.settings.disabled_tools
        more = () if op.name in disabled else await self._manager.runtime.more_tools(session.info)
        self._check(op.name, {*disabled, *(tool.name for tool in more)})
        change = SettingsChange(disabled_tools=_switched(disabled, op))
        await session.update(None, change, op.id)

    def _from_now_on(self, op: ToolsSwitch, also: set[str]) -> None:
        off = self._configs.load().settings.tools.off
        self._check(op.name, {*off, *also})
        wanted = _switched(off, op)
        if wanted != off:
            set_value(Path(locations.config_file(self._configs.environment({}))), ("tools", "off"), wanted)
            self._configs.forget()

    def _check(self, name: str, also: set[str]) -> None:
        if name not in also and all(name != tool.name for tool in self._manager.runtime.tools):
            raise OpenAgentError("not_found", f"There is no tool {name!r}.", hint="Write it exactly as agents know it.")


def _anywhere(home: Path) -> SessionInfo:
    """A session as it would be made, of which nothing is known but that."""
    return SessionInfo(id="", name="", cwd=str(home), created_at=0.0, updated_at=0.0)


def _info(tool: Tool, *, on: bool) -> ToolInfo:
    return ToolInfo(
        name=tool.name,
        description=tool.schema.description,
        parameters=tool.schema.parameters,
        read_only=tool.read_only,
        source=tool.source,
        enabled=on,
    )


def _switched(disabled: list[str], op: ToolsSwitch) -> list[str]:
    others = [name for name in disabled if name != op.name]
    return others if op.on else [*others, op.name]
