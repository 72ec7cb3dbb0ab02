"""`openagent tui`: where the daemon is, and the program in front of it."""

import asyncio
import gc
import os
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from openagent.client import Client, connect
from openagent.client.text import clean
from openagent.protocol import locations
from openagent.protocol.errors import OpenAgentError
from openagent.tui.app import OpenAgent, Wanted
from openagent.tui.link import Link


class Given(NamedTuple):
    session: str = ""
    new: bool = False
    url: str = ""
    token: str = ""


def main(arguments: Sequence[str]) -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return _complain("This needs a terminal. `openagent run` and `openagent attach` do not.")
    for name in ("COLUMNS", "LINES"):
        # What some parent once measured: with these set, no resize would ever be noticed. The terminal itself knows.
        os.environ.pop(name, None)
    gc.disable()  # until the first picture is drawn: a collection finds nothing among modules being loaded
    try:
        return asyncio.run(show(_read(arguments)))
    except (OpenAgentError, OSError) as problem:
        return _complain(str(problem))


def _complain(problem: str) -> int:
    sys.stderr.write(f"openagent: {clean(problem)}\n")
    return 1


def _read(arguments: Sequence[str]) -> Given:
    url, token = os.environ.get("OPENAGENT_CONNECT", ""), os.environ.get("OPENAGENT_TOKEN", "")
    if not arguments:
        return Given(url=url, token=token)
    import argparse

    parser = argparse.ArgumentParser(prog="openagent tui", add_help=False)
    parser.add_argument("session", nargs="?", default="")
    parser.add_argument("--new", action="store_true")
    parser.add_argument("--connect", default=url)
    parser.add_argument("--token", default="")
    parser.add_argument("--token-file", default="")
    given = parser.parse_args(arguments)
    if given.token_file:
        with open(os.path.expanduser(given.token_file)) as file:
            token = file.read().strip()
    return Given(given.session, given.new, given.connect, token or given.token)


def _collect_again() -> None:
    gc.enable()
    gc.freeze()


def web_socket_url(url: str) -> str:
    """What a person may write for a daemon: `host:port`, `http://host:port`, `ws://host:port/ws`."""
    if "://" not in url:
        url = f"ws://{url}"
    scheme, _, rest = url.partition("://")
    place, _, path = rest.partition("/")
    return f"{scheme.replace('http', 'ws', 1)}://{place}/{path or 'ws'}"


def own_token(url: str) -> str:
    """The token of this machine's own daemon, when that is where the address leads."""
    host = url.partition("://")[2].partition("/")[0].rpartition(":")[0]
    if host not in ("127.0.0.1", "localhost", "[::1]"):
        return ""
    try:
        with open(os.path.join(locations.data_home(os.environ), "token")) as file:
            return file.read().strip()
    except OSError:
        return ""


async def show(given: Given) -> int:
    url = web_socket_url(given.url) if given.url else ""
    token = given.token or (own_token(url) if url else "")

    async def open_(may_start: bool) -> Client:
        # Keys from this environment are for the daemon of this machine, not for whoever answers elsewhere.
        env: Mapping[str, str] = {} if url else os.environ
        return await connect(url=url, token=token, name="tui", interactive=True, auto_start=may_start, env=env)

    link = Link(open_, remote=bool(url))
    app = OpenAgent(link, Wanted(given.session, given.new), os.getcwd(), os.environ)
    app.when_drawn = _collect_again
    try:
        await app.run_async()
    finally:
        await link.close()
    if app.failure is not None:
        raise app.failure
    return app.return_code or 0
