"""Copies of workspaces for sessions to work in, to be reviewed and merged back; quotas, backups, cleaning up."""

import asyncio
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Literal

import msgspec

from openagent.filesystem.atomic_files import replace_file
from openagent.filesystem.beneath import opened_root
from openagent.plugins.workspace import Backup, Caller, Conflict, Copy, Merged, Quota, Workspaces, WorkspaceUsage
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.undo import ChangedFile
from openagent.protocol.workspaces import CopyMethod, MergeChoice, WorkspacesCollected
from openagent.workspace.apply import Apply
from openagent.workspace.backup import ArchivesMade, discard_tree, read_backup, write_backup
from openagent.workspace.checkpoints import GitCheckpoints
from openagent.workspace.collect import collect_store
from openagent.workspace.copying import (
    CannotCopy,
    Overlays,
    add_worktree,
    copy_tree,
    remove_worktree,
    without_repository,
)
from openagent.workspace.diffs import tree_changes
from openagent.workspace.git import BlobReader
from openagent.workspace.git_guard import Disarmed, GitGuard, NoJails
from openagent.workspace.ignored import Ignored
from openagent.workspace.merge import Plan, folder_of, nodes_of, plan_merge, text_merger
from openagent.workspace.merge_settled import settle, version_of
from openagent.workspace.quota import enforce, measure
from openagent.workspace.snapshots import Snapshots, real_workspace, safe_name
from openagent.workspace.tree import Manifest, find, shown, shown_left_out, write_trees
from openagent.workspace.writes import WorkspaceWrites

_AUTO: tuple[CopyMethod, ...] = ("overlay", "worktree", "copy")
_MAX_SIDE = 64 << 10
_MERGES = "merges"
"""The session under which the origin's states before merges are kept."""


class CopyRecord(msgspec.Struct):
    """What is written down of a copy, last of all: a folder without it is what a crash left behind."""

    copy: Copy
    base: str = ""
    """Of an overlay."""


