"""Undo: a checkpoint before the first change of a turn, and the way back to before any turn."""

from typing import TYPE_CHECKING, Any

import msgspec

from openagent.core.audit import entry
from openagent.plugins.files_read import FilesRead
from openagent.plugins.store import CollectionRecord
from openagent.plugins.view_log import REWIND
from openagent.plugins.workspace import Checkpoints, FileChange, Restored
from openagent.policy.facts import Decision
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import CheckpointCreated, CheckpointRestored, ErrorRaised

if TYPE_CHECKING:
    from openagent.core.session import Session

_CHANGES_NOTHING = ("builtin:read-only", "effect:none")


class Undo:
    def __init__(self, session: "Session") -> None:
        self._session = session
        self._saved_turn = 0
        self._told_of_trouble = False

    @property
    def _checkpoints(self) -> Checkpoints:
        checkpoints = self._session.runtime.checkpoints
        if checkpoints is None:
            raise OpenAgentError("not_found", "This daemon keeps no checkpoints.")
        return checkpoints

    async def before(self, decision: Decision, turn: int) -> None:
        """Called before every call that was allowed. The first one of a turn that may change something is saved for."""
        session = self._session
        if decision.rule in _CHANGES_NOTHING or self._saved_turn == turn or session.runtime.checkpoints is None:
            return
        try:
            # Also of an unchanged workspace: it tells that this turn, unlike those without one, may have changed files.
            taken = await self._checkpoints.take(session.workspace, session.id, turn, even_unchanged=True)
        except OpenAgentError as problem:
            if not self._told_of_trouble:
                self._told_of_trouble = True
                session.post(ErrorRaised(error=problem.info))
            return
        self._saved_turn = turn
        if taken is not None:
            session.post(CheckpointCreated(checkpoint=taken.id, turn=turn, files=taken.files))

    async def changes(self, turn: int | None) -> list[FileChange]:
        """What a turn changed, or what has changed since the session's first checkpoint."""
        history = await self._checkpoints.history(self._session.id)
        own = [place for place, taken in enumerate(history) if taken.kind == "turn" and turn in (None, taken.turn)]
        if not own:
            return []
        later = history[own[0] + 1 :] if turn is not None else []
        after = next((taken.id for taken in later if taken.kind != "turn" or taken.turn != turn), None)
        return await self._checkpoints.diff(self._session.workspace, history[own[0]].id, after)

    async def rewind(
        self, turn: int, *, files: bool, conversation: bool, git_state: bool, op_id: str
    ) -> Restored | None:
        """Back to before `turn`. What it takes away stays in the store, and the files can be brought back too."""
        session = self._session
        if session.busy:
            raise OpenAgentError("busy", "The session is in the middle of a turn.", hint="Cancel it, then rewind.")
        session.paused = True
        try:
            if conversation:
                await session.runtime.stop_started_in(session.id, range(turn, session.info.turn_count + 1))
            restored = await self._rewind(turn, files, conversation, git_state, op_id)
        finally:
            session.paused = False
        await session.inbox.start_next()
        return restored

    async def _rewind(self, turn: int, files: bool, conversation: bool, git_state: bool, op_id: str) -> Restored | None:
        session = self._session
        first = await session.runtime.store.turn_start(session.id, turn)
        if first is None:
            raise OpenAgentError("not_found", f"The session has no turn {turn}.")
        restored = await self._restore_files(turn, git_state) if files else None
        record, changes = None, dict[str, Any]()
        if conversation:
            # How full the context is will be known again with the next answer.
            changes = {"usage": msgspec.structs.replace(session.info.usage, context_tokens=0)}
            record = await self._hide_from(first)
        checkpoint, undo = (restored.checkpoint, restored.before) if restored else ("", "")
        done = CheckpointRestored(
            checkpoint=checkpoint,
            turn=turn,
            files=files,
            conversation=conversation,
            rewound=record.hidden if record else [],
        )
        audit = [
            entry(
                "rewind",
                f"turn {turn}",
                files=files,
                conversation=conversation,
                git_state=git_state,
                checkpoint=checkpoint,
                undo=undo,
                written=len(restored.written) if restored else 0,
                removed=len(restored.removed) if restored else 0,
            )
        ]
        await session.record(done, op_id=op_id, changes=changes, collection=record, audit=audit)
        session.forget_view()
        session.files_read = FilesRead()
        self._saved_turn = 0
        return restored

    async def taken_back(self) -> list[tuple[int, int]]:
        """The messages that are no longer part of the conversation."""
        collections = await self._session.collections()
        return [numbers for each in collections if each.collector == REWIND for numbers in each.hidden]

    async def take_back(self, message: int) -> None:
        """The newest message stays in the store, and the model never sees it."""
        await self._session.record(collection=await self._hide_from(message))
        self._session.forget_view()

    async def _hide_from(self, first: int) -> CollectionRecord:
        """What has been collected since goes with it: those messages would be missed now."""
        session = self._session
        (message,) = await session.outbox.messages(limit=1, after=first - 1)
        since = [each for each in await session.collections() if each.at >= message.created_at]
        undone = [each.id for each in since if each.collector != REWIND and (each.hidden or each.replaced)]
        hidden = [(first, session.info.message_count)]
        return CollectionRecord(hidden=hidden, collector=REWIND, undone=undone)

    async def _restore_files(self, turn: int, git_state: bool) -> Restored | None:
        """The first checkpoint at or after a turn holds the files as they were before it."""
        history = await self._checkpoints.history(self._session.id)
        wanted = next((taken for taken in history if taken.kind == "turn" and taken.turn >= turn), None)
        if wanted is None:
            return None
        return await self._checkpoints.restore(self._session.workspace, wanted.id, git_state=git_state)
