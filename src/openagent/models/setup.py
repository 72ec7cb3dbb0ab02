"""The first minutes: what could answer here, a key that is tried, and the choice that is kept: `setup.*`."""

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path

from openagent.config.cache import ConfigCache
from openagent.config.edit import Value
from openagent.config.project import project_folder
from openagent.config.settings import ProviderSettings
from openagent.config.trust import governed_files
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.filesystem import tour
from openagent.models import local_servers
from openagent.models.catalog import ModelCatalog, Place
from openagent.models.own_providers import OwnProviders
from openagent.models.provider_credentials import CredentialBook
from openagent.models.settings_file import SettingsFile
from openagent.models.trials import Trials, tried
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.setup import (
    FolderTrust,
    FoundKey,
    KeyLook,
    LocalServer,
    LoginOffer,
    ModelChosen,
    ModelSources,
    OfflineOffer,
    ServedModel,
    SetupKey,
    SetupLook,
    SetupShow,
    SetupState,
    SetupTour,
    SetupUse,
    Tour,
)
from openagent.providers.build import address_of, key_variables_of
from openagent.providers.local import NOTE, OFFLINE_MODELS, installed_models
from openagent.providers.login_templates import can_log_in
from openagent.providers.vendors import BY_NAME, VENDORS, model_to_begin_with, vendor_of

ASKED_IN_PASSING = 2.0
"""Seconds a configured server has to list its models while somebody waits for all there is."""


