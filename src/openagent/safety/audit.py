"""What was decided, run and written: `audit.list`."""

from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.daemon.manager import SessionManager
from openagent.plugins.store import AuditEntry, Store
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.safety import AuditAsk, AuditPage, AuditRow

MOST = 1000
_LOOKED_AT = 20_000
"""Entries read at most for one page of those that name a tool."""


class AuditService:
    def __init__(self, store: Store, manager: SessionManager) -> None:
        self._store = store
        self._manager = manager

    def handlers(self) -> list[Handler]:
        return [
            AuditAsk.handled_by(self._list),
        ]

    async def _list(self, connection: Connection, op: AuditAsk) -> AuditPage:
        for loaded in self._manager.all_loaded:
            await loaded.recorder.flush()
        session = await self._session(op.session) if op.session else None
        limit = min(max(op.limit, 1), MOST)
        found: list[AuditEntry] = []
        before, looked_at = op.before, 0
        while len(found) < limit and looked_at < _LOOKED_AT:
            size = MOST if op.tool else limit
            page = await self._store.audit(session, kind=op.kind, since=op.since, limit=size, before=before)
            fitting = [entry for entry in page if not op.tool or entry.detail.get("tool") == op.tool]
            taken = fitting[: limit - len(found)]
            found += taken
            if len(page) < size and len(taken) == len(fitting):
                return AuditPage([_row(entry) for entry in found])
            looked_at += len(page)
            before = taken[-1].id if len(taken) < len(fitting) else page[-1].id
        return AuditPage([_row(entry) for entry in found], next=before)

    async def _session(self, name: str) -> str:
        """The trail outlives the session: one that is gone must be named in full."""
        try:
            return (await self._store.session(name)).info.id
        except OpenAgentError as problem:
            if problem.info.code != "not_found":
                raise
            return name


def _row(entry: AuditEntry) -> AuditRow:
    return AuditRow(entry.id, entry.at, entry.session, entry.kind, entry.subject, entry.detail)
