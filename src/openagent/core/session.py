"""One agent's conversation: a recorder, an inbox and a view, and the turn that runs."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import Context
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import msgspec
from msgspec import UNSET

from openagent.core.asks import Asks
from openagent.core.audit import NOBODY, Actor, acting, actor, audit_update, entry
from openagent.core.background import Background
from openagent.core.calls import run_user_call
from openagent.core.files_seen import SeenFiles
from openagent.core.inbox import Inbox
from openagent.core.open_calls import OpenCalls
from openagent.core.permits import Permits
from openagent.core.recorder import InfoChanges, Recorder
from openagent.core.recovery import Waiting, lapsed_before, recover_calls, recover_turn
from openagent.core.running_calls import RunningCalls
from openagent.core.runtime import Audience, Frozen, Runtime
from openagent.core.session_gate import SessionGate
from openagent.core.session_shell import SessionShell
from openagent.core.session_tools import SessionTools
from openagent.core.turn import Turn
from openagent.core.undo import Undo
from openagent.core.view import SessionView
from openagent.core.view_log import REWIND
from openagent.plugins.context import within
from openagent.plugins.gate import Scene, folder_at
from openagent.plugins.ledger import Budget
from openagent.plugins.store import AuditEntry, Batch, KeptGrant, Rows, StoredSession
from openagent.plugins.tool import ToolOutcome
from openagent.protocol.conversation import Sent
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import (
    BackgroundFinished,
    Event,
    MessageAdded,
    PlanUpdated,
    SessionUpdated,
    StatusChanged,
)
from openagent.protocol.messages import Message, NotePart, Part, UserPart
from openagent.protocol.sessions import (
    AT_REST,
    EndedTurn,
    PlanItem,
    Retrying,
    SessionInfo,
    SettingsChange,
    Snapshot,
    TurnEnd,
)
from openagent.protocol.words import may_continue

SEND_PATIENCE = 2.0
"""Seconds a new message waits for a store that fails, before it is refused."""
CLOSE_PATIENCE = 4.0
"""Seconds that a session's end waits for it."""
_log = logging.getLogger(__name__)


class _Resuming(NamedTuple):
    """A turn that was cut short and is to continue, and who wants it."""

    end: EndedTurn
    op_id: str
    env: Mapping[str, str] | None
    sender: Actor


