"""How far a caller reaches: below which folders, and in which sessions.

One who works below some folders names only what belongs to them, and is told of nothing else. One who may not approve
what agents do makes none of them do what nobody would be asked about.
"""

import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from msgspec import UNSET

from openagent.daemon.callers import Caller
from openagent.daemon.manager import SessionManager
from openagent.plugins.addresses import HERE, written
from openagent.plugins.places import Places, refuse_as_workspace
from openagent.plugins.quotas import QuotaStore
from openagent.plugins.tenant import Tenant
from openagent.protocol import op_subjects
from openagent.protocol.agents import AgentsList
from openagent.protocol.context import ContextCollect, ContextPin, ContextRestore, ContextShow
from openagent.protocol.conversation import (
    AskAgain,
    AsksList,
    MessageRaw,
    MessageSend,
    MessagesPage,
    PermissionAnswer,
    QuestionAnswer,
    TurnCancel,
    TurnRetry,
)
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import Event, SessionCreated, TaskUpdated
from openagent.protocol.files import FilesList, FilesRead, FilesWrite
from openagent.protocol.flows import FlowResume, FlowShow
from openagent.protocol.mcp import McpList
from openagent.protocol.op import Op
from openagent.protocol.people import SessionAccess
from openagent.protocol.queue import QueueEdit, QueueMove, QueueRemove, QueueResume, QueueShow
from openagent.protocol.repository import GitStatus
from openagent.protocol.review import ReviewRevert, ReviewShow
from openagent.protocol.search import MessagesSearch
from openagent.protocol.sessions import (
    MODES,
    Mode,
    SessionAttach,
    SessionCreate,
    SessionDetach,
    SessionFork,
    SessionGet,
    SessionImport,
    SessionInfo,
    SessionUpdate,
    SettingsChange,
    strictest,
    widest,
)
from openagent.protocol.tasks import TaskInfo
from openagent.protocol.terminals import TerminalClose, TerminalInput, TerminalOpen, TerminalResize
from openagent.protocol.tools import ToolRun, ToolsList
from openagent.protocol.undo import SessionChanges, SessionRedo, SessionUndo
from openagent.workspace.copies import WorkspaceCopies

_FREE: Mode = "auto"
"""The widest mode in which nothing leaves the walls unasked."""
_REMEMBERED = 10_000
GUESTS_READ: frozenset[type[Op]] = frozenset(
    (
        *(SessionGet, SessionAttach, SessionDetach, SessionAccess, SessionChanges, ReviewShow),
        *(MessagesPage, MessagesSearch, QueueShow, AsksList, AgentsList, FlowShow),
    )
)
"""What a link opens to its holders in the session: the conversation and its changes. An op that is not listed here or
below is refused to them, so a new one is closed until somebody decides about it."""
GUESTS_WORK: frozenset[type[Op]] = frozenset(
    (
        *(MessageSend, TurnCancel, TurnRetry, AskAgain, PermissionAnswer, QuestionAnswer, SessionUpdate),
        *(SessionUndo, SessionRedo),
        *(QueueEdit, QueueRemove, QueueMove, QueueResume, FlowResume, ReviewRevert, MessageRaw, GitStatus),
        *(ContextShow, ContextCollect, ContextPin, ContextRestore, ToolsList, ToolRun, McpList),
        *(FilesList, FilesRead, FilesWrite, TerminalOpen, TerminalInput, TerminalResize, TerminalClose),
    )
)
"""What a link to work in the session opens too. Its holders tell an agent what to do there, which reads any file."""


