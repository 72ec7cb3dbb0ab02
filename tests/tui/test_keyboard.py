"""The input owns the keyboard: in a bare terminal, with raw keys and clicks."""

import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from devtools.simulator import ThreadedSimulator

from ..cli.machine import Machine, shell
from .bare_terminal import BareTerminal

UP, TAB, ENTER = b"\x1b[A", b"\t", b"\r"
Visit = Callable[..., AbstractContextManager[BareTerminal]]


@pytest.fixture
def visit(tmp_path: Path) -> Visit:
    @contextmanager
    def start(script: list[Any], mode: str = "full", **env: str) -> Generator[BareTerminal, None, None]:
        with ThreadedSimulator(script) as sim:
            machine = Machine(tmp_path, sim, {"OPENAGENT_MODE": mode})
            with BareTerminal(machine, env=env) as terminal:
                terminal.until_shown("message, @file")
                yield terminal
            machine.run("stop")

    return start


def click(screen: str, text: str) -> bytes:
    """A press and a release on the first character of what is shown."""
    row = next(number for number, line in enumerate(screen.split("\n"), 1) if text in line)
    column = screen.split("\n")[row - 1].index(text) + 1
    return f"\x1b[<0;{column};{row}M\x1b[<0;{column};{row}m".encode()


def test_whatever_has_the_focus_what_is_typed_reaches_the_input(visit: Visit) -> None:
    with visit([shell("echo inside"), {"text": "It is done."}, {"text": "badtool it is."}]) as seen:
        seen.until_shown("Say what to do.")
        seen.send("go\r")
        screen = seen.until_shown("ran echo inside", "It is done.", "message, @file", gone="working")
        for where in (click(screen, "It is done."), click(screen, "go"), click(screen, "openagent ·"), TAB, TAB + UP):
            seen.send(where)
            seen.send("vok 1?")
            seen.until_shown("█ vok 1?\n")
            seen.send(b"\x15")
            seen.until_shown("message, @file")
        seen.send(click(seen.screen(), "ran echo inside"))
        seen.until_shown("▌ inside")  # a click opens it, and takes no key away
        seen.send("badtool")
        seen.until_shown("█ badtool\n", "▌ inside")
        seen.send(TAB + ENTER)  # by keys: it has the focus, and closes
        seen.until_shown("█ badtool\n", gone="▌ inside")
        seen.send(TAB)
        seen.send(ENTER)  # back at once: this Enter sends
        seen.until_shown("badtool it is.")


def test_a_paste_reaches_the_input_from_anywhere(visit: Visit) -> None:
    with visit([shell("echo inside"), {"text": "It is done."}]) as seen:
        seen.until_shown("Say what to do.")
        seen.send("go\r")
        seen.until_shown("It is done.", gone="working")
        seen.send(TAB)
        seen.send(b"\x1b[200~pasted here\x1b[201~")
        seen.until_shown("█ pasted here\n")


def test_the_conversation_scrolls_while_the_input_has_the_keys(visit: Visit) -> None:
    lines = "\n\n".join(f"line {number}." for number in range(60))
    with visit([{"text": lines}]) as seen:
        seen.until_shown("Say what to do.")
        seen.send("go\r")
        seen.until_shown("line 59.")
        seen.send(b"\x1b[5~")
        seen.until_shown("line 40.", gone="line 59.")
        seen.send("dra")
        seen.send(b"\x1b[1;3A\x1b[<64;10;10M")  # a line by Alt+Up, some by the wheel
        seen.send("ft")
        seen.until_shown("█ draft\n", gone="line 59.")
        seen.send(b"\x1b[1;5F")
        seen.until_shown("█ draft\n", "line 59.")


def test_approval_keys_work_after_typing_and_clearing_and_a_draft_answers_nothing(visit: Visit, tmp_path: Path) -> None:
    with visit([shell("touch made"), {"text": "It is done."}], mode="ask") as seen:
        seen.until_shown("Say what to do.")
        seen.send("go\r")
        seen.until_shown("approve?", "touch made")
        seen.send("xad sA")
        seen.until_shown("█ xad sA\n", "approve?")
        seen.send(b"\x7f" * 6 + b"and")  # cleared, and at once another: no answer
        seen.until_shown("█ and\n", "approve?")
        assert not (tmp_path / "workspace" / "made").exists()
        seen.send(TAB)  # with a draft, the panel is reached by Tab; Tab comes back
        seen.send(TAB)
        seen.send("d")
        seen.until_shown("█ andd\n", "approve?")
        seen.send(b"\x15")
        seen.until_shown("message, @file", "approve?")
        time.sleep(0.4)  # the keys count a moment after the last that was written
        seen.send("a")
        seen.until_shown("It is done.")
        assert (tmp_path / "workspace" / "made").exists()
