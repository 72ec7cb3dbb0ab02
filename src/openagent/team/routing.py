"""The gateways' side: an op about a session goes to the worker that has it, and what that one says comes back.

A client that follows a session is told what the worker says, in its order. When the worker or Redis is gone, it is told
from the store what has a number of its own, nothing twice and nothing left out, until a worker can be followed again.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from hashlib import blake2b
from itertools import count
from random import random
from typing import cast

import msgspec
from msgspec import Struct

from openagent.daemon.callers import Caller
from openagent.daemon.connection import Connection
from openagent.plugins.store import Store, Whereabouts
from openagent.protocol import op_subjects
from openagent.protocol.codec import encode_event, encode_op
from openagent.protocol.conversation import AsksList, MessagePage, MessageSend, MessagesPage, PendingAsks, Sent
from openagent.protocol.daemon import DaemonFollow
from openagent.protocol.errors import ErrorInfo, OpenAgentError
from openagent.protocol.events import ConnectionClosing, Failed, Reply
from openagent.protocol.history import HistoryImport
from openagent.protocol.op import Op
from openagent.protocol.sessions import (
    AT_REST,
    Attached,
    SessionAttach,
    SessionCreate,
    SessionDetach,
    SessionGet,
    SessionImport,
    SessionInfo,
)
from openagent.protocol.tasks import TaskFollow, TaskRun, TaskStop
from openagent.team.frames import DURABLE, OWN_OP, Head, Who, ops_of, read_head, serves
from openagent.team.from_store import page_of, snapshot_of
from openagent.team.links import SIGN_EVERY, Entry, Links

ANSWERED_WITHIN = 30.0
"""Seconds after which nobody waits any longer for a worker's answer to an op that takes none."""
SAID_WITHIN = 5.0
"""Seconds that a sender waits to hear which turn answers a message that is accepted already."""
WORKER_WITHIN = 10.0
"""Seconds in which a worker may come when there is none."""
FOR_WORKERS = (SessionCreate, SessionImport, HistoryImport, TaskRun, TaskStop, TaskFollow)
"""Ops that name no session and work with some."""
_MISSED_AT_ONCE = 500
_NOT_HERE = ("conflict", "shutting_down")
"""What a worker says that has not the session."""
_NOT_FOR_THEM = ("not_found", "permission_denied", "unauthorized")
_log = logging.getLogger(__name__)


class Attachment:
    """One client that follows one session."""

    def __init__(self, connection: Connection, session: str, worker: str, seq: int) -> None:
        self.connection = connection
        self.session = session
        self.worker = worker
        """Empty: none is followed, and the store is looked into."""
        self.seq = seq
        """The number of the last event that the client was told."""
        self.joining = 0.0
        """Until when a worker that was asked has to answer."""
        self.asked_as = ""
        """The op by which it was asked last."""


class _Unanswered(OpenAgentError):
    """Nobody knows whether it was done."""

    def __init__(self, what: str) -> None:
        super().__init__("busy", what, hint="Look whether it was done, and try again in a moment.")


class _Asked:
    """An op that a worker is to answer."""

    def __init__(self, op: Op, worker: str, *, passed_on: bool, rejoining: Attachment | None = None) -> None:
        self.op = op
        self.worker = worker
        self.passed_on = passed_on
        self.rejoining = rejoining
        self.answer: asyncio.Future[Reply | Failed] = asyncio.get_running_loop().create_future()


AcceptMessage = Callable[[MessageSend, Connection, Whereabouts, str], Awaitable[int]]
"""Commits it as a job for its session, with the name of whoever hears the answer. Returns the job's number."""


CheckSending = Callable[[Caller, MessageSend, SessionInfo], Awaitable[None]]


async def _everybody_may(caller: Caller, op: MessageSend, info: SessionInfo) -> None:
    """Where nothing says otherwise."""


