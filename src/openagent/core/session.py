"""One agent's conversation: its state, its turns, and the one way anything about it is recorded."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from openagent.core.asks import Asks
from openagent.core.audit import audit_update, entry
from openagent.core.background import Background
from openagent.core.calls import run_user_call
from openagent.core.draft import Draft
from openagent.core.files_seen import SeenFiles
from openagent.core.gates import SessionGate
from openagent.core.inbox import Inbox
from openagent.core.model_call import ModelCall
from openagent.core.open_calls import OpenCalls
from openagent.core.outbox import Outbox
from openagent.core.permits import Permits
from openagent.core.prompt import system_prompt
from openagent.core.recovery import recover_calls, recover_turn
from openagent.core.runtime import Audience, Frozen, ResolvedModel, Runtime
from openagent.core.shells import SessionShell
from openagent.core.turn import Turn
from openagent.core.undo import Undo
from openagent.core.view import DEFAULT_WINDOW, View
from openagent.core.view_log import REWIND, load_shown
from openagent.plugins.gate import Scene, folder_at
from openagent.plugins.jail import Shell
from openagent.plugins.ledger import Activity, Budget
from openagent.plugins.provider import Answer, ModelRequest, ToolSchema
from openagent.plugins.store import (
    AuditEntry,
    Batch,
    CollectionRecord,
    KeptGrant,
    RawAnswer,
    SeenRecord,
    StoredSession,
    UsageRecord,
)
from openagent.plugins.tool import Tool, ToolOutcome, has_tool
from openagent.protocol.errors import ErrorInfo, OpenAgentError
from openagent.protocol.events import (
    BackgroundFinished,
    ContextCollected,
    ErrorRaised,
    Event,
    MessageAdded,
    PlanUpdated,
    SessionUpdated,
    StatusChanged,
    TurnCompleted,
    TurnStarted,
    UsageUpdated,
)
from openagent.protocol.messages import Message, NotePart, Part, TextPart, UserPart
from openagent.protocol.ops import Sent
from openagent.protocol.sessions import (
    EndedTurn,
    PlanItem,
    QueuedMessage,
    SettingsChange,
    Snapshot,
    TurnEnd,
)

LOADED_WINDOWS = 2
"""How much of a long session is loaded to be shown, in windows of its model; more could never be shown."""
POST_DELAY = 0.02
"""Seconds a posted event may wait for company, so that a fast step costs two transactions and not five."""
CROWDED_DELAY = 0.003
"""The same while many sessions work, when a step takes longer than that by far."""
SEND_PATIENCE = 2.0
"""Seconds a new message waits for a store that fails, before it is refused."""
CLOSE_PATIENCE = 4.0
"""Seconds that a session's end waits for it."""
NAME_LENGTH = 60
_log = logging.getLogger(__name__)


