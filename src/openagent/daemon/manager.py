"""Many sessions at once: made, loaded on demand, recovered after a crash, put away when idle."""

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec
from msgspec import UNSET

from openagent.core.audit import actor, entry
from openagent.core.runtime import Runtime
from openagent.core.session import Session
from openagent.daemon.bus import EventBus
from openagent.daemon.folders import no_folder
from openagent.daemon.imported import check_conversation, imported
from openagent.daemon.loaded_sessions import LoadedSessions
from openagent.daemon.roster import Roster
from openagent.plugins.carrying import Carrying
from openagent.plugins.jail import PreparedJail
from openagent.plugins.store import Batch, StoredSession
from openagent.plugins.tenant import Tenant
from openagent.protocol.errors import ErrorInfo, OpenAgentError
from openagent.protocol.events import ErrorRaised, SessionCreated, SessionDeleted
from openagent.protocol.ids import new_session_id, session_id_of
from openagent.protocol.sessions import (
    MODES,
    ImportedSession,
    Mode,
    SessionCreate,
    SessionFork,
    SessionImport,
    SessionInfo,
    SessionList,
    SessionUpdate,
    Settings,
    SettingsChange,
    strictest,
)
from openagent.protocol.usage import SessionUsage

_log = logging.getLogger(__name__)
WIDEST = MODES[-1]
SettingsFor = Callable[[Path, Mapping[str, str]], Settings]
"""What a new session starts with, by workspace and environment."""


class FromTemplate(NamedTuple):
    """What a template says about a session."""

    settings: Mapping[str, Any]
    disabled_tools: Sequence[str] = ()
    """Beside those that are disabled in any case."""
    notices: Sequence[ErrorInfo] = ()
    """What of it does not hold here."""


class _Described(NamedTuple):
    """A session that is to be made."""

    info: SessionInfo
    notices: Sequence[ErrorInfo]


_PERSONA: dict[str, Any] = {"instructions": "", "replace_prompt": False, "tools": None, "mcp_servers": None}
"""What a session is without a template."""
TemplateSettings = Callable[[str, Path, Mapping[str, str]], Awaitable[FromTemplate]]
"""By its name, workspace and environment."""


async def _no_templates(name: str, _workspace: Path, _env: Mapping[str, str]) -> FromTemplate:
    raise OpenAgentError("not_found", f"There is no template {name!r}.")


def _real(cwd: str) -> str:
    """A session's folder goes by its real path, so that a link that takes its place leads nobody elsewhere."""
    return os.path.realpath(cwd) if os.path.isabs(cwd) and "\0" not in cwd else cwd


def _at_most(settings: Settings, most: Mode) -> Settings:
    return msgspec.structs.replace(settings, mode=strictest(settings.mode, most))


class CheckSettings(Protocol):
    async def __call__(
        self, change: SettingsChange, workspace: Path, env: Mapping[str, str], session: SessionInfo | None = None
    ) -> None:
        """Raises OpenAgentError('invalid_argument') for what cannot be meant."""
        ...


async def _as_given(
    change: SettingsChange, workspace: Path, env: Mapping[str, str], session: SessionInfo | None = None
) -> None:
    pass


