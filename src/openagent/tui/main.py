"""`openagent tui`: where the daemon is, and the program in front of it."""

import asyncio
import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from openagent.client.command_line import Arguments, WrongUse, read, wrong_use
from openagent.client.terminal_colours import Asked, Ground, depth
from openagent.client.text import clean
from openagent.protocol.errors import OpenAgentError
from openagent.tui import preferences

if TYPE_CHECKING:
    from openagent.client import Client
    from openagent.tui.app import Wanted

_COLOUR_SYSTEMS = {"truecolor": "truecolor", "256": "256", "16": "standard"}
"""How many colours there are, as Textual is told."""


def main(arguments: Sequence[str]) -> int:
    """`openagent tui [SESSION [PROMPT]]`"""
    try:
        parsed = read(arguments, interactive=True)
        if parsed.output:
            raise WrongUse("The terminal app prints no JSON.", "`openagent run --json` does.")
    except WrongUse as problem:
        return wrong_use(problem, arguments, "openagent tui")
    if parsed.words and not parsed.session:
        parsed.session, parsed.prompt = parsed.words[0], " ".join(parsed.words[1:])
    return begin(parsed)


def begin(parsed: Arguments) -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return _complain("This needs a terminal. `openagent run` and `openagent attach` do not.")
    if os.environ.get("TERM") == "dumb":
        return _complain("TERM=dumb shows no full screen. `openagent run` and `openagent attach` do without one.")
    if not parsed.elsewhere and not os.path.isdir(parsed.cwd):
        return _complain(f"There is no folder {parsed.cwd}.")
    for name in ("COLUMNS", "LINES"):
        # What some parent once measured: with these set, no resize would ever be noticed. The terminal itself knows.
        os.environ.pop(name, None)
    gc.disable()  # until the first picture is drawn: a collection finds nothing among modules being loaded
    # Asked before Textual loads, the terminal answers meanwhile. Only where nobody chose a theme.
    asked = Asked(os.environ) if preferences.load(os.environ).theme not in preferences.THEMES else None
    try:
        os.environ["TEXTUAL_COLOR_SYSTEM"] = _COLOUR_SYSTEMS[depth(os.environ)]
        import openagent.tui.app  # noqa: F401  # pyright: ignore[reportUnusedImport]

        del os.environ["TEXTUAL_COLOR_SYSTEM"]  # read by now; nobody else shall inherit it
        ground, typed = asked.answer() if asked else (None, b"")
        asked = None
        return asyncio.run(show(parsed, ground, typed))
    except (OpenAgentError, OSError) as problem:
        return _complain(str(problem))
    finally:
        if asked is not None:
            asked.answer(0)


def _complain(problem: str, code: int = 1) -> int:
    sys.stderr.write(f"openagent: {clean(problem)}\n")
    return code


def _collect_again() -> None:
    gc.enable()
    gc.freeze()


def _wanted(given: Arguments) -> "Wanted":
    """A prompt, or what it is to be said with, begins a session unless one is named."""
    from openagent.protocol.messages import ImagePart
    from openagent.tui.app import Wanted

    begins = bool(given.prompt or given.images or given.settings or given.template)
    return Wanted(
        given.session,
        new=given.new or (begins and not (given.go_on or given.session or given.pick)),
        go_on=given.go_on,
        choose=given.pick,
        prompt=given.prompt,
        images=[ImagePart(each["media_type"], each["data"]) for each in given.images],
        settings=given.settings,
        template=given.template,
    )


async def show(given: Arguments, ground: Ground | None, typed: bytes) -> int:
    from openagent.client import connect, elsewhere
    from openagent.client.reconnect import Link
    from openagent.tui.app import OpenAgent
    from openagent.tui.attention import KEEP_TITLE, TITLE_BACK

    url = elsewhere.wanted(os.environ)

    async def open_(may_start: bool) -> "Client":
        return await connect(
            url=url, token=given.token, name="tui", interactive=True, auto_start=may_start, env=os.environ
        )

    link = Link(open_, remote=elsewhere.machine(url))
    app = OpenAgent(link, _wanted(given), given.cwd or os.getcwd(), os.environ, ground=ground)
    app.typed = typed.decode(errors="ignore")
    app.when_drawn = _collect_again
    sys.stdout.write(KEEP_TITLE)
    sys.stdout.flush()
    try:
        await app.run_async()
    finally:
        sys.stdout.write(TITLE_BACK)
        sys.stdout.flush()
        await link.close()
    if app.failure is not None:
        raise app.failure
    if farewell := app.farewell():
        sys.stdout.write(f"{farewell}\n")
    return app.return_code or 0
