"""A daemon on another machine: how its address may be written, and which token opens it."""

import os
from collections.abc import Mapping

from openagent.protocol import locations

CONNECT, TOKEN = "OPENAGENT_CONNECT", "OPENAGENT_TOKEN"


def wanted(env: Mapping[str, str]) -> str:
    """Where the daemon is that every command should talk to; empty: on this machine."""
    return env.get(CONNECT, "")


def web_socket_url(url: str) -> str:
    """What a person may write for a daemon: `host:port`, `http://host:port`, `ws://host:port/ws`."""
    if "://" not in url:
        url = f"ws://{url}"
    scheme, _, rest = url.partition("://")
    place, _, path = rest.partition("/")
    return f"{scheme.replace('http', 'ws', 1)}://{place}/{path or 'ws'}"


def machine(url: str) -> str:
    """For people: the host, and its port where it was named."""
    return web_socket_url(url).partition("://")[2].partition("/")[0] if url else ""


def token_for(url: str, env: Mapping[str, str]) -> str:
    """The one that was named, or that of this machine's own daemon, when that is where the address leads."""
    if token := env.get(TOKEN, ""):
        return token
    if machine(url).rpartition(":")[0] not in ("127.0.0.1", "localhost", "[::1]"):
        return ""
    try:
        with open(os.path.join(locations.data_home(env), "token")) as file:
            return file.read().strip()
    except OSError:
        return ""
