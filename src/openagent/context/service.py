"""What sessions' models are shown, and what was taken out of it: `context.*`."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from openagent.collectors.summary import room_for_summary
from openagent.context import report
from openagent.core.collect import collect, proposal
from openagent.core.runtime import ResolvedModel
from openagent.core.view import DEFAULT_WINDOW, View
from openagent.core.view_log import REWIND, standing
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.plugins.collector import Summarize
from openagent.plugins.store import CollectionRecord, Rows
from openagent.protocol.context import (
    ContextCollect,
    ContextGivenBack,
    ContextPin,
    ContextProposal,
    ContextReport,
    ContextRestore,
    ContextShow,
)
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import (
    ContextCollected,
    ContextPinned,
    ContextRestored,
    ContextShown,
    Event,
    TurnCompleted,
)
from openagent.protocol.messages import Message
from openagent.protocol.op import Done

if TYPE_CHECKING:
    from openagent.core.session import Session
    from openagent.daemon.bus import EventBus
    from openagent.daemon.manager import SessionManager


class ContextService:
    def __init__(self, sessions: "SessionManager", bus: "EventBus") -> None:
        self._sessions = sessions
        self._bus = bus
        for kind in (TurnCompleted, ContextCollected, ContextRestored):
            bus.subscribe(kind, self._tell)

    def handlers(self) -> list[Handler]:
        return [
            ContextShow.handled_by(self._show),
            ContextCollect.handled_by(self._collect),
            ContextPin.handled_by(self._pin),
            ContextRestore.handled_by(self._restore),
        ]

    def _tell(self, event: Event) -> None:
        """The breakdown, to those who are looking."""
        session = self._sessions.loaded(event.session)
        if session is None or session.view.built is None or not self._bus.attached(session.id):
            return
        view = session.view.built
        usage = session.info.usage
        window = usage.context_window or DEFAULT_WINDOW
        found = report.sections(view, _cached(view))
        session.show(ContextShown(used_tokens=view.tokens(), window=window, sections=found))

    async def _show(self, connection: Connection, op: ContextShow) -> ContextReport:
        session = await self._sessions.get(op.session)
        resolved = _model_of(session, connection)
        view = await session.view.build(resolved)
        window = resolved.context_window or DEFAULT_WINDOW
        settings = session.runtime.context(session.workspace)
        log = await session.view.log()
        cached = _cached(view)
        return ContextReport(
            session=session.id,
            model=resolved.name,
            window=window,
            used_tokens=view.tokens(),
            estimated=not view.counted,
            threshold=settings.threshold,
            collector=session.info.settings.collector or settings.collector,
            cached_tokens=cached,
            sections=report.sections(view, cached),
            messages=report.messages(view, log),
            collections=report.collections(log),
        )

    async def _collect(self, connection: Connection, op: ContextCollect) -> ContextProposal:
        session = await self._sessions.get(op.session)
        resolved = _model_of(session, connection)
        async with _alone(session):
            if op.dry_run:
                found = await proposal(session, resolved, _placeholder(resolved), collector=op.collector)
            else:
                found = await collect(session, resolved, "manual", collector=op.collector, op_id=op.id)
            if found is None:
                used = (await session.view.build(resolved)).estimated()
                name = op.collector or session.info.settings.collector
                name = name or session.runtime.context(session.workspace).collector
                return ContextProposal(name, done=False, tokens_before=used, tokens_after=used)
            record = found.record
            return ContextProposal(
                collector=record.collector,
                done=not op.dry_run,
                hidden=record.hidden,
                shortened=sorted(record.replaced),
                tokens_before=found.tokens_before,
                tokens_after=found.tokens_after,
                summary="" if op.dry_run else record.summary,
                note=found.note,
                collection=0 if op.dry_run else (await session.view.log())[-1].id,
            )

    async def _pin(self, connection: Connection, op: ContextPin) -> Done:
        session = await self._sessions.get(op.session)
        view = await session.view.build(_model_of(session, connection))
        if not any(item.message.number == op.message for item in view.items()):
            raise OpenAgentError(
                "not_found",
                f"The model is not shown a message {op.message}.",
                hint="`openagent context show` lists them; what was collected can be restored first.",
            )
        if op.on != (op.message in view.pinned):
            numbers = [op.message]
            record = CollectionRecord(pinned=numbers) if op.on else CollectionRecord(unpinned=numbers)
            event = ContextPinned(message_number=op.message, pinned=op.on)
            await session.record(event, rows=Rows(collection=record), op_id=op.id)
        return Done()

    async def _restore(self, connection: Connection, op: ContextRestore) -> ContextGivenBack:
        session = await self._sessions.get(op.session)
        resolved = _model_of(session, connection)
        async with _alone(session):
            chosen = _chosen(await session.view.log(), op)
            before = (await session.view.build(resolved)).estimated()
            numbers = [record.id for record in chosen]
            after = before + sum(record.tokens_freed for record in chosen)
            event = ContextRestored(collections=numbers, tokens_before=before, tokens_after=after)
            await session.record(event, rows=Rows(collection=CollectionRecord(undone=numbers)), op_id=op.id)
            after = (await session.view.build(resolved)).estimated()
            return ContextGivenBack(numbers, before, after)


def _chosen(log: Sequence[CollectionRecord], op: ContextRestore) -> list[CollectionRecord]:
    holding = [record for record in standing(log) if record.collector != REWIND and (record.hidden or record.replaced)]
    if op.every and holding:
        return holding
    wanted = [record for record in holding if record.id == op.collection] if op.collection else holding[-1:]
    if not wanted:
        raise OpenAgentError(
            "not_found",
            f"No collection {op.collection} holds here." if op.collection else "Nothing was collected here.",
            hint="`openagent context show` lists the ones that do.",
        )
    return wanted


@asynccontextmanager
async def _alone(session: "Session") -> AsyncGenerator[None, None]:
    """Messages wait meanwhile."""
    if session.busy:
        raise OpenAgentError("busy", "The session is in the middle of a turn.", hint="Cancel it, or wait for its end.")
    session.paused = True
    try:
        yield
    finally:
        session.paused = False
        await session.inbox.start_next()


def _placeholder(resolved: ResolvedModel) -> Summarize:
    """Stands in for the model in a preview: as long as a summary may be, and free of charge."""

    async def summarize(messages: Sequence[Message], instruction: str) -> str:
        return "." * (room_for_summary(resolved.context_window or DEFAULT_WINDOW) // 2)

    return summarize


def _model_of(session: "Session", connection: Connection) -> ResolvedModel:
    env = session.env or connection.env
    model = session.info.settings.model
    return session.runtime.resolve_model(model, env=env, cwd=session.workspace, whose=session.keys_of)


def _cached(view: View) -> int:
    """What the provider read from its cache for the newest answer."""
    answers = (item.message.usage for item in reversed(view.items()) if item.message.usage is not None)
    usage = next(answers, None)
    return usage.cached_tokens if usage is not None and view.counted else 0
