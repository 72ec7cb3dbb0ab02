"""What the terminal can show: how many colours, and whether its ground is dark or light.

Loads nothing heavy: the terminal is asked first, and answers while everything else is loaded.
"""

import contextlib
import os
import re
import select
import termios
from collections.abc import Mapping
from time import monotonic
from typing import Literal

Depth = Literal["truecolor", "256", "16"]
Ground = Literal["dark", "light"]
PATIENCE = 0.03
"""Seconds that an answer is waited for when everything is loaded: it had all that time already."""
_ALL_COLOURS = ("kitty", "alacritty", "foot", "wezterm", "ghostty", "contour", "rio", "-direct", "truecolor", "24bit")
_ALL_COLOURS_PROGRAMS = ("iTerm.app", "WezTerm", "vscode", "ghostty", "rio", "mintty", "Hyper", "WarpTerminal", "Tabby")
_NAMES: dict[str, Depth] = {"truecolor": "truecolor", "24bit": "truecolor", "256": "256", "16": "16"}
_WITHOUT_ANSWER = ("dumb", "linux", "vt", "cons", "")
_QUESTION = b"\x1b]11;?\x1b\\\x1b[c"
"""The ground's colour, and then what the terminal is: every terminal answers that, and those that do not know the first
question answer it alone."""
_COLOUR = re.compile(
    rb"\x1b\]11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})[^\x07\x1b]*(?:\x07|\x1b\\)"
)
_LAST = re.compile(rb"\x1b\[\?[0-9;]*c")
_LIGHT_FROM = 0.5


def depth(env: Mapping[str, str]) -> Depth:
    """Inside tmux and screen their own word counts, and not that of the terminal around them."""
    if (wanted := env.get("OPENAGENT_COLORS", "").lower()) in _NAMES:
        return _NAMES[wanted]
    term = env.get("TERM", "").lower()
    inside = "TMUX" in env or "STY" in env or term.startswith(("tmux", "screen"))
    if not term or env.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return "truecolor"
    if not inside and (env.get("TERM_PROGRAM") in _ALL_COLOURS_PROGRAMS or "WT_SESSION" in env):
        return "truecolor"
    if any(name in term for name in _ALL_COLOURS):
        return "truecolor"
    return "256" if "256" in term else "16"


def ground_told(env: Mapping[str, str]) -> Ground | None:
    """rxvt, Konsole and others say it in the environment: foreground;background, of sixteen."""
    background = env.get("COLORFGBG", "").rpartition(";")[2]
    if not background.isdigit():
        return None
    return "dark" if int(background) in (*range(7), 8) else "light"


def ground_in(answer: bytes) -> Ground | None:
    found = _COLOUR.search(answer)
    if found is None:
        return None
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in found.groups())
    return "light" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > _LIGHT_FROM else "dark"


class Asked:
    """A terminal that was asked for its ground. Nothing is echoed until the answer is taken."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._before: list[int | list[bytes | int]] | None = None
        term = env.get("TERM", "")
        if any(term == name or (name == "vt" and term.startswith(name)) for name in _WITHOUT_ANSWER):
            return
        with contextlib.suppress(OSError, termios.error):
            self._before = termios.tcgetattr(0)
            quiet = termios.tcgetattr(0)
            quiet[3] &= ~(termios.ICANON | termios.ECHO)
            termios.tcsetattr(0, termios.TCSANOW, quiet)
            os.write(1, _QUESTION)

    def answer(self, patience: float = PATIENCE) -> tuple[Ground | None, bytes]:
        """The ground, if the terminal told; and what a person typed meanwhile."""
        if self._before is None:
            return None, b""
        read, deadline = b"", monotonic() + patience
        with contextlib.suppress(OSError, termios.error):
            while not _LAST.search(read):
                if not select.select([0], [], [], max(deadline - monotonic(), 0))[0]:
                    break
                if not (more := os.read(0, 4096)):
                    break
                read += more
            termios.tcsetattr(0, termios.TCSANOW, self._before)
        self._before = None
        return ground_in(read), _LAST.sub(b"", _COLOUR.sub(b"", read))
