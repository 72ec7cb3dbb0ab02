"""The real program on a bare pseudo-terminal: raw bytes in, the screen out, and nothing between that rewrites a key."""

import codecs
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping
from typing import Self

from rich.cells import cell_len

from ..cli.machine import Machine

PATIENCE = 60.0
_SEQUENCE = re.compile(r"\x1b(?:\[([0-?]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()].|[=>78cMDE])")
_ON_THE_TERMINAL = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


class Screen:
    """As much of a terminal as the program draws with: places, characters and clearing."""

    def __init__(self, width: int, height: int) -> None:
        self.size = (width, height)
        self._cells = [[" "] * width for _ in range(height)]
        self._row = self._column = 0
        self._rest = ""

    def feed(self, text: str) -> None:
        text, self._rest = self._rest + text, ""
        place = 0
        while place < len(text):
            if text[place] == "\x1b":
                match = _SEQUENCE.match(text, place)
                if match is None:
                    self._rest = text[place:]
                    return
                self._obey(match[1], match[2])
                place = match.end()
            else:
                self._write(text[place])
                place += 1

    def _obey(self, parameters: str | None, final: str | None) -> None:
        if parameters is None or final is None or parameters.startswith(("?", ">", "<", "=")):
            if parameters == "?1049" and final == "h":
                self._cells = [[" "] * self.size[0] for _ in range(self.size[1])]
            return
        numbers = [int(number or 0) for number in parameters.split(";")] if parameters else []
        first = numbers[0] if numbers else 0
        match final:
            case "H" | "f":
                self._row, self._column = max(first, 1) - 1, max(numbers[1] if len(numbers) > 1 else 1, 1) - 1
            case "J" if first == 2:
                self._cells = [[" "] * self.size[0] for _ in range(self.size[1])]
            case "K":
                self._cells[self._row][self._column :] = [" "] * (self.size[0] - self._column)
            case "A" | "B":
                self._row += max(first, 1) * (1 if final == "B" else -1)
            case "C" | "D":
                self._column += max(first, 1) * (1 if final == "C" else -1)
            case _:
                pass

    def _write(self, character: str) -> None:
        if character == "\r":
            self._column = 0
        elif character == "\n":
            self._row += 1
        elif character >= " " and self._row < self.size[1] and self._column < self.size[0]:
            wide = cell_len(character)
            self._cells[self._row][self._column] = character
            if wide == 2 and self._column + 1 < self.size[0]:
                self._cells[self._row][self._column + 1] = ""
            self._column += wide

    def __str__(self) -> str:
        return "\n".join("".join(row).rstrip() for row in self._cells)


class BareTerminal:
    """`with BareTerminal(machine) as seen:`, then `seen.send(b"...")` and `seen.until_shown("...")`."""

    def __init__(
        self, machine: Machine, *arguments: str, size: tuple[int, int] = (100, 30), env: Mapping[str, str] | None = None
    ) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self._screen = Screen(*size)
        self._decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        self.raw = b""
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _ON_THE_TERMINAL, sys.executable, "-m", "openagent", *arguments],
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
                env={**machine.env, "TERM": "xterm-256color", **(env or {})},
                cwd=machine.workspace,
            )
        finally:
            os.close(theirs)

    def send(self, data: bytes | str) -> None:
        os.write(self._ours, data.encode() if isinstance(data, str) else data)

    def screen(self) -> str:
        while select.select([self._ours], [], [], 0)[0] and self._read():
            pass
        return str(self._screen)

    def resize(self, width: int, height: int) -> None:
        if self._screen.size == (width, height):
            return  # nothing would be drawn anew
        self.screen()
        self._screen = Screen(width, height)
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def alive(self) -> bool:
        return self._process.poll() is None

    def until(self, wanted: Callable[[str], object]) -> str:
        deadline = time.monotonic() + PATIENCE
        while not wanted(screen := self.screen()):
            assert time.monotonic() < deadline, f"still waiting at:\n{screen}"
            select.select([self._ours], [], [], 0.05)
        return screen

    def until_shown(self, *texts: str, gone: str = "") -> str:
        return self.until(lambda screen: all(text in screen for text in texts) and not (gone and gone in screen))

    def exit_code(self) -> int:
        deadline = time.monotonic() + PATIENCE
        while self._process.poll() is None:
            assert time.monotonic() < deadline, f"it did not end at:\n{self.screen()}"
            select.select([self._ours], [], [], 0.05)
            self.screen()
        return self._process.returncode

    def _read(self) -> bool:
        try:
            data = os.read(self._ours, 65536)
        except OSError:
            return False
        self.raw += data
        self._screen.feed(self._decode(data))
        return bool(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)
