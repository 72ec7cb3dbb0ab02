"""The terminal program in a terminal: a pseudo-terminal of our own, whose bytes are what a person would see."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping
from pathlib import Path

PATIENCE = 30.0
_INSTALLED = Path(sys.executable).parent / "openagent"


class Terminal:
    def __init__(self, arguments: list[str], env: Mapping[str, str], cwd: Path, size: tuple[int, int]) -> None:
        self._own, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        command = [str(_INSTALLED)] if _INSTALLED.exists() else [sys.executable, "-m", "openagent"]
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            [*command, *arguments],
            env={**env, "TERM": "xterm-256color", "LANG": "C.UTF-8"},
            cwd=cwd,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)

    def write(self, text: str) -> None:
        os.write(self._own, text.encode())

    def read(self, seconds: float) -> bytes:
        """What comes within so many seconds; empty when nothing does."""
        ready, _, _ = select.select([self._own], [], [], seconds)
        return os.read(self._own, 1 << 16) if ready else b""

    def until(self, wanted: Callable[[bytes], object], patience: float = PATIENCE) -> float:
        """The moment at which what was wanted had been drawn."""
        seen, deadline = b"", time.perf_counter() + patience
        while not wanted(seen):
            if time.perf_counter() > deadline:
                raise TimeoutError(f"not drawn: {seen[-2000:]!r}")
            seen += self.read(0.2)
        return time.perf_counter()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._own)
