"""What each terminal sends for a key, byte by byte, and what the screen shows for it."""

from collections.abc import Generator
from typing import NamedTuple

import pytest

from devtools.simulator import ThreadedSimulator

from ..cli.machine import Machine
from .bare_terminal import BareTerminal

AWAY = b"\x05" + b"\x15" * 4  # Ctrl+E, then Ctrl+U for each line and each line's end


class Pressed(NamedTuple):
    written: str
    """Before the key; `X` is written after it."""
    bytes: bytes
    shown: tuple[str, ...]


def new_line(data: bytes) -> Pressed:
    return Pressed("ab", data, ("█ ab\n", "█ X\n"))


def word_left(data: bytes) -> Pressed:
    return Pressed("ab cd", data, ("█ ab Xcd\n",))


def word_right(data: bytes) -> Pressed:
    return Pressed("ab cd", b"\x01" + data, ("█ abX cd\n",))


def home(data: bytes) -> Pressed:
    return Pressed("ab cd", data, ("█ Xab cd\n",))


def end(data: bytes) -> Pressed:
    return Pressed("ab cd", b"\x01" + data, ("█ ab cdX\n",))


def cut_word(data: bytes) -> Pressed:
    return Pressed("ab cd", data, ("█ ab X\n",))


def arrow_left(data: bytes) -> Pressed:
    return Pressed("ab", data, ("█ aXb\n",))


