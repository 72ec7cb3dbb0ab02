"""What a server that speaks OpenAI's format says of its models: how much each can read, and what it can do.

The list of models says enough at vLLM, OpenRouter, Groq and others. Where it tells whose server this is, that server is
asked in its own way too:

    llama.cpp    /props                what one request may use of the context it was started with
    Ollama       /api/ps, /api/show    the context a model is loaded with, or will be
    LM Studio    /api/v0/models        the same
"""

import asyncio
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from openagent.plugins.provider import ModelInfo, ProviderError

if TYPE_CHECKING:
    from openagent.providers.http import HttpProvider

_MOST_ASKED = 32
"""Of a server that tells of one model at a time."""
_NUM_CTX = re.compile(r"^num_ctx\s+(\d+)", re.MULTILINE)


class _Meta(Struct):
    n_ctx: int | None = None
    n_ctx_train: int | None = None


class _Listed(Struct):
    id: str
    owned_by: str | None = None
    meta: _Meta | None = None
    max_model_len: int | None = None
    context_length: int | None = None
    context_window: int | None = None
    supported_parameters: list[str] | None = None

    def told(self) -> ModelInfo:
        meta = self.meta or _Meta()
        window = meta.n_ctx or self.max_model_len or self.context_length or self.context_window or meta.n_ctx_train or 0
        tools = "tools" in self.supported_parameters if self.supported_parameters else None
        return ModelInfo(self.id, context_window=max(window, 0), tools=tools)


class _List(Struct):
    data: list[_Listed]


class _Generation(Struct, frozen=True):
    n_ctx: int = 0


class _Modalities(Struct):
    vision: bool = False


class _Props(Struct):
    default_generation_settings: _Generation = _Generation()
    modalities: _Modalities | None = None


class _Loaded(Struct):
    name: str
    context_length: int = 0


class _Running(Struct):
    models: list[_Loaded] = []


class _Show(Struct):
    parameters: str = ""
    model_info: dict[str, Any] = {}
    capabilities: list[str] = []


class _Studied(Struct):
    id: str
    type: str = ""
    max_context_length: int = 0
    loaded_context_length: int = 0
    capabilities: list[str] | None = None


class _Studio(Struct):
    data: list[_Studied]


async def served_models(server: "HttpProvider", query: str = "", *, only: str = "") -> list[ModelInfo]:
    """`only`: there is no need to ask about the others."""
    listed = (await server.get(f"/models{query}", _List)).data
    owners = {each.owned_by for each in listed}
    models = [each.told() for each in listed]
    if only and any(model.name == only for model in models):
        models = [model for model in models if model.name == only]
    url = server.endpoint.base_url
    try:
        if "llamacpp" in owners:
            return await _llama_cpp(server, models)
        if "library" in owners or server.name == "ollama" or ":11434" in url:
            return await _ollama(server, models)
        if "organization_owner" in owners or server.name == "lmstudio" or ":1234/" in url:
            return await _lm_studio(server, models)
    except ProviderError:
        pass  # it is another kind of server: what the list said is all there is
    return models


async def _llama_cpp(server: "HttpProvider", models: Sequence[ModelInfo]) -> list[ModelInfo]:
    props = await server.get("/props", _Props, beside_v1=True)
    window, modalities = props.default_generation_settings.n_ctx, props.modalities
    return [
        ModelInfo(model.name, window or model.context_window, images=modalities.vision if modalities else None)
        for model in models
    ]


async def _ollama(server: "HttpProvider", models: Sequence[ModelInfo]) -> list[ModelInfo]:
    loaded = {each.name: each.context_length for each in (await server.get("/api/ps", _Running, beside_v1=True)).models}

    async def ask(model: ModelInfo) -> ModelInfo:
        asked = msgspec.json.encode({"model": model.name})
        show = await server.get("/api/show", _Show, asked=asked, beside_v1=True)
        set_to = _NUM_CTX.search(show.parameters)
        trained = next((size for name, size in show.model_info.items() if name.endswith(".context_length")), 0)
        window = loaded.get(model.name) or (int(set_to[1]) if set_to else trained)
        able = show.capabilities
        return ModelInfo(
            model.name,
            window if isinstance(window, int) else 0,
            tools="tools" in able if able else None,
            images="vision" in able if able else None,
        )

    return [*await asyncio.gather(*map(ask, models[:_MOST_ASKED])), *models[_MOST_ASKED:]]


async def _lm_studio(server: "HttpProvider", models: Sequence[ModelInfo]) -> list[ModelInfo]:
    known = {each.id: each for each in (await server.get("/api/v0/models", _Studio, beside_v1=True)).data}
    return [_studied(known[model.name]) if model.name in known else model for model in models]


def _studied(model: _Studied) -> ModelInfo:
    able = model.capabilities
    return ModelInfo(
        model.id,
        model.loaded_context_length or model.max_context_length,
        tools=None if able is None else "tool_use" in able,
        images=model.type == "vlm" if model.type else None,
    )
