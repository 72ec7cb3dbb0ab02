"""A person at a terminal."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from typing import Self

from .machine import PATIENCE, Machine

CTRL_C, CTRL_D = "\x03", "\x04"
_ON_THE_TERMINAL = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


class Terminal:
    """`with Terminal(machine, "attach", session) as terminal:`; what is seen stays in `seen`."""

    def __init__(
        self,
        machine: Machine,
        *arguments: str,
        size: tuple[int, int] = (0, 0),
        program: Sequence[str] = (sys.executable, "-m", "openagent"),
    ) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _ON_THE_TERMINAL, *program, *arguments],
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
                env={"TERM": "xterm", **machine.env},
                cwd=machine.workspace,
            )
        finally:
            os.close(theirs)
        self.seen = ""
        self._read_up_to = 0

    def enter(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def until(self, text: str) -> str:
        """What came, up to and with `text`, since the last call."""
        deadline = time.monotonic() + PATIENCE
        while (place := self.seen.find(text, self._read_up_to)) < 0:
            assert self._read(deadline), f"{text!r} did not come, but {self.seen[self._read_up_to :]!r}"
        came = self.seen[self._read_up_to : place + len(text)]
        self._read_up_to = place + len(text)
        return came

    def press_until_it_ends(self, key: str) -> int:
        """Once more every second, as a person does: an interrupt between a prompt and the read behind it is noticed by
        Python with the next key."""
        deadline = time.monotonic() + PATIENCE
        while self._process.poll() is None and time.monotonic() < deadline:
            self.enter(key)
            moment = time.monotonic() + 1
            while time.monotonic() < moment and self._read(moment):
                pass
        return self._process.wait(PATIENCE)

    def exit_code(self) -> int:
        deadline = time.monotonic() + PATIENCE
        while self._read(deadline):
            pass
        return self._process.wait(PATIENCE)

    def _read(self, deadline: float) -> bool:
        if not select.select([self._ours], [], [], max(deadline - time.monotonic(), 0))[0]:
            return False
        try:
            data = os.read(self._ours, 65536)
        except OSError:
            return False
        self.seen += data.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)
