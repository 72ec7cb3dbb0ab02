"""What is known of one workspace's files, and how it differs from what is there now.

The first look reads everything; from then on the kernel tells which paths were touched, and only those are read again.
Where it cannot tell, every look compares everything. Either way the content of every file is in the private store, so
that whatever a command does to one, what it was before is there.
"""

import logging
import os
import stat
from contextlib import suppress
from pathlib import Path

from openagent.filesystem.beneath import opened_folder, opened_root
from openagent.protocol.errors import OpenAgentError
from openagent.workspace.git_state import passed_over, repository_of
from openagent.workspace.ignored import ignored_paths
from openagent.workspace.inotify import Unwatchable
from openagent.workspace.journal import OTHERS, Journal
from openagent.workspace.kept_objects import KeptObjects, kept_objects
from openagent.workspace.large_ignored import fit_budget
from openagent.workspace.old_checkpoints import fill_journal
from openagent.workspace.scan import (
    CHANGING,
    OWN_DATA,
    SPECIAL,
    Index,
    Limits,
    Scan,
    ignore_rules,
    load_index,
    save_index,
)
from openagent.workspace.snapshots import Snapshot, Snapshots
from openagent.workspace.states import Change, Draft, compare, inside, state_at, topmost
from openagent.workspace.tree import Folder, Manifest, join, write_trees
from openagent.workspace.unsaved import in_few_places, unsaved
from openagent.workspace.watch import Touched, Watch

_NOTED = "noted"
"""The name of its own index and reference: other scans of the workspace do not change what a call is compared with."""
_MANY = 2_000
"""New files in one look, from which on everything is looked at: ignored folders may have to be left out."""
_SMALL_LOOK, _SMALL_FILE = 32, 1 << 20
_log = logging.getLogger(__name__)


