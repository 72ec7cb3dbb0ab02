"""Sub-agents: sessions that work for another one, in a copy of its workspace when they write."""

import asyncio
import logging
import re
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4
from weakref import WeakValueDictionary

import msgspec

from openagent.agents.allowance import can_write, withheld, within
from openagent.agents.background import BackgroundAgents
from openagent.agents.report import Report, moved, told
from openagent.agents.templates import TemplateService
from openagent.agents.watch import AgentWatch
from openagent.config.settings import AgentSettings
from openagent.core.session import Session
from openagent.daemon.bus import EventBus
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.daemon.late_binding import Late
from openagent.daemon.manager import SessionManager
from openagent.plugins.store import BackgroundWork
from openagent.plugins.tool import Tool, ToolContext, ToolOutcome
from openagent.plugins.workspace import Caller, Copy, Merged
from openagent.protocol.agents import AgentInfo, AgentsList, AgentTree
from openagent.protocol.display import Display
from openagent.protocol.errors import ErrorInfo, OpenAgentError
from openagent.protocol.events import SessionDeleted, SessionUpdated, SubagentFinished, SubagentStarted, TurnCompleted
from openagent.protocol.messages import TextPart
from openagent.protocol.sessions import (
    AT_REST,
    EndedTurn,
    SessionCreate,
    SessionInfo,
    Settings,
    SettingsChange,
    strictest,
)
from openagent.protocol.templates import Template, TemplateInfo
from openagent.safety.inherited import InheritedRules
from openagent.safety.service import Safety
from openagent.tools.agent import Assignment, agent_tools, found_templates

_NOT_MERGED = ErrorInfo("permission_denied", "Its edits were not merged: this session may not write any more.")
_log = logging.getLogger(__name__)


