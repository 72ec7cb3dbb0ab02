"""Terminals in sessions' jails, for people: `terminal.*`."""

import asyncio
import codecs
import logging
import time
from uuid import uuid4

from openagent.core.audit import entry
from openagent.daemon.bus import EventBus
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.daemon.manager import SessionManager
from openagent.plugins.jail import Terminal, TerminalJail, Tunnel
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import TerminalExited, TerminalOutput
from openagent.protocol.op import Done
from openagent.protocol.terminals import (
    TerminalClose,
    TerminalInput,
    TerminalOpen,
    TerminalOpened,
    TerminalResize,
)

KEPT = 256 * 1024
"""Characters shown again to whoever comes later."""
MOST = 20
LEFT_ALONE = 900.0
"""Seconds after which a terminal that nobody looks at any more is ended."""
_LOOK_EVERY = 60.0
_DELETED = b'{"type":"session.deleted"'
_UPDATED = b'{"type":"session.updated"'
_PLANS = b'"mode":"plan"'
_log = logging.getLogger(__name__)


class _Opened:
    def __init__(self, session: str, terminal: Terminal, *, only_reads: bool) -> None:
        self.id = uuid4().hex[:12]
        self.session = session
        self.terminal = terminal
        self.only_reads = only_reads
        self.watchers: set[Connection] = set()
        self.kept = ""
        self.seen_at = time.monotonic()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.life: asyncio.Task[None] | None = None

    def is_forgotten(self) -> bool:
        watched = any(not watcher.closed for watcher in self.watchers)
        return not watched and time.monotonic() - self.seen_at > LEFT_ALONE

    def show(self, data: bytes) -> None:
        if text := self._decoder.decode(data):
            self.kept = (self.kept + text)[-KEPT:]
            self.tell(TerminalOutput(session=self.session, terminal=self.id, text=text, at=time.time()))

    def tell(self, event: TerminalOutput | TerminalExited) -> None:
        self.watchers = {watcher for watcher in self.watchers if not watcher.closed}
        for watcher in self.watchers:
            watcher.tell(event)
        if self.watchers:
            self.seen_at = time.monotonic()


class TerminalService:
    """Follows the bus, because a session's terminals end with it."""

    name = "terminals"
    interactive = False

    def __init__(self, manager: SessionManager, bus: EventBus) -> None:
        self._manager = manager
        self._bus = bus
        self._open: dict[str, _Opened] = {}

    def handlers(self) -> list[Handler]:
        return [
            TerminalOpen.handled_by(self._open_one),
            TerminalInput.handled_by(self._input),
            TerminalResize.handled_by(self._resize),
            TerminalClose.handled_by(self._close_one),
        ]

    def session_of(self, terminal: str) -> str:
        """Empty when there is no such terminal."""
        return self._open[terminal].session if terminal in self._open else ""

    def send(self, body: bytes) -> None:
        if body.startswith(_DELETED) or (body.startswith(_UPDATED) and _PLANS in body):
            for opened in list(self._open.values()):
                if f'"session":"{opened.session}"'.encode() in body and not (_PLANS in body and opened.only_reads):
                    self._end(opened)

    async def close(self) -> None:
        lives = [opened.life for opened in self._open.values() if opened.life is not None]
        for opened in list(self._open.values()):
            self._end(opened)
        await asyncio.gather(*lives, return_exceptions=True)

    async def _open_one(self, connection: Connection, op: TerminalOpen) -> TerminalOpened:
        session = await self._manager.get(op.session)
        if op.terminal:
            opened = self._find(op.terminal)
            if opened.session != session.id:
                raise _not_there(op.terminal)
            opened.watchers.add(connection)
            connection.hears_of.add(session.id)
            opened.terminal.resize(op.columns, op.rows)
            return TerminalOpened(opened.id, opened.kept)
        if len(self._open) >= MOST:
            raise OpenAgentError("busy", f"{MOST} terminals are open.", hint="Close one of them.")
        jail = session.runtime.jail
        if not isinstance(jail, TerminalJail):
            raise OpenAgentError("jail_error", f"The {jail.kind} jail has no terminal.", hint="bwrap has one.")
        leaving, name = session.permits.leaving, f"terminal:{uuid4().hex[:12]}"

        async def ask(host: str, port: int, tunnel: Tunnel | None = None) -> str:
            reason = f"A terminal of this session wants to connect to {host}:{port}."
            return await leaving.reach(host, port, tunnel, program=name, reason=reason)

        only_reads = session.permits.mode == "plan"
        terminal = await jail.open_terminal(session.workspace, op.columns, op.rows, ask=ask, read_only=only_reads)
        opened = _Opened(session.id, terminal, only_reads=only_reads)
        opened.watchers.add(connection)
        connection.hears_of.add(session.id)
        self._open[opened.id] = opened
        self._bus.follow(self)
        opened.life = asyncio.create_task(self._live(opened))
        session.post(audit=[entry("terminal", "opened", terminal=opened.id)])
        # The first output follows the reply, so that nobody hears of a terminal they do not know yet.
        asyncio.get_running_loop().call_later(0, terminal.listen, opened.show)
        return TerminalOpened(opened.id)

    async def _input(self, connection: Connection, op: TerminalInput) -> Done:
        opened = self._find(op.terminal)
        opened.seen_at = time.monotonic()
        if not opened.terminal.write(op.text.encode(errors="replace")):
            raise OpenAgentError("busy", "What runs in the terminal does not read its input.", hint="Try Ctrl-C.")
        return Done()

    async def _resize(self, connection: Connection, op: TerminalResize) -> Done:
        self._find(op.terminal).terminal.resize(op.columns, op.rows)
        return Done()

    async def _close_one(self, connection: Connection, op: TerminalClose) -> Done:
        opened = self._find(op.terminal)
        self._end(opened)
        if opened.life is not None:
            await asyncio.shield(opened.life)
        return Done()

    async def _live(self, opened: _Opened) -> None:
        code: int | None = None
        waiting = asyncio.ensure_future(opened.terminal.wait())
        try:
            while not (await asyncio.wait([waiting], timeout=_LOOK_EVERY))[0]:
                if opened.is_forgotten():
                    self._end(opened)
            code = waiting.result()
        except Exception:  # the supervisor: a terminal that fails is gone, and nothing else
            _log.exception("terminal ended on an unexpected error", extra={"session": opened.session})
        self._open.pop(opened.id, None)
        if not self._open:
            self._bus.unfollow(self)
        opened.tell(TerminalExited(session=opened.session, terminal=opened.id, exit_code=code, at=time.time()))

    def _find(self, terminal: str) -> _Opened:
        if terminal not in self._open:
            raise _not_there(terminal)
        return self._open[terminal]

    def _end(self, opened: _Opened) -> None:
        self._ending = asyncio.ensure_future(opened.terminal.kill())


def _not_there(terminal: str) -> OpenAgentError:
    return OpenAgentError("not_found", f"There is no terminal {terminal!r}: it has ended.", hint="Open a new one.")
