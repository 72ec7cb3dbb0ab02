"""The persistent shell of one session: commands run one after another in one bash, which is replaced when it ends.

There may be two, one of which can change nothing of the workspace; either goes on where the other was.

A command that is killed takes its shell with it, because bash would go on with the rest of the line, and one that goes
to the background keeps it. The next command finds a new shell with what the old one had before that command: directory,
variables, functions, aliases, options. So does the first one after a restart of the daemon. What was lost is told.
"""

import asyncio
import contextlib
import functools
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from openagent.jail.bash import Bash, Running
from openagent.jail.capture import Log
from openagent.jail.processes import use_of
from openagent.jail.shell_enclosure import Enclosure
from openagent.jail.shell_state import ShellState, load, save
from openagent.plugins.held_time import Countdown, HeldTime
from openagent.plugins.jail import BackgroundCommand, CommandResult, OnOutput
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.metrics import JailUse
from openagent.protocol.sessions import Wall

_log = logging.getLogger(__name__)

_AS_BEFORE = "the shell goes on in {directory} as it was before this command; what the command itself set is not kept"
_RESTARTED = (
    "the command ended the shell; the next one starts anew in {directory}, with variables, functions and options as "
    "they were before this command"
)
_CLOSED = "the shell was closed while the command ran, because the session's mode changed, or the session ended"
_DEAF = "the command made its shell deaf, so its exit code is not known; " + _AS_BEFORE
_RESUMED = "this is a new shell in {directory}, with the variables, functions and options of the earlier one; "
_PLAIN = (
    "this is a new shell in {directory}, because the session's mode changed: plain exported variables are kept, "
    "functions, aliases, options and variables that steer programs are not; "
)
_GONE = "its processes are gone, and so is what was in /tmp and the home directory"
_PROCESSES_GONE = "its processes are gone"
_FINISHED_KEPT = 64
_SAVED_WITHIN_S = 0.05
_EXPLAINED = 4096
_TOLD_WITHIN_S = 2.0
OnBackgroundEnd = Callable[[BackgroundCommand], None]


