"""The daemon: what every gateway talks to. Ops come in, replies and events go out."""

import asyncio
import logging
import os
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar, cast

import msgspec
from msgspec import Struct

from openagent import __version__
from openagent.core.asks import QuestionReply, lapsed_asks, pending_asks
from openagent.core.audit import Actor, acting, entry
from openagent.core.secret_files import without_secrets
from openagent.daemon.bus import EventBus
from openagent.daemon.callers import Caller
from openagent.daemon.connection import Connection
from openagent.daemon.folders import gone, no_folder
from openagent.daemon.live_metrics import LiveMetrics, rss_bytes
from openagent.daemon.op_audit import OpAudit
from openagent.daemon.presence import Presence
from openagent.daemon.reach_interface import Reach
from openagent.daemon.sessions_in_use import in_use
from openagent.daemon.settings_version import settings_version
from openagent.daemon.still_welcome import StillWelcome
from openagent.plugins.jail import Jail, OutsideJail
from openagent.plugins.tenant import Tenant
from openagent.protocol import bounds
from openagent.protocol.configuration import ConfigList, ConfigShow, ConfigValue
from openagent.protocol.conversation import (
    AskAgain,
    AsksList,
    Cancelled,
    MessagePage,
    MessageRaw,
    MessageSend,
    MessagesPage,
    PendingAsks,
    PermissionAnswer,
    QuestionAnswer,
    RawExchange,
    Sent,
    TurnCancel,
    TurnRetry,
)
from openagent.protocol.daemon import DaemonFollow, DaemonInfo, DaemonStatus, DaemonStop, Hello, Ping, Welcome
from openagent.protocol.errors import ErrorInfo, OpenAgentError
from openagent.protocol.events import ConnectionClosing, Event, LiveState, TurnWaiting
from openagent.protocol.messages import Message, TextPart, UserPart
from openagent.protocol.op import Done, Handled, Op
from openagent.protocol.sessions import (
    Attached,
    ImportedSession,
    Mode,
    SessionAttach,
    SessionCreate,
    SessionDelete,
    SessionDetach,
    SessionFork,
    SessionGet,
    SessionImport,
    SessionInfo,
    SessionList,
    SessionPage,
    SessionUpdate,
    Snapshot,
)
from openagent.protocol.tools import ToolRan, ToolRun
from openagent.protocol.undo import Changes, Rewound, SessionChanges, SessionRedo, SessionUndo
from openagent.protocol.usage import SessionUsage
from openagent.protocol.version import PROTOCOL_MAJOR, PROTOCOL_VERSION
from openagent.protocol.words import ask_again

if TYPE_CHECKING:
    from openagent.core.session import Session
    from openagent.daemon.elsewhere import Elsewhere
    from openagent.daemon.manager import SessionManager

Handler: TypeAlias = "Handled[Connection]"
R = TypeVar("R", bound=Struct)
LOOKED_AT = 200
"""Of sessions, the newest, for what nobody answered in them."""
REPLAY_LIMIT = 2000
"""A client that missed more events than this gets a snapshot instead."""
STOP_GRACE = 10.0
STORED_WITHIN = 20.0
"""Seconds that one of many waits for the database before it says that a message is not taken."""
ATTACH_PATIENCE = 10.0
"""Seconds that reading what a client is to be shown may take."""
_log = logging.getLogger(__name__)


class Place(Struct, frozen=True):
    """Where this daemon lives, as far as clients are told."""

    socket: str
    home: str
    web_url: str = ""


class Behind(NamedTuple):
    """What is loaded behind the open socket."""

    handlers: Sequence[Handler]
    """Of the ops that features answer, which the daemon does not know."""
    manager: "SessionManager"
    reach: Reach
    show_config: Callable[[str, dict[str, str]], ConfigList]
    elsewhere: "Elsewhere | None" = None
    """Where several daemons work as one: who has the sessions that this one has not."""


def _by_op(handlers: Iterable[Handler]) -> dict[type[Op], Handler]:
    return {each.op: each for each in handlers}


