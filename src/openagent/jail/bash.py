"""One bash process, and the framing of the commands it runs.

Nothing a command prints can be taken for the end of it. Its output comes through pipes of its own; the end, with exit
code and directory, comes through a control pipe that no command has open, under a token that the shell has not yet
read while the command runs.

To the commands it is one plain bash: each finds `$?`, `$_` and PIPESTATUS as the one before left them, and its lines
count from 1.
"""

import asyncio
import contextlib
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from openagent.jail.capture import Capture, Log
from openagent.jail.output_pipe import READ_SIZE, OutputPipe, waiting_bytes
from openagent.jail.processes import Moment
from openagent.jail.shell_enclosure import Enclosure
from openagent.jail.shell_state import DUMP_FUNCTIONS, DUMP_SETTINGS, ShellState
from openagent.jail.state_pipe import StatePipe
from openagent.plugins.held_time import Countdown
from openagent.plugins.jail import OnOutput
from openagent.protocol.sessions import Wall

_INLINE_LIMIT = 2 * 1024
"""Bash reads a pipe byte by byte; longer commands are handed over as a file."""
_CONTROL_LIMIT = 8 * 1024 * 1024
_RECALLED = 4096
"""The longest last word of a command that is the next one's `$_`."""

_INTRODUCED_WITHIN_S = 15.0
_WATCH_EVERY_S = 0.25
_REPORT = (
    b"{ \\builtin printf '%%s L %%s\\0%%s R %%s %%s:%%s\\0' "
    b'"$1" "${_oa2-}" "$1" "${_oa1-$2}" "${_oa3-$2}" "${3-$PWD}"\n'
    b"} >%s/control 2>/dev/null\n"
    b"\\builtin unset -v _oa1 _oa2 _oa3\n"
    b"{ \\builtin printf '%%s V ' \"$1\"; %s; \\builtin printf '\\0%%s F ' \"$1\"; %s; \\builtin printf '\\0'\n"
    b"} >%s/left 2>/dev/null\n"
)
"""Read after each command, with its token and exit code: first how it ended, then, in nobody's way, what a next shell
would need. That is many small writes, which wait in a pipe of their own until somebody wants them. The pipes are opened
for the report alone, so that no command can have a descriptor of them."""
_CAPTURE = b"_oa1=$? _oa2=$_ _oa3=${PIPESTATUS[@]}"
"""The last line of a command, so to speak: what the next one is to find in `$?`, `$_` and PIPESTATUS."""
_QUIET_CAPTURE = b"{ %s;} >&- 2>&-" % _CAPTURE
"""For a shell that may be tracing. Not for all: after an error of syntax in an `eval` bash knows no brace."""
_MAY_TRACE = re.compile(rb"\bset\s+-|DEBUG")
_NEXT_IS_FIRST = b"2>&1${0:0:LINENO=-2,0}"
"""For a group of commands: its errors go where its output goes, and the third line from here, after two empty ones, is
line 1 to bash. An assignment among the commands would be undone at their end."""
_LOOKS_BACK = re.compile(rb"\$\{?[!#]?_(?!\w)|PIPESTATUS")
_OPEN_END = re.compile(rb"(?:\\|&&|\|\|?|\|&|\(\s*\)|\bfunction\s+\S+)\s*\Z|(?:#|\b(?:for|select|case)\b)[^\n;]*\s*\Z")
"""What could take the line after it for its own: continued lines, operators, the head of a function or a loop, a
comment that may stand behind one of these."""
_HERE_DOCUMENT = re.compile(rb"(?<!<)<<-?[ \t]*\\?['\"]?([^\s'\"<>|&;()]+)")


