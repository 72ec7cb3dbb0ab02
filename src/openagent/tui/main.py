"""`openagent tui`: where the daemon is, and the program in front of it."""

import asyncio
import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from openagent.client.text import clean
from openagent.protocol.errors import OpenAgentError
from openagent.tui import preferences
from openagent.tui.terminal_colours import Asked, Ground, depth

if TYPE_CHECKING:
    from openagent.client import Client

_COLOUR_SYSTEMS = {"truecolor": "truecolor", "256": "256", "16": "standard"}
"""How many colours there are, as Textual is told."""


class Given(NamedTuple):
    session: str = ""
    new: bool = False
    url: str = ""
    token: str = ""
    choose: bool = False


def main(arguments: Sequence[str]) -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return _complain("This needs a terminal. `openagent run` and `openagent attach` do not.")
    for name in ("COLUMNS", "LINES"):
        # What some parent once measured: with these set, no resize would ever be noticed. The terminal itself knows.
        os.environ.pop(name, None)
    gc.disable()  # until the first picture is drawn: a collection finds nothing among modules being loaded
    # Asked before Textual loads, the terminal answers meanwhile. Only where nobody chose a theme.
    asked = Asked(os.environ) if preferences.load(os.environ).theme not in preferences.THEMES else None
    try:
        given = _read(arguments)
        os.environ["TEXTUAL_COLOR_SYSTEM"] = _COLOUR_SYSTEMS[depth(os.environ)]
        import openagent.tui.app  # noqa: F401  # pyright: ignore[reportUnusedImport]

        del os.environ["TEXTUAL_COLOR_SYSTEM"]  # read by now; nobody else shall inherit it
        ground, typed = asked.answer() if asked else (None, b"")
        asked = None
        return asyncio.run(show(given, ground, typed))
    except (OpenAgentError, OSError) as problem:
        return _complain(str(problem))
    finally:
        if asked is not None:
            asked.answer(0)


def _complain(problem: str) -> int:
    sys.stderr.write(f"openagent: {clean(problem)}\n")
    return 1


def _read(arguments: Sequence[str]) -> Given:
    from openagent.client import elsewhere

    url = elsewhere.wanted(os.environ)
    if not arguments:
        return Given(url=url)
    import argparse

    parser = argparse.ArgumentParser(prog="openagent tui", add_help=False)
    parser.add_argument("session", nargs="?", default="")
    parser.add_argument("--new", action="store_true")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--token", default="")
    given = parser.parse_args(arguments)
    return Given(given.session, given.new, url, given.token, choose=given.resume and not given.session)


def _collect_again() -> None:
    gc.enable()
    gc.freeze()


async def show(given: Given, ground: Ground | None, typed: bytes) -> int:
    from openagent.client import connect, elsewhere
    from openagent.client.reconnect import Link
    from openagent.tui.app import OpenAgent, Wanted

    async def open_(may_start: bool) -> "Client":
        return await connect(
            url=given.url, token=given.token, name="tui", interactive=True, auto_start=may_start, env=os.environ
        )

    link = Link(open_, remote=elsewhere.machine(given.url))
    wanted = Wanted(given.session, given.new, given.choose)
    app = OpenAgent(link, wanted, os.getcwd(), os.environ, ground=ground)
    app.typed = typed.decode(errors="ignore")
    app.when_drawn = _collect_again
    try:
        await app.run_async()
    finally:
        await link.close()
    if app.failure is not None:
        raise app.failure
    return app.return_code or 0
