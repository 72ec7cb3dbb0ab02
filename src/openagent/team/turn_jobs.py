"""Turns as jobs in PostgreSQL, by procrastinate: one lock for each session, and none that a lost worker keeps.

A message is accepted when its job is committed. The worker that takes the job says the message, once, whoever tried
before, and the job lasts until the session rests. When its worker is lost, another one takes the job: what the lost
one had begun is closed by the session's recovery, and the turn goes on from there.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, NamedTuple, Protocol

from procrastinate import App, BaseRetryStrategy, JobContext, PsycopgConnector, RetryDecision
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job, Status
from procrastinate.worker import Worker

from openagent.core.audit import Actor, acting
from openagent.core.session import Session
from openagent.daemon.bus import EventBus
from openagent.daemon.connection import Connection
from openagent.daemon.manager import SessionManager
from openagent.daemon.sessions_in_use import in_use
from openagent.plugins.admission import Backlog
from openagent.plugins.store import Whereabouts
from openagent.protocol.codec import decode_op, encode_op
from openagent.protocol.conversation import MessageSend, Sent
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import ErrorRaised, SessionDeleted, TurnCompleted, TurnStarted
from openagent.protocol.messages import TextPart
from openagent.team.frames import Who, read_who
from openagent.team.hosting import encode_who
from openagent.team.routing import SAID_WITHIN
from openagent.team.steady_jobs import PromptWorker, SteadyJobs

TURNS = "turns"
"""The queue of workers without labels."""
STALLED = 0.7
"""Of the time after which a worker counts as lost: its jobs are at hand when its sessions are."""
BEATS = 5
RESCUE = "* * * * * */3"
"""Every three seconds (they stand last) it is looked for what lost workers left."""
HOURLY = "17 * * * *"
MOST_TAKEOVERS = 5
TRY_AGAIN = ("store_unavailable", "shutting_down")
"""What says nothing about the message: it is said later, or by another worker."""
_CHECK_EVERY = 5.0
_LET_GO_EVERY = 0.5
_POOL = 6
TAKEN_OVER = (
    "The worker that ran this turn was lost, and another one has taken it over. What it had done until then stands"
    " above; calls whose result says that they were interrupted may or may not have had their effect. Go on with the"
    " task from there."
)
_log = logging.getLogger(__name__)


def queue_for(label: str) -> str:
    """Of the workers with a label."""
    return f"{TURNS}:{label}" if label else TURNS


def _labelled(label: str) -> dict[str, str]:
    """An argument of a job, where it says something: workers of an older version know none."""
    return {"label": label} if label else {}


def _back_to(job: Job) -> str:
    return queue_for(str(job.task_kwargs.get("label", "")))


def queue_of(worker: str) -> str:
    return f"worker:{worker}"


class HeldElsewhereError(Exception):
    """Another living worker has the session: the job is its."""

    def __init__(self, holder: str) -> None:
        super().__init__(holder)
        self.holder = holder


class NotKeptError(Exception):
    """The session was taken from this worker in mid-turn: the job has to go on where it is now."""


class _ToWhomItBelongs(BaseRetryStrategy):
    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        if isinstance(exception, HeldElsewhereError):
            return RetryDecision(retry_in={"seconds": 0}, queue=queue_of(exception.holder))
        if isinstance(exception, OpenAgentError) and exception.info.code not in (*TRY_AGAIN, "conflict"):
            return None
        if isinstance(exception, OpenAgentError):  # until the store is there again: the message was accepted
            return RetryDecision(retry_in={"seconds": min(1 + job.attempts // 5, 30)}, queue=_back_to(job))
        if job.attempts > 50:
            return None
        # Cut off by the end of this worker, a database that was away for a while, or another who took the session.
        return RetryDecision(retry_in={"seconds": 1}, queue=_back_to(job))


class Return(NamedTuple):
    """Where the answer to a message goes."""

    gateway: str
    client: str
    who: str
    at: float
    """When it was accepted."""


class Answering(Protocol):
    """What turns a client of a gateway into a connection of this worker."""

    def answering(self, gateway: str, name: str, who: Who) -> AbstractContextManager[Connection]: ...


def make_app(url: str) -> App:
    plain = url.replace("postgresql+psycopg://", "postgresql://", 1)
    logging.getLogger("procrastinate").setLevel(logging.WARNING)  # else it writes down what people say, job by job
    pool: dict[str, Any] = {"min_size": 1, "max_size": _POOL, "timeout": 10, "configure": _prepare_connection}
    app = App(connector=PsycopgConnector(conninfo=plain, **pool))
    app.job_manager = SteadyJobs(app.connector)
    return app


async def _prepare_connection(connection: Any) -> None:
    """A worker that is frozen in the middle of a transaction would keep its jobs from those who are to take them."""
    await connection.execute("SET idle_in_transaction_session_timeout = '10s'")
    await connection.commit()


async def open_app(app: App) -> None:
    """With its tables, which whoever comes first makes."""
    await app.open_async()
    there = "SELECT to_regclass('procrastinate_jobs') IS NOT NULL AS there"
    if not (await app.connector.execute_query_one_async(there))["there"]:
        try:
            await app.schema_manager.apply_schema_async()
        except Exception:
            # Another one made them at the same time; if not, this is the reason why there are none.
            if not (await app.connector.execute_query_one_async(there))["there"]:
                raise


async def backlog(app: App) -> Backlog:
    found = await app.connector.execute_query_one_async(
        "WITH jobs AS (SELECT lock, status, (args->>'at')::float8 AS at FROM procrastinate_jobs"
        " WHERE task_name = 'turn' AND status IN ('todo', 'doing')),"
        " waiting AS (SELECT lock, at FROM jobs WHERE status = 'todo'"
        " AND lock NOT IN (SELECT lock FROM jobs WHERE status = 'doing'))"
        " SELECT (SELECT count(*) FROM jobs WHERE status = 'doing') AS running,"
        " (SELECT count(DISTINCT lock) FROM waiting) AS waiting, (SELECT min(at) FROM waiting) AS since"
    )
    oldest = max(time.time() - found["since"], 0.0) if found["since"] else 0.0
    return Backlog(found["running"], found["waiting"], oldest)


class Accepting:
    """The gateways' side of it."""

    def __init__(self, app: App, gateway: str) -> None:
        self._app = app
        self._gateway = gateway

    async def accept(self, op: MessageSend, connection: Connection, where: Whereabouts, name: str) -> int:
        arguments = {
            "session": where.session,
            "op": encode_op(op).decode(),
            "who": encode_who(connection),
            "gateway": self._gateway,
            "client": name,
            "since": 0 if op.again else where.info.seq,
            "at": time.time(),
            **_labelled(where.info.settings.label),
        }
        queue = queue_of(where.holder) if where.holder else queue_for(where.info.settings.label)
        job = self._app.configure_task("turn", lock=where.session, queue=queue)
        try:
            return await job.defer_async(**arguments)
        except Exception as problem:
            reason = str(problem.__cause__ or problem).strip().partition("\n")[0].rstrip(".")
            raise OpenAgentError(
                "store_unavailable",
                f"The message could not be kept: {reason}.",
                hint="It was not taken. Send it again when the database is back.",
            ) from problem


