"""The program on a daemon of its own, driven by keys without a terminal."""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.widget import Widget

from openagent.client import Client, connect
from openagent.client.elsewhere import web_socket_url
from openagent.client.reconnect import Link
from openagent.tui.app import OpenAgent, Wanted
from openagent.tui.session_view import SessionView

from ..interaction.house import MODEL, House, house

PATIENCE = 30.0
UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
NAMES = {" ": "space", "?": "question_mark", "/": "slash", "@": "at", "!": "exclamation_mark", ".": "full_stop"}


@dataclass
class Seen:
    app: OpenAgent
    pilot: Pilot[None]
    house: House
    client: Client
    """Somebody else, on the same daemon."""
    session: str

    @property
    def view(self) -> SessionView:
        return self.app.view

    async def write(self, text: str, *, send: bool = True) -> None:
        await self.pilot.press(*(NAMES.get(character, character) for character in text))
        if send:
            await self.pilot.press("enter")

    async def until(self, wanted: Callable[[], object]) -> None:
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while not wanted():
            assert asyncio.get_running_loop().time() < deadline, f"still waiting at:\n{self.screen()}"
            await self.pilot.pause(0.01)

    async def until_shown(self, *texts: str) -> None:
        await self.until(lambda: all(text in self.screen() for text in texts))

    async def until_idle(self) -> None:
        await self.until(lambda: self.view.info and not self.view.running)

    def screen(self) -> str:
        return picture(self.app)

    def all_of(self, kind: type[Any]) -> Sequence[Any]:
        return list(self.app.screen.query(kind))


def picture(app: OpenAgent) -> str:
    """What the screen shows, line by line."""
    width, height = app.size
    lines = app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
    shown = ["".join(segment.text for segment in line)[:width] for line in lines[:height]]
    assert not UNPRINTABLE.search("".join(shown)), "a control character would reach the terminal"
    return "\n".join(shown)


@asynccontextmanager
async def screens(
    tmp_path: Path,
    script: Sequence[dict[str, Any]] | dict[str, Any],
    *,
    size: tuple[int, int] = (100, 30),
    env: dict[str, str] | None = None,
    remote: bool = False,
    config: str = "",
    **settings: Any,
) -> AsyncGenerator[Seen, None]:
    async with house(tmp_path, script, config=config, web=remote) as built:

        async def open_(may_start: bool) -> Client:
            if remote:
                url = web_socket_url(built.daemon.place.web_url)
                token = (built.home / "token").read_text()
                return await connect(url=url, token=token, name="tui", interactive=True, env={})
            return await connect(
                socket=built.daemon.place.socket, name="tui", interactive=True, auto_start=False, env={}
            )

        other = await open_(False)
        settings = {"model": MODEL, "mode": "full", **settings}
        info = await other.create_session(str(built.workspace), name="first", **settings)
        link = Link(open_, remote="build-server" if remote else "")
        app = OpenAgent(link, Wanted(info.id), str(built.workspace), {"HOME": str(tmp_path), **(env or {})})
        try:
            async with app.run_test(size=size) as pilot:
                seen = Seen(app, pilot, built, other, info.id)
                await seen.until(lambda: app.view.follows)
                yield seen
        finally:
            await link.close()
            await other.close()


def focused(seen: Seen, kind: type[Widget]) -> bool:
    return isinstance(seen.app.focused, kind)