class PersistentShell:
    def __init__(
        self,
        enclose: Callable[[], Enclosure],
        directory: str,
        *,
        enclose_reading: Callable[[], Enclosure] | None = None,
        only_reads: bool = False,
        background_after: float | None = None,
        log_dir: Path | None = None,
        on_background_end: OnBackgroundEnd | None = None,
        explain: Callable[[str, Sequence[Path]], str | None] | None = None,
        held: HeldTime | None = None,
    ) -> None:
        """`enclose_reading` is for commands that are to change nothing, where the enclosure itself has no such shells.
        With `only_reads` no command can. `explain` tells from a command's output, and what it cannot read, what it ran
        into. What is `held` counts for no timeout."""
        self._only_reads = only_reads
        self._held = held or HeldTime()
        self._explain = explain
        self._enclose: dict[Wall, Callable[[], Enclosure]] = {"write": enclose}
        if enclose_reading is not None:
            self._enclose["read"] = enclose_reading
        self._home_directory = directory
        self._log_dir = log_dir
        self._saved = load(log_dir) if log_dir is not None else None
        self._background_after = background_after
        self._on_background_end = on_background_end
        self._lock = asyncio.Lock()
        self._shells_started = 0
        self._commands_started = 0
        self._in_background: dict[str, tuple[Running, Bash]] = {}
        self._running: Running | None = None
        self._closed = False
        self._is_new = self._saved is not None
        """An earlier shell of the session is gone with all that ran in it, and nobody was told yet."""
        self._begun = _PLAIN if self._saved is not None and self._saved.is_plain else _RESUMED
        self._tasks: set[asyncio.Task[None]] = set()
        self._saving: asyncio.TimerHandle | None = None
        self._enclosures: dict[Wall, Enclosure] = {"write": enclose()}
        self._bashes: dict[Wall, Bash] = {}
        self._bash = self._start_bash("write", self._enclosures["write"], self._saved or ShellState(directory))
        """The one that ran the last command, or will run the next."""

    async def ready(self) -> None:
        """Waits for the first shell, so that what keeps the jail from starting is said before any command is run."""
        await self._bash.introduced.wait()
        if not self._bash.inner_pid:
            await self.close()
            raise self._bash.enclosure.failure()

    def use(self) -> JailUse:
        return use_of({enclosure.pid for enclosure in list(self._enclosures.values()) if enclosure.pid})

    # --- commands --------------------------------------------------------------------------------------------------

    async def run(
        self,
        command: str,
        *,
        timeout: float | None = None,
        on_output: OnOutput | None = None,
        cwd: str | None = None,
        interactive: bool = False,
        merged: bool = False,
        wall: Wall = "write",
    ) -> CommandResult:
        if "\0" in command:
            return CommandResult(
                exit_code=2, stdout="", stderr="A command cannot contain a NUL character.\n", duration_ms=0
            )
        given = functools.partial(
            self._run, command, timeout, on_output, directory=cwd, interactive=interactive, merged=merged, wall=wall
        )
        async with self._lock:
            await self._mend()
            worked = self._bash.enclosure.worked
            try:
                return await given()
            except OpenAgentError as error:
                if error.info.code != "jail_error" or not worked:
                    raise
            # The jail was on its way out when the command was given to it, and never saw it.
            return await given()

    async def _mend(self) -> None:
        for enclosure in list(self._enclosures.values()):
            if enclosure.is_outdated:
                await self._all_introduced()  # walls that are being built cannot be changed yet
            await enclosure.mend()

    async def _run(
        self,
        command: str,
        timeout: float | None,
        on_output: OnOutput | None,
        *,
        directory: str | None,
        interactive: bool,
        merged: bool,
        wall: Wall,
    ) -> CommandResult:
        if self._only_reads:
            wall = "write"  # there is but one enclosure, and in it nothing can be written
        if self._bashes.get(wall) is not self._bash:
            await self._hear_the_last_state()
        bash = self._bash = self._ready_bash(wall)
        self._commands_started += 1
        log = Log(self._log_dir / f"{self._commands_started}.log") if self._log_dir is not None else None
        running = self._running = Running(command, on_output, log)
        loop = asyncio.get_running_loop()
        done: asyncio.Future[str] = loop.create_future()

        def settle(outcome: str) -> None:
            if not done.done():
                done.set_result(outcome)

        running.on_end = lambda: settle("ended")
        running.on_lost = lambda: settle("lost")
        held, held_before = self._held, self._held.seconds
        timers: list[Countdown] = []
        if timeout is not None:
            timers.append(held.call_later(timeout, lambda: settle("timeout")))
        if self._background_after is not None and (timeout is None or self._background_after < timeout):
            timers.append(held.call_later(self._background_after, lambda: settle("background")))
        try:
            bash.start(running, directory=directory, interactive=interactive, merged=merged)
            outcome = await done
        except asyncio.CancelledError:
            self._kill(running, bash)
            raise
        finally:
            self._running = None
            for timer in timers:
                timer.cancel()
        if outcome == "background":
            left = timeout and timeout - running.duration_ms / 1000 + (held.seconds - held_before)
            return self._move_to_background(running, bash, left, wall)
        if outcome == "timeout":
            running.timed_out = True
            self._kill(running, bash)
            return self._result(running, notes=self._notes(running))
        if outcome == "lost":
            running.lost = True
            self._kill(running, bash)
        if running.shell_ended and not bash.inner_pid and not self._closed:
            await bash.enclosure.close()
            raise bash.enclosure.failure()
        return self._result(running, notes=self._notes(running))

    def _notes(self, running: Running) -> list[str]:
        """What became of the shell, when it is not simply the same as before."""
        notes: list[str] = []
        if self._is_new:
            self._is_new = False
            begun, self._begun = self._begun, _RESUMED
            notes.append(begun + (_GONE if self._bash.enclosure.private else _PROCESSES_GONE))
        if self._closed:
            notes.append(_CLOSED)
        elif running.timed_out or running.ended is None:
            notes.append(_AS_BEFORE)
        elif running.lost:
            notes.append(_DEAF)
        elif running.shell_ended:
            notes.append(_RESTARTED)
        told = [note.format(directory=self.directory) for note in notes]
        if self._explain is not None and running.ended is not None:
            printed = running.out.tail_text(_EXPLAINED) + running.err.tail_text(_EXPLAINED)
            if explanation := self._explain(printed, self._bash.enclosure.secrets):
                told.append(explanation)
        return told

    def _result(self, running: Running, *, background: str = "", notes: Sequence[str] = ()) -> CommandResult:
        log = running.log
        return CommandResult(
            exit_code=running.exit_code,
            stdout=running.out.text(),
            stderr=running.err.text(),
            duration_ms=running.duration_ms,
            timed_out=running.timed_out,
            truncated=running.out.truncated or running.err.truncated,
            log=str(log.path) if log is not None and log.written else "",
            background=background,
            ended=running.ended is not None,
            notes=tuple(notes),
        )

    def send_input(self, text: str) -> None:
        """For a command that was started with `interactive`."""
        running = self._running
        if running is None or running.input_fd is None:
            raise OpenAgentError("conflict", "No command is waiting for input.", hint="Run it as an interactive one.")
        try:
            os.write(running.input_fd, text.encode("utf-8", "surrogateescape"))
        except BlockingIOError:
            raise OpenAgentError(
                "busy", "The command has not read its earlier input yet.", hint="Send it again a little later."
            ) from None

    def secrets(self) -> Sequence[Path]:
        """What cannot be read in it, though it is in the workspace."""
        return [path for enclosure in self._enclosures.values() for path in enclosure.secrets]

    async def open_to(self, paths: Sequence[Path]) -> None:
        """Lets files be read that look as if they held secrets."""
        await self._bash.introduced.wait()  # there is nothing to open yet in a jail that is only starting
        for enclosure in list(self._enclosures.values()):
            await enclosure.open_to(paths)

    def close_input(self) -> None:
        """The end of input, as Ctrl-D gives it."""
        running = self._running
        if running is not None and running.input_fd is not None:
            os.close(running.input_fd)
            running.input_fd = None

    # --- shells ----------------------------------------------------------------------------------------------------

    def _start_bash(self, wall: Wall, enclosure: Enclosure, state: ShellState) -> Bash:
        self._shells_started += 1
        bash = Bash(enclosure, str(self._shells_started), fallback=self._home_directory, state=state, wall=wall)
        bash.on_state = self._save_soon
        self._bashes[wall] = bash
        return bash

    def _ready_bash(self, wall: Wall) -> Bash:
        """The shell behind that wall, as the last command left the one that ran it."""
        if self._closed:
            raise OpenAgentError("conflict", "The shell is closed.")
        enclosure, last, bash = self._ready_enclosure(wall), self._bash, self._bashes.get(wall)
        if bash is not None and bash.alive and bash.enclosure is enclosure:
            if bash is last or bash.catch_up(last):
                return bash
            bash.dispose()
        # With `set -e` carried over, every failure would end a shell again, and not only the one that asked for it.
        state = last.state.without_errexit() if last.ended_by_itself and last.enclosure.alive else last.state
        started = self._start_bash(wall, enclosure, state)
        if last.alive:
            started.end_as(last)
        return started

    def _ready_enclosure(self, wall: Wall) -> Enclosure:
        writing = self._enclosures["write"]
        if wall == "read" and "read" not in self._enclose:
            raise OpenAgentError("jail_error", "Without a jail no command can be kept from writing.")
        home: Wall = "write" if wall == "write" or (writing.alive and writing.reads_beside) else "read"
        enclosure = self._enclosures.get(home)
        if enclosure is None or not enclosure.alive:
            self._is_new = self._is_new or enclosure is not None
            enclosure = self._enclosures[home] = self._enclose[home]()
        return enclosure

    def _save_soon(self) -> None:
        """Not after each of many quick commands: reading what a shell tells of itself takes as long as some of them."""
        if self._saving is None:
            self._saving = asyncio.get_running_loop().call_later(_SAVED_WITHIN_S, self._save)

    def _save(self) -> None:
        """So that the first shell after a restart of the daemon is the last one before it."""
        if self._saving is not None:
            self._saving.cancel()
            self._saving = None
        if self._log_dir is not None and (state := self._bash.state) != self._saved:
            self._saved = state
            save(self._log_dir, state)
        self._bash.left.follow(self._save_soon)

    @property
    def directory(self) -> str:
        return self._bash.directory

    def _kill(self, running: Running, bash: Bash) -> None:
        """Ends the command, its shell, and all it started, however detached; earlier commands' servers stay."""
        bash.enclosure.kill_command(bash.name, bash.inner_pid, running.since, self._other_shells(bash))
        bash.abandon()

    def _other_shells(self, bash: Bash) -> list[int]:
        others = {other for _, other in self._in_background.values()} | set(self._bashes.values())
        return [
            other.inner_pid
            for other in others
            if other is not bash and other.alive and other.enclosure is bash.enclosure
        ]

    # --- background ------------------------------------------------------------------------------------------------

    def _move_to_background(self, running: Running, bash: Bash, left: float | None, wall: Wall) -> CommandResult:
        name = f"bg{self._commands_started}"
        self._in_background[name] = (running, bash)
        running.out.on_output = running.err.on_output = None
        running.on_end = lambda: self._background_ended(name)
        running.on_lost = lambda: self._kill(running, bash)
        if left is not None:
            running.deadline = self._held.call_later(max(left, 0), lambda: self._time_is_up(running, bash))
        notes = self._notes(running)
        self._bash = self._start_bash(wall, bash.enclosure, bash.state)
        return self._result(running, background=name, notes=notes)

    def _time_is_up(self, running: Running, bash: Bash) -> None:
        async def end() -> None:
            await self._all_introduced()
            if running.ended is None and not self._closed:
                running.timed_out = True
                self._kill(running, bash)

        task = asyncio.get_running_loop().create_task(end())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _all_introduced(self) -> None:
        """A shell that is only starting could not be told from what must die."""
        for bash in list(self._bashes.values()):
            await bash.introduced.wait()

    def _background_ended(self, name: str) -> None:
        running, bash = self._in_background[name]
        if running.deadline is not None:
            running.deadline.cancel()
        if bash.alive:
            asyncio.get_running_loop().call_soon(bash.dispose)
        finished = [key for key, (other, _) in self._in_background.items() if other.ended is not None]
        for key in finished[:-_FINISHED_KEPT]:
            del self._in_background[key]
        if self._on_background_end is not None and not self._closed:
            self._on_background_end(self._describe(name, running))

    @staticmethod
    def _describe(name: str, running: Running) -> BackgroundCommand:
        return BackgroundCommand(
            id=name,
            command=running.command,
            running=running.ended is None,
            exit_code=running.exit_code,
            duration_ms=running.duration_ms,
            timed_out=running.timed_out,
        )

    def background(self) -> list[BackgroundCommand]:
        return [self._describe(name, running) for name, (running, _) in self._in_background.items()]

    def read_background(self, name: str) -> CommandResult:
        """What it printed so far; the exit code once it has one."""
        running, _ = self._background_command(name)
        return self._result(running, background=name)

    async def kill_background(self, name: str) -> CommandResult:
        running, bash = self._background_command(name)
        await self._all_introduced()
        if running.ended is None:
            self._kill(running, bash)
        return self._result(running, background=name)

    def _background_command(self, name: str) -> tuple[Running, Bash]:
        try:
            return self._in_background[name]
        except KeyError:
            known = ", ".join(self._in_background) or "none"
            raise OpenAgentError(
                "not_found", f"There is no background command {name!r}.", hint=f"Known: {known}."
            ) from None

    async def mend(self) -> None:
        async with self._lock:
            await self._mend()

    async def reopen(self) -> None:
        """The next command finds another enclosure, with what this shell has."""
        async with self._lock:
            await self._hear_the_last_state()
            for enclosure in list(self._enclosures.values()):
                await enclosure.close()

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            if self._log_dir is not None:
                await self._hear_the_last_state()
        finally:
            if self._saving is not None:
                self._save()
            for running, _ in self._in_background.values():
                if running.deadline is not None:
                    running.deadline.cancel()
            for enclosure in list(self._enclosures.values()):
                await enclosure.close()
            for bash in self._bashes.values():
                with contextlib.suppress(OSError):
                    bash.dispose()
            if self._saving is not None:  # nothing is saved later, when it may be another shell's
                self._save()

    async def _hear_the_last_state(self) -> None:
        """A shell tells what a command left in it only after the command's end, when the session may be over."""
        left = self._bash.left
        left.take_in()
        if left.told.is_set():
            return
        left.follow()
        try:
            async with asyncio.timeout(_TOLD_WITHIN_S):
                await left.told.wait()
        except TimeoutError:
            _log.info("shell did not report its last state in time", extra={"seconds": _TOLD_WITHIN_S})
