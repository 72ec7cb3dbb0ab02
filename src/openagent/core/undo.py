"""Undo: what the session's calls write is known from the files, and can be taken back, and brought again."""

import asyncio
import logging
import posixpath
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from secrets import token_hex
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from openagent.core.audit import entry
from openagent.core.recorder import InfoChanges
from openagent.core.view_log import REWIND, standing
from openagent.plugins.context import ranges, within
from openagent.plugins.runs_outside import all_running_outside
from openagent.plugins.store import AuditEntry, CollectionRecord, Rows
from openagent.plugins.tool import Tool
from openagent.plugins.workspace import Caller, Part, Restored, Writes, WriteWindow
from openagent.protocol.errors import ErrorInfo, OpenAgentError
from openagent.protocol.events import CheckpointCreated, CheckpointRestored, ErrorRaised
from openagent.protocol.review import Reverted, Review, ReviewRevert
from openagent.protocol.undo import ChangedFile, LeftAlone, Rewound, SessionUndo

if TYPE_CHECKING:
    from openagent.core.session import Session

T = TypeVar("T")
TOLD = 100
"""Paths that an event names; the answer names them all."""
_NAMED = 5
"""Paths that a line names."""
_NOT_HERE = "The files it changed stay as they are: the checkpoints of this session are not in this home."
_PAGE = 500
_log = logging.getLogger(__name__)


