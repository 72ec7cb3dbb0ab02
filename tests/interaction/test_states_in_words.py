"""What a session is doing is told in words in every list and on every screen: names are for programs."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from textual.app import App, ComposeResult

from openagent.plugins.store import Holder
from openagent.protocol.messages import CallEnd
from openagent.protocol.sessions import SessionInfo, Settings, Status, TurnEnd
from openagent.protocol.words import call_ended, in_words, turn_ended
from openagent.store import open_store
from openagent.tui.attention import Attention, Shown
from openagent.tui.status_bar import StatusBar
from openagent.tui.tab_bar import TabBar

from .house import MODEL, House, house

pytestmark = pytest.mark.anyio
STATUSES: tuple[Status, ...] = get_args(Status)
NAMES = [name for kind in (Status, TurnEnd, CallEnd) for name in get_args(kind) if "_" in name]


def session(status: Status) -> SessionInfo:
    return SessionInfo(
        id=f"session-{STATUSES.index(status)}",
        name="one",
        cwd="/",
        created_at=1.0,
        updated_at=1.0,
        settings=Settings(model=MODEL),
        status=status,
        turn_count=1,
    )


async def filled(h: House) -> None:
    """One session in each state, all in the hands of another daemon that lives."""
    store = open_store(f"sqlite:///{h.home / 'openagent.db'}")
    await store.register(Holder("other", "here", 1, "/other", "other"), lease_s=600)
    for status in STATUSES:
        await store.create_session(session(status), [])
    await store.close()


async def openagent(h: House, *words: str) -> str:
    env = {"PATH": os.environ["PATH"], "HOME": str(h.home), "OPENAGENT_HOME": str(h.home)}
    command = [sys.executable, "-m", "openagent", *words]
    done = await asyncio.to_thread(subprocess.run, command, env=env, capture_output=True, text=True, check=True)
    return done.stdout


async def test_every_state_stands_in_words_in_the_lists_of_the_command_line(tmp_path: Path) -> None:
    async with house(tmp_path, []) as h:
        await filled(h)
        for words in (("sessions", "list"), ("usage", "agents")):
            told = await openagent(h, *words)
            assert all(in_words(status) in told for status in STATUSES)
            assert not [name for name in NAMES if name in told]


class _Bars(App[None]):
    def compose(self) -> ComposeResult:
        yield TabBar("here")
        yield StatusBar()


async def test_every_state_has_its_own_words_and_mark_in_the_terminal() -> None:
    title: list[str] = []
    attention = Attention({"TERM_PROGRAM": "kitty"}, title.append, "here")
    app, shown = _Bars(), set[str]()
    async with app.run_test(size=(120, 10)) as pilot:
        for status in STATUSES:
            info = session(status)
            await app.query_one(TabBar).show([info], 1)
            app.query_one(StatusBar).show(info, "jail", "main")
            attention.follow([Shown(info.id, session("thinking"))], info)
            attention.looked_at = False
            attention.follow([Shown(info.id, info)], info)
            await pilot.pause()
            lines = app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
            shown.add("".join(segment.text for line in lines for segment in line))
    assert len(shown) == len(STATUSES)
    told = "".join([*shown, *title])
    assert "one: interrupted" in told
    assert not [name for name in NAMES if name in told]


def test_every_end_of_a_turn_and_of_a_call_has_words() -> None:
    told = [*(" ".join(turn_ended(end)) for end in get_args(TurnEnd))]
    told += [call_ended("shell", "ls", end) for end in get_args(CallEnd)]
    told += [in_words(name) for name in NAMES]
    # Settings go by their names: that is what a person writes.
    plain = " ".join(told).replace("max_steps", "").replace("turn_timeout", "").replace("max_output_tokens", "")
    assert "_" not in plain
