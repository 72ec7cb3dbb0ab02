"""Saved states of a workspace, in a private git repository under the data folder.

The workspace's own repository is only ever read, unless a restore is asked to bring its state back too.
"""

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar
from weakref import WeakValueDictionary

from openagent.filesystem.beneath import opened_root
from openagent.plugins.workspace import Checkpoint, Checkpoints, Restored
from openagent.protocol.undo import ChangedFile
from openagent.workspace.apply import Apply
from openagent.workspace.diffs import tree_changes
from openagent.workspace.git import BlobReader
from openagent.workspace.ignored import Ignored
from openagent.workspace.repository_restore import restore_repository
from openagent.workspace.scan import Limits
from openagent.workspace.snapshots import Snapshots, real_workspace, safe_name
from openagent.workspace.tree import shown, shown_left_out

T = TypeVar("T")


class GitCheckpoints:
    def __init__(self, home: Path, *, limits: Limits | None = None) -> None:
        self.home = home
        self.limits = limits or Limits()
        self.on_collect: Callable[[Path], None] = lambda _store: None
        """Called with a store, and its lock held, before garbage is collected in it."""
        self.on_forget: Callable[[Path, str], None] = lambda _store, _session: None
        self._waiting: WeakValueDictionary[Path, asyncio.Lock] = WeakValueDictionary()

    async def take(
        self, workspace: Path, session: str, turn: int, *, even_unchanged: bool = False
    ) -> Checkpoint | None:
        safe_name(session)
        store = self.store(workspace)

        def work() -> Checkpoint | None:
            snapshot = store.take()
            if snapshot.tree.hex() == store.last_tree(session) and not even_unchanged:
                return None
            return store.checkpoint(snapshot, session, turn, "turn")

        return await self.exclusively(store, work)

    async def restore(self, workspace: Path, checkpoint: str, *, git_state: bool = False) -> Restored:
        store = self.store(workspace)
        return await self.exclusively(store, lambda: _restore(store, checkpoint, git_state))

    async def diff(self, workspace: Path, before: str, after: str | None = None) -> list[ChangedFile]:
        store = self.store(workspace)

        def work() -> list[ChangedFile]:
            now = after or store.take().tree.hex()
            with BlobReader(store.directory) as reader:
                trees = store.files_tree(reader, before), store.files_tree(reader, now)
            return tree_changes(store.directory, *trees, Ignored(store.directory, store.workspace))

        return await self.exclusively(store, work)

    async def history(self, session: str) -> list[Checkpoint]:
        safe_name(session)

        def work() -> list[Checkpoint]:
            found: list[Checkpoint] = []
            for store in self.stores():
                with BlobReader(store.directory) as reader:
                    for _, reference in store.numbered(session):
                        found.append(store.read_checkpoint(reader, reference.read_text().strip()))
            return sorted(found, key=lambda checkpoint: checkpoint.at)

        return await asyncio.to_thread(work)

    async def forget(self, session: str) -> None:
        """The space is given back by the next `gc`."""
        safe_name(session)
        for store in await asyncio.to_thread(self.stores):
            references = store.directory / "refs" / "checkpoints" / session
            written = store.directory / "writes" / session
            if not references.is_dir() and not written.exists():
                continue

            def work(directory: Path = store.directory, references: Path = references, written: Path = written) -> None:
                self.on_forget(directory, session)
                shutil.rmtree(references, ignore_errors=True)
                written.unlink(missing_ok=True)

            await self.exclusively(store, work)

    def store(self, workspace: Path) -> Snapshots:
        return Snapshots(self.home, real_workspace(workspace), self.limits)

    def stores(self) -> list[Snapshots]:
        notes = sorted((self.home / "checkpoints").glob("*/workspace"))
        return [Snapshots(self.home, Path(os.fsdecode(note.read_bytes())), self.limits) for note in notes]

    def lock_of(self, store: Snapshots) -> asyncio.Lock:
        return self._waiting.setdefault(store.directory, asyncio.Lock())

    async def exclusively(self, store: Snapshots, work: Callable[[], T]) -> T:
        """In a thread. Those who wait for the same workspace wait here, not in threads."""
        lock = self.lock_of(store)

        def locked() -> T:
            with store.locked():
                return work()

        async with lock:
            return await asyncio.to_thread(locked)


def _restore(store: Snapshots, checkpoint: str, git_state: bool) -> Restored:
    with BlobReader(store.directory) as reader:
        wanted = store.read_checkpoint(reader, checkpoint)
        target = store.files_of(reader, checkpoint)
        present = store.take()
        before = store.checkpoint(present, wanted.session, wanted.turn, "before_restore")
        debris = store.begin_writing()
        change = Apply(reader, present.files, target, debris)
        with opened_root(store.workspace) as root:
            change.run(root)
        written, removed, kept = change.written, change.removed, change.kept
        outcome: Literal["untouched", "restored", "refused"] = "untouched"
        detail = ""
        if git_state:
            outcome, detail = restore_repository(store, reader, checkpoint, present.repository)
        store.end_writing()
        after = store.take()
    if after.files.root.tree != target.root.tree and not kept:
        kept = [(b"", "something changed the workspace while it was restored")]
    return Restored(
        checkpoint=checkpoint,
        before=before.id,
        written=[shown(path) for path in written],
        removed=[shown(path) for path in removed],
        kept=shown_left_out(kept),
        git_state=outcome,
        git_detail=detail,
    )


if TYPE_CHECKING:

    def type_check(checkpoints: GitCheckpoints) -> None:
        _: Checkpoints = checkpoints
