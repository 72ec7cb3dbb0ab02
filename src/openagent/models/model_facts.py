"""What is known of a model: what is configured, what its server says, what its name tells."""

import asyncio
import time
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Protocol, runtime_checkable

import msgspec
from msgspec import Struct

from openagent.config.settings import ModelSettings
from openagent.plugins.provider import ModelInfo, Provider
from openagent.protocol.errors import OpenAgentError

PATIENCE = 2.0
"""Seconds a turn waits for a server to say what its model can."""
FRESH = 60.0
"""Seconds after which it is asked again, while nobody waits: it may have been started anew with another window."""


def configured(models: Mapping[str, ModelSettings], name: str) -> ModelSettings:
    """All that holds for a model, from the widest pattern to the narrowest."""
    found: dict[str, object] = {}
    for pattern in sorted((each for each in models if fnmatchcase(name, each)), key=len):
        found |= {field: value for field, value in msgspec.structs.asdict(models[pattern]).items() if value is not None}
    return msgspec.convert(found, ModelSettings)


@runtime_checkable
class Describes(Protocol):
    async def describe(self, model: str) -> ModelInfo | None: ...


class _Told(Struct):
    info: ModelInfo | None
    at: float


class ServedModels:
    """What servers said of their models. A provider is one object for as long as its settings are the same."""

    def __init__(self) -> None:
        self._told: dict[tuple[int, str], _Told] = {}
        self._asking: dict[tuple[int, str], asyncio.Task[bool]] = {}

    def known(self, provider: Provider, model: str) -> ModelInfo | None:
        told = self._told.get((id(provider), model))
        return told.info if told else None

    async def learn(self, provider: Provider, model: str) -> bool:
        """Whether it became known now. Whoever is first waits a little; later it is asked beside."""
        key = (id(provider), model)
        told = self._told.get(key)
        if told is not None and time.monotonic() - told.at < FRESH:
            return False
        if key not in self._asking:
            task = self._asking[key] = asyncio.create_task(self._ask(provider, model))
            task.add_done_callback(lambda _: self._asking.pop(key, None))
        if told is not None:
            return False
        return await asyncio.shield(self._asking[key])

    async def _ask(self, provider: Provider, model: str) -> bool:
        key = (id(provider), model)
        info: ModelInfo | None = None
        try:
            async with asyncio.timeout(PATIENCE):
                info = await provider.describe(model) if isinstance(provider, Describes) else None
        except (OpenAgentError, TimeoutError):
            pass  # whatever is wrong with it is told by the turn
        before = self._told.get(key)
        self._told[key] = _Told(info or (before.info if before else None), time.monotonic())
        return info is not None and (before is None or before.info != info)

    async def close(self) -> None:
        for task in list(self._asking.values()):
            task.cancel()
        await asyncio.gather(*self._asking.values(), return_exceptions=True)