class Undo:
    def __init__(self, session: "Session") -> None:
        self._session = session
        self._told_of_trouble = False
        self._in_background: dict[str, int] = {}
        """Commands that go on running, with the turn that started them."""

    @property
    def _writes(self) -> Writes:
        writes = self._session.runtime.writes
        if writes is None:
            raise OpenAgentError("not_found", "This daemon does not keep what sessions write.")
        return writes

    # What calls write

    def call(
        self, tool: Tool, call_id: str, *, walled: bool = False
    ) -> AbstractAsyncContextManager[WriteWindow | None]:
        """Around a call of any tool: whether it may write is not asked of anybody's opinion of it, but for the kernel's
        (`walled`)."""
        own = tool.source == "built-in"
        if own and (walled or tool.effect not in ("write", "execute")):
            return nullcontext()
        return self.window(call_id, exact=own and tool.effect == "write")

    @asynccontextmanager
    async def window(self, call_id: str, *, exact: bool = False) -> AsyncGenerator[WriteWindow | None]:
        session = self._session
        by = Caller(session.id, session.info.turn_count, call_id)
        window = await self._tried(lambda: self._writes.begin(session.workspace, by, exact=exact))
        if window is not None and window.trouble is not None:
            self._tell_of_trouble(window.trouble)
        try:
            yield window
        finally:
            if window is not None:
                await asyncio.shield(self._end(window, by.turn))

    async def _end(self, window: WriteWindow, turn: int) -> None:
        if taken := await self._tried(lambda: self._writes.end(window)):
            self._session.post(CheckpointCreated(checkpoint=taken.id, turn=turn, files=taken.files))

    async def _tried(self, work: "Callable[[], Awaitable[T]]") -> T | None:
        """A call is not held up because it could not be undone; a person is told once."""
        if self._session.runtime.writes is None:
            return None
        try:
            return await work()
        except Exception as problem:  # the supervisor: whatever fails while files are read, the turn goes on
            self._tell_of_trouble(problem)
            return None

    def _tell_of_trouble(self, problem: Exception) -> None:
        _log.warning(
            "writes of a call could not be tracked; undo may not know them",
            exc_info=problem,
            extra={"session": self._session.id},
        )
        if self._told_of_trouble:
            return
        self._told_of_trouble = True
        self._session.post(ErrorRaised(error=problem.info if isinstance(problem, OpenAgentError) else _unseen(problem)))

    async def goes_on(self, window: WriteWindow | None, command: str) -> None:
        """A command went to the background: what is written until it ends may be its doing."""
        self._in_background[command] = self._session.info.turn_count
        shell = await self._session.shell.get()
        if window is not None:
            known = self._in_background
            window.goes_on(
                lambda: command in known and any(each.id == command and each.running for each in shell.background())
            )

    def close(self) -> None:
        """The shell is gone, and all that ran in it."""
        self._in_background.clear()

    async def interrupted(self, turn: int, calls: Sequence[str]) -> None:
        """A crash cut these off; what has changed since is theirs."""
        session = self._session
        if calls:
            by = Caller(session.id, turn, calls[0])
            await self._tried(lambda: self._writes.interrupted(session.workspace, by))

    async def changes(self, turn: int | None, *, since: bool = False) -> list[ChangedFile]:
        """What a turn wrote, or what the session wrote and did not take back, all of it or since a turn."""
        return await self._writes.changes(self._session.workspace, self._session.id, turn, since=since)

    async def review(self, turn: int | None, path: str) -> Review:
        """What the session wrote and did not take back, by turn, and what others wrote since; or one file of it."""
        review = await self._writes.review(self._session.workspace, self._session.id, turn, path)
        if not review.turns and not path and await self._wrote_elsewhere(turn or 1):
            return msgspec.structs.replace(review, missing=_NOT_HERE)
        return review

    # The way back

    async def revert(self, op: ReviewRevert) -> Reverted:
        """Takes back one file, or some hunks of it. The conversation stays, and `unrewind` brings the file back."""
        session = self._session
        async with self._alone():
            part = Part(session.id, op.path, op.version, op.turn, op.hunks)
            done = await self._writes.revert(session.workspace, part)
            restored = CheckpointRestored(checkpoint=done.checkpoint, turn=done.turn, undo=done.undo, reverted=op.path)
            audit = [_audit("revert", done.turn, done.undo, done, path=op.path, hunks=len(op.hunks))]
            await session.record(restored, rows=Rows(audit=audit), op_id=op.id)
            session.seen.forget()
        await session.inbox.start_next()
        return Reverted(done.undo, done.written, done.removed, done.merged, all_running_outside(done.written))

    async def rewind(self, op: SessionUndo) -> Rewound:
        """Back to before a turn. What it takes away stays in the store, and can be brought again."""
        paths = _limits(op)
        async with self._alone():
            first = await self._session.runtime.store.turn_start(self._session.id, op.turn)
            if first is None:
                raise OpenAgentError("not_found", f"The session has no turn {op.turn}.")
            stopped = [] if paths else await self._stop_started_since(op.turn)
            done = await self._rewind(op, first, paths)
        await self._session.inbox.start_next()
        return msgspec.structs.replace(done, stopped=stopped)

    async def _rewind(self, op: SessionUndo, first: int, paths: list[str]) -> Rewound:
        session, restored = self._session, None
        if paths and await self._wrote_elsewhere(op.turn):
            raise OpenAgentError("not_found", _NOT_HERE)
        if op.files:
            overwrite = op.others == "overwrite"
            restored = await self._writes.rewind(
                session.workspace, session.id, op.turn, git_state=op.git_state, overwrite=overwrite, paths=paths
            )
        undo = restored.undo if restored else token_hex(6)
        record = None
        changes: InfoChanges = {}
        if op.conversation:
            # How full the context is will be known again with the next answer.
            changes = {"usage": msgspec.structs.replace(session.info.usage, context_tokens=0)}
            record = msgspec.structs.replace(await self._hide_from(first), undo=undo)
        missing = [_NOT_HERE] if op.files and restored is None and await self._wrote_elsewhere(op.turn) else []
        if restored is None and record is None:
            return Rewound(op.turn, kept=missing)
        done = CheckpointRestored(
            checkpoint=restored.checkpoint if restored else "",
            turn=op.turn,
            files=op.files,
            conversation=op.conversation,
            rewound=record.hidden if record else [],
            undo=undo,
            others=[left.path for left in restored.others[:TOLD]] if restored else [],
            reverted=", ".join(paths[:_NAMED]) + f", and {len(paths) - _NAMED} more" * (len(paths) > _NAMED),
        )
        given = {"files": op.files, "conversation": op.conversation, "git_state": op.git_state, "others": op.others}
        limit = {"paths": paths[:TOLD]} if paths else {}
        audit = [_audit("rewind", op.turn, undo, restored, **given, **limit)]
        await session.record(done, rows=Rows(collection=record, audit=audit), changes=changes, op_id=op.id)
        self._begin_anew()
        return _told(op.turn, undo, restored, git=op.git_state, missing=missing)

    async def _wrote_elsewhere(self, turn: int) -> bool:
        """Those turns did write, and what undo needs of it is not in this home."""
        session = self._session
        if await self._writes.keeps(session.workspace, session.id):
            return False
        seq = 0
        while page := await session.runtime.store.events(session.id, after=seq, limit=_PAGE):
            if any(isinstance(event, CheckpointCreated) and event.turn >= turn for event in page):
                return True
            seq = page[-1].seq
        return False

    async def unrewind(self, undo: str, op_id: str) -> Rewound:
        """Takes a rewind back: its files and its conversation are as they were, but for what others did since."""
        session = self._session
        async with self._alone():
            log = standing(await session.view.log())
            undo = undo or await self._last_undo(log)
            hidden = next((each for each in log if each.collector == REWIND and undo and each.undo == undo), None)
            writes = session.runtime.writes
            restored = await writes.unrewind(session.workspace, session.id, undo) if writes and undo else None
            if hidden is None and restored is None:
                raise OpenAgentError(
                    "not_found",
                    f"There is no rewind {undo[:40]!r} to take back: it is not known, or was taken back already.",
                    hint="What a rewind prints, and its event, name what takes it back.",
                )
            still = [numbers for each in log if each is not hidden for numbers in each.hidden]
            came_back = [
                number
                for start, end in (hidden.hidden if hidden else ())
                for number in range(start, end + 1)
                if not within(number, still)
            ]
            turn = await self._turn_of(came_back[0]) if came_back else 0
            done = CheckpointRestored(
                checkpoint=restored.checkpoint if restored else "",
                turn=turn,
                files=restored is not None,
                conversation=hidden is not None,
                returned=ranges(came_back),
                others=[left.path for left in restored.others[:TOLD]] if restored else [],
                reverted=restored.path if restored else "",
            )
            record = CollectionRecord(collector=REWIND, undone=[hidden.id]) if hidden else None
            audit = [_audit("unrewind", turn, undo, restored)]
            await session.record(done, rows=Rows(collection=record, audit=audit), op_id=op_id)
            self._begin_anew()
        await session.inbox.start_next()
        return _told(turn, "", restored, git=bool(restored and restored.git_state != "untouched"))

    async def _last_undo(self, log: Sequence[CollectionRecord]) -> str:
        session = self._session
        writes = session.runtime.writes
        files = await writes.last_undo(session.workspace, session.id) if writes else None
        talk = next((each for each in reversed(log) if each.collector == REWIND and each.undo), None)
        _, undo = max([(each.at, each.undo) for each in (files, talk) if each], default=(0, ""))
        if not undo:
            raise OpenAgentError("not_found", "There is nothing to redo in this session.")
        said_since = talk is not None and talk.undo == undo and session.info.message_count > talk.hidden[-1][1]
        if said_since or (files is not None and files.undo == undo and files.gone_on):
            raise OpenAgentError(
                "conflict",
                "The session has gone on since the last undo, so bringing that back may undo newer work.",
                hint=f"To do it all the same: `openagent redo {session.id} {undo}`.",
            )
        return undo

    async def _turn_of(self, message: int) -> int:
        (found,) = await self._session.runtime.store.messages(self._session.id, limit=1, after=message - 1)
        return found.turn

    @asynccontextmanager
    async def _alone(self) -> AsyncGenerator[None]:
        """Messages wait meanwhile."""
        session = self._session
        if session.busy:
            raise OpenAgentError("busy", "The session is in the middle of a turn.", hint="Cancel it, then rewind.")
        session.paused = True
        try:
            yield
        finally:
            session.paused = False

    async def _stop_started_since(self, turn: int) -> list[str]:
        """What those turns left running would go on writing into what is taken back."""
        session = self._session
        stopped = list(await session.runtime.stop_started_in(session.id, range(turn, session.info.turn_count + 1)))
        commands = [command for command, started in self._in_background.items() if started >= turn]
        if not commands:
            return stopped
        shell = await session.shell.get()
        running = {each.id for each in shell.background() if each.running}
        for command in commands:
            del self._in_background[command]
            if command in running:
                await shell.kill_background(command)
                stopped.append(command)
        return stopped

    def _begin_anew(self) -> None:
        self._session.view.forget()
        self._session.seen.forget()

    # The conversation

    async def taken_back(self) -> list[tuple[int, int]]:
        """The messages that are no longer part of the conversation."""
        log = standing(await self._session.view.log())
        return [numbers for each in log if each.collector == REWIND for numbers in each.hidden]

    async def take_back(self, message: int) -> None:
        """The newest message stays in the store, and the model never sees it."""
        await self._session.record(rows=Rows(collection=await self._hide_from(message)))
        self._session.view.forget()

    async def _hide_from(self, first: int) -> CollectionRecord:
        """What has been collected since goes with it: those messages would be missed now."""
        session = self._session
        (message,) = await session.recorder.outbox.messages(limit=1, after=first - 1)
        since = [each for each in await session.view.log() if each.at >= message.created_at]
        undone = [each.id for each in since if each.collector != REWIND and (each.hidden or each.replaced)]
        hidden = [(first, session.info.message_count)]
        return CollectionRecord(hidden=hidden, collector=REWIND, undone=undone)