class Trail:
    """Everything here but `peek` blocks; whoever uses it holds the store's lock."""

    def __init__(self, store: Snapshots, home: Path, limits: Limits, *, watched: bool = True) -> None:
        """`watched=False` does without the kernel's word, as where there is none."""
        self.store = store
        self.journal = Journal(store.directory)
        self._home = home
        self._limits = limits
        self._watched = watched
        self._index = Index(Folder(0, {}, {}))
        self._repository = Index(Folder(0, {}, {}))
        self._repository_seen = False
        self._objects = KeptObjects(kept_objects(store.directory))
        self._watch: Watch | None = None
        self._pending = Touched()
        self._unsaved: dict[str, list[bytes]] = {}
        """By session, as long as what it was made from is the same."""
        self._unsaved_of: list[tuple[bytes, str]] = []
        self._unkept: frozenset[str] = frozenset()
        self.opened = False
        self.maker = ""
        """The one session whose calls may be at work, when it is one."""
        self.lost: list[tuple[bytes, str]] = []
        """What came or went since somebody took this and cannot be undone, with the reason, such as a pipe."""
        self.unclaimed: list[Change] = []
        """What changed since the last process that looked: a call that a crash cut off may have done it."""

    @property
    def files(self) -> Manifest:
        return Manifest(self._index.root, self._index.left_out)

    @property
    def root(self) -> Folder:
        return self._index.root

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    # Looking

    def open(self) -> None:
        """Looks at everything for the first time, compared with what was noted last, perhaps by another process."""
        noted = load_index(self.store.directory / "indexes" / _NOTED)
        known = bool(noted.scanned_at)
        draft = Draft(noted.root)
        for entry in self.journal.since(noted.scanned_at) if known else ():
            for change in entry.touched:
                draft.put(change.path, change.after)
        noted.root = draft.root
        self._index = noted
        self._begin_to_watch()
        changes = self._look_at_everything()
        self.unclaimed = changes if known else []
        if not known:
            fill_journal(self.store, self.journal, self.files)
        self.journal.forget(OTHERS)
        self.opened = True

    def _begin_to_watch(self) -> None:
        self.close()
        with suppress(Unwatchable):
            self._watch = Watch(self.store.workspace) if self._watched else None

    def peek(self) -> Touched:
        """What was touched and not looked at yet. It reads no file."""
        if self._watch is None:
            return Touched(everything=True)
        if news := self._watch.drain():
            self._pending.add(news)
        if self._watch.is_of_another:
            self._begin_to_watch()
            self._pending.everything = True
        return self._pending

    def is_quick(self, touched: Touched) -> bool:
        """Whether looking takes no longer than a thread takes to start."""
        if touched.everything or touched.subtrees or touched.size > _SMALL_LOOK:
            return False
        root = os.fsencode(self.store.workspace)
        return all(
            _size(join(root, join(folder, name))) <= _SMALL_FILE
            for folder, names in touched.names.items()
            for name in names
        )

    def look(self) -> list[Change]:
        """How the files differ from the last look."""
        touched = self.peek()
        self._pending = Touched()
        try:
            return self._look(touched)
        except BaseException:
            self._pending.everything = True  # folders may be unwatched by now: the next look compares all of it
            raise

    def _look(self, touched: Touched) -> list[Change]:
        self._repository_seen = self._repository_seen and not touched.repository and not touched.everything
        if touched.everything:
            return self._look_at_everything()
        if not (touched.names or touched.subtrees or touched.modes):
            return []
        return self._look_at(touched)

    def _look_at(self, touched: Touched) -> list[Change]:
        index = self._index
        scan = self._scan(index)
        draft = Draft(index.root)
        subtrees = topmost(touched.subtrees)
        names = {folder: names for folder, names in touched.names.items() if not inside(folder, subtrees)}
        alone = True
        with opened_root(self.store.workspace) as root:
            for path in subtrees:
                self._forget(path)
                below = scan.look_below(root, path, None)
                draft.put_folder(path, below)
                if below is None:  # a file may stand there now, or have stood there
                    parent, _, name = path.rpartition(b"/")
                    names.setdefault(parent, set()).add(name)
            for path, some in names.items():
                if (folder := draft.folder(path)) is not None:
                    alone = scan.look_again(root, path, folder, some) and alone
            for path in touched.modes:
                if not inside(path, subtrees):
                    self._look_at_mode(root, draft, path)
        if scan.large or scan.files > _MANY or not alone:
            return self._look_at_everything()
        with self.store.objects.bulk(scan.unread):
            scan.read(draft.root, index.root)
        kept = [
            left
            for left in index.left_out
            if not inside(left[0], subtrees)
            and left[0].rpartition(b"/")[2] not in names.get(left[0].rpartition(b"/")[0], ())
        ]
        left_out = sorted({*kept, *scan.left_out})
        changes = self._differences(draft.root, left_out)
        self._index = Index(
            draft.root if changes or left_out != index.left_out else index.root,
            index.scanned_at,
            index.skipped,
            index.ignore_rules,
            index.settled_files,
            index.settled_bytes,
            left_out,
            made=self._made(left_out),
        )
        return changes

    def _look_at_everything(self) -> list[Change]:
        index = self._index
        scan = self._scan(index)
        files = scan.look(index.root)
        looked = fit_budget(scan, files, index, self._limits, self._ignored)
        with self.store.objects.bulk(scan.unread):
            scan.read(files, index.root)
        left_out = sorted(scan.left_out)
        changes = self._differences(files, left_out)
        rules = ignore_rules(files)
        fresh = Index(files, scan.started_at, ignore_rules=rules, left_out=left_out, made=self._made(left_out))
        if rules == index.ignore_rules or looked:
            fresh.skipped, fresh.settled_files, fresh.settled_bytes = (
                index.skipped,
                index.settled_files,
                index.settled_bytes,
            )
        same = files is index.root and left_out == index.left_out
        self._index = fresh
        if not same or not self.opened:
            try:
                self.save()
            except (OpenAgentError, OSError):  # the next process compares with what was saved before, and the journal
                _log.warning("workspace index could not be saved", exc_info=True)
        return changes

    def _scan(self, index: Index) -> Scan:
        return Scan(
            self.store.workspace,
            self.store.objects,
            index,
            limits=self._limits,
            own_data=self._home,
            debris=self.store.debris(),
            on_folder=self._entered if self._watch else None,
        )

    def _ignored(self) -> list[bytes]:
        return ignored_paths(self.store.directory, self.store.workspace)

    def _entered(self, folder: int, path: bytes) -> None:
        if self._watch is not None:
            try:
                self._watch.add(folder, path)
            except Unwatchable:
                self.close()

    def _forget(self, path: bytes) -> None:
        if self._watch is not None:
            self._watch.forget(path)

    def _look_at_mode(self, root: int, draft: Draft, path: bytes) -> None:
        folder = draft.folder(path)
        if folder is None:
            return
        try:
            with opened_folder(root, path) as descriptor:
                folder.mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
        except OSError:  # gone, which its own event tells, or not to be read any more
            return

    def _differences(self, files: Folder, left_out: list[tuple[bytes, str]]) -> list[Change]:
        """What could not be saved, then or now, is neither new nor gone: nothing is known of it."""
        if self.opened:
            changed = {*self._index.left_out} ^ {*left_out}
            self.lost += sorted(each for each in changed if each[1] not in (CHANGING, OWN_DATA))
        # Where a pipe or a socket is, there is no file and no folder: those are gone, and that can be undone.
        unknown = {path for path, reason in (*self._index.left_out, *left_out) if reason != SPECIAL}
        changes = compare(self._index.root, files)
        return [change for change in changes if not (unknown and inside(change.path, unknown))]

    # What cannot be brought back

    def unsaved(self, session: str) -> list[bytes]:
        """Paths below the workspace: what a session must not change as if it could be taken back."""
        unkept = frozenset(self._objects.without_copy)
        if self._index.left_out is not self._unsaved_of or unkept != self._unkept:
            self._unsaved_of, self._unkept = self._index.left_out, unkept
            self._unsaved.clear()
        if (known := self._unsaved.get(session)) is None:
            made = self._index.made
            lost = unsaved(self._unsaved_of, [b".git/objects/" + os.fsencode(name) for name in unkept])
            known = in_few_places([path for path in lost if made.get(path) != session])
            self._unsaved[session] = known
        return known

    def _made(self, left_out: list[tuple[bytes, str]]) -> dict[bytes, str]:
        if not left_out:
            return {}
        before, index = {path for path, _ in self._index.left_out}, self._index
        made = {path: index.made[path] for path, _ in left_out if path in index.made}
        if self.maker:
            new = [path for path, _ in left_out if path not in before and state_at(index.root, path) is None]
            made |= dict.fromkeys(new, self.maker)
        return made

    # The repository's own state

    @property
    def repository_is_known(self) -> bool:
        return self._repository_seen

    @property
    def repository_tree(self) -> bytes:
        """As it was last looked at."""
        return self._repository.root.tree

    def repository_touched(self) -> None:
        self._repository_seen = False

    def look_at_repository(self) -> Manifest | None:
        """HEAD, refs, index and settings, saved as files."""
        repository = repository_of(self.store.workspace)
        if repository is None:
            self._repository = Index(Folder(0, {}, {}))
            self._repository_seen = self._watch is not None
            return None
        if not self._repository_seen:
            with suppress(OSError):  # a disk that is full stops no call
                self._objects.keep(repository)
            index = self._repository

            def entered(folder: int, path: bytes) -> None:
                self._entered(folder, join(b".git", path))

            scan = Scan(
                repository,
                self.store.objects,
                index,
                limits=self._limits,
                debris=self.store.debris(),
                passed_over=passed_over,
                on_folder=entered,
            )
            state = scan.look(index.root)
            scan.read(state, index.root)
            write_trees(self.store.objects, state)
            self._repository = Index(state, scan.started_at, left_out=sorted(scan.left_out))
            self._repository_seen = self._watch is not None
        return Manifest(self._repository.root, self._repository.left_out)

    # Keeping

    def snapshot(self) -> Snapshot:
        """As it was last looked at."""
        repository = self.look_at_repository()
        return Snapshot(self.store.write(self.files, repository), self.files, repository)

    def save(self) -> None:
        """So that the next process knows what was seen; nothing of it is garbage as long as a reference names it."""
        tree = self.store.write(self.files)
        self.store.point(f"indexes/{_NOTED}", tree)
        save_index(self.store.directory / "indexes" / _NOTED, self._index)

    def forget_repository(self) -> None:
        self._repository, self._repository_seen = Index(Folder(0, {}, {})), False


def _size(path: bytes) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0
