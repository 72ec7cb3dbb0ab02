"""What a session changed, looked through and taken back piece by piece: `review.*`."""

from pathlib import Path

import msgspec

from openagent.core.secret_files import without_secrets
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.daemon.manager import SessionManager
from openagent.policy.decision import decide
from openagent.policy.facts import CallFacts
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.review import OthersChanges, Reverted, Review, ReviewRevert, ReviewShow
from openagent.protocol.undo import ChangedFile
from openagent.safety.service import Safety


class ReviewService:
    def __init__(self, manager: SessionManager, safety: Safety) -> None:
        self._manager = manager
        self._safety = safety

    def handlers(self) -> list[Handler]:
        return [ReviewShow.handled_by(self._show), ReviewRevert.handled_by(self._revert)]

    async def _show(self, connection: Connection, op: ReviewShow) -> Review:
        session = await self._manager.get(op.session)
        found = await session.undo.review(op.turn, op.path)
        if connection.caller.is_guest_in(session.info):  # what others wrote is no part of the session
            shown = without_secrets([each.file for each in found.files])
            files = [msgspec.structs.replace(each, file=file) for each, file in zip(found.files, shown, strict=True)]
            return msgspec.structs.replace(found, files=files, others=[])
        others = [await self._told(each, session.workspace) for each in found.others]
        return msgspec.structs.replace(found, others=others)

    async def _revert(self, connection: Connection, op: ReviewRevert) -> Reverted:
        return await (await self._manager.get(op.session)).undo.revert(op)

    async def _told(self, others: OthersChanges, workspace: Path) -> OthersChanges:
        files = [self._readable(file, workspace) for file in others.files]
        return msgspec.structs.replace(others, files=files, name=await self._name(others.session))

    def _readable(self, file: ChangedFile, workspace: Path) -> ChangedFile:
        """What a person writes into a file that is not read unasked is told to nobody by the way."""
        rules = self._safety.rules.holding(self._safety.workspaces.origin_of(workspace)).rules
        facts = CallFacts("read_file", "read", file.path, str(workspace), {"path": file.path})
        return file if decide(facts, "ask", rules).kind == "allow" else msgspec.structs.replace(file, patch="")

    async def _name(self, session: str) -> str:
        """Empty when it is gone."""
        try:
            return (await self._manager.get(session)).info.name if session else ""
        except OpenAgentError:
            return ""
