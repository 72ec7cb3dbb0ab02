"""Templates, sub-agents and flows of one daemon, and what they share."""

from collections.abc import Container, Sequence
from pathlib import Path

from openagent.agents.flows import FlowService
from openagent.agents.subagents import AgentService
from openagent.agents.templates import TemplateNames, TemplateService
from openagent.config.cache import ConfigCache
from openagent.daemon.bus import EventBus
from openagent.daemon.daemon import Handler
from openagent.daemon.late_binding import Late
from openagent.daemon.manager import SessionManager
from openagent.plugins.store import Store
from openagent.plugins.tool import Tool
from openagent.protocol.sessions import SessionInfo
from openagent.safety.inherited import InheritedRules
from openagent.safety.service import Safety


class Team:
    def __init__(
        self,
        sessions: Late[SessionManager],
        bus: EventBus,
        configs: ConfigCache,
        store: Store,
        *,
        safety: Safety,
        inherited: InheritedRules,
        built_in: Sequence[Tool],
        names: TemplateNames,
    ) -> None:
        self.templates = TemplateService(configs, store, built_in, names)
        self._more_tools = names.more_tools
        self._copies = safety.workspaces
        self._agents = AgentService(
            sessions,
            bus,
            self.templates,
            safety,
            inherited=inherited,
            settings_of=lambda workspace: configs.load(workspace).settings.agents,
        )
        self._flows = FlowService(sessions, self._agents, self.templates, configs)

    def handlers(self) -> list[Handler]:
        return [*self.templates.handlers(), *self._agents.handlers(), *self._flows.handlers()]

    async def tools(self, info: SessionInfo) -> Sequence[Tool]:
        """What a session has beside the built-in ones."""
        return [*await self.own_tools(info), *await self._more_tools(info)]

    async def own_tools(self, info: SessionInfo) -> Sequence[Tool]:
        """Those that hand work to others."""
        return [*await self._agents.tools(info), *self._flows.tools(info)]

    async def stop_started_in(self, session: str, turns: Container[int]) -> list[str]:
        """Ends a session's background sub-agents that were started in these turns."""
        return await self._agents.background.stop_started_in(session, turns)

    async def copy_left(self, session: str) -> str:
        """The copy with edits of a sub-agent that have not come back."""
        return await self._agents.copy_left(session)

    async def drop_copy(self, workspace: Path) -> None:
        """Its edits with it, also those that have not come back."""
        if copy := self._copies.copy_of(workspace):
            await self._copies.remove(copy, force=True)

    async def close(self) -> None:
        await self._agents.close()