class Routing:
    def __init__(
        self,
        gateway: str,
        own_worker: str,
        links: Links,
        store: Store,
        accept: AcceptMessage,
        *,
        own_labels: Sequence[str] = (),
    ) -> None:
        """`own_worker`: empty where this process has no sessions."""
        self._own_labels = own_labels
        self._gateway = gateway
        self._own = own_worker
        self._links = links
        self._store = store
        self._accept = accept
        self._numbers = count(1)
        self._names: dict[Connection, str] = {}
        self._by_name: dict[str, Connection] = {}
        self._touched: dict[Connection, set[str]] = {}
        self._asked: dict[tuple[str, str], _Asked] = {}
        self._attachments: dict[tuple[str, str], Attachment] = {}
        self._followers: dict[Connection, set[str]] = {}
        """Who follows the whole, and which workers know of it."""
        self._last_number: dict[str, int] = {}
        self._terminals: dict[str, str] = {}
        """Workers of those that somebody typed into."""
        self._told = self._links.workers
        self._given = Counter[str]()
        """What each worker was given since it was told of."""
        self._changed = asyncio.Event()
        self._catching_up: asyncio.Task[None] | None = None
        self.is_remote: Callable[[Connection], bool] = lambda _connection: False
        """Whether a connection is a gateway's, of which nothing is passed on again."""
        self.dismiss: Callable[[str], None] = lambda _caller: None
        """Ends the connections of a token that was revoked elsewhere."""
        self.check_sending: CheckSending = _everybody_may
        """Raises for who may not send to a session: what is accepted is theirs to send."""

    @property
    def running(self) -> int:
        return sum(sign.running for worker, sign in self._links.workers.items() if worker != self._own)

    def start(self) -> None:
        self._catching_up = asyncio.create_task(self._catch_up(), name="team catching up")

    async def close(self) -> None:
        if self._catching_up is not None:
            self._catching_up.cancel()
            await asyncio.gather(self._catching_up, return_exceptions=True)

    # Ops

    async def answer(self, connection: Connection, op: Op) -> bool:
        if self.is_remote(connection):
            return False
        if isinstance(op, DaemonFollow):
            self._follow(connection, on=op.on)
            return False
        if isinstance(op, AsksList) and not op.session:
            told = await self._all_asks(connection, op)
            if told is not None:
                connection.reply(op, told)
            return told is not None
        target = await self._target(op)
        if target is None:
            return False
        if (known := await self._told_by_store(connection, op, target)) is not None:
            connection.reply(op, known)
            if isinstance(op, SessionAttach) and isinstance(known, Attached):
                self._follow_from_store(connection, op, known)
            return True
        told = await self._ask(connection, op, target, passed_on=True)
        if isinstance(told, Failed):
            if self._may_be_here(target, told):
                return False
            raise OpenAgentError(**msgspec.structs.asdict(told.error))
        return True

    async def perform(self, connection: Connection, op: Op) -> Struct | None:
        if self.is_remote(connection):
            return None
        if isinstance(op, AsksList) and not op.session:
            return await self._all_asks(connection, op)
        target = await self._target(op)
        if target is None:
            return None
        if (known := await self._told_by_store(connection, op, target)) is not None:
            return known
        told = await self._ask(connection, op, target, passed_on=False)
        if isinstance(told, Failed):
            if self._may_be_here(target, told):
                return None
            raise OpenAgentError(**msgspec.structs.asdict(told.error))
        return cast("Struct", msgspec.convert(told.result, type(op).result()))

    def _may_be_here(self, asked: "Whereabouts | str | list[str]", told: Failed) -> bool:
        """No other worker knows this terminal."""
        return isinstance(asked, list) and bool(self._own) and told.error.code == "not_found"

    def left(self, connection: Connection) -> None:
        name = self._names.pop(connection, "")
        if not name:
            return
        del self._by_name[name]
        self._followers.pop(connection, None)
        for key in [key for key in self._attachments if key[0] == name]:
            del self._attachments[key]
        for worker in self._touched.pop(connection, ()):
            self._links.send(ops_of(worker), {"g": self._gateway, "c": name, "k": "left"})

    def dismissed(self, caller: str) -> None:
        self._links.tell_gateways({"k": "dismissed", "c": caller, "g": self._gateway})

    async def _target(self, op: Op) -> "Whereabouts | str | list[str] | None":
        """Where its session is, or a worker; None: it is for this process."""
        named = dict[str, str]()
        for kind, value in op_subjects.named(op):
            named.setdefault(kind, value)
        session = named.get("session", "")
        if not session and "terminal" in named:
            return await self._worker_of_terminal(named["terminal"])
        if session:
            try:
                where = await self._store.whereabouts(session)
            except OpenAgentError as problem:
                if problem.info.code != "not_found":
                    raise
                return None  # here it is said in the words that fit the caller
            may_have = (
                where.holder == self._own if where.holder else serves(self._own_labels, where.info.settings.label)
            )
            is_own = bool(self._own) and may_have
            return None if is_own and not (isinstance(op, MessageSend) and not where.holder) else where
        if isinstance(op, FOR_WORKERS) and not self._own:
            return await self._some_worker()
        return None

    async def _ask(
        self, connection: Connection, op: Op, target: "Whereabouts | str | list[str]", *, passed_on: bool
    ) -> Reply | Failed:
        if isinstance(op, MessageSend) and isinstance(target, Whereabouts):
            if self._takes_beside(target):
                with suppress(_Unanswered):  # whether it was said is found out before it is said
                    return await self._ask_worker(connection, op, target.holder, passed_on=passed_on)
            return await self._send(connection, op, target, passed_on=passed_on)
        if isinstance(target, list):
            return await self._ask_in_turn(connection, op, target, passed_on=passed_on)
        worker = await self._worker_for(target)
        told = await self._ask_worker(connection, op, worker, passed_on=passed_on)
        while isinstance(told, Failed) and told.error.code in _NOT_HERE and isinstance(target, Whereabouts):
            # Somebody else may have been asked for the same session at the same time, and has it now; or this one ends.
            target = await self._store.whereabouts(target.session)
            others = [each for each in self._serving(target.info.settings.label) if each != worker]
            if target.holder == worker or (not target.holder and (told.error.code == "conflict" or not others)):
                break
            worker = await self._worker_for(target) if target.holder else _same_for_all(target.session, others)
            told = await self._ask_worker(connection, op, worker, passed_on=passed_on)
        if isinstance(told, Reply):
            await self._note(connection, op)
        return told

    def _takes_beside(self, where: Whereabouts) -> bool:
        """Its worker runs a turn, and takes the message beside it or puts it behind it."""
        is_busy = where.info.status not in AT_REST
        return is_busy and self._links.is_up and where.holder in self._links.workers

    async def _ask_worker(self, connection: Connection, op: Op, worker: str, *, passed_on: bool) -> Reply | Failed:
        name = self._name(connection)
        asked = self._asked[name, op.id] = _Asked(op, worker, passed_on=passed_on)
        self._send_op(connection, worker, op)
        try:
            async with asyncio.timeout(None if _takes_long(op) else ANSWERED_WITHIN):
                return await asked.answer
        except TimeoutError:
            raise _Unanswered("The worker that has this session does not answer.") from None
        finally:
            self._asked.pop((name, op.id), None)

    def _send_op(self, connection: Connection, worker: str, op: Op) -> None:
        self._touched.setdefault(connection, set()).add(worker)
        who = Who(connection.caller, connection.name, connection.interactive)
        fields = {"g": self._gateway, "c": self._name(connection), "b": encode_op(op), "w": msgspec.json.encode(who)}
        self._links.send(ops_of(worker), {**fields, "k": "op"})

    async def _send(
        self, connection: Connection, op: MessageSend, where: Whereabouts, *, passed_on: bool
    ) -> Reply | Failed:
        """Accepted when the job is committed. Which turn answers it is told if a worker says so soon."""
        await self.check_sending(connection.caller, op, where.info)
        name = self._name(connection)
        asked = self._asked[name, op.id] = _Asked(op, "", passed_on=passed_on)
        job = 0
        try:
            job = await self._accept(op, connection, where, name)
            if self._links.is_up:
                async with asyncio.timeout(SAID_WITHIN):
                    return await asked.answer
        except TimeoutError:
            pass
        finally:
            self._asked.pop((name, op.id), None)
        told = Reply(op_id=op.id, at=time.time(), result=Sent(session=where.session, queued=f"job-{job}"))
        if passed_on:
            connection.tell(told)
        return msgspec.structs.replace(told, result=msgspec.to_builtins(told.result))

    async def _note(self, connection: Connection, op: Op) -> None:
        if isinstance(op, SessionDetach):
            where = await self._store.whereabouts(op.session)
            self._attachments.pop((self._name(connection), where.session), None)

    async def _worker_of_terminal(self, terminal: str) -> "str | list[str] | None":
        """Only the worker that has it knows it: until one has answered, all are asked. None: this process may."""
        if (known := self._terminals.get(terminal, "")) in self._links.workers:
            return known
        others = [each for each in self._links.workers if each != self._own]
        return others or None

    async def _ask_in_turn(
        self, connection: Connection, op: Op, workers: list[str], *, passed_on: bool
    ) -> Reply | Failed:
        told: Reply | Failed | None = None
        for worker in workers:
            told = await self._ask_worker(connection, op, worker, passed_on=passed_on)
            if isinstance(told, Reply):
                self._terminals[dict(op_subjects.named(op))["terminal"]] = worker
            if isinstance(told, Reply) or told.error.code != "not_found":
                break
        assert told is not None
        return told

    async def _all_asks(self, connection: Connection, op: AsksList) -> PendingAsks | None:
        """Of every worker; None where this process is the only one."""
        workers = list(self._links.workers)  # this process too, by the same way
        if self._own and workers in ([], [self._own]):
            return None
        asking = (self._ask_for_asks(connection, op, worker) for worker in workers)
        told = await asyncio.gather(*asking, return_exceptions=True)  # one that is lost has nobody waiting
        answers = [msgspec.convert(each.result, PendingAsks) for each in told if isinstance(each, Reply)]
        asks = sorted((ask for answer in answers for ask in answer.asks), key=lambda ask: ask.at)
        lapsed = {ask.id: ask for answer in answers for ask in answer.lapsed}
        return PendingAsks(asks, sorted(lapsed.values(), key=lambda ask: ask.lapsed_at or 0.0))

    async def _ask_for_asks(self, connection: Connection, op: AsksList, worker: str) -> Reply | Failed:
        own = msgspec.structs.replace(op, id=self._own_id("asks"))
        return await self._ask_worker(connection, own, worker, passed_on=False)

    # Without Redis

    async def _told_by_store(
        self, connection: Connection, op: Op, target: "Whereabouts | str | list[str]"
    ) -> SessionInfo | MessagePage | Attached | None:
        """What has been said can be read when no worker can be asked. None: one has to be."""
        if self._links.is_up or not isinstance(target, Whereabouts) or not await _may_read(connection, target.info):
            return None
        if isinstance(op, SessionGet):
            return target.info
        if isinstance(op, MessagesPage):
            return await page_of(self._store, msgspec.structs.replace(op, session=target.session))
        if isinstance(op, SessionAttach):
            if op.after is not None and op.after <= target.info.seq:
                return Attached(target.session, target.info.seq)
            snapshot = await snapshot_of(self._store, target.session, op.messages)
            return Attached(target.session, snapshot.seq, snapshot) if snapshot is not None else None
        return None

    def _follow_from_store(self, connection: Connection, op: SessionAttach, told: Attached) -> None:
        seen = told.seq if told.snapshot is not None or op.after is None else op.after
        self._attachments[self._name(connection), told.session] = Attachment(connection, told.session, "", seen)
        self._changed.set()

    # Which worker

    async def _worker_for(self, target: "Whereabouts | str") -> str:
        if isinstance(target, str):
            return target
        if target.holder:
            if target.holder not in self._links.workers:
                await self._wait_for(lambda: target.holder in self._links.workers)
            if target.holder not in self._links.workers:
                raise _unreachable(self._links.is_up)
            return target.holder
        label = target.info.settings.label
        # Where others live, one that is there is known by the second look.
        within = 2 * SIGN_EVERY if label and self._links.workers else WORKER_WITHIN
        await self._wait_for(lambda: bool(self._serving(label)), within)
        if not (found := self._serving(label)):
            raise _unreachable(self._links.is_up, label)
        return _same_for_all(target.session, found)

    def _serving(self, label: str) -> list[str]:
        """Workers that take something new; where all of them are about to end, all."""
        found = {name: sign for name, sign in self._links.workers.items() if sign.serves(label)}
        return [name for name, sign in found.items() if not sign.draining] or list(found)

    async def _some_worker(self) -> str:
        """Any of those with the fewest turns. What each runs is told now and then only, so that what was given to it
        since counts as well: else all that comes between two looks goes to one of them."""
        await self._wait_for(lambda: bool(self._links.workers))
        if not self._links.workers:
            raise _unreachable(self._links.is_up)
        if self._told is not self._links.workers:
            self._told, self._given = self._links.workers, Counter[str]()
        among = self._serving("") or list(self._told)
        chosen = min(among, key=lambda each: (self._told[each].running + self._given[each], random()))  # noqa: S311
        self._given[chosen] += 1
        return chosen

    async def _wait_for(self, is_there: Callable[[], bool], within: float = WORKER_WITHIN) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while not is_there():
                    await self._links.next_look()

    def _name(self, connection: Connection) -> str:
        if (name := self._names.get(connection)) is None:
            name = self._names[connection] = str(next(self._numbers))
            self._by_name[name] = connection
        return name

    # What workers say

    def hear(self, entry: Entry) -> None:
        if entry.get(b"k") == b"dismissed":
            if entry.get(b"g") != self._gateway.encode():  # its own clients it dismissed itself
                self.dismiss(entry[b"c"].decode())
            return
        worker, number = entry[b"w"].decode(), int(entry[b"n"])
        expected = self._last_number.get(worker, number - 1) + 1
        self._last_number[worker] = number
        if number != expected:
            self._unfollow(worker)
        body = entry[b"b"]
        head = read_head(body)
        for name in entry[b"t"].decode().split(","):
            if (connection := self._by_name.get(name)) is not None:
                self._pass_on(connection, name, worker, head, body)

    def _pass_on(self, connection: Connection, name: str, worker: str, head: Head, body: bytes) -> None:
        if head.type in ("reply", "failed") and head.op_id:
            self._answered(connection, name, head, body)
            return
        if head.type == "metrics":
            return
        followed = self._attachments.get((name, head.session))
        if followed is not None:
            if followed.worker != worker or followed.joining:
                return  # the store tells it, or has told it
            if head.type in DURABLE:
                if head.seq <= followed.seq:
                    return
                if head.seq > followed.seq + 1:
                    self._lose(followed)
                    return
                followed.seq = head.seq
        connection.send(body)
        connection.flush()

    def _answered(self, connection: Connection, name: str, head: Head, body: bytes) -> None:
        asked = self._asked.get((name, head.op_id))
        if asked is None or asked.answer.done():
            return
        told = msgspec.json.decode(body, type=Reply | Failed)
        if asked.passed_on and isinstance(told, Reply):
            connection.send(body)
            connection.flush()
        if asked.rejoining is not None:
            del self._asked[name, head.op_id]
        self._attached(connection, name, asked, told)
        asked.answer.set_result(told)

    # Clients that follow a session

    def _attached(self, connection: Connection, name: str, asked: _Asked, told: Reply | Failed) -> None:
        """At once: what follows the answer in the stream is told, or not, by what is noted here."""
        op = asked.op
        if (again := asked.rejoining) is not None:
            again.joining = 0.0
            if isinstance(told, Failed) and told.error.code in _NOT_FOR_THEM:
                self._cut_off(again, told.error)
            elif isinstance(told, Failed):
                self._lose(again)
            elif msgspec.convert(told.result, Attached).snapshot is not None:
                reason = ErrorInfo("slow_client", "Too much was missed to be told one by one.", hint="Attach again.")
                self._cut_off(again, reason)
        elif isinstance(op, SessionAttach) and isinstance(told, Reply):
            attached = msgspec.convert(told.result, Attached)
            missed = attached.snapshot is None and op.after is not None
            seq = op.after if missed and op.after is not None else attached.seq
            self._attachments[name, attached.session] = Attachment(connection, attached.session, asked.worker, seq)

    def _lose(self, followed: Attachment) -> None:
        followed.worker, followed.joining = "", 0.0
        self._changed.set()

    def _unfollow(self, worker: str) -> None:
        """Something that it said did not come."""
        for followed in self._attachments.values():
            if followed.worker == worker:
                self._lose(followed)

    def lost(self) -> None:
        """Redis was not there for a while."""
        for followed in self._attachments.values():
            self._lose(followed)
        for told in self._followers.values():
            told.clear()
        for asked in list(self._asked.values()):
            if asked.worker and not asked.answer.done() and asked.rejoining is None:
                asked.answer.set_exception(_Unanswered("Redis went away before the answer came."))

    def _follow(self, connection: Connection, *, on: bool) -> None:
        if on:
            self._name(connection)
            self._followers.setdefault(connection, set())
            self._tell_followers()
        elif (told := self._followers.pop(connection, None)) is not None:
            for worker in told:
                self._send_op(connection, worker, DaemonFollow(id=self._own_id("unfollow"), on=False))

    def _tell_followers(self) -> None:
        for connection, told in self._followers.items():
            for worker in [each for each in self._links.workers if each not in told and each != self._own]:
                told.add(worker)
                self._send_op(connection, worker, DaemonFollow(id=self._own_id("follow")))

    def _own_id(self, what: str) -> str:
        return f"{OWN_OP}{what}-{next(self._numbers)}"

    async def looked(self) -> None:
        """After every look at who lives."""
        if not self._links.is_up:
            self._changed.set()
            return
        workers = self._links.workers
        for asked in list(self._asked.values()):
            if asked.worker and asked.worker not in workers and not asked.answer.done() and asked.rejoining is None:
                asked.answer.set_exception(_Unanswered("The worker that has this session was lost."))
        for followed in self._attachments.values():
            if followed.worker and followed.worker not in workers:
                self._lose(followed)
        await self._leave_those_that_end()
        self._terminals = {each: worker for each, worker in self._terminals.items() if worker in workers}
        for told in self._followers.values():
            told.intersection_update(workers)
        self._tell_followers()

    async def _leave_those_that_end(self) -> None:
        """A worker that lets its turns end gives its other sessions away, and says nothing more of them."""
        ending = {worker for worker, sign in self._links.workers.items() if sign.draining}
        for followed in [each for each in self._attachments.values() if each.worker in ending and not each.joining]:
            with suppress(OpenAgentError):  # deleted, or the database is away: the next look tells
                where = await self._store.whereabouts(followed.session)
                if where.holder != followed.worker:
                    self._lose(followed)

    async def _catch_up(self) -> None:
        while True:
            behind = [each for each in self._attachments.values() if not each.worker or each.joining]
            try:
                async with asyncio.timeout(1.0 if behind else None):
                    await self._changed.wait()
            except TimeoutError:
                pass
            self._changed.clear()
            for followed in [each for each in self._attachments.values() if not each.worker or each.joining]:
                try:
                    await self._catch_one_up(followed)
                except OpenAgentError as problem:
                    _log.warning(
                        "client could not be attached to a remote session, retrying",
                        extra={"session": followed.session, "reason": str(problem)},
                    )
                except Exception:  # the supervisor: one client that cannot be served takes no other with it
                    _log.exception("sending missed events to a client failed")

    async def _catch_one_up(self, followed: Attachment) -> None:
        if followed.joining > time.monotonic():
            return
        followed.worker, followed.joining = "", 0.0
        name = self._names.get(followed.connection, "")
        self._asked.pop((name, followed.asked_as), None)
        for event in await self._store.events(followed.session, after=followed.seq, limit=_MISSED_AT_ONCE):
            followed.connection.send(encode_event(event))
            followed.seq = event.seq
        followed.connection.flush()
        if not self._links.is_up or not self._links.workers:
            return
        where = await self._store.whereabouts(followed.session)
        found = [where.holder] if where.holder else self._serving(where.info.settings.label)
        if not found:
            return
        worker = _same_for_all(where.session, found)
        if worker not in self._links.workers or self._attachments.get((name, followed.session)) is not followed:
            return
        followed.worker, followed.joining = worker, time.monotonic() + ANSWERED_WITHIN
        op = SessionAttach(id=self._own_id("again"), session=followed.session, after=followed.seq)
        followed.asked_as = op.id
        self._asked[name, op.id] = _Asked(op, worker, passed_on=False, rejoining=followed)
        self._send_op(followed.connection, worker, op)

    def _cut_off(self, followed: Attachment, reason: ErrorInfo) -> None:
        followed.connection.tell(ConnectionClosing(at=time.time(), error=reason))
        followed.connection.hang_up()


