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

UP, TAB, ENTER, ESC, CTRL_C = b"\x1b[A", b"\t", b"\r", b"\x1b", b"\x03"
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
        time.sleep(1)  # the keys count a moment after the last that was written
        seen.send("a")
        seen.until_shown("It is done.")
        assert (tmp_path / "workspace" / "made").exists()


def test_escape_stops_the_turn_and_keeps_the_draft_and_nothing_erases_it_for_good(visit: Visit) -> None:
    with visit([shell("sleep 60"), {"text": "Never said."}]) as seen:
        seen.until_shown("Say what to do.")
        seen.send("go\r")
        seen.until_shown("running sleep 60")
        seen.send("my draft")
        seen.until_shown("█ my draft\n")
        seen.send(ESC)
        seen.until_shown("█ my draft\n", "ready", gone="running sleep 60")
        seen.send(ESC)
        seen.until_shown("Esc again puts the draft away.", "█ my draft\n")
        seen.send(ESC)
        seen.until_shown("message, @file", "The up key brings it back.")
        seen.send(UP)
        seen.until_shown("█ my draft\n")
        seen.send(CTRL_C)
        seen.until_shown("message, @file", "again leaves")
        seen.send(UP)
        seen.until_shown("█ my draft\n")


def test_escape_at_a_permission_denies_and_stops_and_says_so(visit: Visit, tmp_path: Path) -> None:
    with visit([shell("touch made"), {"text": "Never said."}], mode="ask") as seen:
        seen.until_shown("Say what to do.")
        seen.send("go\r")
        seen.until_shown("approve?", "touch made")
        seen.send(ESC)
        seen.until_shown("Denied, and the turn is stopped: run touch made")
        seen.until_shown("not run: run touch made", "Stopped", gone="approve?")
        assert not (tmp_path / "workspace" / "made").exists()


def test_ctrl_c_stops_first_and_leaves_when_pressed_twice(visit: Visit) -> None:
    with visit([shell("sleep 60"), {"text": "Never said."}]) as seen:
        seen.until_shown("Say what to do.")
        seen.send("go\r")
        seen.until_shown("running sleep 60")
        seen.send(CTRL_C)
        seen.until_shown("Stopped.", "again leaves", gone="running sleep 60")
        seen.send(CTRL_C + CTRL_C)
        assert seen.exit_code() == 0


def test_ctrl_d_deletes_in_a_draft_and_leaves_from_an_empty_input(visit: Visit) -> None:
    with visit([]) as seen:
        seen.until_shown("Say what to do.")
        seen.send(b"abc\x01\x04")
        seen.until_shown("█ bc\n")
        seen.send(b"\x04\x04")
        seen.until_shown("message, @file")
        seen.send(b"\x04")
        assert seen.exit_code() == 0


def test_the_keys_of_a_shells_line_are_the_persons(visit: Visit) -> None:
    with visit([]) as seen:
        seen.until_shown("Say what to do.")
        for typed, shown in (
            (b"one two\x17X\x19", "█ one Xtwo\n"),  # Ctrl+W cuts, Ctrl+Y puts back
            (b"one two\x02\x02\x0bX", "█ one tX\n"),  # Ctrl+B twice, Ctrl+K
            (b"one two\x01\x06X", "█ oXne two\n"),  # Ctrl+A, Ctrl+F
            (b"one two\x01\x1bdX", "█ X two\n"),  # Alt+D
            (b"one tow\x02\x14", "█ one two\n"),  # Ctrl+T
            (b"one.two\x1b\x7fX", "█ one.X\n"),  # Alt+Backspace stops at the dot
            (b"one.two\x17X", "█ X\n"),  # Ctrl+W does not
            (b"one two\x15\x19\x19", "█ one twoone two\n"),
        ):
            seen.send(typed)
            seen.until_shown(shown)
            seen.send(b"\x05\x15")
            seen.until_shown("message, @file")


