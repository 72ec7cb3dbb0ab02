"""A daemon on another machine: how its address may be written, and which token opens it."""

import os
from collections.abc import Mapping

from openagent.protocol import locations

CONNECT, TOKEN = "OPENAGENT_CONNECT", "OPENAGENT_TOKEN"


def wanted(env: Mapping[str, str]) -> str:
    """Where the daemon is that every command should talk to; empty: on this machine."""
    return env.get(CONNECT, "")


def socket_of(url: str) -> str:
    """The path of a socket of this machine, where that is what was written: `/run/x.sock`, `./x.sock`,
    `unix:///run/x.sock`. Empty for addresses."""
    if url.startswith("unix:"):
        path = url.removeprefix("unix:").removeprefix("//")
    elif url.startswith(("/", "./", "../", "~")) or (url.endswith(".sock") and "://" not in url):
        path = url
    else:
        return ""
    return os.path.abspath(os.path.expanduser(path))


def web_socket_url(url: str) -> str:
    """What a person may write for a daemon: `host:port`, `http://host:port`, `ws://host:port/ws`, or what a browser's
    address line shows."""
    if "://" not in url:
        url = f"ws://{url}"
    scheme, _, rest = url.strip().partition("://")
    place, _, path = rest.partition("#")[0].partition("?")[0].partition("/")
    scheme = {"http": "ws", "https": "wss"}.get(scheme.lower(), scheme.lower())
    path = path.strip("/")
    return f"{scheme}://{place}/{'ws' if path in ('', 'login') else path}"


def nobody_there(url: str, problem: Exception) -> dict[str, str]:
    """Why a daemon elsewhere was not reached, as data of an error."""
    said = str(problem)
    if isinstance(problem, OSError) and problem.errno and problem.errno > 0:
        said = os.strerror(problem.errno)
    message = f"No daemon answers at {url}: {said}."
    return {"code": "provider_error", "message": message, "hint": "Check the address and the token."}


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