class AgentService:
    def __init__(
        self,
        sessions: Late[SessionManager],
        bus: EventBus,
        templates: TemplateService,
        safety: Safety,
        *,
        inherited: InheritedRules,
        settings_of: Callable[[Path], AgentSettings],
    ) -> None:
        self._sessions = sessions
        self._bus = bus
        self._templates = templates
        self._copies = safety.workspaces
        self._checkpoints = safety.checkpoints
        self._inherited = inherited
        self._settings_of = settings_of
        self._slots: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self.watches: dict[str, AgentWatch] = {}
        """Of the sub-agents at work, by session."""
        self.background = BackgroundAgents(sessions, self._spawn)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closing = False
        bus.subscribe(SessionDeleted, self._forget)

    @property
    def _manager(self) -> SessionManager:
        return self._sessions()

    async def tools(self, info: SessionInfo) -> Sequence[Tool]:
        """What a session may call to hand work on: nothing when it stands too deep."""
        workspace = Path(info.cwd)
        if len(self._manager.elders(info)) >= self._settings_of(workspace).max_depth:
            return ()
        return agent_tools(self, (await self._templates.all(workspace)).templates)

    async def close(self) -> None:
        """Sub-agents at work are cancelled and saved; what they wrote stays in their copies."""
        self._closing = True
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def copy_left(self, session: str) -> str:
        """The copy with edits of a sub-agent that have not come back; empty when there are none."""
        try:
            info = (await self._manager.runtime.store.session(session)).info
        except OpenAgentError:  # it was deleted
            return ""
        copy = self._copies.copy_of(Path(info.cwd))
        try:
            return copy if copy and await self._copies.diff(copy) else ""
        except OpenAgentError:
            return copy

    # What a model calls

    async def delegate(self, context: ToolContext, work: Sequence[Assignment], *, background: bool) -> ToolOutcome:
        parent = await self._manager.get(context.session)
        templates = (await self._templates.all(parent.workspace)).templates
        by_name = {info.template.name: info for info in templates}
        if strange := next((each.template for each in work if each.template not in by_name), None):
            return ToolOutcome(found_templates(strange, templates), is_error=True)
        chosen = [by_name[each.template] for each in work]
        if background:
            return self._in_background(parent, chosen, work, context.call_id)
        tasks = [
            self._spawn(self.work(parent, info, each.task, context.call_id))
            for info, each in zip(chosen, work, strict=True)
        ]
        try:
            return told(await asyncio.gather(*tasks))
        except asyncio.CancelledError:
            if self._closing:  # the turn is interrupted in a moment, and does nothing more until then
                await asyncio.get_running_loop().create_future()
            raise

    def _in_background(
        self, parent: Session, chosen: Sequence[TemplateInfo], work: Sequence[Assignment], call_id: str
    ) -> ToolOutcome:
        lines: list[str] = []
        for info, each in zip(chosen, work, strict=True):
            name = f"{info.template.name}-{uuid4().hex[:6]}"
            parent.background.begin(BackgroundWork(name, "agent", each.task, template=info.template.name))
            task = self._spawn(self.work(parent, info, each.task, call_id, background=name))
            self.background.start(parent, name, task)
            lines.append(f"{name} works in the background.")
        lines.append("Each answer arrives as a message; `agent_result` reads or awaits one earlier.")
        return ToolOutcome("\n".join(lines), display=Display(summary=f"{len(work)} in the background"))

    async def result(self, context: ToolContext, agent: str, *, wait: float, cancel: bool) -> ToolOutcome:
        return await self.background.result(context.session, agent, wait=wait, cancel=cancel, doing=self._doing)

    def handlers(self) -> list[Handler]:
        return [
            AgentsList.handled_by(self._list),
        ]

    async def _list(self, connection: Connection, op: AgentsList) -> AgentTree:
        store = self._manager.runtime.store
        if op.session:
            named = (await self._manager.get(op.session)).info
            roots = [(await self._root(named)).id]
        else:
            recent = await store.sessions(limit=500, within=await connection.within())
            roots = list(dict.fromkeys([(await self._root(info)).id for info in recent if info.parent]))[: op.limit]
        found: list[AgentInfo] = []
        for root in roots:
            info = (await self._manager.get(root)).info
            family = await store.descendants(root)
            for each in family:
                if each.status not in AT_REST:  # a daemon that died has left it so, unless it is at work
                    with suppress(OpenAgentError):
                        await self._manager.get(each.id)
            found += self._tree(info, family)
        if (within := await connection.within()) is not None:  # a session above may be in a folder of others
            found = [each for each in found if within.holds(each.session)]
        ends = await store.last_ends([each.session.id for each in found])
        return AgentTree([_with_end(each, ends.get(each.session.id)) for each in found])

    async def _root(self, info: SessionInfo) -> SessionInfo:
        while info.parent:
            try:
                info = (await self._manager.get(info.parent)).info
            except OpenAgentError:  # it was deleted
                break
        return info

    def _tree(self, info: SessionInfo, family: Sequence[SessionInfo], depth: int = 0) -> list[AgentInfo]:
        loaded, watch = self._manager.loaded(info.id), self.watches.get(info.id)
        info = loaded.info if loaded else info
        below = [each for child in family if child.parent == info.id for each in self._tree(child, family, depth + 1)]
        next_below = [each for each in below if each.depth == depth + 1]
        own = AgentInfo(
            session=info,
            depth=depth,
            running=loaded is not None and loaded.busy,
            background=watch is not None and watch.background,
            tree_cost_usd=info.usage.cost_usd + sum(each.tree_cost_usd for each in next_below),
            tree_unpriced=info.usage.unpriced + sum(each.tree_unpriced for each in next_below),
            copy=self._copies.copy_of(Path(info.cwd)),
            detail=watch.detail if watch else "",
        )
        return [own, *below]

    def _doing(self, task: "asyncio.Task[Report]") -> str:
        watch = next((watch for watch in self.watches.values() if watch.task is task), None)
        return f" {watch.steps} steps so far; now: {watch.detail or watch.status}." if watch else " It waits its turn."

    # One sub-agent's life

    async def work(
        self,
        parent: Session,
        info: TemplateInfo,
        task: str,
        call_id: str = "",
        *,
        background: str = "",
        held: Settings | None = None,
    ) -> Report:
        """From its start to its edits being merged. Cancel it to end the sub-agent. `background` names one that its
        caller does not wait for; `held` is what it may have at most, where that is not what its caller has."""
        by = Caller(parent.id, parent.info.turn_count, call_id)
        async with self._slot(parent):
            try:
                usable = await self._templates.usable(info.template, parent.workspace, parent.env)
                session, copy = await self._create(parent, usable.template, task, held or parent.info.settings)
            except OpenAgentError as problem:
                return Report("", info.template.name, "error", error=problem.info)
            template, known_as = info.template.name, background or session.id
            watch = AgentWatch(parent, session, template, self._inherited, background=bool(background))
            watch.task = asyncio.current_task()
            watch.within_caller = held is None
            self.watches[session.id] = watch
            self._bus.watch(session.id, watch.hear)
            self._bus.watch(parent.id, watch.hear_parent)
            started = time.monotonic()
            parent.background.begin(BackgroundWork(known_as, "agent", task, child=session.id, template=template))
            try:
                await parent.record(_started(session.info, task, call_id, copy, background=bool(background)))
                where = session.workspace  # until its copy is merged
                await _to_the_end(session.send([TextPart(moved(task, parent.workspace, where))], ""))
                completed = await self._its_end(session, watch)
                report = await self._finish(parent, session, copy, completed, by)
                only_read = info.writes and copy is None
                missing = withheld(info.template.tools, session.info.settings)
                text = moved(report.text, where, parent.workspace)
                notices = [notice.message for notice in usable.notices]
                report = msgspec.structs.replace(
                    report, text=text, withheld=missing, only_read=only_read, notices=notices
                )
            except asyncio.CancelledError:
                # Whoever cancels waits for the turn to end, and for nothing slower.
                if self._closing:  # whoever loads the caller next tells it
                    parent.leaves = await session.leave() or parent.leaves
                else:
                    await session.cancel()
                    self.background.drop(session.id)
                    parent.background.end(known_as)
                    self._spawn(self._leave(parent, session, copy))
                raise
            finally:
                watch.close()
                self._bus.unwatch(session.id, watch.hear)
                self._bus.unwatch(parent.id, watch.hear_parent)
                del self.watches[session.id]
            if not background:  # whose caller hears of it later
                parent.background.end(known_as)
            parent.post(_finished(session.info, report, (time.monotonic() - started) * 1000))
            return report

    async def _its_end(self, session: Session, watch: AgentWatch) -> TurnCompleted:
        """It is done when those are that it has in the background: their answers start turns of its own."""
        completed = await watch.completed
        while completed.reason == "done" and (deliveries := self.background.deliveries(session.id)):
            watch.listen_again()
            await asyncio.wait(deliveries, return_when=asyncio.FIRST_COMPLETED)
            if watch.completed.done() or session.running or session.inbox.goes_on:
                completed = await watch.completed
        self.background.drop(session.id)
        return completed

    def _forget(self, deleted: SessionDeleted) -> None:
        self.background.drop(deleted.session)

    def _slot(self, parent: Session) -> asyncio.Semaphore:
        """Per caller: one that waits for its own sub-agents takes no place from them."""
        slot = self._slots.get(parent.id)
        if slot is None:
            slot = self._slots[parent.id] = asyncio.Semaphore(self._settings_of(parent.workspace).max_parallel)
        return slot

    async def _create(
        self, parent: Session, template: Template, task: str, held: Settings
    ) -> tuple[Session, Copy | None]:
        settings = self._settings_of(parent.workspace)
        if len(self._manager.elders(parent.info)) >= settings.max_depth:
            raise OpenAgentError(
                "permission_denied",
                f"Sub-agents may not call each other deeper than {settings.max_depth}.",
                hint="Do it yourself, or raise `max_depth` under [agents].",
            )
        mode = strictest(template.mode or held.mode, held.mode, parent.permits.at_most)
        asked = Settings(
            tools=template.tools,
            disabled_tools=template.disabled_tools,
            mcp_servers=template.mcp_servers,
            mode=mode,
        )
        allowed = within(asked, held, parent.tools.known)
        said: dict[str, Any] = {"mode": mode, "model": template.model or held.model}
        said |= {"turn_timeout": template.timeout or settings.timeout, **allowed}
        copy = None
        if can_write(msgspec.structs.replace(asked, **allowed), parent.tools.known):
            copy = await self._copies.create(parent.workspace, _copy_name(template.name))
        op = SessionCreate(
            id=uuid4().hex[:12],
            cwd=copy.path if copy else parent.info.cwd,
            name=" ".join(f"{template.name}: {task}".split())[:60],
            parent=parent.id,
            template=template.name,
            settings=SettingsChange(**said),
        )
        try:
            session = await self._manager.create(op, parent.env)
        except BaseException:
            if copy:
                await self._copies.remove(copy.id, force=True)
            raise
        session.env = parent.env
        return session, copy

    async def _finish(
        self, parent: Session, session: Session, copy: Copy | None, completed: TurnCompleted, by: Caller
    ) -> Report:
        merged: Merged | None = None
        kept = ""
        problem: ErrorInfo | None = completed.error
        if copy and completed.reason == "done" and not _may_write(parent):
            problem = _NOT_MERGED
        elif copy and completed.reason == "done":
            try:
                merged = await self._copies.merge_back(copy.id, by=by)
            except OpenAgentError as failed:
                problem = failed.info
        if copy:
            kept = await self._put_away_copy(parent, session, copy)
        return Report(
            session.id,
            session.info.template,
            completed.reason,
            text=completed.text,
            steps=completed.steps,
            cost_usd=session.info.usage.cost_usd + await self._spent_below(session),
            tokens=session.info.usage.tokens.input_tokens + session.info.usage.tokens.output_tokens,
            changed=[*merged.applied, *merged.merged] if merged else [],
            conflicts=merged.conflicts if merged else [],
            copy=kept,
            error=problem,
        )

    async def _spent_below(self, session: Session) -> float:
        return sum(info.usage.cost_usd for info in await self._manager.runtime.store.descendants(session.id))

    async def _put_away_copy(self, parent: Session, session: Session, copy: Copy) -> str:
        """Gone when all its edits are back; the session goes on in the workspace itself. Else it stays, and its id is
        returned."""
        if await self._copies.diff(copy.id):
            return copy.id
        info = session.info
        await session.record(SessionUpdated(info=info), changes={"cwd": parent.info.cwd})
        await self._manager.put_away(session)
        try:
            await self._copies.remove(copy.id)
        except OpenAgentError:  # somebody wrote there after all
            again = await self._manager.get(session.id)
            await again.record(SessionUpdated(info=info), changes={"cwd": info.cwd})
            return copy.id
        await self._checkpoints.forget(session.id)
        return ""

    async def _leave(self, parent: Session, session: Session, copy: Copy | None) -> None:
        """It was cancelled. Edits stay in the copy."""
        kept = await self._put_away_copy(parent, session, copy) if copy else ""
        usage = session.info.usage
        report = Report(session.id, session.info.template, "cancelled", cost_usd=usage.cost_usd, copy=kept)
        parent.post(_finished(session.info, report))

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None:
            _log.error("sub-agent failed", exc_info=problem)


