"""The services of one daemon, and what they share."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from openagent import config
from openagent.access.tokens import Access
from openagent.codebase.learning import IndexLearning
from openagent.codebase.notes import CodeGate
from openagent.codebase.service import IndexService
from openagent.context.service import ContextManager
from openagent.customizing.service import Customizing
from openagent.daemon.daemon import Handler
from openagent.daemon.presence import Presence
from openagent.desk import Desk
from openagent.index.code_index import CodeIndex
from openagent.mcp.service import McpService
from openagent.models.catalog import ModelCatalog, Place
from openagent.models.credentials import CredentialBook
from openagent.models.logins import AuthService
from openagent.models.service import ModelsService
from openagent.plugins.gate import Gate
from openagent.plugins.loading import PluginLoader
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import LoginRequired
from openagent.providers.http import certificates
from openagent.safety.jail_exits import JailExits
from openagent.safety.service import Safety
from openagent.telemetry.prices import PriceBook
from openagent.telemetry.windows import ModelFacts
from openagent.usage.service import UsageService
from openagent.vault.redact import Redactor
from openagent.vault.vault import Vault
from openagent.workspace.copies import WorkspaceCopies

if TYPE_CHECKING:
    from openagent.agents.team import Team
    from openagent.core.session import Session
    from openagent.daemon.bus import EventBus
    from openagent.daemon.manager import SessionManager

PRELOAD_DELAY = 1.0
"""Seconds after the start at which heavy parts are loaded: whoever started the daemon asks something first."""
_log = logging.getLogger(__name__)


class Services:
    def __init__(
        self,
        home: Path,
        load: Callable[[Path | None, Mapping[str, str]], config.Config],
        environment: Callable[[Mapping[str, str]], dict[str, str]],
        *,
        redactor: Redactor,
        prices: PriceBook,
        plugins: PluginLoader,
        may_read: Callable[[Path, str], bool],
    ) -> None:
        """Reads the vault's table of contents: make it off the event loop."""
        self._home = home
        self._load = load
        self._environment = environment
        self._prices = prices
        self._offline = home / "models"
        self._facts = ModelFacts()
        self._sessions: SessionManager | None = None
        self._copies: WorkspaceCopies | None = None
        self._bus: EventBus | None = None
        self._book = CredentialBook(
            Vault(home, redactor=redactor),
            redactor,
            client_secret=self._client_secret,
            on_login_required=self._tell_login_required,
        )
        self.catalog = ModelCatalog(
            load,
            environment,
            credentials=self._book,
            redact=redactor.redact,
            facts=self._facts,
            offline=self._offline,
            plugins=plugins,
        )
        self._auth = AuthService(self._book, self.catalog, load)
        vectors = load(None, {}).settings.index.vectors
        self.index = CodeIndex(home / "index", vectors=vectors, may_read=may_read)
        self._learning: IndexLearning | None = None
        self._models: ModelsService | None = None
        self._starting: asyncio.Task[None] | None = None
        self.mcp: McpService | None = None
        self.access: Access
        self.presence: Presence
        self.team: Team | None = None
        self.customizing: Customizing | None = None
        self.desk: Desk | None = None
        self.exits: JailExits | None = None

    def handlers(self, manager: "SessionManager", bus: "EventBus") -> list[Handler]:
        """What the daemon serves through them, once there are sessions."""
        self._sessions, self._bus = manager, bus
        self._learning = IndexLearning(self.index, manager, bus)
        runtime = manager.runtime
        self._models = ModelsService(self.catalog, runtime.ledger, self._prices, self._facts, self._offline)
        return [
            *self._auth.handlers(),
            *UsageService(runtime.store).handlers(),
            *self._models.handlers(),
            *IndexService(self.index).handlers(),
            *ContextManager(manager, bus).handlers(),
        ]

    def telling_of_code(self, gate: Gate) -> Gate:
        def was_shown(session: str, workspace: Path) -> None:
            if self._learning is not None:
                self._learning.was_shown(session, workspace)

        return CodeGate(gate, self.index, lambda workspace: self._load(workspace, {}).settings.index, was_shown)

    @property
    def vault(self) -> Vault:
        return self._book.vault

    def for_people(self, access: Access, desk: Desk, safety: Safety) -> list[Handler]:
        """Who may come in, and what they find beside the conversation."""
        self._copies = safety.workspaces
        self.access, self.desk = access, desk
        return [
            *self.access.handlers(),
            *self.desk.handlers(),
        ]

    def start(self, when_loaded: Callable[[], None]) -> None:
        self._starting = asyncio.create_task(self._start(when_loaded))

    async def close(self) -> None:
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        if self.customizing is not None:
            await self.customizing.gate.close()
        if self.desk is not None:
            await self.desk.close()
        if self.mcp is not None:
            await self.mcp.close()
        if self.exits is not None:
            self.exits.close()
        await self._auth.close()
        if self._learning is not None:
            await self._learning.close()
        await self.index.close()
        if self._models is not None:
            await self._models.close()
        await self._book.close()
        await self.catalog.close()
        if self._copies is not None:
            await asyncio.to_thread(self._copies.unmount_all)

    async def _start(self, when_loaded: Callable[[], None]) -> None:
        await self._book.start()
        if self.mcp is not None:
            await self.mcp.start()
        await asyncio.sleep(PRELOAD_DELAY)
        if self.exits is not None:
            self.exits.warm_up()
        try:
            await asyncio.to_thread(self._preload)
        except Exception:  # whoever needs it meets the problem again, and is told
            _log.exception("could not load ahead")
        self.catalog.forget()
        when_loaded()

    def _preload(self) -> None:
        """So that nobody's first request waits for it."""
        import_module("openagent.policy.analysis")
        import_module("httpx2")
        with suppress(OpenAgentError):
            known = self.catalog.known(Place(None, {}))
            if any(
                each.kind not in ("demo", "local") and not each.base_url.startswith("http:") for each in known.values()
            ):
                certificates()
        self._facts.load()

    def _tell_login_required(self, provider: str, reason: str) -> None:
        """To everybody who follows the daemon, and in the sessions that need this provider."""
        event = LoginRequired(provider=provider, reason=reason, at=time.time())
        if self._bus is not None:
            self._bus.publish(event)
        for session in self._sessions.all_loaded if self._sessions else ():
            if provider in self._providers_of(session):
                session.post(event)

    def _providers_of(self, session: "Session") -> set[str]:
        try:
            return self.catalog.providers_of(session.info.settings.model, Place(session.workspace, session.env))
        except OpenAgentError:
            return set()

    def _client_secret(self, provider: str) -> str:
        given = self._load(None, {}).settings.providers.get(provider)
        return given.oauth.client_secret if given else ""
