"""Model servers on this machine: asked on their usual ports, side by side, and given up on quickly."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from openagent.protocol.setup import LocalServer, ServedModel

PATIENCE = 0.8
"""Seconds a server has to say what it serves; one that is there answers in a hundredth of that."""
TITLES = {"ollama": "Ollama", "llamacpp": "llama.cpp", "vllm": "vLLM", "lmstudio": "LM Studio"}
_LARGEST = 4 << 20
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_NO_CHAT = ("embed", "rerank", "whisper", "bge-", "minilm")


class _Details(Struct):
    parameter_size: str = ""
    quantization_level: str = ""


class _Tag(Struct):
    name: str
    size: int = 0
    details: _Details | None = None


class _Tags(Struct):
    models: list[_Tag]


class _Listed(Struct):
    id: str


class _List(Struct):
    data: list[_Listed]


def addresses(servers: Iterable[str]) -> dict[str, str]:
    """`ollama:11434` and its like to the provider's name and its base_url, always of this machine."""
    parted = (each.rpartition(":") for each in servers)
    return {name: f"http://127.0.0.1:{port}/v1" for name, _, port in parted}


async def look(places: Mapping[str, str]) -> list[LocalServer]:
    """Those of this machine that answer like a model server, in the order given."""
    here = {name: url for name, url in places.items() if urlsplit(url).hostname in _LOOPBACK}
    httpx2 = await asyncio.to_thread(__import__, "httpx2")
    async with httpx2.AsyncClient(timeout=PATIENCE, trust_env=False, follow_redirects=False, verify=False) as client:
        found = await asyncio.gather(*(_ask(client, name, url) for name, url in here.items()))
    return [server for server in found if server is not None]


async def _ask(client: Any, name: str, url: str) -> LocalServer | None:
    title = TITLES.get(name, name)
    if name == "ollama" and (tags := await _get(client, f"{url.removesuffix('/v1')}/api/tags", _Tags)):
        return LocalServer(
            name, title, url, [ServedModel(tag.name, _note(tag)) for tag in tags.models if chats(tag.name)]
        )
    if listed := await _get(client, f"{url}/models", _List):
        return LocalServer(name, title, url, [ServedModel(each.id) for each in listed.data if chats(each.id)])
    return None


async def _get(client: Any, url: str, shape: type[Any]) -> Any:
    """None for whatever is no model server: many programs like these ports."""
    try:
        async with asyncio.timeout(PATIENCE), client.stream("GET", url) as response:
            if response.status_code != 200:
                return None
            body = b""
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > _LARGEST:
                    return None
        return msgspec.json.decode(body, type=shape)
    except (OSError, TimeoutError, msgspec.MsgspecError, UnicodeDecodeError, *_http_errors()):
        return None


def _http_errors() -> tuple[type[Exception], ...]:
    import httpx2

    return httpx2.HTTPError, httpx2.InvalidURL


def chats(name: str) -> bool:
    return not any(word in name.lower() for word in _NO_CHAT)


def _note(tag: _Tag) -> str:
    parameters = tag.details.parameter_size if tag.details else ""
    size = f"{tag.size / 1e9:.1f} GB" if tag.size else ""
    return " · ".join(filter(None, (parameters, size)))
