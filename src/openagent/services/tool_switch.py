"""Tools given to agents and taken away: `tools.switch`."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from openagent.config.cache import ConfigCache
from openagent.config.edit import set_list
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.protocol import locations, ops
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.sessions import SettingsChange
from openagent.protocol.tools import ToolsSwitch

if TYPE_CHECKING:
    from openagent.daemon.manager import SessionManager


class ToolSwitch:
    """For one session in its settings, for those to come in the person's own file."""

    def __init__(self, configs: ConfigCache, manager: "SessionManager") -> None:
        self._configs = configs
        self._manager = manager
        self._writing = asyncio.Lock()

    def handlers(self) -> dict[type[ops.Op], Handler]:
        return {ToolsSwitch: self._switch}

    async def _switch(self, connection: Connection, op: ToolsSwitch) -> ops.Done:
        if op.session:
            await self._in_session(op)
        else:
            async with self._writing:
                await asyncio.to_thread(self._from_now_on, op)
        return ops.Done()

    async def _in_session(self, op: ToolsSwitch) -> None:
        session = await self._manager.get(op.session)
        disabled = session.info.settings.disabled_tools
        more = () if op.name in disabled else await self._manager.runtime.more_tools(session.info)
        self._check(op.name, {*disabled, *(tool.name for tool in more)})
        change = SettingsChange(disabled_tools=_switched(disabled, op))
        await session.update(None, change, op.id)

    def _from_now_on(self, op: ToolsSwitch) -> None:
        off = self._configs.load().settings.tools.off
        self._check(op.name, off)
        wanted = _switched(off, op)
        if wanted != off:
            set_list(Path(locations.config_file(self._configs.environment({}))), "tools", "off", wanted)
            self._configs.forget()

    def _check(self, name: str, also: "set[str] | list[str]") -> None:
        if name not in also and all(name != tool.name for tool in self._manager.runtime.tools):
            raise OpenAgentError("not_found", f"There is no tool {name!r}.", hint="Write it exactly as agents know it.")


def _switched(disabled: list[str], op: ToolsSwitch) -> list[str]:
    others = [name for name in disabled if name != op.name]
    return others if op.on else [*others, op.name]
