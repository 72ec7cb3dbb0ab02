"""A terminal behind the session's walls: keys in, screen out, and gone with its session."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from openagent.client import Client
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import AnyEvent, TerminalExited, TerminalOutput
from openagent.protocol.sessions import SessionDelete
from openagent.protocol.terminals import TerminalClose, TerminalInput, TerminalOpen, TerminalResize

from ..interaction.house import house, new_session

pytestmark = pytest.mark.anyio


class Screen:
    """Everything a client hears of its terminal."""

    def __init__(self, client: Client, events: "asyncio.Queue[AnyEvent | None]") -> None:
        self.client = client
        self._events = events
        self.text = ""
        self.exit: TerminalExited | None = None
        self.id = ""

    async def open(self, session: str, terminal: str = "") -> None:
        op = TerminalOpen(id=self.client.next_id(), session=session, terminal=terminal, columns=100, rows=30)
        opened = await self.client.request(op)
        self.id, self.text = opened.terminal, opened.text

    async def type(self, text: str) -> None:
        await self.client.request(TerminalInput(id=self.client.next_id(), terminal=self.id, text=text))

    async def until(self, wanted: Callable[[], bool]) -> None:
        while not wanted():
            try:
                event = await asyncio.wait_for(self._events.get(), 20)
            except TimeoutError:
                raise AssertionError(f"The terminal stays at {self.text[-500:]!r}.") from None
            if isinstance(event, TerminalOutput):
                self.text += event.text
            if isinstance(event, TerminalExited):
                self.exit = event


async def test_a_person_works_in_a_terminal_behind_the_sessions_walls(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client, client.all_events() as events:
        session = await new_session(h, client)
        screen = Screen(client, events)
        await screen.open(session)
        await screen.type("pwd; ls /home; stty size; test -t 0 && echo 'a '\"terminal\"\n")
        await screen.until(lambda: "a terminal" in screen.text)
        assert str(h.workspace) in screen.text
        assert "30 100" in screen.text
        await screen.type("echo gone > made.txt; cat ~/.ssh/id_rsa " + str(h.home / "config.toml") + "; echo 'do'ne\n")
        await screen.until(lambda: "done\r\n" in screen.text)
        assert (h.workspace / "made.txt").read_text() == "gone\n"
        assert "api_key" not in screen.text
        op = TerminalResize(id=client.next_id(), terminal=screen.id, columns=132, rows=43)
        await client.request(op)
        await screen.type("(echo slee'ps'; sleep 60)\n")
        await screen.until(lambda: "sleeps\r\n" in screen.text)
        await screen.type("\x03")
        await screen.until(lambda: "$ " in screen.text.rpartition("^C")[2] and "^C" in screen.text)
        await screen.type("stty size; exit 7\n")
        await screen.until(lambda: screen.exit is not None)
        assert "43 132" in screen.text
        assert screen.exit is not None
        assert screen.exit.exit_code == 7
        with pytest.raises(OpenAgentError, match="no terminal"):
            await screen.type("more")


async def test_two_clients_share_a_terminal_and_whoever_comes_later_sees_what_was_printed(tmp_path: Path) -> None:
    async with (
        house(tmp_path, [{"text": "hi"}]) as h,
        await h.client() as one,
        one.all_events() as ones,
        await h.client() as two,
        two.all_events() as twos,
    ):
        session = await new_session(h, one)
        first, second = Screen(one, ones), Screen(two, twos)
        await first.open(session)
        await first.type("echo ear'ly'\n")
        await first.until(lambda: "early\r\n" in first.text)
        await second.open(session, first.id)
        assert "early\r\n" in second.text
        await second.type("echo la'ter'\n")
        await first.until(lambda: "later\r\n" in first.text)
        await second.until(lambda: "later\r\n" in second.text)
        other = await new_session(h, one)
        with pytest.raises(OpenAgentError, match="no terminal"):
            await second.open(other, first.id)


async def test_a_flood_is_paced_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client, client.all_events() as events:
        screen = Screen(client, events)
        await screen.open(await new_session(h, client))
        await screen.type("yes\n")
        await screen.until(lambda: len(screen.text) > 200_000)
        await screen.type("\x03")
        await screen.until(lambda: "$ " in screen.text[-2000:])
        await screen.type("echo cal'm'\n")
        await screen.until(lambda: "calm\r\n" in screen.text[-2000:])


@pytest.mark.parametrize("how", ["deleted", "closed"])
async def test_what_runs_in_a_terminal_ends_with_it_and_with_its_session(tmp_path: Path, how: str) -> None:
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client, client.all_events() as events:
        session = await new_session(h, client)
        screen = Screen(client, events)
        await screen.open(session)
        marker = 98_700 + os.getpid() % 100
        await screen.type(f"(trap '' HUP TERM; exec sleep {marker}.5) & echo start'ed'\n")
        await screen.until(lambda: "started" in screen.text)
        if how == "deleted":
            await client.request(SessionDelete(id=client.next_id(), session=session))
        else:
            await client.request(TerminalClose(id=client.next_id(), terminal=screen.id))
        await screen.until(lambda: screen.exit is not None)
        assert not sleeping(marker)


def sleeping(marker: int) -> bool:
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if f"{marker}.5".encode() in process.read_bytes() and b"bash" not in process.read_bytes():
                return True
        except OSError:
            continue
    return False