class TurnJobs:
    """The workers' side of it."""

    def __init__(
        self,
        app: App,
        worker: str,
        manager: SessionManager,
        bus: EventBus,
        answering: Answering,
        *,
        perform: Callable[[Connection, MessageSend], Awaitable[Sent]],
        queues: Sequence[str],
        at_once: int,
        lost_after: float,
        drain_s: float,
        hourly: Callable[[], Awaitable[None]],
    ) -> None:
        self._app = app
        self._worker = worker
        self._manager = manager
        self._store = manager.runtime.store
        self._answering = answering
        self._perform = perform
        self._queues = [*queues, queue_of(worker)]
        self._queue = queues[0]
        self._at_once = at_once
        self._stalled_after = lost_after * STALLED
        self._drain_s = drain_s
        self._hourly = hourly
        self._resting: dict[str, asyncio.Event] = {}
        """By session, of the jobs that run here: set when one of its turns has ended."""
        self._running: asyncio.Task[None] | None = None
        self._guarding: set[asyncio.Task[None]] = set()
        self._at_work: set[int] = set()
        """The jobs that run here."""
        self.draining = False
        bus.subscribe(TurnCompleted, self._ended)
        bus.subscribe(SessionDeleted, self._ended)
        bus.subscribe(TurnStarted, self._started)
        app.task(name="turn", retry=_ToWhomItBelongs())(self._turn)
        app.periodic(cron=RESCUE, periodic_id="rescue")(
            app.task(name="rescue", queue=self._queue, queueing_lock="rescue")(self._rescue)
        )
        app.periodic(cron=HOURLY, periodic_id="hourly")(
            app.task(name="hourly", queue=self._queue, queueing_lock="hourly", lock="hourly")(self._every_hour)
        )

    def start(self) -> None:
        self._running = asyncio.create_task(self._run(), name="team jobs")

    async def drain(self) -> None:
        """No more jobs are taken; those that run may end, for a while. The others are left to other workers."""
        self.draining = True
        _log.info("draining: no more jobs are taken")
        if self._running is not None:
            letting_go = asyncio.create_task(self._let_go(), name="team letting go")
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
            letting_go.cancel()
            await asyncio.gather(letting_go, return_exceptions=True)
            self._running = None
        await asyncio.gather(*self._guarding, return_exceptions=True)

    async def _let_go(self) -> None:
        """Nobody waits for turns that are not their own: sessions at rest, and what is to be said in them, are others'
        at once."""
        while True:
            try:
                await self._manager.put_away_idle()
                for job in await self._app.job_manager.list_jobs_async(
                    queue=queue_of(self._worker), status=Status.TODO.value
                ):
                    if self._manager.loaded(job.lock or "") is None:
                        await self._hand_on(job)
            except (OpenAgentError, ConnectorException) as problem:
                _log.info("session could not be released while draining, retrying", extra={"reason": str(problem)})
            await asyncio.sleep(_LET_GO_EVERY)

    async def _run(self) -> None:
        while True:
            worker = PromptWorker(
                self._app,
                queues=self._queues,
                name=self._worker,
                concurrency=self._at_once,
                fetch_job_polling_interval=2.0,
                shutdown_graceful_timeout=self._drain_s,
                delete_jobs="always",
                install_signal_handlers=False,
                update_heartbeat_interval=self._stalled_after / BEATS,
                stalled_worker_timeout=self._stalled_after,
                worker_middleware=[self._in_hand],
            )
            looking = asyncio.create_task(self._look_for_forgotten(worker), name="team forgotten jobs")
            try:
                await worker.run()
            except Exception as problem:  # the supervisor: a database that was away is there again at some time
                _log.warning("job queue failed, retrying", extra={"reason": str(problem)})
            finally:
                looking.cancel()
            await asyncio.sleep(1.0)

    async def _in_hand(self, call_next: Callable[[], Awaitable[Any]], context: JobContext, worker: Worker) -> Any:
        number = context.job.id or 0
        self._at_work.add(number)
        try:
            return await call_next()
        finally:
            self._at_work.discard(number)

    async def _look_for_forgotten(self, worker: Worker) -> None:
        """Jobs that the database gave this worker, or took back from it, over a connection that broke meanwhile: they
        count as its own, and it does not know of them."""
        before: set[int] = set()
        while True:
            await asyncio.sleep(_CHECK_EVERY)
            try:
                found = await self._app.job_manager.list_jobs_async(status=Status.DOING.value)
                own = worker.worker_id
                unknown = {job.id or 0: job for job in found if own is not None and job.worker_id == own}
                for number in self._at_work:
                    unknown.pop(number, None)
                for number in before & unknown.keys():
                    await self._hand_on(unknown[number])
                before = set(unknown)
            except ConnectorException as problem:
                _log.info("job scan failed, retrying", extra={"reason": str(problem)})

    # A turn

    async def _turn(
        self,
        *,
        session: str,
        op: str,
        who: str,
        gateway: str,
        client: str,
        since: int,
        at: float,
        label: str = "",  # it says where the job goes
    ) -> None:
        """Without an op it stands for a turn that runs already."""
        rests = self._resting.setdefault(session, asyncio.Event())
        decoded = decode_op(op.encode()) if op else None
        message = decoded if isinstance(decoded, MessageSend) else None
        try:
            with in_use():
                found = await self._take(session)
                if message is None or await self._was_said(found, message.id, since):
                    await self._go_on(found)
                elif not await self._say(found, message, Return(gateway, client, who, at)):
                    return
            await self._until_it_rests(session, rests)
            await self._check_kept(session, message, since)
        finally:
            if self._resting.get(session) is rests:
                del self._resting[session]

    async def _take(self, session: str) -> Session:
        try:
            return await self._manager.get(session)
        except OpenAgentError as problem:
            if problem.info.code != "conflict":
                raise
            raise await self._held_elsewhere(session) from None

    async def _held_elsewhere(self, session: str) -> HeldElsewhereError:
        where = await self._store.whereabouts(session)
        if where.holder in ("", self._worker):  # it changes hands right now
            await asyncio.sleep(0.5)
        return HeldElsewhereError(where.holder or self._worker)

    async def _was_said(self, session: Session, op_id: str, since: int) -> bool:
        return any(event.seq > since for event in await session.recorder.outbox.messages_of(op_id))

    async def _say(self, session: Session, message: MessageSend, to: Return) -> bool:
        """False: it was refused, and whoever sent it is told."""
        with self._answering.answering(to.gateway, to.client, read_who(to.who.encode())) as connection:
            try:
                sent = await self._perform(connection, message)
            except OpenAgentError as problem:
                if problem.info.code in TRY_AGAIN:
                    raise
                if problem.info.code == "conflict" and session.id not in await self._store.kept():
                    raise await self._held_elsewhere(session.id) from None
                connection.refuse(problem, message.id)
                if time.time() - to.at > SAID_WITHIN:  # the sender was told that it is accepted
                    session.post(ErrorRaised(error=problem.info), op_id=message.id)
                return False
            connection.reply(message, sent)
            return True

    async def _go_on(self, session: Session) -> None:
        """With a turn that a lost worker had begun, and that nobody has gone on with since."""
        newest = session.info.turn_count
        ends = await session.recorder.outbox.ends(newest - MOST_TAKEOVERS, newest)
        if session.running or session.inbox.waiting or not ends or ends[-1].turn != newest:
            return
        if ends[-1].reason != "interrupted":
            return
        if len(ends) > MOST_TAKEOVERS and all(end.reason == "interrupted" for end in ends):
            _log.error("session's turns were lost too often, not retried again", extra={"session": session.id})
            return
        with acting(Actor("team", "team", "", "turn")):
            await session.send([TextPart(TAKEN_OVER)], f"taken-over-{newest}", again=True)

    async def _until_it_rests(self, session: str, rests: asyncio.Event) -> None:
        """And all of it is stored: until then it is this worker's alone, and lost with it."""
        while (found := self._manager.loaded(session)) is not None:
            if not (found.running or found.inbox.goes_on) and found.recorder.outbox.is_empty:
                return
            rests.clear()
            try:
                async with asyncio.timeout(_CHECK_EVERY):
                    await rests.wait()
            except TimeoutError:
                pass

    async def _check_kept(self, session: str, message: MessageSend | None, since: int) -> None:
        """The session may have been taken from here meanwhile, and with it what was not stored yet."""
        try:
            stored = await self._store.session(session)
        except OpenAgentError as problem:
            if problem.info.code != "not_found":
                raise
            return  # it was deleted
        if message is not None:
            told = await self._store.messages_of(session, message.id)
            if not any(event.seq > since for event in told):
                raise NotKeptError
        if self._manager.loaded(session) is None:
            newest = stored.info.turn_count
            ends = await self._store.turns(session, first=newest, last=newest)
            if stored.open_turn or any(end.reason == "interrupted" for end in ends):
                raise NotKeptError

    def _ended(self, event: TurnCompleted | SessionDeleted) -> None:
        if (rests := self._resting.get(event.session)) is not None:
            # The session itself goes on after this event, with what waits.
            asyncio.get_running_loop().call_soon(rests.set)

    def _started(self, event: TurnStarted) -> None:
        """A turn that no job stands for gets one, so that it is taken over too."""
        found = self._manager.loaded(event.session)
        if self.draining or event.session in self._resting or found is None or found.info.parent:
            return
        task = asyncio.create_task(self._guard(event.session, found.info.settings.label))
        self._guarding.add(task)
        task.add_done_callback(self._guarding.discard)

    async def _guard(self, session: str, label: str) -> None:
        job = self._app.configure_task("turn", lock=session, queue=queue_of(self._worker))
        try:
            told = {"session": session, "op": "", "who": "", "gateway": "", "client": ""}
            await job.defer_async(**told, since=0, at=time.time(), **_labelled(label))
        except Exception as problem:  # the turn runs all the same
            _log.warning(
                "turn runs without a job; it is not taken over if this worker dies",
                extra={"session": session, "reason": str(problem)},
            )

    # Once in the cluster

    async def _rescue(self, timestamp: int) -> None:
        """What lost workers had goes to others."""
        for job in await self._app.job_manager.get_stalled_jobs(seconds_since_heartbeat=self._stalled_after):
            await self._hand_on(job)
        living = {queue_of(each) for each in await self._store.living()}
        for queue in await self._app.job_manager.list_queues_async(status=Status.TODO.value):
            name = str(queue["name"])
            if name.startswith(queue_of("")) and name not in living and queue["todo"]:
                for job in await self._app.job_manager.list_jobs_async(queue=name, status=Status.TODO.value):
                    await self._hand_on(job)

    async def _hand_on(self, job: Job) -> None:
        """As a job of its own: one who was frozen and ends the old one later ends nothing else. Both in one statement:
        however it goes, there is one."""
        if job.id is None:
            return
        if job.task_name != "turn":
            with suppress(ConnectorException):  # it has ended meanwhile
                await self._app.job_manager.finish_job_by_id_async(job.id, Status.FAILED, delete_job=True)
            return
        _log.warning("turn of a lost worker requeued", extra={"session": job.lock, "job": job.id})
        await self._app.connector.execute_query_async(
            "WITH old AS (DELETE FROM procrastinate_jobs WHERE id = %(job)s RETURNING task_name, priority, lock, args)"
            " INSERT INTO procrastinate_jobs (queue_name, task_name, priority, lock, args)"
            " SELECT %(queue)s, task_name, priority, lock, args FROM old",
            job=job.id,
            queue=_back_to(job),
        )

    async def _every_hour(self, timestamp: int) -> None:
        await self._hourly()