async def _to_the_end(work: Coroutine[Any, Any, object]) -> None:
    """A turn is started or it is not, also when whoever wanted it is cancelled meanwhile."""
    doing = asyncio.ensure_future(work)
    try:
        await asyncio.shield(doing)
    except asyncio.CancelledError:
        await asyncio.wait([doing])
        raise


def _with_end(agent: AgentInfo, end: EndedTurn | None) -> AgentInfo:
    if end is None:
        return agent
    return msgspec.structs.replace(agent, ended=end.reason, error=end.error, took_ms=end.duration_ms)


def _may_write(session: Session) -> bool:
    mode = strictest(session.info.settings.mode, session.permits.at_most)
    return can_write(msgspec.structs.replace(session.info.settings, mode=mode), session.tools.known)


def _copy_name(template: str) -> str:
    return re.sub(r"[^a-z0-9-]", "-", template.lower())[:40]


def _started(info: SessionInfo, task: str, call_id: str, copy: Copy | None, *, background: bool) -> SubagentStarted:
    return SubagentStarted(
        child=info.id,
        template=info.template,
        task=task[:2000],
        model=info.settings.model,
        call_id=call_id,
        background=background,
        copy=copy.id if copy else "",
    )


def _finished(info: SessionInfo, report: Report, duration_ms: float = 0.0) -> SubagentFinished:
    return SubagentFinished(
        child=info.id,
        template=info.template,
        reason=report.reason,
        text=report.text[:2000],
        cost_usd=report.cost_usd,
        tokens=report.tokens,
        duration_ms=round(duration_ms, 3),
        changed=report.changed,
        conflicts=[conflict.path for conflict in report.conflicts],
        copy=report.copy,
        error=report.error,
    )
