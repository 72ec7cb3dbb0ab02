"""Templates, sub-agents and flows of one daemon, and what they share."""

from collections.abc import Container, Sequence
from pathlib import Path

from openagent.agents.flows import FlowService
from openagent.agents.subagents import AgentService
from openagent.agents.templates import TemplateNames, TemplateService
from openagent.config.cache import ConfigCache
from openagent.daemon.bus import EventBus
from openagent.daemon.daemon import Handler
from openagent.daemon.manager import SessionManager
from openagent.plugins.store import Store
from openagent.plugins.tool import Tool
from openagent.protocol.sessions import SessionInfo
from openagent.safety.inherited import InheritedRules
from openagent.safety.service import Safety


class Team:
    def __init__(
        self, configs: ConfigCache, store: Store, safety: Safety, built_in: Sequence[Tool], names: TemplateNames
    ) -> None:
        self.templates = TemplateService(configs, store, built_in, names)
        self.inherited = InheritedRules(safety.rules, safety.workspaces)
        self._names = names
        self._safety = safety
        self._configs = configs
        self._agents: AgentService | None = None
        self._flows: FlowService | None = None

    async def tools(self, info: SessionInfo) -> Sequence[Tool]:
        """What a session has beside the built-in ones."""
        return [*await self.own_tools(info), *await self._names.more_tools(info)]

    async def own_tools(self, info: SessionInfo) -> Sequence[Tool]:
        """Those that hand work to others."""
        own = await self._agents.tools(info) if self._agents else ()
        flow = self._flows.tools(info) if self._flows else ()
        return [*own, *flow]

    def handlers(self, manager: SessionManager, bus: EventBus) -> list[Handler]:
        """What the daemon serves through them, once there are sessions."""
        self.inherited.manager = manager
        self._agents = AgentService(
            manager,
            bus,
            self.templates,
            self._safety,
            inherited=self.inherited,
            settings_of=lambda workspace: self._configs.load(workspace).settings.agents,
        )
        self._flows = FlowService(manager, self._agents, self.templates, self._configs)
        return [
            *self.templates.handlers(),
            *self._agents.handlers(),
            *self._flows.handlers(),
        ]

    async def stop_started_in(self, session: str, turns: Container[int]) -> list[str]:
        """Ends a session's background sub-agents that were started in these turns."""
        return await self._agents.background.stop_started_in(session, turns) if self._agents else []

    async def copy_left(self, session: str) -> str:
        """The copy with edits of a sub-agent that have not come back."""
        return await self._agents.copy_left(session) if self._agents else ""

    async def drop_copy(self, workspace: Path) -> None:
        """Its edits with it, also those that have not come back."""
        copies = self._safety.workspaces
        if copy := copies.copy_of(workspace):
            await copies.remove(copy, force=True)

    async def close(self) -> None:
        if self._agents:
            await self._agents.close()