class CallersReach:
    def __init__(
        self,
        manager: SessionManager,
        places: Places,
        copies: WorkspaceCopies,
        *,
        mode_of: Callable[[Path], Mode],
        task: Callable[[str], Awaitable[TaskInfo]],
        grant: Callable[[str], Awaitable[tuple[str, str]]],
        session_of_terminal: Callable[[str], str],
        guest: Callable[[str, str, float], Awaitable[bool | None]],
        is_welcome: Callable[[Caller], Awaitable[bool]],
        quotas: QuotaStore,
    ) -> None:
        """`mode_of` tells the configured mode of a workspace, `grant` the workspace where a grant holds and the session
        it was given in, `guest` whether a person was let into a session and may also work there, `is_welcome` whether
        one who came in still would."""
        self._manager = manager
        self._places = places
        self._copies = copies
        self._mode_of = mode_of
        self._task = task
        self._grant = grant
        self._session_of_terminal = session_of_terminal
        self._guest = guest
        self._is_welcome = is_welcome
        self._quotas = quotas
        self._known: dict[str, SessionInfo] = {}
        """Of the sessions that were told of, so that their end can be told too."""

    async def is_welcome(self, caller: Caller) -> bool:
        return await self._is_welcome(caller)

    # What they may name

    async def check(self, caller: Caller, op: Op) -> None:
        if caller.person and not await self.is_welcome(caller):
            raise OpenAgentError(
                "unauthorized", "The login has ended, or what it allows has changed.", hint="Log in again."
            )
        named = list(op_subjects.named(op))
        if not caller.everywhere and (
            op_subjects.is_whole(type(op)) or (not named and op_subjects.otherwise(type(op)) == "whole")
        ):
            raise OpenAgentError(
                "permission_denied",
                f"This is about every folder, and the {caller.called} works below {_listed(caller)}.",
                hint="`openagent access create --root /` makes one for all folders.",
            )
        for kind, value in named:
            if kind == "session":
                await self._check_session(caller, op, value)
            elif kind == "terminal":
                if session := self._session_of_terminal(value):
                    await self._check_session(caller, op, session)
            elif kind == "folder":
                self._check_folder(caller, op, value)
            elif not caller.everywhere and not await self._owns(caller, kind, value):
                raise _not_there(caller, kind, value)
        if caller.person and isinstance(op, MessageSend | TurnRetry | AskAgain):
            await self._check_pace(caller, await self._session(caller, op, op.session))

    async def _check_pace(self, caller: Caller, info: SessionInfo) -> None:
        limits = await self._quotas.sending(caller.person, info.team, info.cwd, time.time())
        if limits and not await self._quotas.take(limits, 1, 0):
            used = await self._quotas.used(limits)
            full = next((each for each, use in zip(limits, used, strict=True) if use.tokens == each.tokens), limits[0])
            raise OpenAgentError(
                "busy",
                f"No more turns begin in this minute: {full.name} may begin {full.tokens}, and has.",
                hint="Try again in a minute; an admin can raise it: `openagent people limit`, `openagent teams limit`.",
            )

    def _check_folder(self, caller: Caller, op: Op, given: str) -> None:
        working = type(op).works_there
        if caller.everywhere and not working:
            return
        folder = _real(given)
        if not self.reaches(caller, folder):
            raise OpenAgentError(
                "permission_denied",
                f"{given} is not below a folder of the {caller.called}, which works below {_listed(caller)}.",
                hint="`openagent access create --root DIR` makes one for it.",
            )
        if problem := self._places.problem(folder):
            raise refuse_as_workspace(given, problem)
        if self._places.opens_a_home(folder) and not (caller.everywhere and caller.may("admin")):
            raise refuse_as_workspace(given, "is a home, or holds one, with all that is hidden there")
        if isinstance(op, SessionCreate | SessionImport):
            self._check_mode(caller, op.settings, folder, "ask")

    async def _check_session(self, caller: Caller, op: Op, name: str) -> None:
        acting = type(op).acts or isinstance(op, SessionCreate)
        updating = isinstance(op, SessionUpdate) and op.settings != SettingsChange()
        if caller.everywhere and not acting and not updating:
            return
        info = await self._session(caller, op, name)
        if not caller.everywhere and isinstance(op, PermissionAnswer) and op.decision == "allow":
            await self._check_leaving(caller, op)
        if acting:
            if not caller.everywhere:
                await self._check_openings(caller, info)
            folder = _real(info.cwd)
            if problem := self._places.problem(folder):
                raise refuse_as_workspace(info.cwd, problem)
            self._check_acting(caller, op, info)
        if isinstance(op, SessionUpdate):
            self._check_mode(caller, op.settings, info.cwd, info.settings.mode)

    async def _session(self, caller: Caller, op: Op, name: str) -> SessionInfo:
        try:
            info = (await self._manager.get(name)).info
        except OpenAgentError as problem:
            if caller.everywhere or problem.info.code != "not_found":
                raise
            raise _not_there(caller, "session", name) from None
        if not self.sees(caller, info) and not await self._is_guest(caller, op, info):
            raise _not_there(caller, "session", name)
        return info

    async def _is_guest(self, caller: Caller, op: Op, info: SessionInfo) -> bool:
        may_work = await self._guest_right(caller, info)
        if may_work is None:
            return False
        if type(op) in GUESTS_READ or (may_work and type(op) in GUESTS_WORK):
            return True
        if may_work:
            raise OpenAgentError(
                "permission_denied",
                "You opened this session by a link, which lets you work in it, but not do this.",
                hint="Ask its owner to do it, or to share the session with a team you are in.",
            )
        raise OpenAgentError(
            "permission_denied",
            "This session is shared with you read-only: you can read the conversation and its changes, nothing else.",
            hint="Ask its owner for a link that lets you work in it.",
        )

    async def _guest_right(self, caller: Caller, info: SessionInfo) -> bool | None:
        """Whether they may also work there; None: nobody let them in. Also into those that work for the session they
        were let into."""
        if not caller.person:
            return None
        for name in (info.id, *(each.id for each in self._manager.elders(info))):
            may_work = await self._guest(name, caller.person, time.time())
            if may_work is not None:
                return may_work
        return None

    async def _check_leaving(self, caller: Caller, op: PermissionAnswer) -> None:
        """Nobody lets an agent out to where they themselves do not reach."""
        session = await self._manager.get(op.session)
        for opening in session.asks.leaves(op.ask):
            if beyond := self._beyond(caller, opening.kind, opening.subject):
                raise OpenAgentError(
                    "permission_denied",
                    f"This would open the jail to {beyond}, beyond what the {caller.called} reaches.",
                    hint="The owner can allow it; a token with `--root /` can.",
                )

    async def _check_openings(self, caller: Caller, info: SessionInfo) -> None:
        """Nor do they have something done where somebody else has let it out."""
        openings = (await self._manager.get(info.id)).permits.openings
        for opening in openings:
            if beyond := self._beyond(caller, opening.kind, opening.subject):
                raise OpenAgentError(
                    "permission_denied",
                    f"The session's jail is opened to {beyond}, beyond what the {caller.called} reaches.",
                    hint="`openagent grants` lists what was opened, and takes it back.",
                )

    def _beyond(self, caller: Caller, kind: str, subject: str) -> str:
        if kind in ("folder", "folder_write"):
            folder = os.path.realpath(subject)
            return "" if self.reaches(caller, folder) and not self._places.problem(folder) else f"the folder {subject}"
        if kind == "network":
            host = subject.rpartition(":")[0].strip("[]")
            return f"this machine's port {subject}" if written(host) == HERE else ""
        return {"engine": "the container engine", "credential": f"the credential {subject}"}.get(kind, "")

    async def _owns(self, caller: Caller, kind: op_subjects.Named, name: str) -> bool:
        """A copy, a task, a grant."""
        if kind == "copy":
            copies = await self._copies.copies(None)
            return any(name in (copy.id, copy.name) and self.reaches(caller, copy.path) for copy in copies)
        if kind == "grant":
            folder, session = await self._grant(name)
            if session and caller.person and not self.sees(caller, (await self._manager.get(session)).info):
                return False
        else:
            folder = await self._folder_of_task(name)
        return bool(folder) and self.reaches(caller, _real(folder))

    async def _folder_of_task(self, name: str) -> str:
        try:
            return (await self._task(name)).cwd
        except OpenAgentError as problem:
            if problem.info.code != "not_found":
                raise
            return ""

    # What they may make agents do

    def most(self, caller: Caller, workspace: Path) -> Mode:
        if caller.may("approve"):
            return MODES[-1]
        # Behind walls, what runs unasked stays inside; on the bare host only what is asked about does.
        free: Mode = "ask" if self._manager.runtime.jail.kind == "host" else _FREE
        at_most = strictest(self._mode_of(self._copies.origin_of(workspace)), free)
        return widest(at_most, "ask")

    def _check_mode(self, caller: Caller, change: SettingsChange, folder: str, current: Mode) -> None:
        """No setting of a session in a mode that they may not give it, and none that would give it one."""
        if change == SettingsChange() or caller.may("approve"):
            return
        mode = current if change.mode is UNSET else change.mode
        if strictest(mode, self.most(caller, Path(folder))) != mode:
            raise _needs_approve(caller, mode)

    def _check_acting(self, caller: Caller, op: Op, info: SessionInfo) -> None:
        if caller.may("approve") or isinstance(op, SessionFork | FilesWrite):  # they go no further than `most`
            return
        most, mode = self.most(caller, Path(info.cwd)), info.settings.mode
        if strictest(mode, most) != mode:
            raise _needs_approve(caller, mode)
        if isinstance(op, TerminalOpen | TerminalInput) and mode in ("plan", "ask", "edits"):
            raise OpenAgentError(
                "permission_denied",
                f"Nobody is asked about what is done in a terminal, and the session is in the mode {mode!r}: "
                f"the {caller.called} needs the scope approve.",
                hint="Send a message instead, or use a token with the scope approve.",
            )

    # What they are told

    async def within(self, caller: Caller) -> Tenant | None:
        if caller.everywhere:
            return None
        copies = await self._copies.copies(None)
        theirs = (copy.path for copy in copies if self.reaches(caller, copy.path))
        return Tenant((*caller.roots, *theirs), caller.person, caller.teams)

    def reaches(self, caller: Caller, folder: str) -> bool:
        """A copy belongs to what it was made from."""
        return caller.works_in(str(self._copies.origin_of(Path(folder))))

    def sees(self, caller: Caller, info: SessionInfo) -> bool:
        """By where its files really are now, for a folder may have been replaced by a link since; and a person sees
        what is their own, or shared with their team."""
        if caller.everywhere or (info.team and info.team in caller.teams):
            return True
        return (not caller.person or info.owner == caller.person) and self.reaches(caller, _real(info.cwd))

    async def hears_still(self, caller: Caller, session: str) -> bool:
        info = self.known(session)
        return info is None or self.sees(caller, info) or await self._guest_right(caller, info) is not None

    async def check_sending(self, caller: Caller, op: MessageSend, info: SessionInfo) -> None:
        """Before it is accepted for a worker of a team, which looks at the rest."""
        if not self.sees(caller, info) and not await self._is_guest(caller, op, info):
            raise _not_there(caller, "session", op.session)

    def hearing(self, caller: Caller) -> "_Hearing | None":
        return None if caller.everywhere else _Hearing(self, caller)

    def known(self, session: str) -> SessionInfo | None:
        if loaded := self._manager.loaded(session):
            self.remember(loaded.info)
        return self._known.get(session)

    def remember(self, info: SessionInfo) -> None:
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[info.id] = info