def test_history_lasts_is_searched_and_holds_no_secret(visit: Visit, tmp_path: Path) -> None:
    with visit([{"text": "first answer"}, {"text": "second answer"}]) as seen:
        seen.until_shown("Say what to do.")
        seen.send("the red apple\r")
        seen.until_shown("first answer", "ready")
        seen.send("/login sk-very-secret-123456\r")
        seen.send(b"\x1b")
        seen.until(lambda _: (tmp_path / "data" / "input_history.jsonl").exists())
    kept = tmp_path / "data" / "input_history.jsonl"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert "secret" not in kept.read_text()
    with visit([]) as seen:
        seen.until_shown("Say what to do.")
        seen.send(UP)
        seen.until_shown("█ the red apple\n")
        seen.send(b"\x15")
        seen.until_shown("message, @file")
        seen.send(b"\x12red")
        seen.until_shown("Typed before", "the red apple")
        seen.send(ENTER)
        seen.until_shown("█ the red apple\n", gone="Typed before")


def test_the_draft_is_written_in_the_persons_editor_and_the_screen_comes_back_whole(
    visit: Visit, tmp_path: Path
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nstty -a | grep -q " icanon" && printf " from outside" >> "$1"\n')
    editor.chmod(0o700)
    with visit([{"text": "answered"}], EDITOR=str(editor)) as seen:
        seen.until_shown("Say what to do.")
        for keys in (b"\x07", b"\x18\x05"):
            seen.send("draft")
            seen.until_shown("█ draft\n")
            seen.send(keys)
            seen.until_shown("█ draft from outside\n", "Say what to do.", "? keys")
            seen.send(b"\x15")
            seen.until_shown("message, @file")
        seen.send("go\r")
        seen.until_shown("answered")


def test_shift_tab_goes_through_the_modes_and_never_to_full(visit: Visit) -> None:
    with visit([], mode="edits") as seen:
        seen.until_shown("Say what to do.", "edits")
        for mode in ("auto", "plan", "ask", "edits", "auto"):
            seen.send(b"\x1b[Z")
            seen.until_shown(f"Mode {mode}:", f"· {mode} ·")


def test_a_command_of_ones_own_runs_unasked_and_shows_what_it_printed(visit: Visit, tmp_path: Path) -> None:
    with visit([], mode="ask") as seen:
        seen.until_shown("Say what to do.")
        seen.send("!echo seen-$((40+2)) && touch made\r")
        screen = seen.until_shown("seen-42", "ready")
        assert "approve?" not in screen
        assert (tmp_path / "workspace" / "made").exists()


def test_vim_keys_are_read_byte_by_byte_and_escape_stops_from_normal_mode(visit: Visit) -> None:
    with visit([shell("sleep 60"), {"text": "Never said."}], OPENAGENT_VIM="1") as seen:
        seen.until_shown("Say what to do.")
        seen.send("wrong words")
        seen.send(ESC + b"ddi")  # Esc and a letter in one read are no Alt+D
        seen.send("go\r")
        seen.until_shown("running sleep 60", "█ go", gone="words")
        seen.send("draft")
        seen.until_shown("█ draft\n")
        seen.send(ESC + b"x")
        seen.until_shown("running sleep 60", "█ draf\n")
        seen.send(ESC)
        seen.until_shown("ready", "█ draf\n", gone="running sleep 60")


def test_two_keys_after_one_another_say_what_may_follow_and_escape_forgets_the_first(visit: Visit) -> None:
    with visit([]) as seen:
        seen.until_shown("Say what to do.")
        seen.send(b"\x18")
        seen.until_shown("p plan", "n new", "1…9 tab")
        seen.send(ESC)
        seen.until_shown("message, @file", gone="1…9 tab")
        seen.send("plain")
        seen.until_shown("█ plain\n")
        seen.send(b"\x18q")
        seen.until_shown("ctrl+x q does nothing", "█ plain\n")


def test_a_command_typed_faster_than_it_is_drawn_is_the_one_that_runs(visit: Visit) -> None:
    with visit([]) as seen:
        seen.send(b"/mode plan\r")
        seen.until_shown("· plan ·")
        seen.send(b"".join(f"/nope{number}\r".encode() for number in range(12)))
        screen = seen.until_shown("There is no command /nope11.")
        assert "/nope8." not in screen
        seen.until_shown("· plan ·", gone="There is no command")
