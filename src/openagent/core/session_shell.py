"""A session's shell: opened with its first command, and another one when the session's mode wants other walls."""

import asyncio
from typing import TYPE_CHECKING

from openagent.plugins.jail import LastingJail, MeasuredShell, ReadingJail, Shell, offers
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import BackgroundFinished
from openagent.protocol.metrics import JailUse

if TYPE_CHECKING:
    from openagent.core.session import Session


class SessionShell:
    def __init__(self, session: "Session") -> None:
        self._session = session
        self._shell: Shell | None = None
        self._only_reads = False
        self._kept_directory: str | None = None
        self._lock = asyncio.Lock()
        """Held while a shell is opened, exchanged or closed. Without it, two calls that run side by side would open one
        each, and a change of mode could close the shell that a call is just being given."""

    async def get(self) -> Shell:
        """In plan mode one that can change nothing. It goes on where the one before it was."""
        async with self._lock:
            only_reads = self._session.permits.mode == "plan"
            if self._shell is not None and self._only_reads != only_reads:
                await self._end()
            if self._shell is None:
                async with self._session.runtime.opening.place():
                    self._shell = await self._open(only_reads)
                self._only_reads = only_reads
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
        """The mode has changed: what could write goes at once where nothing may be written any more."""
        async with self._lock:
            if self._shell is not None and not self._only_reads and self._session.permits.mode == "plan":
                await self._end()

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