class _Hearing:
    """Of the sessions and tasks of their folders, and of nothing that is the whole daemon's."""

    def __init__(self, reach: CallersReach, caller: Caller) -> None:
        self._reach = reach
        self._caller = caller

    def of_session(self, session: str) -> bool:
        info = self._reach.known(session)
        return info is not None and self._reach.sees(self._caller, info)

    def of(self, event: Event) -> bool:
        if isinstance(event, TaskUpdated):
            return bool(event.cwd) and self._reach.reaches(self._caller, event.cwd)
        if isinstance(event, SessionCreated):
            self._reach.remember(event.info)
        return bool(event.session) and self.of_session(event.session)


def _real(path: str) -> str:
    if not os.path.isabs(path) or "\0" in path:
        raise OpenAgentError("invalid_argument", f"{path!r} is not an absolute path.", hint="Give the whole path.")
    return os.path.realpath(path)


def _listed(caller: Caller) -> str:
    return ", ".join(caller.roots) or "no folder"


def _not_there(caller: Caller, kind: str, name: str) -> OpenAgentError:
    """In the same words, whether it belongs to others or to nobody."""
    return OpenAgentError(
        "not_found", f"The {caller.called} works below {_listed(caller)}, and there is no {kind} {name!r} there."
    )


def _needs_approve(caller: Caller, mode: Mode) -> OpenAgentError:
    return OpenAgentError(
        "permission_denied",
        f"In the mode {mode!r} nobody is asked: the {caller.called} lacks the scope approve for this.",
        hint="Use a stricter mode, or `openagent access create --scope approve`.",
    )