class Session:
    def __init__(
        self,
        stored: StoredSession,
        runtime: Runtime,
        audience: Audience,
        someone_can_answer: Callable[[], bool],
    ) -> None:
        self.id = stored.info.id
        self.runtime = runtime
        self.view = SessionView(self)
        self.recorder = Recorder(
            stored.info,
            runtime,
            audience,
            next_collection=self.view.next_in_log,
            take_in=self._take_in,
            on_stored=self.go_on_soon,
        )
        self.record, self.show = self.recorder.record, self.recorder.show
        self.inbox = Inbox(self, stored.queued, held=stored.info.held)
        self.plan = stored.plan
        self.asks = Asks()
        self.undo = Undo(self)
        self.gate = SessionGate(self)
        self.open_calls = OpenCalls()
        self.running_calls = RunningCalls()
        self.seen = SeenFiles(self)
        self.background = Background(self, stored.background)
        self.permits = Permits(self, stored.grants)
        self.tools = SessionTools(self)
        self.someone_can_answer = someone_can_answer
        self.paused = False
        """Messages wait meanwhile, as they do for a turn."""
        self.shell = SessionShell(self)
        self.retries: dict[asyncio.Event, Retrying] = {}
        """Requests that wait to be sent again; setting the event ends the pause."""
        self._env: Mapping[str, str] = {}
        self._turn: Turn | None = None
        self._last_turn: Turn | None = None
        self._to_resume: _Resuming | None = None
        """A turn that is to continue, and waits for turns of others."""
        self._open_turn = stored.open_turn
        self._left: Waiting | None = None
        """A turn that waited for a person when the daemon stopped, until it is taken up."""
        self.leaves = False
        """The daemon stops, and what waits for a person, also of those that work for it, stays open in the store."""
        self._below = stored.below
        self._resuming: asyncio.Task[None] | None = None
        self._user_calls: set[asyncio.Task[ToolOutcome]] = set()
        self._taking = WeakValueDictionary[str, asyncio.Lock]()
        """Messages that are being accepted, by their ops: the same one may come again meanwhile."""
        self._closing = False
        self._register_budget()

    @property
    def info(self) -> SessionInfo:
        return self.recorder.info

    def answering(self, env: Mapping[str, str]) -> str:
        """The model that answers whoever sends the next message from this environment."""
        return self.runtime.answering(self.info.settings.model, env, self.workspace)

    @property
    def workspace(self) -> Path:
        return folder_at(self.info.cwd)

    @property
    def scratch(self) -> Path:
        return self.runtime.scratch / self.id

    @property
    def scene(self) -> Scene:
        return Scene(self.info, self.shell.directory, self.view.told)

    @property
    def env(self) -> Mapping[str, str]:
        """Of whoever sent the message of the newest turn; until there is one, of whoever made the session."""
        return self._turn.env if self._turn is not None else self._env

    @env.setter
    def env(self, env: Mapping[str, str]) -> None:
        """A turn that is running keeps its own."""
        self._env = env

    def lend(self, env: Mapping[str, str]) -> None:
        """Of whoever answers: the environment in which a turn began is not known to the daemon that takes it up."""
        if self._turn is not None and self._turn.is_taken_up and not self._turn.env:
            self._turn.env = env

    @property
    def running(self) -> bool:
        return self._turn is not None

    @property
    def busy(self) -> bool:
        """Something of it may be changing files right now."""
        return self.running or bool(self._user_calls) or self.paused

    # Recording

    def post(
        self, *events: Event, op_id: str = "", audit: Sequence[AuditEntry] = (), granted: Sequence[KeptGrant] = ()
    ) -> None:
        """Record soon, without waiting for it."""
        for event in events:
            if isinstance(event, BackgroundFinished):
                audit = [*audit, *self.background.finished(event)]
                self.permits.leaving.ended_behind(event.command_id)
        self.recorder.post(*events, op_id=op_id, audit=audit, granted=granted)

    def _take_in(self, batch: Batch) -> None:
        """It was recorded: what the session knows follows what is stored."""
        for message in batch.messages:
            self.open_calls.take_in(message)
        self.view.take_in(batch)
        if (record := batch.collection) is not None and (record.collector == REWIND or record.undone):
            self.seen.forget()

    async def tell_model(self, notes: Sequence[NotePart], turn: int) -> None:
        message = self.user_message(notes, turn)
        await self.record(MessageAdded(message=message), rows=Rows(messages=[message]))

    def user_message(self, parts: Sequence[Part], turn: int, after: int = 0) -> Message:
        number = self.recorder.next_number + after
        return Message(number=number, role="user", parts=list(parts), turn=turn, created_at=time.time())

    async def set_plan(self, plan: list[PlanItem]) -> None:
        self.plan = plan
        await self.record(PlanUpdated(plan=plan), rows=Rows(plan=plan))

    # Turns

    async def send(
        self, parts: Sequence[UserPart], op_id: str, env: Mapping[str, str] | None = None, *, again: bool = False
    ) -> Sent:
        """Accepted and stored when this returns. Runs at once, or after the turn that is running.

        `env` is the sender's environment: the turn that answers the message runs in it. `again`: unless it was accepted
        before, under the same id."""
        await self.recorder.outbox.stored_within(SEND_PATIENCE)
        taking = self._taking.setdefault(op_id, asyncio.Lock())
        async with taking:
            if again and (sent := await self.inbox.sent_before(op_id)) is not None:
                return sent
            self.recorder.outbox.check("This message was not taken: send it again then.")
            await self.runtime.admission.look_up(self.info)
            if op_id:  # and not from the daemon itself
                self.runtime.admission.check(self.info, self._whose(actor()))
            self.post(audit=[entry("message", "sent", message=op_id)])
            return await self.inbox.send(parts, op_id, env)

    async def let_go(self, op_id: str) -> None:
        """What nobody answered in time is not asked again."""
        status = () if self.running else (StatusChanged(status="idle"),)
        if news := self.asks.let_go():
            await self.record(*news, *status, op_id=op_id)

    async def retry(self, op_id: str, env: Mapping[str, str] | None = None) -> Sent:
        """A request that waits to be sent again is sent now; a newest turn that was cut short continues.

        `env` is the environment of whoever wants it."""
        if (turn := self._turn) is not None:
            await self._hurry()
            return Sent(session=self.id, turn=turn.number)
        await self.recorder.outbox.stored_within(SEND_PATIENCE)
        self.recorder.outbox.check("It was not retried.")
        cut_short = await self._cut_short()
        await self.runtime.admission.look_up(self.info)
        self.runtime.admission.check(self.info, self._whose(actor()))
        if self.running or self.paused or self._closing:
            raise OpenAgentError("busy", "The session is busy.", hint="Retry when it is idle.")
        self._to_resume = _Resuming(cut_short, op_id, env, actor())
        return await self._resume() or Sent(session=self.id, place=self.runtime.admission.place(self.id))

    async def _hurry(self) -> None:
        if not self.retries:
            raise OpenAgentError(
                "busy",
                "There is nothing to retry: a turn is running, and waits for no provider.",
                hint="Stop it first, then retry: it continues where it stopped.",
            )
        for now in self.retries:
            now.set()
        told = entry("message", "retried", turn=self.info.turn_count)
        await self.record(StatusChanged(status=self.info.status), rows=Rows(audit=[told]))

    async def _cut_short(self) -> EndedTurn:
        """The newest turn, if it can continue."""
        newest = self.info.turn_count
        ends = await self.recorder.outbox.ends(newest, newest)
        if not ends or not may_continue(ends[0].reason):
            raise OpenAgentError(
                "not_found", "There is nothing to retry: the last turn was not cut short.", hint="Send a message."
            )
        if within(self.info.message_count, await self.undo.taken_back()):
            raise OpenAgentError(
                "not_found", "There is nothing to retry: the last turn was taken back.", hint="Send a message."
            )
        return ends[0]

    async def _resume(self) -> Sent | None:
        """None: not yet, or no more."""
        if (resuming := self._to_resume) is None or not self.can_start:
            return None
        if resuming.end.turn != self.info.turn_count:  # others went on meanwhile
            self._to_resume = None
            return None
        if not self.may_begin(resuming.sender):
            return None
        self._to_resume = None
        held, self.inbox.held = self.inbox.held, False
        try:
            with acting(resuming.sender):
                return await self._begin(
                    resuming.end.turn,
                    resuming.op_id,
                    resuming.env,
                    lambda turn: turn.resume(resuming.end, self._last_turn, told=held),
                )
        except BaseException:
            self.inbox.held = held
            raise

    @property
    def keys_of(self) -> tuple[str, ...]:
        """Whose keys its turns use, if they have one: the person's it belongs to, then the team's it is shared with."""
        owner, team = self.info.owner, self.info.team
        return (*([f"person/{owner}"] if owner else ()), *([f"team/{team}"] if team else ()))

    @property
    def can_start(self) -> bool:
        free = self._turn is None and self._left is None and not self.paused
        return free and not self._closing and self.recorder.outbox.is_empty

    async def start(
        self,
        parts: Sequence[UserPart],
        op_id: str,
        unqueued: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> Sent:
        """A turn that answers a message."""
        return await self._begin(self.info.turn_count + 1, op_id, env, lambda turn: turn.begin(parts, unqueued))

    async def _begin(
        self, number: int, op_id: str, env: Mapping[str, str] | None, begin: Callable[[Turn], Awaitable[Sent]]
    ) -> Sent:
        """What the turn uses is frozen, and it begins."""
        try:
            self._env = env or self._env
            frozen = self.runtime.freeze(self.workspace, self._env)
            turn = self._turn = Turn(self, number, op_id, self._env)
            self.recorder.turn_op = op_id
            with frozen.here():
                sent = await begin(turn)
                turn.task = asyncio.create_task(self._drive(turn, frozen), name=f"turn {self.id}/{turn.number}")
        except BaseException:
            self._end_turn()
            raise
        return sent

    def may_begin(self, sender: Actor) -> bool:
        """If not, it goes on by itself when other turns have ended."""
        return self.runtime.admission.enter(self.info, self._whose(sender), self._its_turn)

    def _whose(self, sender: Actor) -> str:
        """A person, with whatever token. Who sent what waits is not known after a restart, but whose session it is."""
        return sender.person or (self.info.owner or "owner" if sender == NOBODY else sender.name)

    def _its_turn(self) -> None:
        # Whoever made room has settings and a name of their own, which are none of this turn's.
        self._resuming = asyncio.create_task(self._start_next(), context=Context())

    def _end_turn(self) -> None:
        self._turn = self.recorder.turn_op = None
        self.runtime.admission.leave(self.id)

    async def _drive(self, turn: Turn, frozen: Frozen) -> None:
        """Beside everything else, until it has ended. The next message follows."""
        try:
            await turn.drive()
        finally:
            frozen.thaw()
            self._last_turn = turn
            self._end_turn()
        await self._start_next()

    async def _start_next(self) -> None:
        """The turn that is to continue, or the one for the message that waits longest, if nothing is in its way."""
        try:
            if self._left is not None:
                self._take_up()
            elif await self._resume() is None and self._to_resume is None:
                await self.inbox.start_next()
        except OpenAgentError:
            _log.exception("queued message could not be started", extra={"session": self.id})

    def _take_up(self) -> None:
        """The turn that waited for a person when the daemon stopped."""
        if self.paused or self._closing or not self.recorder.outbox.is_empty or not self.may_begin(NOBODY):
            return
        left, self._left = self._left, None
        assert left is not None
        frozen = self.runtime.freeze(self.workspace, self._env)
        turn = self._turn = Turn(self, left.turn, "", self._env, left)
        self.recorder.turn_op = ""
        with frozen.here(), acting(NOBODY):
            turn.task = asyncio.create_task(self._drive(turn, frozen), name=f"turn {self.id}/{turn.number}")

    def go_on_soon(self) -> None:
        """With the turn that waits to be taken up, or the messages that wait, if nothing is in their way."""
        if not self._closing and (self.inbox.waiting or self._to_resume or self._left):
            self._resuming = asyncio.create_task(self._start_next())

    async def cancel(self, by: str = "", reason: TurnEnd = "cancelled") -> bool:
        """Returns when the turn has ended and all of it is stored. A person's own tool calls end with it."""
        calls = await self._stop_user_calls()
        if (turn := self._turn) is None:
            return await self._leave_line(reason) or calls
        held = reason == "cancelled" and self.inbox.hold()
        turn.cancel(by, reason)
        if turn.task is not None:
            await asyncio.wait([turn.task])
        if held:
            await self.inbox.tell()
        return True

    async def stop_user_call(self, call_id: str) -> bool:
        return await self._stop_user_calls(call_id)

    async def _stop_user_calls(self, call_id: str = "") -> bool:
        """All of them, or the one with this id."""
        calls = [call for call in self._user_calls if not call_id or call.get_name() == call_id]
        for call in calls:
            call.cancel()
        if calls:
            await asyncio.wait(calls)
        return bool(calls)

    async def leave(self) -> bool:
        """The daemon stops. A turn that waits for a person stays as it is in the store, for whoever loads the session
        next; any other is interrupted. Returns whether it waits."""
        await self._stop_user_calls()
        turn, self.leaves = self._turn, self.leaves or bool(self.asks.permissions or self.asks.questions)
        if turn is None or turn.task is None or not self.leaves:
            await self.cancel(reason="interrupted")
            return False
        await self.recorder.flush()
        turn.leave()
        await asyncio.wait([turn.task])
        return True

    async def _leave_line(self, reason: TurnEnd) -> bool:
        """Of a turn that waits for others to end, the message is held back."""
        if reason != "cancelled" or not self.runtime.admission.place(self.id):
            return False
        self._to_resume = None
        self.inbox.hold()
        self.runtime.admission.leave(self.id)
        await self.inbox.tell()
        return True

    # What clients ask for

    async def run_tool(
        self, tool: str, arguments: dict[str, Any], op_id: str, *, call_id: str = "", apart: bool = False
    ) -> ToolOutcome:
        running = run_user_call(self, tool, arguments, op_id, call_id=call_id, apart=apart)
        call = asyncio.create_task(running, name=call_id)
        self._user_calls.add(call)
        call.add_done_callback(self._user_calls.discard)
        return await asyncio.shield(call)

    async def update(
        self,
        name: str | None,
        change: SettingsChange,
        op_id: str,
        env: Mapping[str, str] | None = None,
        *,
        archived: bool | None = None,
        template: str | None = None,
    ) -> None:
        """`env` is the environment of whoever changes it."""
        given = {field: value for field, value in msgspec.structs.asdict(change).items() if value is not UNSET}
        before = self.info
        changes: InfoChanges = {"settings": msgspec.structs.replace(before.settings, **given)}
        if name is not None:
            changes["name"] = name
        if archived is not None:
            changes["archived"] = archived
        if template is not None:
            changes["template"] = template
        after = msgspec.structs.replace(before, **changes)
        audit = [audit_update(before, after)]
        model = self.runtime.answering(after.settings.model, env or self.env, self.workspace)
        told = SessionUpdated(info=msgspec.structs.replace(self.runtime.capped(after), model=model))
        await self.record(told, rows=Rows(audit=audit), changes=changes, op_id=op_id)
        if "mode" in given:
            await self.obey_mode()
        if "instructions" in given or "replace_prompt" in given:
            self.view.forget()
        self.tools.choose()
        self._register_budget()

    async def share_with(self, team: str, op_id: str) -> None:
        """Empty: with none."""
        if self.info.team == team:
            return
        after = msgspec.structs.replace(self.runtime.capped(self.info), team=team, model=self.answering(self.env))
        audit = [entry("session", f"shared with team {team}" if team else "shared no more", team=team)]
        await self.record(SessionUpdated(info=after), rows=Rows(audit=audit), changes={"team": team}, op_id=op_id)

    def listed_anew(self, changes: InfoChanges, env: Mapping[str, str]) -> Sequence[SessionUpdated]:
        """Lists show another name after a first message, and what was put away is back when somebody speaks in it."""
        before = self.info
        after = msgspec.structs.replace(before, **changes)
        if (before.name, before.archived) == (after.name, after.archived):
            return ()
        return (SessionUpdated(info=msgspec.structs.replace(self.runtime.capped(after), model=self.answering(env))),)

    async def obey_mode(self) -> None:
        """Its own mode is another, or that of a session it works for."""
        self.permits.renew()
        await self.shell.obey_mode()

    def _register_budget(self) -> None:
        settings = self.info.settings
        budget = Budget(usd=settings.budget_usd, tokens=settings.budget_tokens)
        self.runtime.ledger.register(self.id, self.info.parent, budget, self.info.usage, self._below)

    async def snapshot(self, messages: int) -> Snapshot:
        """Call with the recorder's lock held, so that nothing is published between the reading and the attaching."""
        recorder = self.recorder
        page = await recorder.outbox.messages(limit=messages + 1)
        shown = page[-messages:] if messages else []
        return Snapshot(
            info=self.info,
            seq=self.info.seq,
            messages=shown,
            has_more=len(page) > messages,
            turns=await self.ends_of(shown),
            rewound=await self.undo.taken_back(),
            permissions=self.asks.permissions,
            questions=self.asks.questions,
            lapsed=list(self.asks.lapsed.values()),
            plan=self.plan,
            queued=self.inbox.waiting,
            held=self.inbox.held,
            live=recorder.draft.so_far() if recorder.draft else None,
            running=self.running_calls.all,
            retrying=next(iter(self.retries.values()), None),
        )

    async def ends_of(self, messages: Sequence[Message]) -> list[EndedTurn]:
        """How the turns ended that a page of messages belongs to."""
        if not messages:
            return []
        ends = await self.recorder.outbox.ends(messages[0].turn, messages[-1].turn)
        # One that continues has not ended.
        return [end for end in ends if self._turn is None or end.turn != self._turn.number]

    # Beginning and end

    async def recover(self) -> None:
        """Close what a crash left open, so that the history is one every provider accepts."""
        if self._open_turn or self.info.status == "unanswered":
            self.asks.lapsed = await lapsed_before(self)
        if self._open_turn:
            turn, self._open_turn = self._open_turn, 0
            self._left = await recover_turn(self, turn)
        elif self.info.status not in AT_REST:  # a person's own call was running
            await recover_calls(self)
        await self.background.tell_lost()

    def rest(self) -> None:
        """Nothing is asked of it for now: what its next step needs is read from the store then."""
        self.view.forget()
        self.runtime.left_memory(self.id)

    async def close(self) -> None:
        """A running turn is interrupted and saved; what is queued stays in the store for the next start."""
        self._closing = True
        await self.leave()
        self.runtime.admission.leave(self.id)
        await self.permits.leaving.close()
        await self.recorder.close(CLOSE_PATIENCE)
        await self.shell.close()
        self.view.forget()  # it goes now; the session itself, which much refers to, with the next garbage
        self.runtime.ledger.forget(self.id)
        self.runtime.left_memory(self.id)