class WorkspaceCopies:
    def __init__(self, home: Path, checkpoints: GitCheckpoints, writes: WorkspaceWrites | None = None) -> None:
        self._directory = (home / "copies").resolve()
        self._restoring = home / "restored"
        self._archives = ArchivesMade(home / "archives")
        self._within = f"{self._directory}/"
        self._checkpoints = checkpoints
        self._writes = writes or WorkspaceWrites(home, checkpoints)
        self._writes.origin_of = self.origin_of
        self._overlays = Overlays(self._directory)
        self._origins: dict[str, Path] = {}
        self._quotas: dict[str, Quota | None] = {}

    async def create(
        self, workspace: Path, name: str, *, how: Literal["auto"] | CopyMethod = "auto", quota: Quota | None = None
    ) -> Copy:
        safe_name(name)
        store = self._checkpoints.store(workspace)
        if quota:
            await self.check_quota(store.workspace, quota)
        ways = _AUTO if how == "auto" else (how,)
        return await self._checkpoints.exclusively(store, lambda: self._create(store, name, ways, quota))

    def _create(self, store: Snapshots, name: str, ways: tuple[CopyMethod, ...], quota: Quota | None) -> Copy:
        reasons: list[str] = []
        for way in ways:
            copy = f"{name}-{token_hex(3)}"
            try:
                return self._create_as(way, store, copy, name, quota)
            except CannotCopy as problem:
                reasons.append(f"{way}: {problem}")
                self._discard(copy, store.workspace.name, way, store.workspace)
            except BaseException:
                self._discard(copy, store.workspace.name, way, store.workspace)
                raise
        raise OpenAgentError(
            "jail_error",
            f"{store.workspace} could not be copied ({'; '.join(reasons)}).",
            hint="Try another way with how=, or free some space.",
        )

    def _create_as(self, way: CopyMethod, store: Snapshots, copy: str, name: str, quota: Quota | None) -> Copy:
        path = self._directory / copy / store.workspace.name
        path.parent.mkdir(parents=True, mode=0o711)
        base, needs = "", list[str]()
        if way == "copy":
            copy_tree(store.workspace, path)
            snapshot = store.take(path, f"copy-{copy}")
        else:
            snapshot = store.take()
            if way == "overlay":
                base = self._overlays.create(store, snapshot, copy, path.name)
            else:
                needs = add_worktree(store, snapshot, path)
        store.point(f"copies/{copy}", store.write(without_repository(snapshot.files)))
        made = Copy(
            id=copy,
            name=name,
            origin=str(store.workspace),
            path=str(path),
            method=way,
            created_at=time.time(),
            needs=needs,
            left_out=[] if way == "copy" else shown_left_out(snapshot.files.left_out),
            quota=quota,
        )
        self._quotas[copy] = quota
        replace_file(self._directory / copy / "copy.json", msgspec.json.encode(CopyRecord(made, base)))
        return made

    async def copies(self, workspace: Path | None = None) -> list[Copy]:
        records = await asyncio.to_thread(self._records)
        wanted = str(real_workspace(workspace)) if workspace else None
        found = [record.copy for record in records if wanted in (None, record.copy.origin)]
        return sorted(found, key=lambda copy: copy.created_at)

    def copy_of(self, workspace: Path) -> str:
        """The id of the copy that this is; empty when it is none. Asked several times in every step."""
        path = str(workspace)
        return path[len(self._within) :].partition("/")[0] if path.startswith(self._within) else ""

    def origin_of(self, workspace: Path) -> Path:
        """What a copy, or a copy of a copy, was made from; the workspace itself when it is none."""
        while copy := self.copy_of(workspace):
            if copy not in self._origins:
                try:
                    self._origins[copy] = Path(self._record(copy).copy.origin)
                except OpenAgentError:  # it was removed
                    return workspace
            workspace = self._origins[copy]
        return workspace

    def quota_of(self, workspace: Path) -> Quota | None:
        """What a copy may hold; asked before every call."""
        if not (copy := self.copy_of(workspace)):
            return None
        if copy not in self._quotas:
            try:
                self._quotas[copy] = self._record(copy).copy.quota
            except OpenAgentError:  # it was removed
                return None
        return self._quotas[copy]

    async def open(self, copy: str) -> Path:
        return await asyncio.to_thread(lambda: Path(self._opened(copy).copy.path))

    def unmount_all(self) -> None:
        """At the end, and at the start what a killed daemon left. Takes a while: call it off the event loop."""
        self._overlays.unmount_all()

    async def diff(self, copy: str) -> list[ChangedFile]:
        record = await asyncio.to_thread(self._opened, copy)
        store = self._checkpoints.store(Path(record.copy.origin))

        def work() -> list[ChangedFile]:
            theirs = self._files(store, record.copy)
            with BlobReader(store.directory) as reader:
                base = store.files_tree(reader, _base_tree(store, copy))
            now = write_trees(store.objects, theirs.root).hex()
            return tree_changes(store.directory, base, now, Ignored(store.directory, Path(record.copy.path)))

        return await self._checkpoints.exclusively(store, work)

    async def merge_back(self, copy: str, *, by: Caller | None = None, settled: Sequence[MergeChoice] = ()) -> Merged:
        record = await asyncio.to_thread(self._opened, copy)
        store = self._checkpoints.store(Path(record.copy.origin))
        return await self._writes.merging(
            store.workspace,
            by,
            lambda: self._merge(store, record.copy, settled),
            lambda done: (*done.applied, *done.merged),
        )

    def _merge(self, store: Snapshots, copy: Copy, settled: Sequence[MergeChoice]) -> Merged:
        present = store.take()
        before = store.checkpoint(present, _MERGES, 0, "before_merge")
        theirs = self._files(store, copy)
        with BlobReader(store.directory) as reader:
            base = store.files_of(reader, _base_tree(store, copy.id))
            ours = without_repository(present.files)
            plan = plan_merge(base, ours, theirs, text_merger(store.objects, reader))
            plan = settle(plan, nodes_of(ours.root), nodes_of(theirs.root), settled, store.objects)
            target = Manifest(folder_of(plan.result, ours.root.mode), ours.left_out)
            change = Apply(reader, ours, target, store.begin_writing())
            with opened_root(store.workspace) as root:
                change.run(root)
            store.end_writing()
            plan.conflicts.extend(change.kept)
            failed = {path for path, _ in plan.conflicts}
            started = nodes_of(base.root)
            next_base = {path: node for path, node in plan.base.items() if path not in failed}
            next_base |= {path: started[path] for path in failed if path in started}
            next_manifest = Manifest(folder_of(next_base, base.root.mode), base.left_out)
            store.point(f"copies/{copy.id}", store.write(next_manifest))
            return Merged(
                applied=[shown(path) for path in plan.applied if path not in failed],
                merged=[shown(path) for path in plan.merged if path not in failed],
                conflicts=_conflicts(reader, plan, base, ours, theirs),
                before=before.id,
            )

    async def remove(self, copy: str, *, force: bool = False) -> None:
        record = self._record(copy)
        store = self._store_of(record.copy)
        if not force and store and await self.diff(copy):
            raise OpenAgentError(
                "conflict",
                f"The copy {copy} holds changes that were not merged back.",
                hint="Merge them back first, or force the removal.",
            )
        name, origin = Path(record.copy.path).name, Path(record.copy.origin)
        await asyncio.to_thread(self._discard, copy, name, record.copy.method, origin)
        if store:
            await self._checkpoints.exclusively(store, lambda: store.drop_copy(copy))

    def _store_of(self, copy: Copy) -> Snapshots | None:
        """None when the origin is gone."""
        origin = Path(copy.origin)
        return self._checkpoints.store(origin) if origin.is_dir() else None

    def _discard(self, copy: str, name: str, way: CopyMethod, origin: Path) -> None:
        if way == "overlay":
            self._overlays.unmount(copy, name)
        elif way == "worktree":
            remove_worktree(origin, self._directory / copy / name)
        discard_tree(self._directory / copy)

    async def usage(self, workspace: Path) -> WorkspaceUsage:
        return await asyncio.to_thread(measure, real_workspace(workspace))

    async def check_quota(self, workspace: Path, quota: Quota) -> WorkspaceUsage:
        usage = await self.usage(workspace)
        enforce(workspace, usage, quota)
        return usage

    async def backup(self, workspace: Path, archive: Path) -> Backup:
        def write() -> Backup:
            made = write_backup(real_workspace(workspace), archive)
            self._archives.add(archive)
            return made

        return await asyncio.to_thread(write)

    async def restore_backup(self, archive: Path, to: Path, *, quota: Quota | None = None) -> Backup:
        """Of an archive that was not made here, settings and hooks that git would run are left out."""

        def read() -> Backup:
            own = self._archives.knows(archive)
            return read_backup(archive, to, quota) if own else read_backup(archive, to, quota, self._disarm)

        return await asyncio.to_thread(read)

    def _disarm(self, folder: Path) -> list[Disarmed]:
        self._restoring.mkdir(mode=0o700, parents=True, exist_ok=True)
        return GitGuard(folder, self._restoring, NoJails(walled=False)).look_everywhere()

    async def gc(self, sessions: Collection[str], *, keep: int = 200) -> WorkspacesCollected:
        alive = {*sessions, _MERGES}
        total = WorkspacesCollected()
        for store in await asyncio.to_thread(self._checkpoints.stores):
            done = await self._checkpoints.exclusively(store, lambda at=store: self._collect(at, alive, keep))
            total = WorkspacesCollected(
                total.checkpoints + done.checkpoints,
                total.stores + done.stores,
                0,
                total.freed_bytes + done.freed_bytes,
            )
        orphans = await asyncio.to_thread(self._discard_orphans)
        return msgspec.structs.replace(total, copies=orphans)

    def _collect(self, store: Snapshots, alive: Collection[str], keep: int) -> WorkspacesCollected:
        self._checkpoints.on_collect(store.directory)
        return collect_store(store, alive, keep)

    def _discard_orphans(self) -> int:
        """Folders that a crash left without a record, and bases that no copy uses."""
        records = self._records()
        known = {record.copy.id for record in records} | {"bases"}
        orphans = [path for path in self._directory.glob("*") if path.name not in known]
        for orphan in orphans:
            for inside in orphan.iterdir():
                self._overlays.unmount(orphan.name, inside.name)
            discard_tree(orphan)
        self._overlays.discard_unused_bases({record.base for record in records})
        return len(orphans)

    def _files(self, store: Snapshots, copy: Copy) -> Manifest:
        return without_repository(store.take(Path(copy.path), f"copy-{copy.id}").files)

    def _opened(self, copy: str) -> CopyRecord:
        record = self._record(copy)
        if record.copy.method == "overlay":
            try:
                self._overlays.mount(copy, Path(record.copy.path).name, record.base)
            except CannotCopy as problem:
                raise OpenAgentError(
                    "jail_error",
                    f"The copy {copy} could not be mounted: {problem}.",
                    hint="Run the daemon as root, as when the copy was made.",
                ) from None
        return record

    def _record(self, copy: str) -> CopyRecord:
        try:
            return msgspec.json.decode((self._directory / safe_name(copy) / "copy.json").read_bytes(), type=CopyRecord)
        except FileNotFoundError:
            raise OpenAgentError(
                "not_found", f"There is no copy {copy}.", hint="See `openagent workspaces list`."
            ) from None

    def _records(self) -> list[CopyRecord]:
        notes = sorted(self._directory.glob("*/copy.json"))
        return [msgspec.json.decode(note.read_bytes(), type=CopyRecord) for note in notes]


def _base_tree(store: Snapshots, copy: str) -> str:
    return (store.directory / "refs" / "copies" / copy).read_text().strip()


def _conflicts(reader: BlobReader, plan: Plan, base: Manifest, ours: Manifest, theirs: Manifest) -> list[Conflict]:
    found: list[Conflict] = []
    nodes = nodes_of(ours.root), nodes_of(theirs.root)
    for path, reason in plan.conflicts:
        texts = [_text(reader, side, path) for side in (ours, theirs, base)]
        cut = any(text is not None and len(text.encode()) >= _MAX_SIDE for text in texts)
        version = version_of(nodes[0].get(path), nodes[1].get(path))
        found.append(Conflict(shown(path), reason, *texts, version=version, cut=cut))
    return found


def _text(reader: BlobReader, side: Manifest, path: bytes) -> str | None:
    entry = find(side.root, path)
    if entry is None:
        return None
    data = reader.read(entry.oid.hex())
    return None if b"\0" in data[:8000] else data[:_MAX_SIDE].decode("utf-8", "replace")


if TYPE_CHECKING:

    def type_check(copies: WorkspaceCopies) -> None:
        _: Workspaces = copies