def _takes_long(op: Op) -> bool:
    return type(op).waits or (isinstance(op, SessionCreate) and bool(op.repository))


async def _may_read(connection: Connection, info: SessionInfo) -> bool:
    """Whose own it is, or their team's. Who was let in as a guest waits: the worker knows them."""
    within = await connection.within()
    return (within is None or within.holds(info)) and await connection.is_welcome()


def _same_for_all(session: str, workers: list[str]) -> str:
    """The worker that every gateway would choose for it."""
    return max(workers, key=lambda worker: blake2b(f"{session}/{worker}".encode(), digest_size=8).digest())


def _unreachable(redis_is_up: bool, label: str = "") -> OpenAgentError:
    if not redis_is_up:
        return OpenAgentError(
            "store_unavailable",
            "Redis is not there, and the workers are asked through it.",
            hint="Messages are still taken, and what is said is kept. Try again when it is back.",
        )
    if label:
        return OpenAgentError(
            "busy",
            f"No worker with the label {label!r} is there, and this session runs on no other.",
            hint="Messages are taken and wait for one: "
            f"`OPENAGENT_TEAM_LABELS={label} openagent serve --role worker` starts it.",
        )
    return OpenAgentError(
        "busy",
        "No worker can be asked: the one that had the session was lost, or there is none.",
        hint="Another takes over within half a minute. `openagent serve --role worker` starts one.",
    )
