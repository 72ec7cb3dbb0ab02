"""What makes a daemon one of many: put together, started and ended."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, NamedTuple
from uuid import uuid4

import msgspec

from openagent.daemon.daemon import Daemon
from openagent.daemon.manager import SessionManager
from openagent.plugins.admission import Backlog
from openagent.plugins.carrying import Carrying
from openagent.protocol import op_subjects
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import TurnCompleted
from openagent.protocol.op import Op
from openagent.protocol.sessions import SessionInfo
from openagent.team.closed_redis import require_closed, require_password
from openagent.team.frames import ANY, Sign, ops_of, sign_of, told_to
from openagent.team.hosting import Hosting
from openagent.team.links import Links
from openagent.team.routing import Routing
from openagent.team.seal import Seal, key_of_the_team
from openagent.team.turn_jobs import TURNS, Accepting, TurnJobs, backlog, make_app, open_app, queue_for

Role = Literal["all", "gateway", "worker"]
SIGN_LASTS = 0.75
"""Of the time after which a worker is lost: nobody waits for its answers any more when others may have its sessions."""
_WHOLE_ID = 16
"""Characters of a session's id; what is shorter is the beginning of one."""
_log = logging.getLogger(__name__)


class Part(NamedTuple):
    """Which part of the team a daemon is."""

    role: Role
    database: str
    redis: str
    at_once: int
    """Turns that a worker runs at once."""
    lost_after: float
    """Seconds without a sign of life after which a worker's turns go to others."""
    drain_s: float
    """Seconds that they may go on when it is told to stop."""
    labels: Sequence[str] = ()
    """Of a worker: which sessions it runs."""


def role_of(word: str) -> Role:
    return msgspec.convert(word, Role)


class TeamService:
    def __init__(
        self,
        part: Part,
        holder: str,
        daemon: Daemon,
        manager: SessionManager,
        hourly: Callable[[], Awaitable[None]],
        *,
        carrying: Carrying | None = None,
    ) -> None:
        """`holder`: under which name this daemon has sessions."""
        if not part.database.startswith("postgresql"):
            raise OpenAgentError(
                "config_error",
                "`redis` is set, and the daemons of a team share a PostgreSQL database, which is not.",
                hint='Set `database = "postgresql://user@host/name"`, or take `redis` out to work alone.',
            )
        require_password(part.redis)
        self._part = part
        self._worker = holder if part.role != "gateway" else ""
        self._gateway = uuid4().hex
        self._manager = manager
        self._carrying = carrying
        self._keeping: set[asyncio.Task[None]] = set()
        if carrying is not None:
            daemon.bus.subscribe(TurnCompleted, self._turn_ended)
        self._links = Links(part.redis, max(5.0, part.lost_after * SIGN_LASTS))
        self._app = make_app(part.database)
        self._hosting = Hosting(daemon, holder, self._links)
        accepting = Accepting(self._app, self._gateway)
        store = manager.runtime.store
        self.routing = Routing(
            self._gateway, self._worker, self._links, store, accepting.accept, own_labels=part.labels
        )
        self.routing.is_remote = self._hosting.is_remote
        self.routing.dismiss = daemon.dismiss_here
        daemon.is_one_of_many = True
        self._hosting.is_given_away = self._is_given_away
        self._jobs = (
            TurnJobs(
                self._app,
                holder,
                manager,
                daemon.bus,
                self._hosting,
                perform=daemon.perform,
                queues=[queue_for(label if label != ANY else "") for label in part.labels] or [TURNS],
                at_once=part.at_once,
                lost_after=part.lost_after,
                drain_s=part.drain_s,
                hourly=hourly,
            )
            if self._worker
            else None
        )

    def _is_given_away(self, op: Op) -> bool:
        if self._jobs is None or not self._jobs.draining:
            return False
        named = [value for kind, value in op_subjects.named(op) if kind == "session"]
        return any(len(each) == _WHOLE_ID and self._manager.loaded(each) is None for each in named)

    @property
    def has_sessions(self) -> bool:
        return bool(self._worker)

    async def start(self) -> None:
        await require_closed(self._part.redis)
        await open_app(self._app)
        streams = {told_to(self._gateway): self.routing.hear}
        if self._worker:
            streams[ops_of(self._worker)] = self._hosting.hear
        seal = Seal(await key_of_the_team(self._app))
        self._links.start(seal=seal, sign=self._sign, stream=streams, lost=self._lost, looked=self._looked)
        self.routing.start()
        if self._jobs is not None:
            self._jobs.start()
        _log.info(
            "team mode started", extra={"role": self._part.role, "worker": self._worker, "gateway": self._gateway}
        )

    async def backlog(self) -> Backlog:
        return await backlog(self._app)

    async def drain(self) -> None:
        """A worker takes nothing new, and what runs may end."""
        if self._jobs is not None:
            await self._jobs.drain()

    async def rest(self) -> None:
        """Before the sessions end."""
        await self.drain()
        await self._links.withdraw(self._keys())
        if self._carrying is not None:  # it takes as long as it takes to send what is theirs
            await asyncio.gather(*self._keeping, return_exceptions=True)
            await asyncio.gather(*map(self._manager.put_away, self._manager.all_loaded), return_exceptions=True)

    def _turn_ended(self, event: TurnCompleted) -> None:
        """A worker may be lost at any time: what a turn did is kept when it has ended."""
        if (session := self._manager.loaded(event.session)) is not None:
            info = msgspec.structs.replace(session.info, turn_count=event.turn)  # the next one may have begun
            task = asyncio.create_task(self._keep(info), name="team keeping")
            self._keeping.add(task)
            task.add_done_callback(self._keeping.discard)

    async def _keep(self, session: SessionInfo) -> None:
        assert self._carrying is not None
        try:
            await self._carrying.keep(session)
        except Exception as problem:  # the supervisor: it is tried again after the next turn
            _log.warning("snapshot upload failed", extra={"session": session.id, "reason": str(problem)})

    async def close(self) -> None:
        await self.routing.close()
        await self._links.close()
        await self._app.close_async()

    def _keys(self) -> list[str]:
        worker = [sign_of("worker", self._worker)] if self._worker else []
        return [sign_of("gateway", self._gateway), *worker]

    def _sign(self) -> tuple[list[str], Sign]:
        draining = self._jobs is not None and self._jobs.draining
        sign = Sign(running=self._manager.running, labels=list(self._part.labels), draining=draining)
        return self._keys(), sign

    def _lost(self) -> None:
        self.routing.lost()
        self._hosting.lost()

    async def _looked(self) -> None:
        await asyncio.gather(self.routing.looked(), self._hosting.looked())