class SessionManager:
    def __init__(
        self,
        runtime: Runtime,
        bus: EventBus,
        loaded: LoadedSessions,
        settings_for: SettingsFor,
        template_settings: TemplateSettings = _no_templates,
        *,
        check_settings: CheckSettings = _as_given,
        idle_kept: int = 64,
        carrying: Carrying | None = None,
        serves: Callable[[str], bool] | None = None,
    ) -> None:
        """`carrying`: where sessions go from daemon to daemon, what takes along what is not in the store. `serves`
        tells whether sessions with a label run here; None: they all do."""
        self._serves = serves
        self.runtime = runtime
        self._carrying = carrying
        self._bus = bus
        self._loaded = loaded
        self._settings_for = settings_for
        self._template_settings = template_settings
        self.check_settings = check_settings
        self._roster = Roster(loaded, self._load, self._leave, kept=idle_kept, is_spare=self._is_spare)

    @property
    def running(self) -> int:
        return sum(session.running for session in self._loaded.all)

    @property
    def all_loaded(self) -> list[Session]:
        return self._loaded.all

    def loaded(self, session: str) -> Session | None:
        return self._loaded.find(session)

    async def begin(self, op: SessionCreate, env: Mapping[str, str], *, most: Mode = WIDEST) -> Session:
        """For somebody who goes on with it by ops. One that runs elsewhere leaves at once, and is here no more."""
        session = await self.create(op, env, most=most, anywhere=True)
        if not self._is_for_us(session.info):
            await self.put_away(session)
        return session

    def _is_for_us(self, info: SessionInfo) -> bool:
        label = info.settings.label
        return self._serves is None or self._serves(label) or (bool(info.parent) and not label)

    async def create(
        self, op: SessionCreate, env: Mapping[str, str], *, most: Mode = WIDEST, anywhere: bool = False
    ) -> Session:
        """In no wider a mode than `most`, whatever the settings or a template say. `anywhere`: also one that does not
        run here."""
        parent = await self.get(op.parent) if op.parent else None
        session = op.session or new_session_id()
        cwd = op.cwd
        if op.repository:
            cwd = await self._cloned(session, op)
        elif parent is None and self._carrying is not None and self._carrying.is_clone(Path(_real(cwd))):
            raise _of_another(cwd)
        try:
            made = msgspec.structs.replace(op, session=session, cwd=cwd)
            info = await self._described(made, env, parent, most)
            if not anywhere and not self._is_for_us(info.info):
                raise _not_here(info.info.settings.label)
            return await self._create(made, env, info)
        except BaseException:
            if op.repository and self._carrying is not None and self.loaded(session) is None:
                await self._carrying.forget(session)
            raise

    async def _cloned(self, session: str, op: SessionCreate) -> str:
        if self._carrying is None or op.parent:
            raise OpenAgentError(
                "invalid_argument",
                "Only a team, whose workers keep files for each other, starts sessions for a repository.",
                hint="Clone it yourself and name the folder; or set `redis`, team.snapshots and team.repositories.",
            )
        if not os.path.isabs(op.cwd):
            raise no_folder(op.cwd)
        return str(await self._carrying.clone(session, Path(op.cwd), op.repository, op.branch))

    async def _described(
        self, op: SessionCreate, env: Mapping[str, str], parent: Session | None, most: Mode
    ) -> "_Described":
        workspace = await self._opened(op.cwd)
        settings = self._settings_for(workspace, env)
        said = await self._template_settings(op.template, workspace, env) if op.template else FromTemplate({})
        disabled = list(dict.fromkeys([*settings.disabled_tools, *said.disabled_tools]))
        settings = msgspec.structs.replace(settings, **said.settings, disabled_tools=disabled)
        if op.settings != SettingsChange() and parent is None:  # a sub-agent's follow from its caller's
            await self.check_settings(op.settings, workspace, env)
        given = {name: value for name, value in msgspec.structs.asdict(op.settings).items() if value is not UNSET}
        now, active = time.time(), self.runtime.clock.now()
        info = SessionInfo(
            id=op.session,
            name=op.name,
            cwd=str(workspace),
            created_at=now,
            updated_at=active,
            settings=_at_most(msgspec.structs.replace(settings, **given), most),
            parent=parent.id if parent else None,
            template=op.template,
            owner=parent.info.owner if parent else actor().person,
            team=parent.info.team if parent else "",
            seq=1,
        )
        return _Described(info, said.notices)

    async def _create(self, op: SessionCreate, env: Mapping[str, str], made: "_Described") -> Session:
        info = made.info
        created = SessionCreated(session=info.id, seq=1, op_id=op.id, at=info.created_at, info=self.told(info, env))
        await self.runtime.store.create_session(info, [created])
        self._bus.publish(created)
        session = await self.get(info.id)
        session.permits.notice(made.notices)
        session.post(audit=[entry("session", "created", cwd=info.cwd, mode=info.settings.mode, parent=info.parent)])
        return session

    async def _opened(self, cwd: str) -> Path:
        await self.runtime.open_workspace(Path(cwd))
        workspace = Path(_real(cwd))
        if not workspace.is_absolute() or not await asyncio.to_thread(os.path.isdir, workspace):
            raise no_folder(cwd)
        if isinstance(self.runtime.jail, PreparedJail):
            self.runtime.jail.prepare(workspace)
        return workspace

    def usual(self, workspace: Path, env: Mapping[str, str]) -> Settings:
        """What a session made there starts with, its model the one that will answer."""
        try:
            settings = self._settings_for(workspace, env)
        except OpenAgentError:
            settings = Settings()
        model = self.runtime.answering(settings.model, env, workspace)
        return msgspec.structs.replace(settings, model=model)

    async def update(self, session: Session, op: SessionUpdate, env: Mapping[str, str]) -> None:
        """A person's change of a session, seen from the person's environment."""
        change = op.settings
        if change != SettingsChange():
            await self.check_settings(change, session.workspace, env or session.env, session.info)
        if op.template is not None:
            change = await self._persona(session, op.template, change, env or session.env)
        await session.update(op.name, change, op.id, env, archived=op.archived, template=op.template)
        if change.mode is not UNSET:
            for other in self.all_loaded:
                if session in self.elders(other.info):
                    await other.obey_mode()

    async def _persona(
        self, session: Session, template: str, change: SettingsChange, env: Mapping[str, str]
    ) -> SettingsChange:
        """What is given besides comes first. What the template before forbade is allowed again."""
        info = session.info
        said = await self._template_settings(template, session.workspace, env) if template else FromTemplate({})
        before = FromTemplate({})
        if info.template:
            with suppress(OpenAgentError):  # it may be gone
                before = await self._template_settings(info.template, session.workspace, env)
        disabled = [tool for tool in info.settings.disabled_tools if tool not in before.disabled_tools]
        taken = {name: value for name, value in said.settings.items() if name in ("model", *_PERSONA)}
        given = {name: value for name, value in msgspec.structs.asdict(change).items() if value is not UNSET}
        disabled = list(dict.fromkeys([*disabled, *said.disabled_tools]))
        for notice in said.notices:
            session.post(ErrorRaised(error=notice))
        whole: dict[str, Any] = {**_PERSONA, **taken, "disabled_tools": disabled, **given}
        return SettingsChange(**whole)

    def told(self, info: SessionInfo, env: Mapping[str, str]) -> SessionInfo:
        """As it is told to somebody: with the model that will answer them, and the caps that hold."""
        model = self.runtime.answering(info.settings.model, env, Path(info.cwd))
        place = self.runtime.admission.place(info.id)
        return msgspec.structs.replace(self.runtime.capped(info), model=model, place=place)

    async def told_whole(self, infos: Sequence[SessionInfo], env: Mapping[str, str]) -> "list[SessionInfo]":
        """The same, with what those have cost that work for them."""
        below = await self.runtime.store.used_below([info.id for info in infos])
        return [_with_cost_below(self.told(info, env), below.get(info.id)) for info in infos]

    async def get(self, session: str) -> Session:
        """Raises not_found. A crashed turn is closed before anyone sees the session."""
        found = await self._roster.get(session)
        if found.info.parent and self.loaded(found.info.parent) is None:
            await self._load_parent(found.info)
        return found

    async def _load(self, name: str) -> Session | str:
        stored = await self.runtime.store.take(name)
        if stored.info.id != name:
            return stored.info.id
        try:
            return await self._revive(stored)
        except BaseException:
            await self._give_back(name)
            raise

    async def _revive(self, stored: StoredSession) -> Session:
        try:
            await self.runtime.open_workspace(Path(stored.info.cwd))
        except OpenAgentError:
            _log.exception("workspace could not be opened", extra={"session": stored.info.id})
        await self._load_parent(stored.info)
        told = await self._carrying.bring(stored.info) if self._carrying is not None else ""
        if (real := _real(stored.info.cwd)) != stored.info.cwd:
            stored = msgspec.structs.replace(stored, info=msgspec.structs.replace(stored.info, cwd=real))
        session = Session(stored, self.runtime, self._bus, lambda: self._someone_can_answer(stored.info))
        await session.recover()
        if told:
            session.post(ErrorRaised(error=ErrorInfo("workspace_gone", told)))
        return session

    async def _give_back(self, session: str) -> None:
        try:
            await self.runtime.store.give_back(session)
        except OpenAgentError as problem:
            _log.warning(
                "session could not be released; other daemons get it when its lease expires",
                extra={"session": session, "reason": str(problem)},
            )

    async def _load_parent(self, info: SessionInfo) -> None:
        """Whose rules, grants and budget hold for this one."""
        if info.parent:
            try:
                await self.get(info.parent)
            except OpenAgentError as problem:
                if problem.info.code != "not_found":
                    raise
                _log.info("parent session is gone", extra={"session": info.id})

    def elders(self, info: SessionInfo) -> "list[Session]":
        """The session that this one works for, the one that that one works for, and so on."""
        return self._loaded.elders(info)

    def _someone_can_answer(self, info: SessionInfo) -> bool:
        """Also clients of the sessions it works for, which are asked too."""
        return any(self._bus.someone_can_answer(name) for name in (info.id, *(each.id for each in self.elders(info))))

    async def put_away(self, session: Session) -> None:
        """Whoever asks for it next gets it as it is in the store."""
        await asyncio.shield(self._leave(session))

    def _leave(self, session: Session) -> "asyncio.Task[None]":
        return self._roster.leave(session, lambda: self._hand_over(session))

    async def _hand_over(self, session: Session) -> None:
        if self._carrying is not None:
            try:
                await self._carrying.keep(session.info, leaving=True)
            except Exception:  # the supervisor: whoever has it next is told how old the files are
                _log.exception(
                    "snapshot of a session's files failed; other workers get an older one",
                    extra={"session": session.id},
                )
        await self._give_back(session.id)

    async def drop_lost(self) -> None:
        """Sessions that another daemon took, because this one gave no sign of life for too long."""
        kept = set(await self.runtime.store.kept())
        for session in self.all_loaded:
            if session.id not in kept:
                _log.error("session was taken over by another daemon", extra={"session": session.id})
                self._roster.leave(session)

    async def put_away_idle(self) -> None:
        """Also those that somebody follows: another daemon has them from here on. Where files go with their sessions,
        they go at the end, all together."""
        if self._carrying is None:
            await self._roster.put_away_all(_is_at_rest)

    def _is_spare(self, session: Session) -> bool:
        is_followed = bool(self._bus.attached(session.id)) or self._bus.watched(session.id)
        return _is_at_rest(session) and not is_followed

    async def list(self, op: SessionList, within: Tenant | None = None) -> list[SessionInfo]:
        """`within`: only sessions of this tenant."""
        listed = await self.runtime.store.sessions(
            limit=op.limit,
            before=op.before,
            before_id=op.before_id,
            cwd=op.cwd,
            query=op.query,
            roots=op.roots,
            archived=op.archived,
            brought=op.brought,
            agent=op.agent,
            within=within,
        )
        return [loaded.info if (loaded := self.loaded(info.id)) else info for info in listed]

    async def delete(self, name: str, op_id: str) -> None:
        """Those that work for it go with it, and so do the copies of the workspace that they worked in."""
        session = await self.get(name)
        family = await self.runtime.store.descendants(session.id)
        await self._delete(session, op_id)
        for info in reversed(family):
            try:
                await self._delete(await self.get(info.id), op_id)
                await self.runtime.drop_copy(Path(info.cwd))
            except OpenAgentError as problem:
                _log.warning(
                    "sub-agent of a deleted session could not be deleted",
                    extra={"session": info.id, "reason": str(problem)},
                )

    async def _delete(self, session: Session, op_id: str) -> None:
        async def forget() -> None:
            await self.runtime.store.delete_session(session.id)
            deleted = entry("session", "deleted", name=session.info.name, cwd=session.info.cwd)
            await self.runtime.store.commit(Batch(session.id, audit=[deleted]))

        await asyncio.shield(self._roster.leave(session, forget))
        self._bus.publish(SessionDeleted(session=session.id, op_id=op_id, at=time.time(), seq=session.info.seq))
        if self._carrying is not None:
            try:
                await self._carrying.forget(session.id)
            except OpenAgentError:
                _log.exception("snapshots of a deleted session could not be removed", extra={"session": session.id})
        if self.runtime.checkpoints is not None:
            try:
                await self.runtime.checkpoints.forget(session.id)
            except OpenAgentError:
                _log.exception("checkpoints of a deleted session stay until the next gc", extra={"session": session.id})

    async def fork(self, op: SessionFork, env: Mapping[str, str], *, most: Mode = WIDEST) -> Session:
        source = await self.get(op.session)
        if source.running and op.through is None:
            raise OpenAgentError(
                "busy",
                "The session is in the middle of a turn.",
                hint="Name the last message to keep, or fork it when the turn has ended.",
            )
        now = time.time()
        changes: dict[str, Any] = {
            "id": new_session_id(),
            "name": op.name or f"{source.info.name} (fork)".strip(),
            "created_at": now,
            "updated_at": self.runtime.clock.now(),
            "forked_from": source.id,
            "settings": _at_most(source.info.settings, most),
            "status": "idle",
            "queued": 0,
            "held": False,
            "archived": False,
            "origin": None,
            "owner": actor().person,
            "team": "",
            "seq": 1,
        }
        if op.through is not None:
            changes |= await self._counters_through(source, op.through)
        if op.cwd:
            changes["cwd"] = str(await self._opened(op.cwd))
        elif self._carrying is not None and self._carrying.is_clone(source.workspace):
            raise _of_another(source.info.cwd)
        fork = msgspec.structs.replace(source.info, **changes)
        created = SessionCreated(session=fork.id, seq=1, op_id=op.id, at=now, info=self.told(fork, env))
        await self.runtime.store.fork_session(source.id, fork, op.through, [created])
        self._bus.publish(created)
        session = await self.get(fork.id)
        session.post(audit=[entry("session", "forked", source=source.id, through=op.through, mode=fork.settings.mode)])
        return session

    async def bring(self, op: SessionImport, env: Mapping[str, str], *, most: Mode = WIDEST) -> ImportedSession:
        """A conversation that was had elsewhere. The same one twice is found again by its id, which is made of it."""
        check_conversation(op)
        # Of two people who bring the same one, each has their own.
        whose = (actor().person,) if actor().person else ()
        first = session_id_of(msgspec.json.encode((op.origin, op.messages, *whose)))
        if not op.again:
            try:
                return ImportedSession((await self.get(first)).info, was_here=True)
            except OpenAgentError as problem:
                if problem.info.code != "not_found":
                    raise
        workspace = await self._opened(op.cwd)
        usual = self._settings_for(workspace, env)
        settings = msgspec.structs.replace(usual, **await self._possible(op.settings, workspace, env))
        info = SessionInfo(
            id=new_session_id() if op.again else first,
            name=op.name,
            cwd=str(workspace),
            created_at=op.created_at or op.messages[0].created_at,
            updated_at=self.runtime.clock.now(),
            settings=_at_most(settings, most),
            forked_from=op.origin or None,
            owner=actor().person,
        )
        created = SessionCreated(session=info.id, seq=1, op_id=op.id, at=time.time(), info=info)
        batch = imported(op, info, created)
        await self.runtime.store.import_session(batch, paid_as=[first, *([op.origin] if op.origin else [])])
        session = await self.get(info.id)
        self._bus.publish(msgspec.structs.replace(created, info=self.told(session.info, env)))
        said = {"messages": len(op.messages), "mode": info.settings.mode}
        session.post(audit=[entry("session", "imported", origin=op.origin, cwd=info.cwd, **said)])
        if not self._is_for_us(info):
            await self.put_away(session)
        return ImportedSession(session.info)

    async def _possible(self, change: SettingsChange, workspace: Path, env: Mapping[str, str]) -> dict[str, Any]:
        """What of it can be had here."""
        possible: dict[str, Any] = {}
        for name, value in msgspec.structs.asdict(change).items():
            if value is not UNSET:
                try:
                    await self.check_settings(SettingsChange(**{name: value}), workspace, env)
                    possible[name] = value
                except OpenAgentError as problem:
                    _log.info(
                        "setting not applied, the configured value stays",
                        extra={"setting": name, "reason": str(problem)},
                    )
        return possible

    async def _counters_through(self, source: Session, through: int) -> dict[str, Any]:
        """A fork may end only where no call waits for its result."""
        page = await self.runtime.store.messages(source.id, limit=2, after=through - 1)
        if not page or page[0].number != through:
            raise OpenAgentError("invalid_argument", f"The session has no message number {through}.")
        following = page[1] if len(page) > 1 else None
        step_goes_on = following is None and page[0].role == "tool" and bool(source.open_calls)
        if page[0].tool_calls or step_goes_on or (following is not None and following.role == "tool"):
            raise OpenAgentError(
                "invalid_argument",
                f"Message {through} stands in the middle of a step: its tool calls have results after it.",
                hint="Fork at a user's message or at the end of an answer.",
            )
        return {"message_count": through, "turn_count": page[0].turn}

    async def recover_all(self) -> None:
        """After a crash: close every turn that was left open, so that lists tell the truth, and go on with the messages
        that were waiting."""
        store = self.runtime.store
        for session in await store.unfinished_sessions():
            if self._serves is None or self._is_for_us((await store.session(session)).info):
                await self._recover(session)
        for session in await store.waiting_sessions():  # one that is loaded says what waits in it
            info = (await store.session(session)).info
            is_here = await asyncio.to_thread(Path(info.cwd).is_dir)  # and not on another daemon's machine
            if is_here and self._is_for_us(info):
                await self._recover(session)

    async def _recover(self, session: str) -> None:
        try:
            await self.get(session)
        except OpenAgentError as problem:  # another daemon was faster
            _log.warning(
                "session not recovered, another daemon has it", extra={"session": session, "reason": str(problem)}
            )

    async def close(self) -> None:
        await self._roster.close()


def _not_here(label: str) -> OpenAgentError:
    asked = f"the label {label!r}" if label else "no label"
    return OpenAgentError(
        "conflict",
        f"It runs only on workers with {asked}, and this is not one of them.",
        hint="Start a session for it: sessions go where they can run.",
    )


def _of_another(cwd: str) -> OpenAgentError:
    return OpenAgentError(
        "invalid_argument",
        f"{cwd} is the clone of one session, and goes with it to other workers.",
        hint="Start a session for the repository: it gets a clone of its own.",
    )


def _is_at_rest(session: Session) -> bool:
    return (
        not session.busy
        and not session.inbox.waiting
        and not session.shell.works_behind
        and session.recorder.outbox.is_empty
    )


def _with_cost_below(info: SessionInfo, used: SessionUsage | None) -> SessionInfo:
    if used is None:
        return info
    return msgspec.structs.replace(info, below_usd=used.cost_usd, below_unpriced=used.unpriced)
