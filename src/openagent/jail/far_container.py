"""A container whose engine runs in a virtual machine, as it does on macOS, and what that machine shares with this one.

Files in shared folders are seen on both sides, but a pipe among them has its two ends in two kernels and carries
nothing. So the container has pipes of its own, each the counterpart of one here, and programs that the engine starts in
it carry what goes through them: one for a shell, and one for the output of each command. Nobody here sees the
container's processes: what is to be ended is ended by a program inside.

What this cannot do: raise a wall again that fell (the next command finds a new container instead), ask for hosts (there
is no network but the whole one), and see that a command has made its shell deaf (its timeout ends it).
"""

import asyncio
import contextlib
import functools
import os
import re
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Protocol

from openagent.jail.container import FILES, ContainerPlan, failure_of
from openagent.jail.engine_streams import ERRORS, OUTPUT, ProgramStreams, attached, started
from openagent.jail.git_walls import Standing, Wall
from openagent.jail.inside import PIPES
from openagent.jail.output_pipe import READ_SIZE
from openagent.jail.processes import Moment
from openagent.jail.shell_enclosure import Enclosure
from openagent.protocol import locations
from openagent.protocol.errors import OpenAgentError

_SHELL = f"""\
cd {PIPES} && . {FILES}/setup && mkdir -m 700 "$1" && cd "$1" && mkfifo -m 600 bash control left || exit 125
for file in r s state; do ln -s {FILES}/"$1"/$file $file; done
printf '\\0'
exec 5<>control 6<>left
cat control 5>&- 6>&- &
cat left >&2 5>&- 6>&- &
{{
  bash --noprofile --norc bash </dev/null >/dev/null 2>&1 5>&- 6>&-
  code=$?
  for pipe in o e; do [ -p $pipe ] && printf %s "$2" 1<>$pipe; done
  printf '%s X %s\\0' "$2" $code >&5
}} 2>/dev/null &
exec 5>&- 6>&-
cat >bash
wait
cd .. && rm -rf "$1"
"""
"""One shell: its reports are the output, what it has to tell of itself the errors, and its commands the input. An empty
report says that its pipes are there."""
_OUTPUT = f"""\
cd {PIPES}/"$1" || exit 1
rm -f o$2 e$2 o e
mkfifo -m 600 o$2 e$2 && ln -s o$2 o && ln -s e$2 e || exit 1
read -r line </proc/$$/stat
fields=(${{line##*) }})
echo "${{fields[19]}} $$" >since
exec 7<>o$2 8<>e$2
printf .
cat e$2 >&2 7>&- 8>&- &
cat o$2 7>&- 8>&- &
read -r line
exec 7>&- 8>&-
wait
"""
"""What one command prints. After it the shell puts a token into both pipes (`reported_first`), or at its own end
another: neither pipe is at its end before, because it is held open until the input ends."""
_INPUT = f'cd {PIPES}/"$1" && rm -f input && mkfifo -m 600 input && printf . && cat >input'
_KILL = f"""\
shell=$2
kill -STOP $shell
read -r ticks last <{PIPES}/"$1"/since || ticks=0 last=0
for ((pass = 0; pass < 64; pass++)); do
  parent=() start=() victims=() ahead=(1 $shell)
  for file in /proc/[0-9]*/stat; do
    {{ read -r line <$file; }} 2>/dev/null || continue
    fields=(${{line##*) }})
    [[ ${{fields[0]}} == [ZX] ]] && continue
    parent[${{line%% *}}]=${{fields[1]}} start[${{line%% *}}]=${{fields[19]}}
  done
  while ((${{#ahead[@]}})); do
    above=${{ahead[0]}} ahead=("${{ahead[@]:1}}")
    for pid in "${{!parent[@]}}"; do
      ((parent[pid] == above && pid != shell)) || continue
      ((start[pid] > ticks || (start[pid] == ticks && pid > last))) || continue
      victims+=($pid) ahead+=($pid)
    done
  done
  ((${{#victims[@]}})) || break
  kill -KILL "${{victims[@]}}" 2>/dev/null
done
kill -KILL $shell
"""
"""All below the shell, and all orphans, that began after its command did, but not what older ones started."""
_REPORTED = re.compile(rb"([0-9a-f]{16}) ([RX]) ")
_LATE = 8
"""Commands of one shell that left something running, and whose output is still carried."""


