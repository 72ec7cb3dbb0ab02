"""One bash process, and the framing of the commands it runs.

Nothing a command prints can be taken for the end of it. Its output comes through pipes of its own; the end, with exit
code and directory, comes through a control pipe that is closed to the command, under a token that the shell has not
yet read while the command runs.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

from openagent.jail.capture import Capture, Log
from openagent.jail.enclosure import CONTROL_FD, Enclosure
from openagent.jail.output_pipe import READ_SIZE, OutputPipe, waiting_bytes
from openagent.jail.processes import Moment
from openagent.plugins.jail import OnOutput

_INLINE_LIMIT = 8 * 1024
"""Bash reads a pipe byte by byte; longer commands are handed over as a file."""
_CONTROL_LIMIT = 8 * 1024 * 1024

_INTRODUCED_WITHIN_S = 15.0
_WATCH_EVERY_S = 0.25
_REPORT = (
    b'\\builtin printf \'%%s R %%s %%s\\0\' "$1" "$?" "${2-$PWD}" >&%d\n'
    b"{ \\builtin printf '%%s S ' \"$1\"; \\builtin export -p; \\builtin declare -f; \\builtin alias -p; "
    b"\\builtin printf '\\0'; } >&%d\n" % (CONTROL_FD, CONTROL_FD)
)
"""Run after each command with its token: first how it ended, then, in nobody's way, what a next shell would need."""


class Running:
    """A command from its start to its end."""

    def __init__(self, command: str, on_output: OnOutput | None, log: Log | None) -> None:
        self.command = command
        self.token = os.urandom(16).hex()
        self.out = Capture("stdout", on_output, log)
        self.err = Capture("stderr", on_output, log)
        self.log = log
        self.started = time.perf_counter()
        self.since = Moment.now()
        self.ended: float | None = None
        self.exit_code: int | None = None
        self.shell_ended = False
        self.on_end: Callable[[], None] | None = None
        self.on_lost: Callable[[], None] | None = None
        """The command is over, or has made its shell deaf, and no report will come."""
        self.input_fd: int | None = None

    @property
    def duration_ms(self) -> float:
        return ((self.ended or time.perf_counter()) - self.started) * 1000