class Session:
    def __init__(
        self,
        stored: StoredSession,
        runtime: Runtime,
        audience: Audience,
        someone_can_answer: Callable[[], bool],
    ) -> None:
        self.id = stored.info.id
        self.info = stored.info
        self.plan = stored.plan
        self.inbox = Inbox(self, stored.queued, held=stored.info.held)
        self.runtime = runtime
        self.outbox = Outbox(self.id, runtime.store, self._all_is_stored)
        self.asks = Asks()
        self.undo = Undo(self)
        self.gate = SessionGate(self)
        self.draft: Draft | None = None
        self.draft_kept = False
        """The store holds pieces of it."""
        self.open_calls = OpenCalls()
        self._env: Mapping[str, str] = {}
        self.seen = SeenFiles(self)
        self.background = Background(self, stored.background)
        self.someone_can_answer = someone_can_answer
        self.lock = asyncio.Lock()
        """Held while something is stored and published, and while a client takes its snapshot."""
        self.numbering = asyncio.Lock()
        """Held from choosing a message's number to its being stored, where several could want the same."""
        self._audience = audience
        self._published = stored.info.seq
        self._open_turn = stored.open_turn
        self._below = stored.below
        self._posted: list[Event] = []
        self._posted_audit: list[AuditEntry] = []
        self._posted_grants: list[KeptGrant] = []
        self._post_timer: asyncio.TimerHandle | None = None
        self._flushing: asyncio.Task[None] | None = None
        self._told_of_outage = False
        self._resuming: asyncio.Task[None] | None = None
        self._turn: Turn | None = None
        self._task: asyncio.Task[None] | None = None
        self._user_calls: set[asyncio.Task[ToolOutcome]] = set()
        self._view: View | None = None
        self._collections: list[CollectionRecord] | None = None
        self._shell = SessionShell(self)
        self._closing = False
        self.paused = False
        """Messages wait meanwhile, as they do for a turn."""
        self.permits = Permits(self, stored.grants)
        self.tools: dict[str, Tool] = {}
        self._more_tools: Sequence[Tool] = ()
        self._missing_tools: list[str] = []
        """Those that people were told of."""
        self._choose_tools()
        self._register_budget()

    def _register_budget(self) -> None:
        settings = self.info.settings
        budget = Budget(usd=settings.budget_usd, tokens=settings.budget_tokens)
        self.runtime.ledger.register(self.id, self.info.parent, budget, self.info.usage, self._below)

    @property
    def workspace(self) -> Path:
        return folder_at(self.info.cwd)

    @property
    def env(self) -> Mapping[str, str]:
        """Of whoever sent the message of the newest turn; until there is one, of whoever made the session."""
        return self._turn.env if self._turn is not None else self._env

    @env.setter
    def env(self, env: Mapping[str, str]) -> None:
        """A turn that is running keeps its own."""
        self._env = env

    @property
    def scratch(self) -> Path:
        return self.runtime.scratch / self.id

    @property
    def running(self) -> bool:
        return self._turn is not None

    @property
    def busy(self) -> bool:
        """Something of it may be changing files right now."""
        return self.running or bool(self._user_calls) or self.paused

    @property
    def works_behind(self) -> bool:
        """A command in the background, which would end with the shell."""
        return self._shell.works_behind

    @property
    def next_number(self) -> int:
        return self.info.message_count + 1

    # Recording: stored first, then published, in one order for everybody.

    def post(
        self,
        *events: Event,
        op_id: str = "",
        audit: Sequence[AuditEntry] = (),
        granted: Sequence[KeptGrant] = (),
    ) -> None:
        """Record soon, without waiting for it."""
        for event in events:
            if isinstance(event, BackgroundFinished):
                audit = [*audit, *self.background.finished(event)]
        self._posted.extend(self._stamp(event, op_id) for event in events)
        self._posted_audit.extend(audit)
        self._posted_grants.extend(granted)
        if self._post_timer is None:
            self._post_timer = asyncio.get_running_loop().call_later(
                CROWDED_DELAY if self.runtime.pace.is_crowded else POST_DELAY, self._flush_soon
            )

    def show(self, event: Event) -> None:
        """Publish a delta: live only."""
        self._audience.publish(msgspec.structs.replace(self._stamp(event), seq=self._published))

    async def record(
        self,
        *events: Event,
        op_id: str = "",
        changes: Mapping[str, Any] | None = None,
        messages: Sequence[Message] = (),
        raw: RawAnswer | None = None,
        usage: Sequence[UsageRecord] = (),
        audit: Sequence[AuditEntry] = (),
        queued: Sequence[QueuedMessage] = (),
        unqueued: Sequence[str] = (),
        inbox: Sequence[QueuedMessage] | None = None,
        plan: Sequence[PlanItem] | None = None,
        collection: CollectionRecord | None = None,
        seen: SeenRecord | None = None,
        ended: Sequence[str] = (),
        granted: Sequence[KeptGrant] = (),
        revoked: Sequence[str] = (),
    ) -> None:
        """Store events and whatever else belongs to them in one transaction, then publish the events.

        `changes` are fields of the session's info.
        """
        stamped = [self._stamp(event, op_id) for event in events]
        async with self.lock:
            if collection is not None or any(message.pinned for message in messages):
                collection = await self._next_record(collection or CollectionRecord(), messages)
                stamped = [_numbered(event, collection.id) for event in stamped]
            posted, self._posted = self._posted, []
            posted_audit, self._posted_audit = self._posted_audit, []
            posted_grants, self._posted_grants = self._posted_grants, []
            begun, over = self.background.news()
            if self._post_timer is not None:
                self._post_timer.cancel()
                self._post_timer = None
            drop_draft = self.draft_kept and _ends_draft(messages, stamped)
            self.draft_kept = self.draft_kept and not drop_draft
            own = Batch(
                session=self.id,
                messages=messages,
                raw=raw,
                events=tuple(stamped),
                usage=usage,
                audit=audit,
                queued=queued,
                unqueued=unqueued,
                inbox=inbox,
                plan=plan,
                collection=collection,
                drop_draft=drop_draft,
                seen=seen,
                ended=ended,
                granted=granted,
                revoked=revoked,
            )
            if not any((posted, posted_audit, posted_grants, begun, over)):
                await self._commit(own, changes or {})
                return
            try:
                both = msgspec.structs.replace(
                    own,
                    events=[*posted, *stamped],
                    audit=[*posted_audit, *audit],
                    begun=begun,
                    ended=[*over, *ended],
                    granted=[*posted_grants, *granted],
                )
                await self._commit(both, changes or {})
            except Exception:
                # One of the two cannot be stored: the other does not go with it.
                await self._commit_posted(
                    Batch(
                        session=self.id,
                        events=posted,
                        audit=posted_audit,
                        begun=begun,
                        ended=over,
                        granted=posted_grants,
                    )
                )
                if own != Batch(session=self.id):
                    await self._commit(own, changes or {})

    async def _commit_posted(self, batch: Batch) -> None:
        """Nobody waits for what was posted, so nobody would hear that it cannot be stored: it is told all the same."""
        try:
            await self._commit(batch, {})
        except Exception:  # the supervisor of what is recorded beside everything else
            _log.exception("posted events could not be stored", extra={"session": self.id})
            self._take_in_batch(self._numbered_batch(batch, {}))
            self.outbox.missed()

    async def _next_record(self, record: CollectionRecord, messages: Sequence[Message]) -> CollectionRecord:
        """Notes that are pinned are in the log too, so that they are found without reading a long session whole."""
        log = await self.collections()
        pinned = [*record.pinned, *(message.number for message in messages if message.pinned)]
        number = log[-1].id + 1 if log else 1
        return msgspec.structs.replace(record, id=number, pinned=pinned, at=time.time())

    def _numbered_batch(self, batch: Batch, changes: Mapping[str, Any]) -> Batch:
        """Every batch takes at least one number, also without events: by it the store knows one again."""
        seq = self.info.seq
        numbered = [msgspec.structs.replace(event, seq=number) for number, event in enumerate(batch.events, seq + 1)]
        info = msgspec.structs.replace(
            self.info,
            seq=seq + max(len(numbered), 1),
            message_count=self.info.message_count + len(batch.messages),
            updated_at=self._active_at(numbered),
            **self._status_change(numbered),
            **changes,
        )
        return msgspec.structs.replace(batch, events=numbered, info=info, before=self.info)

    def _active_at(self, events: Sequence[Event]) -> float:
        """To the second while a turn runs: lists are sorted by it, so the store keeps more than the number."""
        now, known = self.runtime.clock.now(), self.info.updated_at
        ends = bool(events) and isinstance(events[-1], StatusChanged) and events[-1].status in ("idle", "error")
        return known if self.running and not ends and 0 <= now - known < 1.0 else now

    async def _commit(self, batch: Batch, changes: Mapping[str, Any]) -> None:
        """Whoever is cancelled meanwhile, what is stored and what this session knows stay the same."""
        batch = self._numbered_batch(batch, changes)
        try:
            await self.outbox.store(batch, partial(self._take_in_batch, batch))
        finally:
            if not self.outbox.is_empty and not self._told_of_outage:
                self._told_of_outage = True
                self.post(ErrorRaised(error=self.outbox.problem))

    def _take_in_batch(self, batch: Batch) -> None:
        """Clients hear of it before the turn goes on."""
        if batch.info is not None:
            self.info = batch.info
        for message in batch.messages:
            self._take_in(message)
        if batch.collection is not None:
            self._take_in_collection(batch.collection)
        for event in batch.events:
            self._published = event.seq  # whoever hears it may show something at once
            self._audience.publish(event)
        self._audience.flush(self.id)
        self._published = self.info.seq

    def _take_in_collection(self, collection: CollectionRecord) -> None:
        assert self._collections is not None  # it has its number from there
        self._collections.append(collection)
        if collection.collector == REWIND or collection.undone:
            self.seen.forget()
        if collection.undone:
            self.forget_view()
        elif self._view is not None:
            self._view.apply(collection)

    def has_told(self, error: ErrorInfo) -> bool:
        """Already, when the store began to fail."""
        return error.code == "store_unavailable" and self._told_of_outage

    def _all_is_stored(self) -> None:
        """Messages that waited meanwhile are next."""
        self._told_of_outage = False
        self.go_on_soon()

    def go_on_soon(self) -> None:
        """With the messages that wait, if nothing is in their way."""
        if not self._closing and self.inbox.waiting:
            self._resuming = asyncio.create_task(self.start_next())

    def _take_in(self, message: Message) -> None:
        if self._view is not None:
            self._view.append(message)
        if message.role == "assistant":
            self.draft = None
        self.open_calls.take_in(message)

    def _stamp(self, event: Event, op_id: str = "") -> Event:
        op_id = op_id or (self._turn.op_id if self._turn else "")
        return msgspec.structs.replace(event, session=self.id, op_id=op_id, at=time.time())

    def _status_change(self, events: Sequence[Event]) -> dict[str, Any]:
        changed = [event.status for event in events if isinstance(event, StatusChanged)]
        return {"status": changed[-1]} if changed else {}

    @property
    def _has_posted(self) -> bool:
        return bool(self._posted or self._posted_audit or self._posted_grants or self.background.has_news)

    async def flush(self) -> None:
        """Store what was posted and waits for company."""
        if self._has_posted:
            await self.record()

    def _flush_soon(self) -> None:
        self._post_timer = None
        if self._has_posted and self._flushing is None:
            self._flushing = asyncio.create_task(self._flush())

    async def _flush(self) -> None:
        try:
            await self.record()
        finally:
            self._flushing = None
            if self._has_posted and self._post_timer is None:  # while this was being stored
                self._flush_soon()

    # Turns

    async def send(self, parts: Sequence[UserPart], op_id: str, env: Mapping[str, str] | None = None) -> Sent:
        """Accepted and stored when this returns. Runs at once, or after the turn that is running.

        `env` is the sender's environment: the turn that answers the message runs in it."""
        await self.outbox.stored_within(SEND_PATIENCE)
        self.outbox.check("This message was not taken: send it again then.")
        self.post(audit=[entry("message", "sent", message=op_id)])
        return await self.inbox.send(parts, op_id, env)

    @property
    def can_start(self) -> bool:
        return self._turn is None and not self.paused and not self._closing and self.outbox.is_empty

    async def start(
        self,
        parts: Sequence[UserPart],
        op_id: str,
        unqueued: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> Sent:
        self._env = env or self._env
        frozen = self.runtime.freeze(self.workspace, self._env)
        turn = self._turn = Turn(self, self.info.turn_count + 1, op_id, self._env)
        with frozen.here():
            sent = await self._begin(turn, parts, unqueued)
            self._task = turn.task = asyncio.create_task(
                self._drive(turn, frozen), name=f"turn {self.id}/{turn.number}"
            )
        return sent

    async def _begin(self, turn: Turn, parts: Sequence[UserPart], unqueued: Sequence[str]) -> Sent:
        try:
            self.permits.begin_turn()
            notes = self.gate.opening() if turn.number == 1 else ()
            told = [self._said(notes, turn.number)] if notes else []
            message = self._said(parts, turn.number, after=len(told))
            turn.text = message.text
            changes: dict[str, Any] = {"turn_count": turn.number, **self.inbox.facts}
            if not self.info.name and message.text:
                changes["name"] = " ".join(message.text.split())[:NAME_LENGTH]
            await self.record(
                TurnStarted(turn=turn.number, model=self.info.settings.model),
                *(MessageAdded(message=each) for each in (*told, message)),
                StatusChanged(status="thinking"),
                *(self.inbox.news() if unqueued or self.info.held else ()),
                *(ErrorRaised(error=notice) for notice in self.permits.new_notices()),
                messages=[*told, message],
                unqueued=unqueued,
                changes=changes,
            )
        except BaseException:
            self._turn = None
            raise
        return Sent(session=self.id, turn=turn.number, message_number=message.number)

    async def _drive(self, turn: Turn, frozen: Frozen) -> None:
        try:
            await turn.drive()
        finally:
            frozen.thaw()
            self._turn = self._task = None
        await self.start_next()

    async def start_next(self) -> None:
        """The turn for the message that waits longest, if nothing is in its way."""
        try:
            await self.inbox.start_next()
        except OpenAgentError:
            _log.exception("a queued message could not be started", extra={"session": self.id})

    async def cancel(self, by: str = "", reason: TurnEnd = "cancelled") -> bool:
        """Returns when the turn has ended and all of it is stored. A person's own tool calls end with it."""
        calls = list(self._user_calls)
        for call in calls:
            call.cancel()
        if calls:
            await asyncio.wait(calls)
        if self._turn is None:
            return bool(calls)
        held = reason == "cancelled" and self.inbox.hold()
        self._turn.cancel(by, reason)
        if self._task is not None:
            await asyncio.wait([self._task])
        if held:
            await self.inbox.tell()
        return True

    # What a turn needs

    async def view(self, resolved: ResolvedModel) -> View:
        if self._view is None:
            self.outbox.check()
            log = await self.collections()
            window = resolved.context_window or DEFAULT_WINDOW
            shown = await load_shown(self.runtime.store, self.id, log, LOADED_WINDOWS * window)
            self._view = View(system_prompt(self.info), shown.messages, log, shown.cut_at, window=window)
            self._view.offer(self.tool_schemas(window))
        return self._view

    @property
    def scene(self) -> Scene:
        return Scene(self.info, self.shell_directory, self._view.told if self._view else {})

    async def tell_model(self, notes: Sequence[NotePart], turn: int) -> None:
        if notes:
            message = self._said(notes, turn)
            await self.record(MessageAdded(message=message), messages=[message])

    def _said(self, parts: Sequence[Part], turn: int, after: int = 0) -> Message:
        number = self.next_number + after
        return Message(number=number, role="user", parts=list(parts), turn=turn, created_at=time.time())

    async def collections(self) -> list[CollectionRecord]:
        """The log of what happened to the view."""
        if self._collections is None:
            self._collections = await self.runtime.store.collections(self.id)
        return self._collections

    @property
    def shown(self) -> View | None:
        """The view, when one was built."""
        return self._view

    def rest(self) -> None:
        """Nothing is asked of it for now: what its next step needs is read from the store then."""
        self._view = None
        self.runtime.left_memory(self.id)

    def forget_view(self) -> None:
        """What the model is shown is built anew with the next step."""
        self._view = None

    async def shell(self) -> Shell:
        return await self._shell.get()

    @property
    def shell_directory(self) -> str:
        """Where the next command starts: policy reads relative paths from there."""
        return self._shell.directory

    def tool_schemas(self, window: int) -> list[ToolSchema]:
        return [tool.schema for tool in self.tools.values() if self.runtime.offers(self.id, tool, window)]

    async def look_for_tools(self) -> None:
        self._more_tools = await self.runtime.more_tools(self.info)
        self._choose_tools()
        self._tell_missing_tools()

    def _tell_missing_tools(self) -> None:
        """Tools that a session is to have and that are not there: an MCP server's, or of an earlier version."""
        if self.info.parent:  # it has what there is of its caller's
            return
        known = {tool.name for tool in (*self.runtime.tools, *self._more_tools)}
        missing = [name for name in self.info.settings.tools or () if name not in known]
        if not missing or missing == self._missing_tools:
            return
        near = [f"{found[0]!r}" for name in missing if (found := get_close_matches(name, known, n=1))]
        guess = f"Did you mean {', '.join(near)}? " if near else ""
        problem = OpenAgentError(
            "config_error",
            f"This session is to have tools that are not here: {', '.join(missing)}.",
            hint=f"{guess}`openagent sessions set {self.id} tools=…` names others, and `tools=none` gives it all.",
        )
        if not self.tools:
            raise problem
        self._missing_tools = missing
        self.post(ErrorRaised(error=problem.info))

    @property
    def known_tools(self) -> Sequence[Tool]:
        """Those that there are, whether or not its settings let it have them."""
        return (*self.runtime.tools, *self._more_tools)

    def _choose_tools(self) -> None:
        self.tools = {tool.name: tool for tool in self.known_tools if has_tool(self.info.settings, tool)}

    async def summarize(self, resolved: ResolvedModel, messages: Sequence[Message], instruction: str) -> str:
        """One request to the session's model outside the conversation, counted against its budget."""
        asked = Message(number=0, role="user", parts=[TextPart(instruction)])
        request = ModelRequest(model=resolved.model, system="", messages=[*messages, asked], session=self.id)
        answer = await self.ask_aside(resolved, request, "summarizing")
        return "".join(part.text for part in answer.parts if isinstance(part, TextPart))

    async def ask_aside(self, resolved: ResolvedModel, request: ModelRequest, activity: Activity) -> Answer:
        """A request that is no part of the conversation, booked on this session."""
        model_call = ModelCall(self, activity)
        try:
            return await model_call.ask(resolved, request)
        finally:
            usage = self.info.usage
            for paid in model_call.spent:
                usage = msgspec.structs.replace(
                    usage,
                    tokens=usage.tokens + paid.usage,
                    cost_usd=usage.cost_usd + (paid.cost_usd or 0.0),
                    requests=usage.requests + 1,
                )
            await self.record(
                *(UsageUpdated(usage=usage, last=paid.usage, last_cost_usd=paid.cost_usd) for paid in model_call.spent),
                usage=[
                    UsageRecord(None, paid.model, paid.usage, paid.cost_usd, activity, time.time())
                    for paid in model_call.spent
                ],
                changes={"usage": usage},
            )

    async def set_plan(self, plan: list[PlanItem]) -> None:
        self.plan = plan
        await self.record(PlanUpdated(plan=plan), plan=plan)

    # What clients ask for

    async def run_tool(self, tool: str, arguments: dict[str, Any], op_id: str) -> ToolOutcome:
        call = asyncio.create_task(run_user_call(self, tool, arguments, op_id))
        self._user_calls.add(call)
        call.add_done_callback(self._user_calls.discard)
        return await asyncio.shield(call)

    async def update(self, name: str | None, change: SettingsChange, op_id: str) -> None:
        given = {field: value for field, value in msgspec.structs.asdict(change).items() if value is not UNSET}
        before = self.info
        changes: dict[str, Any] = {"settings": msgspec.structs.replace(before.settings, **given)}
        if name is not None:
            changes["name"] = name
        after = msgspec.structs.replace(before, **changes)
        await self.record(SessionUpdated(info=after), op_id=op_id, changes=changes, audit=[audit_update(before, after)])
        if "mode" in given:
            await self.obey_mode()
        if "instructions" in given:
            self.forget_view()
        self._choose_tools()
        self._register_budget()

    async def obey_mode(self) -> None:
        """Its own mode is another, or that of a session it works for."""
        self.permits.renew()
        await self._shell.obey_mode()

    async def snapshot(self, messages: int) -> Snapshot:
        """Call with the lock held, so that nothing is published between the reading and the attaching."""
        page = await self.outbox.messages(limit=messages + 1)
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
            plan=self.plan,
            queued=self.inbox.waiting,
            held=self.inbox.held,
            live=self.draft.so_far() if self.draft else None,
        )

    async def ends_of(self, messages: Sequence[Message]) -> list[EndedTurn]:
        """How the turns ended that a page of messages belongs to."""
        if not messages:
            return []
        return await self.outbox.ends(messages[0].turn, messages[-1].turn)

    # Beginning and end

    async def recover(self) -> None:
        """Close what a crash left open, so that the history is one every provider accepts."""
        if self._open_turn:
            turn, self._open_turn = self._open_turn, 0
            await recover_turn(self, turn)
        elif self.info.status not in ("idle", "error"):  # a person's own call was running
            await recover_calls(self)
        await self.background.tell_lost()

    async def close(self) -> None:
        """A running turn is interrupted and saved; what is queued stays in the store for the next start."""
        self._closing = True
        await self.cancel(reason="interrupted")
        await self.permits.leaving.close()
        if self._flushing is not None:
            await asyncio.wait([self._flushing])
        await self.flush()
        await self.outbox.close(CLOSE_PATIENCE)
        await self._shell.close()
        self._view = None  # it goes now; the session itself, which much refers to, with the next garbage
        self.runtime.ledger.forget(self.id)
        self.runtime.left_memory(self.id)


def _ends_draft(messages: Sequence[Message], events: Sequence[Event]) -> bool:
    said = any(message.role == "assistant" for message in messages)
    return said or any(isinstance(event, TurnCompleted) for event in events)


def _numbered(event: Event, collection: int) -> Event:
    return msgspec.structs.replace(event, collection=collection) if isinstance(event, ContextCollected) else event
