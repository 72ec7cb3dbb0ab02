"""The models there are, whether they answer, and offline ones to install: `models.*`."""

import asyncio
import time
from collections.abc import Awaitable
from contextlib import aclosing
from pathlib import Path
from typing import TypeVar

from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.models.catalog import NO_MODEL, ModelCatalog, Place
from openagent.models.offline import install
from openagent.plugins.ledger import Ledger
from openagent.plugins.package_install import size_of
from openagent.plugins.provider import Answer, ModelInfo, ModelRequest, Notice, Provider, ProviderTimeout
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import PullProgress
from openagent.protocol.messages import Message, TextPart
from openagent.protocol.models import (
    ModelEntries,
    ModelEntry,
    ModelPulled,
    ModelsList,
    ModelsPull,
    ModelsTest,
    ModelTest,
    ModelTests,
    ProviderProblem,
)
from openagent.providers.local import NOTE
from openagent.telemetry.prices import Price, PriceBook

T = TypeVar("T")
PATIENCE = 30.0
"""Seconds a provider has to list its models, or to say one token."""
_TESTER = "models test"
"""Under this name, which is no session's, the ledger enters what tests cost."""
_SCRIPTED = "scripted: a tour, nothing it says comes from a model"


class ModelsService:
    def __init__(self, catalog: ModelCatalog, ledger: Ledger, prices: PriceBook, offline: Path) -> None:
        self._catalog = catalog
        self._ledger = ledger
        self._prices = prices
        self._offline = offline
        self._pulling: dict[str, asyncio.Task[Path]] = {}

    def handlers(self) -> list[Handler]:
        return [
            ModelsList.handled_by(self._list),
            ModelsTest.handled_by(self._test),
            ModelsPull.handled_by(self._pull),
        ]

    async def close(self) -> None:
        for task in self._pulling.values():
            task.cancel()
        await asyncio.gather(*self._pulling.values(), return_exceptions=True)

    # What there is

    async def _list(self, connection: Connection, op: ModelsList) -> ModelEntries:
        place = _place(connection, op.cwd)
        names = [op.provider] if op.provider else list(self._catalog.known(place))
        listed = await asyncio.gather(*(self._models_of(name, place) for name in names))
        return ModelEntries(
            models=[entry for found in listed if isinstance(found, list) for entry in found],
            problems=[found for found in listed if isinstance(found, ProviderProblem)],
        )

    async def _models_of(self, name: str, place: Place) -> list[ModelEntry] | ProviderProblem:
        try:
            provider = self._catalog.provider(name, place)
            models = await _in_time(provider.models(), name)
        except OpenAgentError as problem:
            return ProviderProblem(provider=name, error=problem.info)
        kind = self._catalog.kind_of(name, place)
        note = _SCRIPTED if provider.scripted else NOTE if kind == "local" else ""
        known = [self._catalog.described(f"{name}/{model.name}", model, place) for model in models]
        return self._entries(name, known, note)

    def _entries(self, name: str, models: list[ModelInfo], note: str) -> list[ModelEntry]:
        entries: list[ModelEntry] = []
        for model in sorted(models, key=lambda model: model.name):
            full_name = f"{name}/{model.name}"
            price = self._prices.price(full_name)
            entries.append(
                ModelEntry(
                    name=full_name,
                    context_window=model.context_window,
                    max_output_tokens=model.max_output_tokens,
                    input_usd=_dollars(price, "input"),
                    output_usd=_dollars(price, "output"),
                    note=note or _cannot(model),
                )
            )
        return entries

    # Whether it answers

    async def _test(self, connection: Connection, op: ModelsTest) -> ModelTests:
        place = _place(connection, op.cwd)
        provider, _, model = op.name.partition("/")
        if provider:
            return ModelTests([await self._try(provider, model, place)])
        known = [name for name, each in self._catalog.known(place).items() if each.kind != "demo"]
        if not known:
            raise OpenAgentError("config_error", "No model is configured, so there is nothing to test.", hint=NO_MODEL)
        return ModelTests(list(await asyncio.gather(*(self._try(name, "", place) for name in known))))

    async def _try(self, name: str, model: str, place: Place) -> ModelTest:
        try:
            provider = self._catalog.provider(name, place)
            model = model or self._catalog.model_of(name, place) or await _first_of(provider)
            latency = await _in_time(self._one_token(provider, f"{name}/{model}", model), name)
        except OpenAgentError as problem:
            return ModelTest(model=f"{name}/{model}" if model else name, error=problem.info)
        return ModelTest(model=f"{name}/{model}", latency_ms=round(latency * 1000, 1))

    async def _one_token(self, provider: Provider, full_name: str, model: str) -> float:
        """Seconds to the first thing it says."""
        asked = Message(number=1, role="user", parts=[TextPart("Say: ok")])
        request = ModelRequest(model=model, system="", messages=[asked], max_output_tokens=1)
        reservation = await self._ledger.reserve(_TESTER, full_name, request, "conversation")
        began, first = time.monotonic(), 0.0
        try:
            async with aclosing(provider.stream(request)) as items:
                async for item in items:
                    if not isinstance(item, Notice):
                        first = first or time.monotonic() - began
                    if isinstance(item, Answer):
                        reservation.settle(item.usage)
        finally:
            reservation.release()
        return first

    # Offline models

    async def _pull(self, connection: Connection, op: ModelsPull) -> ModelPulled:
        if op.name in self._pulling:
            raise OpenAgentError("busy", f"{op.name} is being installed already.", hint="Wait for it to end.")

        def tell(stage: str, done: int, total: int) -> None:
            connection.tell(
                PullProgress(
                    op_id=op.id, at=time.time(), model=op.name, stage=stage, done_bytes=done, total_bytes=total
                )
            )

        name = op.name.removeprefix("local/")
        task = self._pulling[op.name] = asyncio.create_task(install(name, self._offline, tell))
        try:
            place = await asyncio.shield(task)
        finally:
            del self._pulling[op.name]
        self._catalog.forget()
        size = await asyncio.to_thread(size_of, place)
        return ModelPulled(model=f"local/{name}", path=str(place), size_bytes=size)


def _place(connection: Connection, cwd: str) -> Place:
    return Place(Path(cwd) if cwd else None, connection.env)


def _cannot(model: ModelInfo) -> str:
    return "it cannot call tools" if model.tools is False else ""


def _dollars(price: Price | None, field: str) -> float | None:
    return None if price is None else getattr(price.rates, field) / 1_000_000


async def _first_of(provider: Provider) -> str:
    models = await provider.models()
    if not models:
        raise OpenAgentError(
            "model_not_found", f"{provider.name} lists no models.", hint=f"Name one: {provider.name}/MODEL."
        )
    return models[0].name


async def _in_time(work: Awaitable[T], name: str) -> T:
    try:
        async with asyncio.timeout(PATIENCE):
            return await work
    except TimeoutError:
        raise ProviderTimeout(
            f"{name} did not answer within {PATIENCE:g} seconds.", hint="Check the network and base_url."
        ) from None