def _limits(op: SessionUndo) -> list[str]:
    """The paths as the workspace names them. What cannot be understood is refused: it must not mean everything."""
    if not op.files and not op.conversation:
        raise OpenAgentError("invalid_argument", "With neither files nor conversation there is nothing to undo.")
    if op.paths and not op.files:
        raise OpenAgentError("invalid_argument", "Paths limit which files are undone, and no files were asked for.")
    if op.paths and op.git_state:
        raise OpenAgentError(
            "invalid_argument", "The repository's state cannot be limited to paths. Nothing was undone."
        )
    for path in op.paths:
        if not path or path.startswith("/") or ".." in path.split("/"):
            raise OpenAgentError(
                "invalid_argument",
                f"{path[:300]!r} is not a path from the workspace's root. Nothing was undone.",
                hint="Write it as `openagent diff` shows it.",
            )
    return [posixpath.normpath(path) for path in op.paths]


def _unseen(problem: Exception) -> ErrorInfo:
    if isinstance(problem, OSError):
        why = problem.strerror or str(problem)
        hint = "Check that the disk is not full and that the data folder is writable."
    else:
        why = f"reading the workspace failed with {type(problem).__name__}: {problem}"
        hint = "This is a bug in OpenAgent: please report it with the daemon's log."
    return ErrorInfo(
        "store_error",
        f"What this session is writing now may be missing from undo: {why}. "
        "What is found later is listed in `openagent diff` as possibly somebody else's.",
        hint=hint,
    )


def _audit(kind: str, turn: int, undo: str, restored: Restored | None, **detail: Any) -> AuditEntry:
    counts = {
        "written": len(restored.written) if restored else 0,
        "removed": len(restored.removed) if restored else 0,
        "left": len(restored.others) if restored else 0,
    }
    checkpoint = restored.checkpoint if restored else ""
    return entry("rewind", f"turn {turn}", action=kind, checkpoint=checkpoint, undo=undo, **counts, **detail)


def _told(turn: int, undo: str, restored: Restored | None, *, git: bool, missing: Sequence[str] = ()) -> Rewound:
    if restored is None:
        return Rewound(turn, undo, kept=list(missing))
    return Rewound(
        turn,
        undo,
        restored.written,
        restored.removed,
        [f"{left.path}: {left.reason}" for left in restored.kept],
        f"{restored.git_state}. {restored.git_detail}".strip() if git else "",
        others=[LeftAlone(left.path, left.reason) for left in restored.others],
        merged=restored.merged,
        runs_outside=all_running_outside(restored.written),
    )
