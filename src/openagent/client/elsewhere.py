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


def http_url(url: str) -> str:
    """The same daemon, as a browser has it."""
    scheme, _, rest = web_socket_url(url).partition("://")
    return f"{'https' if scheme == 'wss' else 'http'}://{rest.partition('/')[0]}"


def _login_file(url: str, env: Mapping[str, str]) -> str:
    """Of this way to that machine: what was given over a sealed line is shown over no open one."""
    name = http_url(url).replace("://", "-").replace("/", "-").replace(":", "-")
    return os.path.join(locations.data_home(env), "logins", name)


def kept_login(url: str, env: Mapping[str, str]) -> str:
    """The token of whoever logged in there from here; empty: nobody did."""
    try:
        with open(_login_file(url, env)) as file:
            return file.read().strip()
    except OSError:
        return ""


def keep_login(url: str, token: str, env: Mapping[str, str]) -> None:
    file = _login_file(url, env)
    os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)
    forget_login(url, env)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
        opened.write(token)


def forget_login(url: str, env: Mapping[str, str]) -> None:
    try:  # noqa: SIM105 -- contextlib would make every command start later
        os.unlink(_login_file(url, env))
    except FileNotFoundError:
        pass


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
    """The one that was named, or given to a login there; or that of this machine's own daemon, when that is where the
    address leads."""
    if token := env.get(TOKEN, "") or kept_login(url, env):
        return token
    if machine(url).rpartition(":")[0] not in ("127.0.0.1", "localhost", "[::1]"):
        return ""
    try:
        with open(os.path.join(locations.data_home(env), "token")) as file:
            return file.read().strip()
    except OSError:
        return ""
