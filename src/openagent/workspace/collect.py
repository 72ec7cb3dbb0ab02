"""Giving back the space of checkpoints nobody can want any more."""

import shutil
from collections.abc import Collection

from openagent.protocol.workspaces import WorkspacesCollected
from openagent.workspace.git import run_git
from openagent.workspace.journal import OTHERS, Journal
from openagent.workspace.quota import measure
from openagent.workspace.snapshots import Snapshots

_MANY_LOOSE = 1_000


def collect_store(store: Snapshots, sessions: Collection[str], keep: int) -> WorkspacesCollected:
    """Whoever calls this holds the store's lock, so that nothing half-written is taken for garbage."""
    references = store.directory / "refs" / "checkpoints"
    dropped = 0
    journal = Journal(store.directory)
    for session in journal.sessions():
        if session in sessions:
            journal.trim(session, keep)
        elif session != OTHERS:
            journal.forget(session)
    store.point("writes/kept", journal.keep(store.objects, journal.sessions()))
    for session in references.iterdir() if references.is_dir() else ():
        numbered = store.numbered(session.name)
        gone = numbered if session.name not in sessions else numbered[: max(0, len(numbered) - keep)]
        for _, reference in gone:
            reference.unlink()
        if len(gone) == len(numbered):
            shutil.rmtree(session)
        dropped += len(gone)
    size = measure(store.directory).bytes
    unused = not any(references.glob("*/*")) and not any((store.directory / "refs").glob("copies/*"))
    if unused and not store.workspace.is_dir():
        shutil.rmtree(store.directory)
        return WorkspacesCollected(checkpoints=dropped, stores=1, copies=0, freed_bytes=size)
    if dropped or _loose(store) > _MANY_LOOSE:
        run_git(store.directory, ["repack", "-a", "-d", "-q", "--threads=1"])
        run_git(store.directory, ["prune", "--expire=now"])
    freed = max(0, size - measure(store.directory).bytes)
    return WorkspacesCollected(checkpoints=dropped, stores=0, copies=0, freed_bytes=freed)


def _loose(store: Snapshots) -> int:
    return sum(1 for _ in (store.directory / "objects").glob("[0-9a-f][0-9a-f]/*"))