class SetupService:
    def __init__(
        self,
        configs: ConfigCache,
        file: SettingsFile,
        catalog: ModelCatalog,
        *,
        book: CredentialBook,
        trials: Trials,
        offline: Path,
    ) -> None:
        self._configs = configs
        self._file = file
        self._trials = trials
        self._catalog = catalog
        self._book = book
        self._offline = offline
        self._own = OwnProviders(configs, file, trials)

    def handlers(self) -> list[Handler]:
        return [
            SetupShow.handled_by(self._show),
            SetupLook.handled_by(self._look),
            SetupKey.handled_by(self._key),
            SetupUse.handled_by(self._use),
            SetupTour.handled_by(self._tour),
            *self._own.handlers(),
        ]

    async def _tour(self, connection: Connection, op: SetupTour) -> Tour:
        return Tour(str(await asyncio.to_thread(tour.put_project)), tour.MODEL, tour.PROMPT, tour.LABEL)

    # What there is

    async def _show(self, connection: Connection, op: SetupShow) -> SetupState:
        place = _place(connection, op.cwd)
        chosen = bool(self._configs.load(place.cwd, place.env).settings.model)
        folder = await asyncio.to_thread(self._trust, place.cwd) if place.cwd else None
        return SetupState(model=self._answering(place), chosen=chosen, folder=folder)

    def _answering(self, place: Place) -> str:
        try:
            return self._catalog.resolve("", env=place.env, cwd=place.cwd or Path("/")).name
        except OpenAgentError:
            return ""

    def _trust(self, cwd: Path) -> FolderTrust:
        folder, trust = project_folder(cwd, self._configs.environment({})), self._configs.trust
        try:
            files = [str(file) for file in governed_files(folder)]
        except (OpenAgentError, OSError):
            return FolderTrust(str(folder))
        return FolderTrust(str(folder), trust.trusts(folder), trust.was_declined(folder), files)

    async def _look(self, connection: Connection, op: SetupLook) -> ModelSources:
        place = _place(connection, op.cwd)
        known = self._catalog.known(place)
        usual = local_servers.addresses(self._configs.load(None, place.env).settings.local_servers)
        here = asyncio.create_task(local_servers.look({name: url for name, url in usual.items() if name not in known}))
        asked = [self._ask(name, each, place) for name, each in known.items() if _is_server(name, each)]
        servers = [server for server in await asyncio.gather(*asked) if server]
        servers += await here
        return ModelSources(
            keys=list(self._keys(place, known)),
            servers=sorted(servers, key=lambda server: not server.models),
            logins=self._logins(place),
            offline=await asyncio.to_thread(self._offline_models),
            looks=[KeyLook(prefix, vendor.name, vendor.title) for vendor in VENDORS for prefix in vendor.prefixes],
        )

    async def _ask(self, name: str, settings: ProviderSettings, place: Place) -> LocalServer | None:
        """One that somebody configured, with the key that belongs to it."""
        url = settings.base_url or address_of("compatible", self._catalog.environment(place.env))
        try:
            async with asyncio.timeout(ASKED_IN_PASSING):
                models = await self._catalog.provider(name, place).models()
        except (OpenAgentError, TimeoutError):
            return None
        served = [ServedModel(model.name) for model in models if local_servers.chats(model.name)]
        return LocalServer(name, local_servers.TITLES.get(name, name), url, served, configured=True)

    def _keys(self, place: Place, known: dict[str, ProviderSettings]) -> Iterable[FoundKey]:
        env, kept = self._catalog.environment(place.env), set(self._book.names())
        for vendor in VENDORS:
            settings = known.get(vendor.name)
            if settings is None or settings.auth == "oauth":
                continue
            if vendor.name == "openai" and address_of("openai", env):
                continue
            found = FoundKey(vendor.name, vendor.title, f"{vendor.name}/{vendor.model}", "environment")
            variable = next((name for name in key_variables_of(settings.kind, vendor.name) if env.get(name)), "")
            if vendor.name in kept:
                yield FoundKey(found.provider, found.title, found.model, "vault")
            elif settings.api_key:
                yield FoundKey(found.provider, found.title, found.model, "config")
            elif variable:
                yield FoundKey(found.provider, found.title, found.model, "environment", variable)

    def _logins(self, place: Place) -> list[LoginOffer]:
        given = self._configs.load(place.cwd, place.env).settings.providers
        return [
            LoginOffer(name, done=name in self._book.names())
            for name, each in given.items()
            if each.auth == "oauth" and can_log_in(each.oauth)
        ]

    def _offline_models(self) -> list[OfflineOffer]:
        here = installed_models(self._offline)
        return [
            OfflineOffer(name, model.size_bytes, NOTE, installed=name in here) for name, model in OFFLINE_MODELS.items()
        ]

    # A key

    async def _key(self, connection: Connection, op: SetupKey) -> ModelChosen:
        place, key = _place(connection, ""), self._trials.checked(op.key)
        name = op.provider or _whose(key)
        listed = await self._trials.of_key(name, key, place)
        await self._trials.keep(name, key)
        return await self._keep(name, self._first(name, listed, place), "")

    # The choice

    async def _use(self, connection: Connection, op: SetupUse) -> ModelChosen:
        place = _place(connection, "")
        if op.url:
            return await self._use_server(op)
        listed = await tried(self._catalog.provider(op.provider, place), BY_NAME.get(op.provider))
        return await self._keep(op.provider, op.model or self._first(op.provider, listed, place), "")

    async def _use_server(self, op: SetupUse) -> ModelChosen:
        found = await local_servers.look({op.provider: op.url.rstrip("/")})
        if not found:
            raise OpenAgentError(
                "provider_error", f"No model server answers at {op.url}.", hint="Start it, or choose something else."
            )
        names = [model.name for model in found[0].models]
        model = op.model or next(iter(names), "")
        if model not in names:
            raise _without(found[0], model)
        return await self._keep(op.provider, model, found[0].url)

    def _first(self, name: str, listed: Sequence[str], place: Place) -> str:
        """The model to begin with: the vendor's usual one, the one already set up for it, or the first it lists."""
        if vendor := BY_NAME.get(name):
            return model_to_begin_with(vendor, listed)
        if model := self._catalog.model_of(name, place) or next(iter(listed), ""):
            return model
        raise OpenAgentError("model_not_found", f"{name} lists no models.", hint=f"Name one: {name}/MODEL.")

    async def _keep(self, provider: str, model: str, url: str) -> ModelChosen:
        chosen = f"{provider}/{model}"
        values: dict[tuple[str, ...], Value] = {("model",): chosen}
        if url:
            values = {("providers", provider, "kind"): "compatible", ("providers", provider, "base_url"): url} | values
        return ModelChosen(model=chosen, file=str(await self._file.write(values)))


def _place(connection: Connection, cwd: str) -> Place:
    return Place(Path(cwd) if cwd else None, connection.env)


def _is_server(name: str, settings: ProviderSettings) -> bool:
    return settings.kind == "compatible" and name not in BY_NAME and settings.auth == "key"


def _whose(key: str) -> str:
    vendor = vendor_of(key)
    if vendor is None:
        raise OpenAgentError(
            "invalid_argument",
            "The key does not begin like one of "
            f"{', '.join(vendor.title for vendor in VENDORS)}, so whose it is has to be said.",
            hint="Name the provider: `openagent auth add PROVIDER`.",
        )
    return vendor.name


def _without(server: LocalServer, model: str) -> OpenAgentError:
    if not server.models:
        how = "`ollama pull qwen3`" if server.provider == "ollama" else "load one in it"
        return OpenAgentError("model_not_found", f"{server.title} has no model yet.", hint=f"Get one: {how}.")
    return OpenAgentError(
        "model_not_found",
        f"{server.title} has no model {model!r}.",
        hint=f"It has {', '.join(each.name for each in server.models)}.",
    )