def message_parts(text: str, parts: Sequence[UserPart]) -> list[UserPart]:
    whole: list[UserPart] = [TextPart(text), *parts] if text else list(parts)
    if not any(not isinstance(part, TextPart) or part.text.strip() for part in whole):
        raise OpenAgentError("invalid_argument", "The message is empty.", hint="Say what you want done.")
    return whole


def _actor(connection: Connection, op: Op) -> Actor:
    caller = connection.caller
    return Actor(connection.name, caller.name, caller.address, type(op).tag, caller.person)


class Daemon:
    def __init__(self, place: Place) -> None:
        self.place = place
        self._op_audit = OpAudit()
        self.bus = EventBus()
        self._presence = Presence(self.bus)
        self.connections: set[Connection] = set()
        self._still_welcome = StillWelcome(
            self.connections, self.bus, dismiss=self.dismiss, dismiss_here=self.dismiss_here
        )
        self.stopping = asyncio.Event()
        """Set once, by an op or a signal. Whoever comes later is refused, so that nothing new starts between the saving
        of the last turn and the end of the process."""
        self.drain: Callable[[], Awaitable[None]] | None = None
        """What is awaited before that when a signal says so: one of many lets its turns end, and takes no others."""
        self._draining: asyncio.Task[None] | None = None
        self.is_one_of_many = False
        """What it has acknowledged, others go on with when it is lost: so it must be stored."""
        self._updating = asyncio.Lock()
        """Held from comparing the settings a client has seen with those there are to changing them. Without it, of two
        clients that saw the same settings the second would undo the first one's change unawares."""
        self.started_at = time.time()
        self._started = time.monotonic()
        self._ready: asyncio.Future[Behind] = asyncio.get_running_loop().create_future()
        self._metrics: asyncio.Task[None] | None = None
        self._handlers = _by_op(
            [
                Hello.handled_by(self._hello),
                Ping.handled_by(self._ping),
                SessionCreate.handled_by(self._session_create),
                SessionList.handled_by(self._session_list),
                SessionGet.handled_by(self._session_get),
                AsksList.handled_by(self._asks_list),
                AskAgain.handled_by(self._ask_again),
                SessionDetach.handled_by(self._session_detach),
                SessionUpdate.handled_by(self._session_update),
                SessionDelete.handled_by(self._session_delete),
                SessionFork.handled_by(self._session_fork),
                SessionImport.handled_by(self._session_import),
                MessageSend.handled_by(self._message_send),
                TurnCancel.handled_by(self._turn_cancel),
                TurnRetry.handled_by(self._turn_retry),
                SessionUndo.handled_by(self._session_undo),
                SessionRedo.handled_by(self._session_redo),
                SessionChanges.handled_by(self._session_changes),
                MessagesPage.handled_by(self._messages_page),
                MessageRaw.handled_by(self._message_raw),
                PermissionAnswer.handled_by(self._permission_answer),
                QuestionAnswer.handled_by(self._question_answer),
                ToolRun.handled_by(self._tool_run),
                ConfigShow.handled_by(self._config_show),
                DaemonStatus.handled_by(self._status),
                DaemonFollow.handled_by(self._follow),
                DaemonStop.handled_by(self._stop),
            ]
        )

    # Lifecycle

    def ready(self, behind: "Behind") -> None:
        """Heavy parts load after the sockets are open; ops that came meanwhile go on from here."""
        self._handlers |= _by_op(behind.handlers)
        self._still_welcome.ready(behind.reach)
        self._ready.set_result(behind)

    def failed(self, problem: BaseException) -> None:
        self._ready.set_exception(problem)

    @property
    def failure(self) -> BaseException | None:
        """Why it could not be loaded."""
        return self._ready.exception() if self._ready.done() and not self._ready.cancelled() else None

    def stop_when_drained(self) -> None:
        """A second time: at once."""
        if self.drain is None or self._draining is not None:
            self.stopping.set()
        else:
            self._draining = asyncio.create_task(self._drain(self.drain))

    async def _drain(self, drain: Callable[[], Awaitable[None]]) -> None:
        try:
            await drain()
        finally:
            self.stopping.set()

    async def close(self) -> None:
        """Running turns are cancelled and saved."""
        self._still_welcome.close()
        if self._metrics is not None:
            self._metrics.cancel()
        if self._is_ready:
            try:
                async with asyncio.timeout(STOP_GRACE):
                    await self._ready.result().manager.close()
            except TimeoutError:
                _log.error("some turns did not end before the stop timeout; the next start recovers them")
        goodbye = ErrorInfo("shutting_down", "The daemon is stopping.", hint="It starts again with the next command.")
        for connection in list(self.connections):
            connection.tell(ConnectionClosing(at=time.time(), error=goodbye))

    def came(self, connection: Connection) -> None:
        self.connections.add(connection)
        self._still_welcome.came(connection)

    async def look_who_hears(self, session: str) -> None:
        """It is shared with fewer people by now: whoever is not meant any more hears no more."""
        await self._still_welcome.look_at(session)

    def dismiss(self, caller: str) -> None:
        """Whoever is connected on this token's strength, or as this person, hears no more."""
        self.dismiss_here(caller)
        if self._is_ready and (elsewhere := self._ready.result().elsewhere) is not None:
            elsewhere.dismissed(caller)

    def dismiss_here(self, caller: str) -> None:
        reason = ErrorInfo("unauthorized", "The login has ended, or what it allows has changed.", recoverable=False)
        for connection in [each for each in self.connections if caller in (each.caller.id, each.caller.person)]:
            connection.tell(ConnectionClosing(at=time.time(), error=reason))
            connection.hang_up()

    def forget(self, connection: Connection) -> None:
        left = self.bus.sessions_of(connection)
        self.bus.leave(connection)
        self.connections.discard(connection)
        if self._is_ready:
            for session in left:
                self._presence.look(self._ready.result().manager, session)
        if self._is_ready and (elsewhere := self._ready.result().elsewhere) is not None:
            elsewhere.left(connection)

    # Ops

    async def answer(self, connection: Connection, op: Op) -> None:
        elsewhere = await self._elsewhere(op)
        if elsewhere is not None:
            connection.caller.check(op)
            bounds.check(op)
            if await elsewhere.answer(connection, op):
                return
        if isinstance(op, SessionAttach):
            connection.caller.check(op)
            with in_use():
                await self._check_reach(connection, op)
                await self._attach(connection, op)
        else:
            connection.reply(op, await self._perform(connection, op))

    async def perform(self, connection: Connection, op: Op[R]) -> R:
        elsewhere = await self._elsewhere(op)
        if elsewhere is not None:
            connection.caller.check(op)
            bounds.check(op)
            if (told := await elsewhere.perform(connection, op)) is not None:
                return cast("R", told)
        return await self._perform(connection, op)

    async def _elsewhere(self, op: Op) -> "Elsewhere | None":
        if isinstance(op, Hello | Ping):
            return None
        if not self._is_ready:
            await self._manager()
        return self._ready.result().elsewhere

    async def _perform(self, connection: Connection, op: Op[R]) -> R:
        connection.caller.check(op)
        bounds.check(op)
        if type(op) not in self._handlers:
            await self._manager()
        with in_use(), acting(_actor(connection, op)):
            await self._check_reach(connection, op)
            if not type(op).changes or type(op).tells:
                result = await self._handlers[type(op)].carry_out(connection, op)
            else:
                result = await self._perform_and_tell(connection, op)
        return cast("R", result)

    async def _perform_and_tell(self, connection: Connection, op: Op) -> Struct:
        manager = await self._manager()
        try:
            result = await self._handlers[type(op)].carry_out(connection, op)
        except Exception as problem:
            await self._op_audit.tell(manager, op, problem)
            raise
        await self._op_audit.tell(manager, op, None)
        return result

    async def _check_reach(self, connection: Connection, op: Op) -> None:
        if isinstance(op, Hello | Ping):
            return
        if not self._is_ready:
            await self._manager()
        await self._ready.result().reach.check(connection.caller, op)

    async def within(self, caller: Caller) -> Tenant | None:
        return await self._ready.result().reach.within(caller)

    async def is_welcome(self, caller: Caller) -> bool:
        return await self._ready.result().reach.is_welcome(caller) if self._is_ready else True

    def most(self, caller: Caller, workspace: Path) -> Mode:
        return self._ready.result().reach.most(caller, workspace)

    async def tell_login(self, caller: Caller, what: str) -> None:
        """A browser comes in or goes, which is no op."""
        with acting(Actor("web", caller.name, caller.address, person=caller.person)):
            await self._op_audit.write(await self._manager(), entry("login", what, token=caller.id))

    @property
    def _is_ready(self) -> bool:
        return self._ready.done() and self._ready.exception() is None

    async def _manager(self) -> "SessionManager":
        if self.stopping.is_set():
            raise OpenAgentError("shutting_down", "The daemon is stopping.", hint="Try again in a moment.")
        return (await asyncio.shield(self._ready)).manager

    async def _hello(self, connection: Connection, op: Hello) -> Welcome:
        theirs = op.protocol.split(".")[0]
        if theirs != str(PROTOCOL_MAJOR):
            raise OpenAgentError(
                "version_mismatch",
                f"This client speaks protocol {op.protocol}, the daemon {PROTOCOL_VERSION}.",
                hint="Update the older of the two, then run `openagent stop` so that a new daemon starts.",
                recoverable=False,
            )
        connection.greeted = True
        connection.name = op.client or connection.name
        connection.interactive = op.interactive and connection.caller.may("approve")
        # Where requests go and with whose key is not for everybody to say.
        connection.env = op.env if connection.caller.may("admin") else {}
        return Welcome(protocol=PROTOCOL_VERSION, version=__version__, pid=os.getpid())

    async def _ping(self, connection: Connection, op: Ping) -> Done:
        return Done()

    async def _session_create(self, connection: Connection, op: SessionCreate) -> SessionInfo:
        manager = await self._manager()
        if op.parent:
            parent = (await manager.get(op.parent)).info
            await manager.check_settings(op.settings, Path(op.cwd), connection.env, parent)
        most = self.most(connection.caller, Path(op.cwd))
        session = await manager.begin(op, connection.env, most=most)
        session.env = connection.env
        return manager.told(session.info, connection.env)

    async def _session_list(self, connection: Connection, op: SessionList) -> SessionPage:
        manager = await self._manager()
        found = await manager.list(op, await connection.within())
        sessions = await manager.told_whole(found, connection.env)
        following = sessions[-1].updated_at if len(sessions) == op.limit else None
        apart = op.brought is False and not op.archived and op.before is None
        theirs = await manager.runtime.store.brought(op.cwd, await connection.within()) if apart else {}
        return SessionPage(sessions, next=following, brought=theirs)

    async def _session_get(self, connection: Connection, op: SessionGet) -> SessionInfo:
        manager = await self._manager()
        return (await manager.told_whole([(await manager.get(op.session)).info], connection.env))[0]

    async def _attach(self, connection: Connection, op: SessionAttach) -> None:
        manager = await self._manager()
        session = await manager.get(op.session)
        async with session.recorder.lock:
            missed, snapshot = await self._what_was_missed(connection, session, op)
            connection.reply(op, Attached(session=session.id, seq=session.info.seq, snapshot=snapshot))
            for event in missed or ():
                connection.tell(event)
            if missed is not None and session.recorder.draft is not None:
                live = session.recorder.draft.so_far()
                connection.tell(LiveState(session=session.id, seq=session.info.seq, at=time.time(), live=live))
            self.bus.attach(session.id, connection)
            self._tell_place(connection, session)
        self._presence.look(manager, session.id)

    def _tell_place(self, connection: Connection, session: "Session") -> None:
        """Its own answer leaves it out, since it is no part of what was recorded."""
        admission = session.runtime.admission
        if place := admission.place(session.id):
            load = admission.load()
            limit = admission.limit(session.id)
            told = TurnWaiting(place=place, waiting=load.waiting, at_once=load.at_once or 0, limit=limit)
            connection.tell(msgspec.structs.replace(told, session=session.id, seq=session.info.seq, at=time.time()))

    async def _what_was_missed(
        self, connection: Connection, session: "Session", op: SessionAttach
    ) -> tuple[Sequence[Event] | None, Snapshot | None]:
        """Nothing of the session can be recorded meanwhile, so a store that does not answer is not waited for."""
        try:
            async with asyncio.timeout(ATTACH_PATIENCE):
                if op.after is not None and op.after <= session.info.seq:
                    missed = await session.recorder.outbox.events(after=op.after, limit=REPLAY_LIMIT + 1)
                    if len(missed) <= REPLAY_LIMIT:
                        return missed, None
                snapshot = await session.snapshot(op.messages)
                info = (await (await self._manager()).told_whole([snapshot.info], connection.env))[0]
                return None, msgspec.structs.replace(snapshot, info=info)
        except TimeoutError:
            raise OpenAgentError(
                "store_unavailable",
                f"The database did not answer for {ATTACH_PATIENCE:g} seconds.",
                hint="Check that its disk or its server is well, and attach again.",
            ) from None

    async def _session_detach(self, connection: Connection, op: SessionDetach) -> Done:
        manager = await self._manager()
        session = (await manager.get(op.session)).id
        self.bus.detach(session, connection)
        self._presence.look(manager, session)
        return Done()

    async def _session_update(self, connection: Connection, op: SessionUpdate) -> SessionInfo:
        manager = await self._manager()
        session = await manager.get(op.session)
        async with self._updating:
            if op.expected and op.expected != settings_version(session.info.settings):
                raise OpenAgentError(
                    "conflict", "The settings have changed since.", hint="Read them again, then change them."
                )
            await manager.update(session, op, connection.env)
        return manager.told(session.info, connection.env)

    async def _session_delete(self, connection: Connection, op: SessionDelete) -> Done:
        await (await self._manager()).delete(op.session, op.id)
        return Done()

    async def _session_fork(self, connection: Connection, op: SessionFork) -> SessionInfo:
        manager = await self._manager()
        source = (await manager.get(op.session)).info
        most = self.most(connection.caller, Path(op.cwd or source.cwd))
        fork = await manager.fork(op, connection.env, most=most)
        return manager.told(fork.info, connection.env)

    async def _session_import(self, connection: Connection, op: SessionImport) -> ImportedSession:
        manager = await self._manager()
        imported = await manager.bring(op, connection.env, most=self.most(connection.caller, Path(op.cwd)))
        if imported.was_here:
            await self._check_reach(connection, SessionGet(id=op.id, session=imported.info.id))
        return msgspec.structs.replace(imported, info=manager.told(imported.info, connection.env))

    async def _message_send(self, connection: Connection, op: MessageSend) -> Sent:
        parts = message_parts(op.text, op.parts)
        session = await self._workable(op.session)
        sent = await session.send(parts, op.id, connection.env, again=op.again)
        if self.is_one_of_many and not await session.recorder.outbox.settled(STORED_WITHIN):
            raise OpenAgentError(
                "store_unavailable",
                "The message is not stored yet, and would be lost with this worker.",
                hint="Send it again; it is not said twice.",
            )
        return sent

    async def _turn_retry(self, connection: Connection, op: TurnRetry) -> Sent:
        return await (await self._workable(op.session)).retry(op.id, connection.env)

    async def _workable(self, name: str) -> "Session":
        """Whose folder is there."""
        session = await (await self._manager()).get(name)
        if not await asyncio.to_thread(os.path.isdir, session.info.cwd):
            raise gone(session.info.cwd, session.id)
        return session

    async def _turn_cancel(self, connection: Connection, op: TurnCancel) -> Cancelled:
        session = await (await self._manager()).get(op.session)
        if op.call:
            return Cancelled(was_running=await session.stop_user_call(op.call))
        return Cancelled(was_running=await session.cancel(by=connection.name))

    async def _session_undo(self, connection: Connection, op: SessionUndo) -> Rewound:
        manager = await self._manager()
        session = await manager.get(op.session)
        others = [each for each in manager.all_loaded if each is not session and each.running]
        beside = [each.id for each in others if each.workspace == session.workspace]
        done = await session.undo.rewind(op)
        return msgspec.structs.replace(done, beside=beside)

    async def _session_redo(self, connection: Connection, op: SessionRedo) -> Rewound:
        return await (await (await self._manager()).get(op.session)).undo.unrewind(op.undo, op.id)

    async def _session_changes(self, connection: Connection, op: SessionChanges) -> Changes:
        session = await (await self._manager()).get(op.session)
        files = await session.undo.changes(op.turn, since=op.since)
        return Changes(without_secrets(files) if connection.caller.is_guest_in(session.info) else files)

    async def _messages_page(self, connection: Connection, op: MessagesPage) -> MessagePage:
        session = await (await self._manager()).get(op.session)
        limit = min(max(op.limit, 1), 1000)
        page = await session.recorder.outbox.messages(limit=limit + 1, before=op.before, after=op.after)
        has_more = len(page) > limit
        messages = page[:limit] if op.after is not None else page[-limit:]
        rewound = await session.undo.taken_back()
        return MessagePage(_marked(messages, rewound), has_more, rewound, await session.ends_of(messages))

    async def _message_raw(self, connection: Connection, op: MessageRaw) -> RawExchange:
        session = await (await self._manager()).get(op.session)
        return await session.runtime.store.raw(session.id, op.number)

    async def _asks_list(self, connection: Connection, op: AsksList) -> PendingAsks:
        manager = await self._manager()
        within = None if op.session else await connection.within()  # a guest was let into the one that is named
        if op.session:
            chosen = [await manager.get(op.session)]
        else:
            for info in await manager.list(SessionList(id=op.id, limit=LOOKED_AT), within):
                if info.status == "unanswered" and manager.loaded(info.id) is None:
                    with suppress(OpenAgentError):  # another daemon has it
                        await manager.get(info.id)
            chosen = manager.all_loaded
        shown = [each for each in chosen if within is None or within.holds(each.info)]
        return PendingAsks(pending_asks(shown), lapsed_asks(shown))

    async def _ask_again(self, connection: Connection, op: AskAgain) -> Sent:
        session = await (await self._manager()).get(op.session)
        lapsed = [each.what for each in session.asks.lapsed.values()]
        if not lapsed:
            raise OpenAgentError(
                "not_found",
                "Nothing is left to ask again: it was answered, or spoken of since.",
                hint="Send a message.",
            )
        if op.drop:
            await session.let_go(op.id)
            return Sent(session=session.id)
        return await self._message_send(connection, MessageSend(id=op.id, session=session.id, text=ask_again(lapsed)))

    async def _permission_answer(self, connection: Connection, op: PermissionAnswer) -> Done:
        if op.scope == "always" and op.decision == "allow" and not connection.interactive:
            raise OpenAgentError(
                "permission_denied",
                "Only a client with a person behind it can allow something always.",
                hint="Allow it once or for the session, or say `interactive` in hello.",
            )
        session = await (await self._manager()).get(op.session)
        session.asks.answer_permission(op, by=connection.name)
        session.lend(connection.env)
        await session.asks.recorded(op.ask)
        return Done()

    async def _question_answer(self, connection: Connection, op: QuestionAnswer) -> Done:
        reply = QuestionReply(op.answer, connection.name, op.id)
        session = await (await self._manager()).get(op.session)
        session.asks.answer_question(op.question, reply)
        session.lend(connection.env)
        await session.asks.recorded(op.question)
        return Done()

    async def _tool_run(self, connection: Connection, op: ToolRun) -> ToolRan:
        if op.call and not _OF_A_PERSON.fullmatch(op.call):  # a model's call has rights that a person's has not
            raise OpenAgentError(
                "invalid_argument", f"{op.call!r} cannot name a person's call.", hint="`user-` and 8 to 64 characters."
            )
        session = await (await self._manager()).get(op.session)
        outcome = await session.run_tool(op.tool, op.arguments, op.id, call_id=op.call, apart=op.apart)
        return ToolRan(outcome.text, outcome.is_error, outcome.display)

    async def _config_show(self, connection: Connection, op: ConfigShow) -> ConfigList:
        manager = await self._manager()
        if op.cwd and not await asyncio.to_thread(os.path.isdir, op.cwd):
            raise no_folder(op.cwd)
        shown = self._ready.result().show_config(op.cwd, connection.env)
        model = manager.runtime.answering("", connection.env, Path(op.cwd or self.place.home))
        # Where none is set, one answers all the same.
        values = [
            ConfigValue("model", model, "the first key found")
            if each.key == "model" and model and not each.value
            else each
            for each in shown.values
        ]
        return msgspec.structs.replace(shown, values=values)

    async def _status(self, connection: Connection, op: DaemonStatus) -> DaemonInfo:
        manager = await self._manager()
        store, within = manager.runtime.store, await connection.within()
        # What all sessions together are and cost tells of those that are others'.
        usage, sessions = SessionUsage(), 0
        if within is None:
            used, sessions = await store.usage_totals(), await store.count_sessions()
            usage = SessionUsage(used.tokens, used.cost_usd, used.requests, unpriced=used.unpriced)
        else:
            sessions = len(await store.session_counts(within=within))
        usual = manager.usual(Path(op.cwd or self.place.home), connection.env)
        load = manager.runtime.admission.load()
        return DaemonInfo(
            pid=os.getpid(),
            version=__version__,
            protocol=PROTOCOL_VERSION,
            socket=self.place.socket,
            web_url=self.place.web_url,
            home=self.place.home,
            started_at=self.started_at,
            uptime_s=round(time.monotonic() - self._started, 3),
            sessions=sessions,
            running=self._running(),
            queued=await manager.runtime.store.count_queued(),
            waiting=load.waiting,
            at_once=load.at_once,
            clients=len(self.connections),
            rss_bytes=rss_bytes(),
            usage=usage,
            jail=manager.runtime.jail.describe(),
            jail_problem=await _jail_problem(manager.runtime.jail),
            model=usual.model,
            mode=usual.mode,
            cap_usd=manager.runtime.caps_of(usual).usd,
            today=manager.runtime.ledger.today(),
        )

    def _running(self) -> int:
        """Of all that work as one."""
        behind = self._ready.result()
        return behind.manager.running + (behind.elsewhere.running if behind.elsewhere is not None else 0)

    async def _follow(self, connection: Connection, op: DaemonFollow) -> Done:
        if not op.on:
            self.bus.unfollow(connection)
            return Done()
        self.bus.follow(connection, self._ready.result().reach.hearing(connection.caller))
        if self._metrics is None:
            self._metrics = asyncio.create_task(
                LiveMetrics(await self._manager(), self.bus, self.connections, self._running).beat()
            )
        return Done()

    async def _stop(self, connection: Connection, op: DaemonStop) -> Done:
        _log.info("daemon stop requested", extra={"client": connection.name})
        if self._is_ready:
            await self._op_audit.write(self._ready.result().manager, entry("daemon", "stop"))
        self.stopping.set()
        return Done()


_OF_A_PERSON = re.compile(r"user-[A-Za-z0-9-]{8,64}")


def _marked(messages: Sequence[Message], rewound: Sequence[tuple[int, int]]) -> list[Message]:
    """With those marked that were taken back."""
    return [
        msgspec.structs.replace(each, rewound=True)
        if any(first <= each.number <= last for first, last in rewound)
        else each
        for each in messages
    ]


async def _jail_problem(jail: Jail) -> str:
    if not isinstance(jail, OutsideJail):
        return ""
    try:
        await jail.look()
    except OpenAgentError as problem:
        return str(problem)
    return ""
