"""A session's shell: opened with its first command, and another one when the session's mode becomes stricter.

What was defined or started while more ran unasked could otherwise be reached later, by a command that looks harmless.
"""

import asyncio
import contextlib
from typing import TYPE_CHECKING

import msgspec

from openagent.plugins.jail import ForgettingJail, LastingJail, MeasuredShell, MendedShell, ReadingJail, Shell, offers
from openagent.policy.builtin.variables import steers
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import BackgroundFinished, ShellReplaced
from openagent.protocol.metrics import JailUse
from openagent.protocol.sessions import MODES, Mode

if TYPE_CHECKING:
    from openagent.core.session import Session

_MODE_FILE = "shell-mode"


class SessionShell:
    def __init__(self, session: "Session") -> None:
        self._session = session
        self._shell: Shell | None = None
        self._mode: Mode | None = None
        """The one that the shell, open or kept, is for."""
        self._kept_directory: str | None = None
        self._lock = asyncio.Lock()
        """Held while a shell is opened, exchanged or closed. Without it, two calls that run side by side would open one
        each, and a change of mode could close the shell that a call is just being given."""

    async def get(self) -> Shell:
        """In plan mode one that can change nothing. It goes on where the one before it was."""
        async with self._lock:
            only_reads = await self._obey_mode() == "plan"
            if self._shell is None:
                async with self._session.runtime.opening.place():
                    self._shell = await self._open(only_reads)
            if not only_reads:
                await self._session.permits.leaving.fit(self._shell)
            return self._shell

    async def _open(self, only_reads: bool) -> Shell:
        session, jail = self._session, self._session.runtime.jail
        if not only_reads:
            return await jail.open(session.id, session.workspace)
        if isinstance(jail, ReadingJail):
            return await jail.open_reading(session.id, session.workspace)
        raise OpenAgentError(
            "jail_error",
            f"In plan mode there is no shell here: nothing would keep a command from writing ({jail.describe()}).",
            hint='Choose another mode, or `[jail] kind = "bwrap"`.',
        )

    async def obey_mode(self) -> None:
        """The mode has changed: when it is stricter, what runs in the shell ends at once."""
        async with self._lock:
            await self._obey_mode()

    async def _obey_mode(self) -> Mode:
        mode = self._session.permits.mode
        before = self._mode = self._mode or self._kept_mode()
        if mode == before:
            return mode
        stricter = _is_stricter(mode, before)
        was_open = self._shell is not None
        if stricter or before == "plan":
            await self._end()
        if stricter:
            jail = self._session.runtime.jail
            forgot = offers(jail, ForgettingJail) and jail.forget(self._session.id, lambda name: not steers(name))
            if was_open or forgot:
                self._session.post(ShellReplaced(mode=mode))
        self._mode = mode
        self._keep_mode(mode)
        return mode

    def _kept_mode(self) -> Mode:
        """Of the last shell, which an earlier daemon may have had. Where nobody knows it, anything could be done."""
        with contextlib.suppress(OSError, ValueError):
            return msgspec.convert((self._session.scratch / _MODE_FILE).read_text(), Mode)
        return "full"

    def _keep_mode(self, mode: Mode) -> None:
        """Before any command of that mode runs."""
        file = self._session.scratch / _MODE_FILE
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(mode)
        except OSError:  # a full disk: what is not known is taken for the laxest
            with contextlib.suppress(OSError):
                file.unlink(missing_ok=True)

    async def refit(self) -> None:
        """What runs in the shell already may reach what it may by now, and no more."""
        async with self._lock:
            if self._shell is not None and self._mode != "plan":
                await self._session.permits.leaving.fit(self._shell)
                if offers(self._shell, MendedShell):
                    with contextlib.suppress(OpenAgentError):  # then it was closed
                        await self._shell.mend()

    @property
    def directory(self) -> str:
        """Where the next command starts: policy reads relative paths from there."""
        if self._shell is not None:
            return self._shell.directory
        if self._kept_directory is None:
            jail = self._session.runtime.jail
            kept = jail.kept_directory(self._session.id) if isinstance(jail, LastingJail) else None
            self._kept_directory = kept or self._session.info.cwd
        return self._kept_directory

    @property
    def works_behind(self) -> bool:
        """A command in the background, which would end with the shell."""
        return self._shell is not None and any(command.running for command in self._shell.background())

    def runs_behind(self, background: str) -> bool:
        """That command, in the background."""
        return self._shell is not None and any(
            command.running for command in self._shell.background() if command.id == background
        )

    def use(self) -> JailUse | None:
        """What runs in it uses; None where there is no shell, or one that cannot tell. Not on the event loop."""
        shell = self._shell
        return shell.use() if shell is not None and offers(shell, MeasuredShell) else None

    async def close(self) -> None:
        async with self._lock:
            await self._close()

    async def _end(self) -> None:
        """What runs in it ends with it, and people are told."""
        running = [command.id for command in self._shell.background() if command.running] if self._shell else []
        await self._close()
        for command in running:
            self._session.post(BackgroundFinished(command_id=command, exit_code=None, lost=True))

    async def _close(self) -> None:
        if self._shell is not None:
            shell, self._shell = self._shell, None
            self._kept_directory = shell.directory
            await shell.close()
        self._session.undo.close()


def _is_stricter(mode: Mode, before: Mode) -> bool:
    """Also from plan to a mode that asks: in plan any command runs unasked, where it can change nothing."""
    return MODES.index(mode) < MODES.index(before) or (before == "plan" and mode in ("ask", "edits"))