class FarEnclosure(Enclosure):
    shares_pipes = False

    def __init__(self, plan: ContainerPlan) -> None:
        super().__init__(PIPES, plan.foreign_user, parent=_shared_folder())
        self._plan = plan
        self._problem: OpenAgentError | None = None
        self._container: asyncio.Future[str] = self._loop.create_future()
        self._lines: dict[str, _ShellLine] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._removing = False
        self._walls = plan.walls
        self._had_repository = plan.read_only or (plan.workspace / ".git").exists()
        self._walled = {wall.path: _identity(wall.path) for wall in self._walls if _can_fall(wall)}
        self._standing = Standing(plan.workspace, self._walls)
        self._standing.stop = functools.partial(self._loop.call_soon_threadsafe, self.kill)
        plan.write_files(self.outer_pipes)
        (self.outer_pipes / "setup").write_text(plan.limits_script)
        self._write_unreadable()
        for path in (self.outer_pipes, *self.outer_pipes.iterdir()):
            self.hand_over(path)
        self._life = self._loop.create_task(self._live())

    async def _live(self) -> None:
        engine, container, first = self._plan.engine, "", None
        try:
            container = await engine.create(self._plan.describe(self.outer_pipes, self._walls))
            first = await attached(engine, container)
            await engine.begin(container)
            self._container.set_result(container)
            while not self._removing and await first.read() is not None:
                pass
        except OpenAgentError as problem:
            self._problem = problem
        finally:
            if not self._container.done():
                self._container.cancel()
            for line in list(self._lines.values()):
                line.close()
            with contextlib.suppress(OpenAgentError):  # the next daemon sweeps
                if container:
                    await engine.remove(container)
            if first is not None:
                first.close()
            self._end()

    def _end(self) -> None:
        super()._end()
        self._standing.end()

    async def program(self, *argv: str, has_input: bool = False) -> ProgramStreams:
        """Raises CancelledError when there will be no container."""
        container = await asyncio.shield(self._container)
        return await started(self._plan.engine, container, ("bash", "-c", *argv), has_input=has_input)

    def start_shell(self, name: str, token: str, wall: str) -> None:
        del wall  # reading shells have a container of their own
        self._lines[name] = _ShellLine(self, name, token)

    def reported_first(self, inner: str) -> bytes:
        to = inner.encode()
        return b'\\builtin printf %%s "$1" 1<>%s/o 2>/dev/null; \\builtin printf %%s "$1" 1<>%s/e 2>/dev/null\n' % (
            to,
            to,
        )

    def carry_output(self, name: str, number: int, token: str) -> None:
        self._lines[name].carry_output(number, token.encode())

    def carry_input(self, name: str) -> None:
        self._lines[name].carry_input()

    def kill_command(self, name: str, inner_pid: int, since: Moment, others: Sequence[int]) -> None:
        del since, others  # the container knows when it began; other shells are no children of this one
        if not inner_pid:
            self.kill()
        else:
            self.run_task(self._kill_command(name, inner_pid))

    async def _kill_command(self, name: str, inner_pid: int) -> None:
        streams = await self.program(_KILL, "bash", name, str(inner_pid))
        while await streams.read() is not None:
            pass
        streams.close()

    def run_task(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        async def supervised() -> None:
            with contextlib.suppress(
                OpenAgentError, OSError, asyncio.CancelledError
            ):  # the container is on its way out
                await work

        task = self._loop.create_task(supervised())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def forget_line(self, name: str) -> None:
        self._lines.pop(name, None)

    # --- walls -----------------------------------------------------------------------------------------------------

    async def mend(self) -> None:
        """What would be a wall here by now is one in the next container."""
        new_repository = not self._had_repository and (self._plan.workspace / ".git").exists()
        if self.alive and (new_repository or any(_identity(path) != seen for path, seen in self._walled.items())):
            await self.close()

    @property
    def secrets(self) -> Sequence[Path]:
        return [wall.path for wall in self._walls if wall.unreadable]

    async def open_to(self, paths: Sequence[Path]) -> None:
        opened = {wall.path for wall in self._walls if wall.unreadable} & set(paths)
        if opened:
            self._plan.opened.update(opened)
            await self.close()

    # --- the end ---------------------------------------------------------------------------------------------------

    def failure(self) -> OpenAgentError:
        return failure_of(self._problem, self._plan.image)

    def kill(self) -> None:
        if self.alive and not self._removing:
            self._removing = True
            self.run_task(self._remove())

    async def _remove(self) -> None:
        await self._plan.engine.remove(await asyncio.shield(self._container))

    async def close(self) -> None:
        await super().close()
        await asyncio.shield(self._life)


def _shared_folder() -> str:
    """Below the home, which is what such engines share."""
    folder = Path(locations.data_home(os.environ)) / "shells"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return str(folder)


def _can_fall(wall: Wall) -> bool:
    return not (wall.writable or wall.emptied) and not wall.path.is_dir()


def _identity(path: Path) -> tuple[int, int] | None:
    """A file that is replaced is another, and the mount over the old one is gone with it."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


# --- pipes here ------------------------------------------------------------------------------------------------------


class _PipeWriter:
    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self._loop = asyncio.get_running_loop()
        self._unsent = bytearray()
        self._empty = asyncio.Event()
        self._empty.set()
        self._ending = False

    def write(self, data: bytes) -> None:
        if self._fd < 0 or not data:
            return
        self._unsent += data
        if self._empty.is_set():
            self._empty.clear()
            self._send()

    async def drained(self) -> None:
        await self._empty.wait()

    def _send(self) -> None:
        try:
            del self._unsent[: os.write(self._fd, self._unsent[:READ_SIZE])]
        except BlockingIOError:
            pass
        except OSError:  # nobody reads it any more
            self._unsent.clear()
        if self._unsent:
            self._loop.add_writer(self._fd, self._send)
            return
        self._loop.remove_writer(self._fd)
        self._empty.set()
        if self._ending:
            self._close_now()

    def end(self) -> None:
        """Once all of it is through."""
        self._ending = True
        if self._empty.is_set():
            self._close_now()

    def _close_now(self) -> None:
        if self._fd >= 0:
            self._loop.remove_writer(self._fd)
            os.close(self._fd)
            self._fd = -1
        self._unsent.clear()
        self._empty.set()

    close = _close_now


class _PipeReader:
    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self._loop = asyncio.get_running_loop()

    async def read(self) -> bytes:
        """Empty when nobody can write to it any more."""
        while self._fd >= 0:
            try:
                return os.read(self._fd, READ_SIZE)
            except BlockingIOError:
                readable: asyncio.Future[None] = self._loop.create_future()
                self._loop.add_reader(self._fd, lambda: readable.done() or readable.set_result(None))  # noqa: B023
                try:
                    await readable
                finally:
                    if self._fd >= 0:
                        self._loop.remove_reader(self._fd)
        return b""

    def close(self) -> None:
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1


class _MarkedStream:
    """Output with a token somewhere in it, which is taken out."""

    def __init__(self, pipe: _PipeWriter, tokens: Sequence[bytes]) -> None:
        self._pipe = pipe
        self._tokens = tokens
        self._held = b""
        self.settled = asyncio.Event()
        """All that the command printed itself is in the pipe."""

    async def feed(self, data: bytes) -> None:
        data, found = self._held + data, False
        for token in self._tokens:
            if (at := data.find(token)) >= 0:
                data, found = data[:at] + data[at + len(token) :], True
        keep = 0 if found else max(_overlap(data, token) for token in self._tokens)
        data, self._held = data[: len(data) - keep], data[len(data) - keep :]
        self._pipe.write(data)
        await self._pipe.drained()
        if found:
            self.settled.set()

    async def end(self) -> None:
        self._pipe.write(self._held)
        await self._pipe.drained()
        self._pipe.end()
        self.settled.set()


def _overlap(data: bytes, token: bytes) -> int:
    """How much of its end may be the beginning of a token."""
    return next((size for size in range(min(len(token) - 1, len(data)), 0, -1) if data.endswith(token[:size])), 0)


class _Lined(Protocol):
    """What a line needs of its enclosure."""

    outer_pipes: Path

    async def program(self, *argv: str, has_input: bool = False) -> ProgramStreams: ...

    def run_task(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]: ...

    def forget_line(self, name: str) -> None: ...


class _ShellLine:
    """Between the pipes of one shell here and those in the container."""

    def __init__(self, enclosure: _Lined, name: str, token: str) -> None:
        self._enclosure = enclosure
        self._name = name
        self._folder = enclosure.outer_pipes / name
        self._commands = _PipeReader(self._folder / "bash")
        self._control = _PipeWriter(self._folder / "control")
        self._left = _PipeWriter(self._folder / "left")
        self._token = token.encode()
        self._gate: list[asyncio.Task[None]] = []
        """What has to be there before a command may begin."""
        self._awaited: dict[bytes, Sequence[_MarkedStream]] = {}
        self._carrying: list[ProgramStreams] = []
        self._records = bytearray()
        self._begun = asyncio.Event()
        self._task = enclosure.run_task(self._run(token))

    async def _run(self, token: str) -> None:
        try:
            streams = await self._enclosure.program(_SHELL, "bash", self._name, token, has_input=True)
            sending = self._enclosure.run_task(self._send_commands(streams))
            try:
                while (came := await streams.read()) is not None:
                    self._begun.set()
                    await self._hear(*came)
            finally:
                sending.cancel()
                streams.close()
        finally:
            self.close()

    async def _send_commands(self, streams: ProgramStreams) -> None:
        while data := await self._commands.read():
            gate, self._gate = self._gate, []
            await asyncio.gather(*gate)
            await streams.write(data)
        streams.end_input()

    async def _hear(self, kind: int, data: bytes) -> None:
        if kind == ERRORS:
            self._left.write(data)
            return
        self._records += data
        while (end := self._records.find(0)) >= 0:
            record = bytes(self._records[: end + 1])
            del self._records[: end + 1]
            if reported := _REPORTED.search(record):
                await self._settled(reported[1], is_last=reported[2] == b"X")
            self._control.write(record)

    async def _settled(self, token: bytes, *, is_last: bool) -> None:
        """A report comes after the output of what it reports."""
        ended = [token] if token in self._awaited else list(self._awaited) if is_last else []
        for each in ended:
            for stream in self._awaited.pop(each):
                await stream.settled.wait()

    def carry_output(self, number: int, token: bytes) -> None:
        streams = [
            _MarkedStream(_PipeWriter(self._folder / f"{letter}{number}"), (token, self._token)) for letter in "oe"
        ]
        self._awaited[token] = streams
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._enclosure.run_task(self._carry_output(number, streams, ready))
        self._gate.append(self._enclosure.run_task(_come(ready)))

    async def _carry_output(self, number: int, streams: Sequence[_MarkedStream], ready: asyncio.Future[None]) -> None:
        try:
            await self._begun.wait()
            program = await self._enclosure.program(_OUTPUT, "bash", self._name, str(number), has_input=True)
            self._carrying.append(program)
            for oldest in self._carrying[:-_LATE]:
                oldest.close()
            await self._ready(program, ready)
            held = True
            while (came := await program.read()) is not None:
                await streams[came[0] == ERRORS].feed(came[1])
                if held and all(stream.settled.is_set() for stream in streams):
                    held = False
                    program.end_input()
            program.close()
            self._carrying.remove(program)
        finally:
            if not ready.done():
                ready.set_result(None)
            for stream in streams:
                await stream.end()

    def carry_input(self) -> None:
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._enclosure.run_task(self._carry_input(_PipeReader(self._folder / "input"), ready))
        self._gate.append(self._enclosure.run_task(_come(ready)))

    async def _carry_input(self, pipe: _PipeReader, ready: asyncio.Future[None]) -> None:
        try:
            await self._begun.wait()
            program = await self._enclosure.program(_INPUT, "bash", self._name, has_input=True)
            await self._ready(program, ready)
            while data := await pipe.read():
                await program.write(data)
            program.end_input()
            while await program.read() is not None:
                pass
            program.close()
        finally:
            if not ready.done():
                ready.set_result(None)
            pipe.close()

    async def _ready(self, program: ProgramStreams, ready: asyncio.Future[None]) -> None:
        """Its first word is a dot, which it says before it waits for anything to carry."""
        if await program.read() != (OUTPUT, b"."):
            self.close()  # nothing more can be run in this shell
            raise OpenAgentError("jail_error", "A command's pipes could not be made in the container.")
        ready.set_result(None)

    def close(self) -> None:
        self._begun.set()
        self._enclosure.forget_line(self._name)
        self._commands.close()
        self._control.end()
        self._left.close()


async def _come(ready: asyncio.Future[None]) -> None:
    await ready