COMMON = {
    "Ctrl+J": new_line(b"\n"),
    "\\ Enter": new_line(b"\\\r"),
    "Alt+Enter": new_line(b"\x1b\r"),
    "Alt+B": word_left(b"\x1bb"),
    "Alt+F": word_right(b"\x1bf"),
    "Alt+Backspace": cut_word(b"\x1b\x7f"),
}
XTERM = {
    **COMMON,
    "Left": arrow_left(b"\x1b[D"),
    "Home": home(b"\x1b[H"),
    "End": end(b"\x1b[F"),
    "Alt+Left": word_left(b"\x1b[1;3D"),
    "Alt+Right": word_right(b"\x1b[1;3C"),
    "Ctrl+Left": word_left(b"\x1b[1;5D"),
    "Ctrl+Right": word_right(b"\x1b[1;5C"),
}
TERMINALS = {
    "xterm": {
        **XTERM,
        "Shift+Enter": new_line(b"\x1b[27;2;13~"),
        "Ctrl+Enter": new_line(b"\x1b[27;5;13~"),
        "Shift+A": Pressed("", b"\x1b[27;2;65~", ("█ AX\n",)),
        "Home in application mode": home(b"\x1bOH"),
        "Left in application mode": arrow_left(b"\x1bOD"),
    },
    "kitty, ghostty, foot, WezTerm": {
        "Ctrl+J": new_line(b"\x1b[106;5u"),
        "\\ Enter": new_line(b"\x1b[92;;92u\x1b[13u"),
        "Alt+Enter": new_line(b"\x1b[13;3u"),
        "Shift+Enter": new_line(b"\x1b[13;2u"),
        "Ctrl+Enter": new_line(b"\x1b[13;5u"),
        "Shift+Enter with NumLock": new_line(b"\x1b[13;130u"),
        "Alt+B": word_left(b"\x1b[98;3u"),
        "Alt+F": word_right(b"\x1b[102;3u"),
        "Alt+Left": word_left(b"\x1b[1;3D"),
        "Ctrl+Left": word_left(b"\x1b[1;5D"),
        "Home": home(b"\x1b[H"),
        "End": end(b"\x1b[F"),
        "Ctrl+A": home(b"\x1b[97;5u"),
        "Alt+Backspace": cut_word(b"\x1b[127;3u"),
        "Shift held, then A": Pressed("", b"\x1b[57441;2u\x1b[97;2;65u", ("█ AX\n",)),
    },
    "tmux": {
        **XTERM,
        "Home": home(b"\x1b[1~"),
        "End": end(b"\x1b[4~"),
        "Shift+Enter, extended keys": new_line(b"\x1b[27;2;13~"),
        "Shift+Enter, extended keys as CSI u": new_line(b"\x1b[13;2u"),
        "Shift+A, extended keys as CSI u": Pressed("", b"\x1b[65;2u", ("█ AX\n",)),
    },
    "screen": {
        **COMMON,
        "Left": arrow_left(b"\x1bOD"),
        "Home": home(b"\x1b[1~"),
        "End": end(b"\x1b[4~"),
        "Ctrl+Left": word_left(b"\x1b[1;5D"),
    },
    "VS Code": {
        **XTERM,
        "Shift+Enter after a terminal setup": new_line(b"\x1b\r"),
        "Shift+Enter after an older one": new_line(b"\\\r\n"),
    },
    "Apple Terminal": {**COMMON, "Home": home(b"\x1b[H"), "End": end(b"\x1b[F"), "Ctrl+Left": word_left(b"\x1b[1;5D")},
    "Windows Terminal": {**XTERM, "Ctrl+Enter": new_line(b"\n"), "Shift+Enter": new_line(b"\x1b[13;2u")},
    "iTerm": {**XTERM, "Alt+Left": word_left(b"\x1b\x1b[D"), "Alt+Right": word_right(b"\x1b\x1b[C")},
    "rxvt": {
        **COMMON,
        "Home": home(b"\x1b[7~"),
        "End": end(b"\x1b[8~"),
        "Ctrl+Left": word_left(b"\x1bOd"),
        "Alt+Left": word_left(b"\x1b\x1b[D"),
    },
}
TABS = {
    "Alt+1": (b"\x1b1", b"\x1b2"),
    "Alt+1 of kitty": (b"\x1b[49;3u", b"\x1b[50;3u"),
    "Alt+1 of xterm's other keys": (b"\x1b[27;3;49~", b"\x1b[27;3;50~"),
    "Ctrl+X 1": (b"\x181", b"\x182"),
    "Ctrl+X 1 of kitty": (b"\x1b[120;5u\x1b[49;;49u", b"\x1b[120;5u\x1b[50;;50u"),
    "Ctrl+PageUp": (b"\x1b[5;5~", b"\x1b[6;5~"),
    "Ctrl+PageUp of rxvt": (b"\x1b[5^", b"\x1b[6^"),
    "Ctrl+X ←": (b"\x18\x1b[D", b"\x18\x1b[C"),
}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Generator[BareTerminal, None, None]:
    with ThreadedSimulator([]) as sim:
        machine = Machine(tmp_path_factory.mktemp("keys"), sim)
        with BareTerminal(machine, size=(80, 24)) as terminal:
            terminal.until_shown("message, @file", "Say what to do.")
            yield terminal
        machine.run("stop")


@pytest.mark.parametrize("terminal", TERMINALS)
def test_a_key_does_the_same_in_every_terminal(seen: BareTerminal, terminal: str) -> None:
    for key, pressed in TERMINALS[terminal].items():
        seen.send(AWAY)
        before = seen.until_shown("message, @file").count("X")
        if pressed.written:
            seen.send(pressed.written)
            seen.until_shown(f"█ {pressed.written}\n")
        seen.send(pressed.bytes)
        seen.send("X")
        screen = seen.until(lambda screen, before=before: screen.count("X") > before)
        assert all(line in screen for line in pressed.shown), f"{key}: {pressed.bytes!r}\n{screen}"
    seen.send(AWAY)
    seen.until_shown("message, @file")


def test_tabs_are_changed_in_every_terminal(seen: BareTerminal) -> None:
    seen.send("in the first")
    seen.until_shown("█ in the first\n")
    seen.send(b"\x18n")
    seen.until_shown("2 new session", "message, @file")
    seen.send("in the second")
    seen.until_shown("█ in the second\n")
    for key, (to_first, to_second) in TABS.items():
        seen.send(to_first)
        screen = seen.until_shown("█ in the first\n")
        assert "¡" not in screen, key
        seen.send(to_second)
        seen.until_shown("█ in the second\n")
