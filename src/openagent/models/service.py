"""Keys, logins, the catalog and offline models of one daemon, and what they share."""

import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from openagent.config.cache import ConfigCache
from openagent.core.session import Session
from openagent.daemon.bus import EventBus
from openagent.daemon.daemon import Handler
from openagent.daemon.loaded_sessions import LoadedSessions
from openagent.models.catalog import ModelCatalog, Place
from openagent.models.listing import ModelsService
from openagent.models.logins import AuthService
from openagent.models.owned_keys import OwnedKeys, Teams
from openagent.models.provider_credentials import CredentialBook, provider_of
from openagent.models.settings_file import SettingsFile
from openagent.models.setup import SetupService
from openagent.models.trials import Trials
from openagent.plugins.ledger import Ledger
from openagent.plugins.loading import PluginLoader
from openagent.plugins.provider import Provider
from openagent.plugins.provider_limits import ProviderLimits
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import LoginRequired
from openagent.providers.http import certificates
from openagent.telemetry.prices import PriceBook
from openagent.vault.master import KEY_VARIABLE
from openagent.vault.redact import Redactor
from openagent.vault.vault import Vault


class Models:
    def __init__(
        self,
        home: Path,
        configs: ConfigCache,
        *,
        redactor: Redactor,
        plugins: PluginLoader,
        prices: PriceBook,
        ledger: Ledger,
        bus: EventBus,
        loaded: LoadedSessions,
        watch: Callable[[Provider], Provider],
        teams: Teams,
        limits: ProviderLimits | None = None,
    ) -> None:
        """Reads the vault's table of contents: make it off the event loop."""
        self._configs = configs
        self._bus = bus
        self._loaded = loaded
        shared = configs.load().settings.team.vault
        self.vault = Vault(
            Path(shared).expanduser() if shared else home,
            given_key=configs.environment({}).get(KEY_VARIABLE, ""),
            redactor=redactor,
        )
        self._credentials = CredentialBook(
            self.vault, redactor, client_secret=self._client_secret, on_login_required=self._tell_login_required
        )
        offline = home / "models"
        self.catalog = ModelCatalog(
            configs.load,
            configs.environment,
            credentials=self._credentials,
            redact=redactor.redact,
            offline=offline,
            plugins=plugins,
            look_again=configs.forget,
            watch=watch,
            limits=limits,
        )
        trials = Trials(self.catalog, self._credentials)
        file = SettingsFile(configs, self.catalog)
        self._logins = AuthService(self._credentials, self.catalog, configs.load, file, trials)
        self.owned_keys = OwnedKeys(self._credentials, trials, teams)
        self._setup = SetupService(configs, file, self.catalog, book=self._credentials, trials=trials, offline=offline)
        self._listing = ModelsService(self.catalog, ledger, prices, offline)

    def handlers(self) -> list[Handler]:
        return [
            *self._logins.handlers(),
            *self.owned_keys.handlers(),
            *self._listing.handlers(),
            *self._setup.handlers(),
        ]

    async def start(self) -> None:
        await self._credentials.start()

    def load_ahead(self) -> None:
        """So that nobody's first request waits for it."""
        import_module("httpx2")
        with suppress(OpenAgentError):
            known = self.catalog.known(Place(None, {}))
            if any(
                each.kind not in ("demo", "local") and not each.base_url.startswith("http:") for each in known.values()
            ):
                certificates()

    async def close(self) -> None:
        await self._logins.close()
        await self._listing.close()
        await self._credentials.close()
        await self.catalog.close()

    def _tell_login_required(self, provider: str, reason: str) -> None:
        """To everybody who follows the daemon, and in the sessions that need this provider."""
        event = LoginRequired(provider=provider, reason=reason, at=time.time())
        self._bus.publish(event)
        for session in self._loaded.all:
            if provider_of(provider) in self._providers_of(session):
                session.post(event)

    def _providers_of(self, session: Session) -> set[str]:
        try:
            return self.catalog.providers_of(session.info.settings.model, Place(session.workspace, session.env))
        except OpenAgentError:
            return set()

    def _client_secret(self, provider: str) -> str:
        given = self._configs.load().settings.providers.get(provider)
        return given.oauth.client_secret if given else ""
