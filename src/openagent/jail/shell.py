"""The persistent shell of one session: commands run one after another in one bash, which is replaced when it ends.

A command that is killed takes its shell with it, because bash would go on with the rest of the line; the next command
finds a new shell in the same directory, with the same exported variables, functions and aliases.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path

from openagent.jail.bash import Bash, Running
from openagent.jail.capture import Log
from openagent.jail.enclosure import Enclosure
from openagent.jail.processes import ancestors, find_inner, kill_started_after, send_signal
from openagent.plugins.jail import BackgroundCommand, CommandResult, OnOutput
from openagent.protocol.errors import OpenAgentError

_RESTARTED = (
    "[openagent: the command ended the shell; the next one starts anew in {directory}, with the exported variables "
    "and functions from before]\n"
)
_FINISHED_KEPT = 64
OnBackgroundEnd = Callable[[BackgroundCommand], None]


class PersistentShell:
    def __init__(
        self,
        enclose: Callable[[], Enclosure],
        directory: str,
        *,
        background_after: float | None = None,
        log_dir: Path | None = None,
        on_background_end: OnBackgroundEnd | None = None,
    ) -> None:
        self._enclose = enclose
        self._home_directory = directory
        self._directory = directory
        self._state = b""
        self._background_after = background_after
        self._log_dir = log_dir
        self._on_background_end = on_background_end
        self._lock = asyncio.Lock()
        self._shells_started = 0
        self._commands_started = 0
        self._in_background: dict[str, tuple[Running, Bash]] = {}
        self._running: Running | None = None
        self._closed = False
        self._enclosure = enclose()
        self._bash = self._start_bash()

    async def ready(self) -> None:
        """Waits for the first shell, so that what keeps the jail from starting is said before any command is run."""
        await self._bash.introduced.wait()
        if not self._bash.inner_pid:
            await self.close()
            raise self._enclosure.failure()

    # --- commands --------------------------------------------------------------------------------------------------

    async def run(
        self,
        command: str,
        *,
        timeout: float | None = None,
        on_output: OnOutput | None = None,
        cwd: str | None = None,
        interactive: bool = False,
    ) -> CommandResult:
        if "\0" in command:
            return CommandResult(
                exit_code=2, stdout="", stderr="A command cannot contain a NUL character.\n", duration_ms=0
            )
        async with self._lock:
            worked = self._enclosure.worked
            try:
                return await self._run(command, timeout, on_output, cwd, interactive)
            except OpenAgentError as error:
                if error.info.code != "jail_error" or not worked:
                    raise
            # The jail was on its way out when the command was given to it, and never saw it.
            return await self._run(command, timeout, on_output, cwd, interactive)

    async def _run(
        self, command: str, timeout: float | None, on_output: OnOutput | None, cwd: str | None, interactive: bool
    ) -> CommandResult:
        bash = self._ready_bash()
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
        timers: list[asyncio.TimerHandle] = []
        if timeout is not None:
            timers.append(loop.call_later(timeout, settle, "timeout"))
        if self._background_after is not None and (timeout is None or self._background_after < timeout):
            timers.append(loop.call_later(self._background_after, settle, "background"))
        try:
            bash.start(running, directory=cwd, interactive=interactive)
            outcome = await done
        except asyncio.CancelledError:
            self._kill(running, bash)
            raise
        finally:
            self._running = None
            for timer in timers:
                timer.cancel()
        if outcome == "background":
            return self._move_to_background(running, bash)
        if outcome == "timeout":
            self._kill(running, bash)
            return self._result(running, timed_out=True)
        if outcome == "lost":
            self._kill(running, bash)
        self._remember(bash)
        if running.shell_ended and not bash.inner_pid and not self._closed:
            await self._enclosure.close()
            raise self._enclosure.failure()
        return self._result(running)

    def _result(self, running: Running, *, timed_out: bool = False, background: str = "") -> CommandResult:
        stderr = running.err.text()
        if running.shell_ended and not timed_out:
            stderr += ("" if not stderr or stderr.endswith("\n") else "\n") + _RESTARTED.format(
                directory=self._directory
            )
        log = running.log
        return CommandResult(
            exit_code=running.exit_code,
            stdout=running.out.text(),
            stderr=stderr,
            duration_ms=running.duration_ms,
            timed_out=timed_out,
            truncated=running.out.truncated or running.err.truncated,
            log=str(log.path) if log is not None and log.written else "",
            background=background,
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

    def close_input(self) -> None:
        """The end of input, as Ctrl-D gives it."""
        running = self._running
        if running is not None and running.input_fd is not None:
            os.close(running.input_fd)
            running.input_fd = None

    # --- shells ----------------------------------------------------------------------------------------------------

    def _start_bash(self) -> Bash:
        self._shells_started += 1
        return Bash(
            self._enclosure,
            str(self._shells_started),
            directory=self._directory,
            fallback=self._home_directory,
            state=self._state,
        )

    def _ready_bash(self) -> Bash:
        if self._closed:
            raise OpenAgentError("conflict", "The shell is closed.")
        if not self._enclosure.alive:
            self._enclosure = self._enclose()
            self._bash = self._start_bash()
        elif not self._bash.alive:
            self._bash = self._start_bash()
        return self._bash

    @property
    def directory(self) -> str:
        return self._bash.directory if self._bash.alive else self._directory

    def _remember(self, bash: Bash) -> None:
        self._directory, self._state = bash.directory, bash.state

    def _kill(self, running: Running, bash: Bash) -> None:
        """Ends the command, its shell, and all it started, however detached; earlier commands' servers stay."""
        if bash is self._bash:
            self._remember(bash)
        root = self._enclosure.pid
        shell = find_inner(root, bash.inner_pid) if bash.inner_pid else None
        if shell is None:
            self._enclosure.kill()
        else:
            send_signal(shell, signal.SIGSTOP)
            others = self._other_shells(bash)
            sparing = set[int]().union(*(ancestors(pid, root) for pid in (shell, *others)))
            kill_started_after(running.since, root, leaving_out=others, sparing=sparing)
            send_signal(shell, signal.SIGKILL)
        bash.abandon()

    def _other_shells(self, bash: Bash) -> list[int]:
        others = {other for _, other in self._in_background.values()} | {self._bash}
        found = [
            find_inner(self._enclosure.pid, other.inner_pid) for other in others if other is not bash and other.alive
        ]
        return [pid for pid in found if pid is not None]

    # --- background ------------------------------------------------------------------------------------------------

    def _move_to_background(self, running: Running, bash: Bash) -> CommandResult:
        name = f"bg{self._commands_started}"
        self._remember(bash)
        self._in_background[name] = (running, bash)
        running.out.on_output = running.err.on_output = None
        running.on_end = lambda: self._background_ended(name)
        running.on_lost = lambda: self._kill(running, bash)
        self._bash = self._start_bash()
        return self._result(running, background=name)

    def _background_ended(self, name: str) -> None:
        running, bash = self._in_background[name]
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
        )

    def background(self) -> list[BackgroundCommand]:
        return [self._describe(name, running) for name, (running, _) in self._in_background.items()]

    def read_background(self, name: str) -> CommandResult:
        """What it printed so far; the exit code once it has one."""
        running, _ = self._background_command(name)
        return self._result(running, background=name)

    async def kill_background(self, name: str) -> CommandResult:
        running, bash = self._background_command(name)
        await self._bash.introduced.wait()  # a shell that is only starting could not be told from what must die
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

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await self._enclosure.close()
        with contextlib.suppress(OSError):
            self._bash.dispose()
