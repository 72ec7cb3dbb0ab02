"""Copies, backups and the space they take: `workspaces.*`."""

import os
from pathlib import Path

from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.plugins.store import Store
from openagent.plugins.workspace import Backup, Copy, LeftOut, Quota, Workspaces
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.op import Done
from openagent.protocol.undo import Changes
from openagent.protocol.workspaces import (
    MergeConflict,
    WorkspaceBackup,
    WorkspaceCopies,
    WorkspaceCopy,
    WorkspaceMerged,
    WorkspacesBackup,
    WorkspacesCollect,
    WorkspacesCollected,
    WorkspacesCreate,
    WorkspacesDiff,
    WorkspacesList,
    WorkspacesMerge,
    WorkspacesRemove,
    WorkspacesRestore,
)

_NEW_MEANWHILE = 1000


class WorkspaceService:
    def __init__(self, workspaces: Workspaces, store: Store) -> None:
        self._workspaces = workspaces
        self._store = store

    def handlers(self) -> list[Handler]:
        return [
            WorkspacesList.handled_by(self._list),
            WorkspacesCreate.handled_by(self._create),
            WorkspacesDiff.handled_by(self._diff),
            WorkspacesMerge.handled_by(self._merge),
            WorkspacesRemove.handled_by(self._remove),
            WorkspacesBackup.handled_by(self._backup),
            WorkspacesRestore.handled_by(self._restore),
            WorkspacesCollect.handled_by(self._collect),
        ]

    async def _list(self, connection: Connection, op: WorkspacesList) -> WorkspaceCopies:
        copies = await self._workspaces.copies(_folder(op.cwd) if op.cwd else None)
        within = await connection.within()
        return WorkspaceCopies([_copy(copy) for copy in copies if within is None or copy.path in within.folders])

    async def _create(self, connection: Connection, op: WorkspacesCreate) -> WorkspaceCopy:
        for name, given in (("max_bytes", op.max_bytes), ("max_files", op.max_files)):
            if given is not None and given < 1:
                raise OpenAgentError("invalid_argument", f"{name} is {given}.", hint="Give a number above 0, or none.")
        limited = op.max_bytes is not None or op.max_files is not None
        quota = Quota(op.max_bytes, op.max_files) if limited else None
        return _copy(await self._workspaces.create(_folder(op.cwd), op.name, how=op.method or "auto", quota=quota))

    async def _diff(self, connection: Connection, op: WorkspacesDiff) -> Changes:
        return Changes(await self._workspaces.diff(op.copy))

    async def _merge(self, connection: Connection, op: WorkspacesMerge) -> WorkspaceMerged:
        merged = await self._workspaces.merge_back(op.copy, settled=op.settled)
        conflicts = [
            MergeConflict(each.path, each.reason, each.origin, each.copy, each.base, each.version, each.cut)
            for each in merged.conflicts
        ]
        return WorkspaceMerged(merged.applied, merged.merged, conflicts, merged.before)

    async def _remove(self, connection: Connection, op: WorkspacesRemove) -> Done:
        await self._workspaces.remove(op.copy, force=op.force)
        return Done()

    async def _backup(self, connection: Connection, op: WorkspacesBackup) -> WorkspaceBackup:
        archive = _absolute(op.archive)
        try:
            return _backup(await self._workspaces.backup(_folder(op.cwd), archive))
        except OSError as problem:
            why = problem.strerror or str(problem)
            raise OpenAgentError(
                "invalid_argument",
                f"The backup cannot be written to {archive}: {why}.",
                hint="Name another file.",
            ) from None

    async def _restore(self, connection: Connection, op: WorkspacesRestore) -> WorkspaceBackup:
        return _backup(await self._workspaces.restore_backup(_absolute(op.archive), _absolute(op.to)))

    async def _collect(self, connection: Connection, op: WorkspacesCollect) -> WorkspacesCollected:
        count = await self._store.count_sessions()
        sessions = await self._store.sessions(limit=count + _NEW_MEANWHILE)
        return await self._workspaces.gc({info.id for info in sessions}, keep=max(op.keep, 1))


def _copy(copy: Copy) -> WorkspaceCopy:
    return WorkspaceCopy(
        id=copy.id,
        name=copy.name,
        origin=copy.origin,
        path=copy.path,
        method=copy.method,
        created_at=copy.created_at,
        left_out=_told(copy.left_out),
    )


def _backup(backup: Backup) -> WorkspaceBackup:
    return WorkspaceBackup(archive=backup.archive, files=backup.files, left_out=_told(backup.left_out))


def _told(left_out: list[LeftOut]) -> list[str]:
    return [f"{left.path}: {left.reason}" for left in left_out]


def _absolute(path: str) -> Path:
    if not path.startswith("/"):
        raise OpenAgentError("invalid_argument", f"{path!r} is not an absolute path.", hint="Give the whole path.")
    return Path(path)


def _folder(path: str) -> Path:
    return Path(os.path.realpath(_absolute(path)))
