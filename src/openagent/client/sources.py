"""What could answer on this machine, in the words in which every client offers it."""

import re
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from openagent.client.text import size
from openagent.protocol.setup import FoundKey, LocalServer, LoginOffer, ModelSources, OfflineOffer

_WHERE = {"environment": "in your environment", "vault": "kept in the vault", "config": "in your config"}
QUESTION = "What should answer?"


class Source(NamedTuple):
    label: str
    note: str
    of: FoundKey | LocalServer | LoginOffer | OfflineOffer | Literal["paste", "address", "tour"]


def offered(sources: ModelSources, *, tour: bool) -> list[Source]:
    """The best to begin with first. The tour only where its files would be."""
    able = [server for server in sources.servers if server.models]
    unable = [server for server in sources.servers if not server.models]
    return [
        *map(_key, sources.keys),
        *map(_server, able),
        *map(_login, sources.logins),
        Source("Paste an API key", "tried first, then kept encrypted", "paste"),
        Source("Enter a server's address", "vLLM, llama.cpp, LM Studio, and most other servers", "address"),
        *map(_server, unable),
        *map(_offline, sources.offline),
        *([Source("Look around first", "a tour: scripted model, real tools", "tour")] if tour else []),
    ]


def found(sources: ModelSources) -> str:
    """What the look around came to, in a sentence."""
    if sources.keys or any(server.models for server in sources.servers):
        return "Found here, best first. /model changes it later."
    return "No key and no model server was found here."


def whose(sources: ModelSources, key: str) -> str:
    """What people call the vendor of a key, by the key's beginning; empty: not known."""
    fitting = [look for look in sources.looks if key.startswith(look.prefix)]
    return max(fitting, key=lambda look: len(look.prefix)).title if fitting else ""


def vendors(sources: ModelSources) -> dict[str, str]:
    """Providers whose keys are known, and what people call them."""
    return {look.provider: look.title for look in sources.looks}


def url_to_keep(server: LocalServer) -> str:
    """A server that is configured already keeps what its configuration says."""
    return "" if server.configured else server.url


def server_at(address: str) -> tuple[str, str]:
    """A name for the model server at an address that somebody typed, and its URL. Another host or port is another name:
    to add one server must not replace another."""
    url = address if "://" in address else f"http://{address}"
    parts = urlsplit(url)
    host = parts.hostname or ""
    try:
        port = parts.port
    except ValueError:  # no number; the daemon says that this is no address
        port = None
    word = "localhost" if host in ("127.0.0.1", "::1") else re.sub(r"[^a-z0-9]+", "-", host).strip("-") or "server"
    return (f"{word[:33]}-{port}" if port else word[:40]), url


def _key(key: FoundKey) -> Source:
    return Source(key.variable or f"{key.title} key", f"{_WHERE[key.source]} · {key.model.partition('/')[2]}", key)


def _server(server: LocalServer) -> Source:
    where = server.url.partition("://")[2].removesuffix("/v1").replace("127.0.0.1:", "on port ")
    if not server.models:
        how = "ollama pull qwen3" if server.provider == "ollama" else "load one in it"
        return Source(server.title, f"{where} · no model yet: {how}", server)
    first, *more = [model.name for model in server.models]
    return Source(server.title, f"{where} · {first}" + (f" and {len(more)} more" if more else ""), server)


def _login(login: LoginOffer) -> Source:
    if login.done:
        return Source(login.provider, "logged in", login)
    return Source(f"Log in to {login.provider}", "in your browser", login)


def _offline(offer: OfflineOffer) -> Source:
    note = "it chats, it cannot use tools"
    return Source("Offline model", note if offer.installed else f"{size(offer.size_bytes)} to fetch · {note}", offer)