class Running:
    """A command from its start to its end."""

    def __init__(self, command: str, on_output: OnOutput | None, log: Log | None) -> None:
        self.command = command
        self.token = os.urandom(8).hex()
        self.out = Capture("stdout", on_output, log)
        self.err = Capture("stderr", on_output, log)
        self.log = log
        self.started = time.perf_counter()
        self.since = Moment.now()
        self.ended: float | None = None
        self.exit_code: int | None = None
        self.shell_ended = False
        self.timed_out = False
        self.lost = False
        self.deadline: Countdown | None = None
        """Of a command in the background."""
        self.on_end: Callable[[], None] | None = None
        self.on_lost: Callable[[], None] | None = None
        """The command is over, or has made its shell deaf, and no report will come."""
        self.input_fd: int | None = None

    @property
    def duration_ms(self) -> float:
        return ((self.ended or time.perf_counter()) - self.started) * 1000


class Ending(NamedTuple):
    """What a command leaves to the next one."""

    status: int = 0
    last: bytes = b""
    pipe: bytes = b"0"


class Bash:
    def __init__(self, enclosure: Enclosure, name: str, fallback: str, state: ShellState, wall: Wall = "write") -> None:
        self.enclosure = self._enclosure = enclosure
        self.name = name
        self._loop = asyncio.get_running_loop()
        self.directory = state.directory
        self._script = state.script
        self._ending = Ending()
        self._last_word = b""
        self.on_state: Callable[[], None] | None = None
        """A command is over, and `state` may be another."""
        self.inner_pid = 0
        self.introduced = asyncio.Event()
        """Set once it runs, and when it never will."""
        self.alive = True
        self.ended_by_itself = False
        self._outer = enclosure.outer_pipes / name
        self._inner = f"{enclosure.inner_pipes}/{name}"
        self._token = os.urandom(8).hex()
        self._running: Running | None = None
        self._pipes: tuple[OutputPipe, OutputPipe] | None = None
        self._pipes_made = 0
        self._returns = False
        self._may_trace = b"xtrace" in state.settings
        self._debugs = False
        self._control_buffer = bytearray()
        self._unsent = bytearray()
        self._outer.mkdir(mode=0o700)
        enclosure.hand_over(self._outer)
        self._input = self._open_pipe("bash", os.O_RDWR)
        self._control = self._open_pipe("control", os.O_RDONLY)
        self.left = StatePipe(self._open_pipe("left", os.O_RDWR), state, self._token.encode())
        for report in ("control", "left"):
            (self._outer / report).chmod(0o200)  # nobody else is to read the reports
        self._loop.add_reader(self._control, self._read_control)
        enclosure.on_end(self._enclosure_ended)
        enclosure.start_shell(name, self._token, wall)
        self._deadline = self._loop.call_later(_INTRODUCED_WITHIN_S, self._never_introduced)
        self._introduce(fallback)

    @property
    def state(self) -> ShellState:
        """For the next shell."""
        return self.left.state(self.directory)

    def _open_pipe(self, name: str, flags: int) -> int:
        path = self._outer / name
        os.mkfifo(path, 0o600)
        self._enclosure.hand_over(path)
        return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)

    def _write_file(self, name: str, data: bytes) -> None:
        path = self._outer / name
        path.write_bytes(data)
        self._enclosure.hand_over(path)

    def _introduce(self, fallback: str) -> None:
        inner, token = self._inner.encode(), self._token.encode()
        self._write_file(
            "r", self._enclosure.reported_first(self._inner) + _REPORT % (inner, DUMP_SETTINGS, DUMP_FUNCTIONS, inner)
        )
        self._write_file("s", b"\\builtin return $1\n")
        lines = [
            b"{ \\builtin printf '%s B '; %s; \\builtin printf '\\0'; } >%s/left" % (token, DUMP_SETTINGS, inner),
            b"\\builtin cd -- %s || \\builtin cd -- %s" % (_path(self.directory), _path(fallback)),
            b"\\builtin unset OLDPWD; \\builtin export OLDPWD",  # as in a shell that was started there
        ]
        if self._script:
            self._write_file("state", self._script)
            lines.append(b"\\builtin . %s/state" % inner)
        greeting = b'\\builtin printf \'%s H %%s %%s\\0\' "$$" "$PWD" >%s/control' % (token, inner)
        self._send(b"\n".join((*lines, greeting, b"{ :;} %s\n\n" % _NEXT_IS_FIRST)))

    def start(self, running: Running, *, directory: str | None, interactive: bool, merged: bool) -> None:
        """The result is announced through `running.on_end`."""
        self._running = running
        self._hear_of_the_last()
        if self._pipes is None:
            self._pipes_made += 1
            out, err = (self._outer / f"{stream}{self._pipes_made}" for stream in "oe")
            self._pipes = OutputPipe(out, self._loop), OutputPipe(err, self._loop)
            self._enclosure.hand_over(out)
            self._enclosure.hand_over(err)
        self._enclosure.carry_output(self.name, self._pipes_made, running.token)
        self._pipes[0].carry(running.out)
        self._pipes[1].carry(running.err)
        self._watch(running, suspicious=False)
        stdin = b""
        if interactive:
            self._hide_pipes("input")
            running.input_fd = self._open_pipe("input", os.O_RDWR)
            self._enclosure.carry_input(self.name)
            stdin = b" <%s/input" % self._inner.encode()
        inner, number = self._inner.encode(), self._pipes_made
        errors = b"&1" if merged else b"%s/e%d" % (inner, number)
        command = running.command.encode("utf-8", "surrogateescape")
        self._returns = directory is not None
        self._send(
            b"\n%s" % self._recalled(command)  # an end to what others may have written to the pipe
            + b"\\builtin eval %s%s >%s/o%d 2>%s\n"
            % (self._eval_argument(command, directory), stdin, inner, number, errors)
            + self._report_lines(running.token, self.directory if self._returns else None)
        )

    def _hear_of_the_last(self) -> None:
        self.left.take_in()
        self.left.follow()
        if self.left.traces is not None:
            self._may_trace = self._debugs or self.left.traces

    def end_as(self, other: "Bash") -> None:
        """Its next command finds in `$?` what another's would have."""
        self._ending = other._ending

    def catch_up(self, other: "Bash") -> bool:
        """Goes where another shell went, and ends as it did. False when that one has other variables or functions."""
        theirs = other.state
        if not self.state.same_settings(theirs):
            return False
        self.end_as(other)
        if self.directory != theirs.directory:
            self.directory = theirs.directory
            there = b"\n\\builtin cd -- %s\n%s" % (_path(theirs.directory), theirs.came_from)
            self._send(b"%s{ :;} %s\n\n" % (there, _NEXT_IS_FIRST))
        return True

    def _recalled(self, command: bytes) -> bytes:
        """A command that ends as the last one did. A failure that something follows ends no shell and runs no trap."""
        status, last, pipe = self._ending
        if not status and not _LOOKS_BACK.search(command):
            return b""
        word = _quote(last)
        if b"PIPESTATUS" in command and b" " in pipe:
            members = b" | ".join(b"(\\builtin exit %s)" % member for member in pipe.split())
            return b"{ \\builtin true %s; %s%s;}; " % (word, members, b" && :" if status else b"")
        if status == 0:
            return b"\\builtin true %s; " % word
        return b"{ \\builtin . %s/s %d %s && :;}; " % (self._inner.encode(), status, word)

    def _watch(self, running: Running, *, suspicious: bool) -> None:
        self._watching = self._loop.call_later(_WATCH_EVERY_S, self._look_after, running, suspicious)

    def _look_after(self, running: Running, suspicious: bool) -> None:
        """Bash reads the line that reports a command's end only when it gets there: with the line gone and no report
        come, it was swallowed (`set -n`, a function named `builtin`, a thief at the pipe)."""
        if running is not self._running or not self.alive or not self._enclosure.shares_pipes:
            return
        swallowed = not self._unsent and waiting_bytes(self._input) == 0 and bool(self.inner_pid)
        if swallowed and suspicious and running.on_lost is not None:
            running.on_lost()
        else:
            self._watch(running, suspicious=swallowed)

    def _eval_argument(self, command: bytes, directory: str | None) -> bytes:
        if len(command) > _INLINE_LIMIT and self._enclosure.shares_pipes:
            self._write_file("command", command)
            quoted = b'"$(<%s/command)"' % self._inner.encode()
        else:
            quoted = _on_one_line(command)
        if directory is not None:
            there = b"_oa4=${OLDPWD-}; \\builtin cd -- %s && \\builtin eval %s"
            return _on_one_line(there % (_path(directory), quoted))
        if not _ends_for_sure(command):
            return quoted
        self._debugs = self._debugs or b"DEBUG" in command
        self._may_trace = self._may_trace or _MAY_TRACE.search(command) is not None
        return quoted + _on_one_line(b"\n" + (_QUIET_CAPTURE if self._may_trace else _CAPTURE))

    def _report_lines(self, token: str, return_to: str | None) -> bytes:
        """The empty line at the end is read once the report is written, which `_look_after` relies on."""
        report = b"\\builtin . %s/r %s $?" % (self._inner.encode(), token.encode())
        if return_to is not None:
            directory = _path(return_to)
            back = b"\\builtin cd -- %s; OLDPWD=${_oa4-}; \\builtin unset -v _oa4" % directory
            report = b"%s %s; %s" % (report, directory, back)
        return b"%s\n{ :;} %s\n\n" % (report, _NEXT_IS_FIRST)

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
        running = self._running
        if running is not None and (at := record.find(running.token.encode())) >= 0:
            self._handle_report(running, record[at + len(running.token) + 1 :])
        elif (at := record.find(self._token.encode())) >= 0:
            kind, _, body = record[at + len(self._token) + 1 :].partition(b" ")
            self._handle_own(kind, body)

    def _handle_report(self, running: Running, record: bytes) -> None:
        kind, _, body = record.partition(b" ")
        if kind == b"L":
            self._last_word = body if len(body) <= _RECALLED else b""
        elif kind == b"R":
            status, _, rest = body.partition(b" ")
            pipe, _, directory = rest.partition(b":")
            self.directory = os.fsdecode(directory)
            self.left.expect(running.token.encode())
            if not self._returns:
                self._ending = Ending(int(status), self._last_word, pipe)
            self._finish(int(status), shell_ended=False)
            if self.on_state is not None:
                self.on_state()

    def _handle_own(self, kind: bytes, body: bytes) -> None:
        if kind == b"H":
            inner_pid, _, directory = body.partition(b" ")
            self.inner_pid, self.directory = int(inner_pid), os.fsdecode(directory)
            self._deadline.cancel()
            self.introduced.set()
            self._enclosure.worked = True
            self._hide_pipes("bash", "state")
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
        self.ended_by_itself = True
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
        self.left.close()
        self._enclosure.forget(self._enclosure_ended)
        self._hide_pipes("control", "left")  # to open it would be to wait for a reader for ever
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


def _ends_for_sure(command: bytes) -> bool:
    """Is a line after it a command of its own? Where that is not plain to see, nothing is put there."""
    if _OPEN_END.search(command) or command.count(b"${") > command.count(b"}"):
        return False
    ends = _HERE_DOCUMENT.findall(command)
    return not ends or command.rstrip(b"\n").rpartition(b"\n")[2].lstrip(b"\t") in ends


def _on_one_line(data: bytes) -> bytes:
    """As one line of input, whose number is the first of the text's own."""
    return b"$'" + data.replace(b"\\", b"\\\\").replace(b"'", b"\\'").replace(b"\n", b"\\n") + b"'"


def _quote(data: bytes) -> bytes:
    return b"'" + data.replace(b"'", b"'\\''") + b"'"


def _path(path: str) -> bytes:
    return _quote(os.fsencode(path))
