"""A program on a pseudo-terminal of its own."""

import asyncio
import contextlib
import fcntl
import os
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Mapping, Sequence

READ_SIZE = 64 * 1024
PACE = 0.02
"""Seconds between two full reads: about 3 MB a second. What floods a terminal waits for its readers."""
_UNWRITTEN = 1 << 20
_TAKE_TERMINAL = "import fcntl,os,sys,termios;fcntl.ioctl(0,termios.TIOCSCTTY,0);os.execvp(sys.argv[1],sys.argv[1:])"
"""The new session's first process makes the pseudo-terminal its own, so that Ctrl-C and job control work."""
TERMINAL_ENV = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "PAGER": "less", "GIT_PAGER": "less -R"}
PROMPT = r"\W \$ "


class PtyProcess:
    def __init__(self, master: int, process: asyncio.subprocess.Process, on_end: Callable[[], None]) -> None:
        self._master = master
        self._process = process
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._unwritten = bytearray()
        self._on_output: Callable[[bytes], None] = lambda _: None
        self._drained = asyncio.Event()
        os.set_blocking(master, False)

    def listen(self, on_output: Callable[[bytes], None]) -> None:
        """From now on, and with everything printed since the start."""
        self._on_output = on_output
        self._loop.add_reader(self._master, self._read)

    def write(self, data: bytes) -> bool:
        """False when the program reads nothing and the data is dropped, as a terminal drops keys."""
        if len(self._unwritten) + len(data) > _UNWRITTEN:
            return False
        self._unwritten += data
        self._write()
        return True

    def resize(self, columns: int, rows: int) -> None:
        with contextlib.suppress(OSError):
            set_size(self._master, columns, rows)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def wait(self) -> int:
        """The exit code, when the program has ended and its last output was heard."""
        code = await self._process.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                await self._drained.wait()
        self._close()
        return code

    async def kill(self) -> None:
        """All that runs in it."""
        for number in (signal.SIGHUP, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.2):
                    await self._process.wait()

    def _read(self) -> None:
        try:
            data = os.read(self._master, READ_SIZE)
        except BlockingIOError:
            return
        except OSError:  # the last program that had it open has ended
            data = b""
        if not data:
            self._loop.remove_reader(self._master)
            self._drained.set()
            return
        self._on_output(data)
        if len(data) >= READ_SIZE // 16:
            self._loop.remove_reader(self._master)
            self._loop.call_later(PACE, self._read_on)

    def _read_on(self) -> None:
        if self._master >= 0:
            self._loop.add_reader(self._master, self._read)

    def _write(self) -> None:
        try:
            written = os.write(self._master, self._unwritten)
        except BlockingIOError:
            written = 0
        except OSError:
            self._unwritten.clear()
            return
        del self._unwritten[:written]
        if self._unwritten:
            self._loop.add_writer(self._master, self._write)
        else:
            self._loop.remove_writer(self._master)

    def _close(self) -> None:
        if self._master >= 0:
            self._loop.remove_reader(self._master)
            self._loop.remove_writer(self._master)
            os.close(self._master)
            self._master = -1
            self._on_end()


def set_size(fd: int, columns: int, rows: int) -> None:
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


async def start_on_terminal(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str,
    size: tuple[int, int],
    fds: Sequence[int] = (),
    on_end: Callable[[], None] = lambda: None,
) -> PtyProcess:
    """`fds` are inherited by the program and closed here."""
    master, slave = os.openpty()
    try:
        set_size(slave, *size)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-ISc", _TAKE_TERMINAL, *argv),
            stdin=slave,
            stdout=slave,
            stderr=subprocess.STDOUT,
            env=dict(env),
            pass_fds=fds,
            cwd=cwd,
            start_new_session=True,
        )
    except BaseException:
        os.close(master)
        raise
    finally:
        os.close(slave)
        for fd in fds:
            os.close(fd)
    return PtyProcess(master, process, on_end)
