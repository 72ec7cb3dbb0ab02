"""Providers of one's own, tried before they are kept: `providers.*`."""

import asyncio
import re
from pathlib import Path

import msgspec

from openagent.config.cache import ConfigCache
from openagent.config.edit import Value, set_value, unset_table, unset_value
from openagent.config.settings import ProviderSettings
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.models.catalog import ModelCatalog, Place
from openagent.models.trials import Trials
from openagent.protocol import locations
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.op import Done
from openagent.protocol.setup import ProviderAdded, ProvidersAdd, ProvidersRemove

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_TAKEN = ("local", "demo", "auto")


class OwnProviders:
    def __init__(self, configs: ConfigCache, catalog: ModelCatalog, trials: Trials, writing: asyncio.Lock) -> None:
        self._configs = configs
        self._catalog = catalog
        self._trials = trials
        self._writing = writing

    def handlers(self) -> list[Handler]:
        return [ProvidersAdd.handled_by(self._add), ProvidersRemove.handled_by(self._remove)]

    async def _add(self, connection: Connection, op: ProvidersAdd) -> ProviderAdded:
        self._check_name(op)
        key = self._trials.checked(op.key) if op.key.strip() else ""
        known = key or await self._trials.kept(op.name)
        listed = await self._trials.of_provider(op.name, _settings(op, known), Place(None, connection.env))
        if key:
            await self._trials.keep(op.name, key)
        values: dict[tuple[str, ...], Value] = {("providers", op.name, "kind"): op.kind}
        if op.base_url:
            values["providers", op.name, "base_url"] = op.base_url.strip()
        return ProviderAdded(op.name, listed, str(await self._write(values)))

    def _check_name(self, op: ProvidersAdd) -> None:
        if not _NAME.fullmatch(op.name) or op.name in _TAKEN:
            raise OpenAgentError(
                "invalid_argument",
                f"{op.name!r} cannot be the name of a provider.",
                hint="Use small letters, digits and dashes, such as `office-vllm`.",
            )
        if not op.replace and op.name in self._own():
            raise OpenAgentError(
                "conflict", f"There is a provider {op.name!r} already.", hint="Choose another name, or edit that one."
            )

    def _own(self) -> dict[str, ProviderSettings]:
        return self._configs.load().settings.providers

    async def _remove(self, connection: Connection, op: ProvidersRemove) -> Done:
        if op.name not in self._own():
            raise OpenAgentError("not_found", f"There is no provider {op.name!r} in the configuration.")
        chosen = self._configs.load().settings.model.partition("/")[0] == op.name
        async with self._writing:
            await asyncio.to_thread(_take_out, self._file(), op.name, chosen)
        await self._trials.forget(op.name)
        self._renew()
        return Done()

    async def _write(self, values: dict[tuple[str, ...], Value]) -> Path:
        file = self._file()
        async with self._writing:
            await asyncio.to_thread(_write, file, values)
        self._renew()
        return file

    def _file(self) -> Path:
        return Path(locations.config_file(self._configs.environment({})))

    def _renew(self) -> None:
        self._configs.forget()
        self._catalog.forget()


def _settings(op: ProvidersAdd, key: str) -> ProviderSettings:
    if op.kind in ("compatible", "azure") and not op.base_url.strip():
        raise OpenAgentError("invalid_argument", "The address is missing.", hint="Such as http://127.0.0.1:8000/v1.")
    try:
        given = {"kind": op.kind, "base_url": op.base_url.strip(), "api_key": key}
        return msgspec.convert(given, ProviderSettings)
    except msgspec.ValidationError:
        raise OpenAgentError(
            "invalid_argument", f"{op.base_url!r} is no address.", hint="It begins with http:// or https://."
        ) from None


def _write(file: Path, values: dict[tuple[str, ...], Value]) -> None:
    for path, value in values.items():
        set_value(file, path, value)


def _take_out(file: Path, name: str, chosen: bool) -> None:
    unset_table(file, ("providers", name))
    if chosen:
        unset_value(file, ("model",))
