"""A person's own configuration, as far as choosing models and logging in change it."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from openagent.config.cache import ConfigCache
from openagent.config.edit import Value, set_value, unset_table, unset_value
from openagent.models.catalog import ModelCatalog
from openagent.protocol import locations

Values = Mapping[tuple[str, ...], Value]


class SettingsFile:
    """One change at a time; what is written counts at once."""

    def __init__(self, configs: ConfigCache, catalog: ModelCatalog) -> None:
        self._configs = configs
        self._catalog = catalog
        self._writing = asyncio.Lock()

    async def write(self, values: Values) -> Path:
        file = self._file()
        async with self._writing:
            await asyncio.to_thread(_write, file, values)
        self._renew()
        return file

    async def take_out(self, provider: str, *, chosen: bool) -> None:
        """`chosen`: the model that answers is one of its own."""
        async with self._writing:
            await asyncio.to_thread(_take_out, self._file(), provider, chosen)
        self._renew()

    def _file(self) -> Path:
        return Path(locations.config_file(self._configs.environment({})))

    def _renew(self) -> None:
        self._configs.forget()
        self._catalog.forget()


def _write(file: Path, values: Values) -> None:
    for path, value in values.items():
        set_value(file, path, value)


def _take_out(file: Path, name: str, chosen: bool) -> None:
    unset_table(file, ("providers", name))
    if chosen:
        unset_value(file, ("model",))