class Bash:
    def __init__(self, enclosure: Enclosure, name: str, directory: str, fallback: str, state: bytes) -> None:
        self._enclosure = enclosure
        self._loop = asyncio.get_running_loop()
        self.directory = directory
        self.state = state
        """Exports, functions and aliases as bash prints them, for the next shell."""
        self.inner_pid = 0
        self.introduced = asyncio.Event()
        """Set once it runs, and when it never will."""
        self.alive = True
        self._outer = enclosure.outer_pipes / name
        self._inner = f"{enclosure.inner_pipes}/{name}"
        self._token = os.urandom(16).hex()
        self._running: Running | None = None
        self._pipes: tuple[OutputPipe, OutputPipe] | None = None
        self._pipes_made = 0
        self._last_token = b""
        self._control_buffer = bytearray()
        self._unsent = bytearray()
        self._outer.mkdir(mode=0o700)
        enclosure.hand_over(self._outer)
        self._input = self._open_pipe("bash", os.O_RDWR)
        self._control = self._open_pipe("control", os.O_RDONLY)
        self._loop.add_reader(self._control, self._read_control)
        enclosure.on_end(self._enclosure_ended)
        enclosure.start_shell(name, self._token)
        self._deadline = self._loop.call_later(_INTRODUCED_WITHIN_S, self._never_introduced)
        self._introduce(state, fallback)

    def _open_pipe(self, name: str, flags: int) -> int:
        path = self._outer / name
        os.mkfifo(path, 0o600)
        self._enclosure.hand_over(path)
        return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)

    def _write_file(self, name: str, data: bytes) -> None:
        path = self._outer / name
        path.write_bytes(data)
        self._enclosure.hand_over(path)

    def _introduce(self, state: bytes, fallback: str) -> None:
        prelude = b""
        self._write_file("report", _REPORT)
        if state:
            self._write_file("state", state)
            prelude = b"\\builtin source " + _quote(f"{self._inner}/state".encode()) + b"\n"
        self._send(
            prelude
            + b"\\builtin cd -- %s || \\builtin cd -- %s\nOLDPWD=$PWD\n" % (_path(self.directory), _path(fallback))
            + b'\\builtin printf \'%s H %%s %%s\\0\' "$$" "$PWD" >&%d\n' % (self._token.encode(), CONTROL_FD)
        )

    def start(self, running: Running, *, directory: str | None, interactive: bool) -> None:
        """The result is announced through `running.on_end`."""
        self._running = running
        if self._pipes is None:
            self._pipes_made += 1
            out, err = (self._outer / f"{stream}{self._pipes_made}" for stream in "oe")
            self._pipes = OutputPipe(out, self._loop), OutputPipe(err, self._loop)
            self._enclosure.hand_over(out)
            self._enclosure.hand_over(err)
        self._pipes[0].carry(running.out)
        self._pipes[1].carry(running.err)
        self._watch(running, suspicious=False)
        stdin = b"/dev/null"
        if interactive:
            self._hide_pipes("input")
            running.input_fd = self._open_pipe("input", os.O_RDWR)
            stdin = _quote(f"{self._inner}/input".encode())
        outputs = (self._inner.encode(), self._pipes_made)
        self._send(
            b"\n\\builtin eval %s <%s >%s/o%d 2>%s/e%d %d>&-\n"
            % (self._eval_argument(running.command, directory), stdin, *outputs, *outputs, CONTROL_FD)
            + self._report_lines(running.token, self.directory if directory is not None else None)
        )

    def _watch(self, running: Running, *, suspicious: bool) -> None:
        self._watching = self._loop.call_later(_WATCH_EVERY_S, self._look_after, running, suspicious)

    def _look_after(self, running: Running, suspicious: bool) -> None:
        """Bash reads the line that reports a command's end only when it gets there: with the line gone and no report
        come, it was swallowed (`set -n`, a function named `builtin`, a thief at the pipe)."""
        if running is not self._running or not self.alive:
            return
        swallowed = not self._unsent and waiting_bytes(self._input) == 0 and bool(self.inner_pid)
        if swallowed and suspicious and running.on_lost is not None:
            running.on_lost()
        else:
            self._watch(running, suspicious=swallowed)

    def _eval_argument(self, command: str, directory: str | None) -> bytes:
        data = command.encode("utf-8", "surrogateescape")
        if len(data) > _INLINE_LIMIT:
            self._write_file("command", data)
            quoted = b'"$(<%s)"' % _quote(f"{self._inner}/command".encode())
        else:
            quoted = _quote(data)
        if directory is None:
            return quoted
        return _quote(b"\\builtin cd -- %s && \\builtin eval %s" % (_path(directory), quoted))

    def _report_lines(self, token: str, return_to: str | None) -> bytes:
        """The empty line at the end is read once the report is written, which `_look_after` relies on."""
        report = (self._inner.encode(), token.encode())
        if return_to is None:
            return b"\\builtin . %s/report %s\n\n" % report
        directory = _path(return_to)
        return b"\\builtin . %s/report %s %s\n\\builtin cd -- %s\n" % (*report, directory, directory)

    # --- what comes back -------------------------------------------------------------------------------------------

    def _read_control(self) -> None:
        try:
            data = os.read(self._control, READ_SIZE)
        except BlockingIOError:
            return
        if not data:
            self._shell_ended(137)
            return
        self._control_buffer += data
        while (end := self._control_buffer.find(0)) >= 0:
            record = bytes(self._control_buffer[:end])
            del self._control_buffer[: end + 1]
            self._handle_record(record)
        if len(self._control_buffer) > _CONTROL_LIMIT:
            self._control_buffer.clear()

    def _handle_record(self, record: bytes) -> None:
        token, _, rest = record.partition(b" ")
        kind, _, body = rest.partition(b" ")
        running = self._running
        if kind == b"R" and running is not None and token == running.token.encode():
            status, _, directory = body.partition(b" ")
            self.directory = os.fsdecode(directory)
            self._last_token = token
            self._finish(int(status), shell_ended=False)
        elif kind == b"S" and token == self._last_token:
            self.state = body
        elif token == self._token.encode():
            if kind == b"H":
                inner_pid, _, directory = body.partition(b" ")
                self.inner_pid, self.directory = int(inner_pid), os.fsdecode(directory)
                self._deadline.cancel()
                self.introduced.set()
                self._enclosure.worked = True
                self._hide_pipes("bash", "control", "state")
            elif kind == b"X":
                self._shell_ended(int(body))

    def _hide_pipes(self, *names: str) -> None:
        for name in names:
            (self._outer / name).unlink(missing_ok=True)

    def _never_introduced(self) -> None:
        """There may be no room for one process more: what fills the jail has to go before anything can run in it."""
        if not self.inner_pid:
            self._enclosure.kill()

    def _enclosure_ended(self) -> None:
        self._shell_ended(137)

    def _shell_ended(self, exit_code: int) -> None:
        if not self.alive:
            return
        self._finish(exit_code, shell_ended=True)
        self.dispose()

    def _finish(self, exit_code: int | None, *, shell_ended: bool) -> None:
        running = self._running
        if running is None or self._pipes is None:
            return
        self._running = None
        self._watching.cancel()
        running.ended = time.perf_counter()
        running.exit_code = exit_code
        running.shell_ended = shell_ended
        if running.input_fd is not None:
            os.close(running.input_fd)
            running.input_fd = None
        try:
            self._collect(running, self._pipes)
        finally:  # whatever those who listen to the output did
            if running.on_end is not None:
                running.on_end()

    def _collect(self, running: Running, pipes: tuple[OutputPipe, OutputPipe]) -> None:
        free = [pipe.finish() for pipe in pipes]
        if not all(free):
            # Processes the command left behind hold its pipes: they go on being read, but for no other command.
            for pipe in pipes:
                self._enclosure.read_late(pipe.release(), running.log)
            self._pipes = None
        elif running.log is not None:
            running.log.close()
        running.out.finish()
        running.err.finish()

    # --- what goes in ----------------------------------------------------------------------------------------------

    def _send(self, data: bytes) -> None:
        if self._unsent:
            self._unsent += data
            return
        sent = 0
        with contextlib.suppress(BlockingIOError):
            sent = os.write(self._input, data)
        if sent < len(data):
            self._unsent += data[sent:]
            self._loop.add_writer(self._input, self._send_more)

    def _send_more(self) -> None:
        with contextlib.suppress(BlockingIOError):
            del self._unsent[: os.write(self._input, self._unsent)]
        if not self._unsent:
            self._loop.remove_writer(self._input)

    def abandon(self) -> None:
        """The running command was killed from outside: take what it printed and end this shell's life here."""
        self._finish(None, shell_ended=True)
        self.dispose()

    def dispose(self) -> None:
        """Bash ends by itself once nobody can write to its pipe; what it left behind keeps its own pipes."""
        if not self.alive:
            return
        self.alive = False
        self._deadline.cancel()
        self.introduced.set()
        self._enclosure.forget(self._enclosure_ended)
        self._loop.remove_reader(self._control)
        self._loop.remove_writer(self._input)
        os.close(self._control)
        os.close(self._input)
        for pipe in self._pipes or ():
            os.close(pipe.release())
        self._remove_directory()

    def _remove_directory(self) -> None:
        for path in self._files():
            path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self._outer.rmdir()

    def _files(self) -> list[Path]:
        try:
            return list(self._outer.iterdir())
        except FileNotFoundError:
            return []


def _quote(data: bytes) -> bytes:
    return b"'" + data.replace(b"'", b"'\\''") + b"'"


def _path(path: str) -> bytes:
    return _quote(os.fsencode(path))
