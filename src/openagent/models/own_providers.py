"""Providers of one's own, tried before they are kept: `providers.*`."""

import re
from urllib.parse import urlsplit

import msgspec

from openagent.config.cache import ConfigCache
from openagent.config.edit import Value
from openagent.config.settings import ProviderSettings
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.models.catalog import Place
from openagent.models.settings_file import SettingsFile
from openagent.models.trials import Trials
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.op import Done
from openagent.protocol.setup import ProviderAdded, ProvidersAdd, ProvidersRemove

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_TAKEN = ("local", "demo", "auto")


class OwnProviders:
    def __init__(self, configs: ConfigCache, file: SettingsFile, trials: Trials) -> None:
        self._configs = configs
        self._file = file
        self._trials = trials

    def handlers(self) -> list[Handler]:
        return [ProvidersAdd.handled_by(self._add), ProvidersRemove.handled_by(self._remove)]

    async def _add(self, connection: Connection, op: ProvidersAdd) -> ProviderAdded:
        self._check_name(op)
        key = self._trials.checked(op.key) if op.key.strip() else ""
        known = key or await self._trials.kept(op.name)
        url, listed = await self._first_that_answers(op, known, Place(None, connection.env))
        if key:
            await self._trials.keep(op.name, key)
        values: dict[tuple[str, ...], Value] = {("providers", op.name, "kind"): op.kind}
        if url:
            values["providers", op.name, "base_url"] = url
        return ProviderAdded(op.name, listed, str(await self._file.write(values)))

    async def _first_that_answers(self, op: ProvidersAdd, key: str, place: Place) -> tuple[str, list[str]]:
        """The address that lists models, and those models; the first address, if none does."""
        usual, *others = _addresses(op)
        listed = await self._trials.of_provider(op.name, _settings(op, usual, key), place)
        if not listed:
            for url in others:
                if found := await self._trials.of_provider(op.name, _settings(op, url, key), place):
                    return url, found
        return usual, listed

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
        await self._file.take_out(op.name, chosen=chosen)
        await self._trials.forget(op.name)
        return Done()


def _addresses(op: ProvidersAdd) -> list[str]:
    """What to try, in this order: servers of the OpenAI format answer below /v1, and people leave it out."""
    url = op.base_url.strip()
    if op.kind == "compatible" and url and not urlsplit(url).path.strip("/"):
        return [url.rstrip("/") + "/v1", url]
    return [url]


def _settings(op: ProvidersAdd, url: str, key: str) -> ProviderSettings:
    if op.kind in ("compatible", "azure") and not url:
        raise OpenAgentError("invalid_argument", "The address is missing.", hint="Such as http://127.0.0.1:8000/v1.")
    try:
        given = {"kind": op.kind, "base_url": url, "api_key": key}
        return msgspec.convert(given, ProviderSettings)
    except msgspec.ValidationError:
        raise OpenAgentError(
            "invalid_argument", f"{op.base_url!r} is no address.", hint="It begins with http:// or https://."
        ) from None
