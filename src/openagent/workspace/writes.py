"""Whose writes are whose: every call that may write is a window, and what is found changed belongs to who had one open.

What is found when nobody had a window was made by others. What is found when several sessions had one, or only a
command in the background, cannot be told apart and is marked as shared.
"""

import asyncio
import functools
import logging
import os
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from openagent.plugins.workspace import Caller, Checkpoint, LastUndo, Part, Restored, Writes, WriteWindow
from openagent.plugins.worktrees import common_directory
from openagent.protocol.review import Review
from openagent.protocol.undo import ChangedFile
from openagent.workspace.checkpoints import GitCheckpoints
from openagent.workspace.git_guard import Disarmed, GitGuard, Jails, NoJails
from openagent.workspace.journal import OTHERS, Entry
from openagent.workspace.patrol import Patrol
from openagent.workspace.review import revert, review_of
from openagent.workspace.snapshots import Snapshot
from openagent.workspace.states import Change, inside
from openagent.workspace.trail import Trail
from openagent.workspace.tree import Manifest, empty_folder, write_trees
from openagent.workspace.undo import Request, changes_of, last_undo, put_again, take_back
from openagent.workspace.watch import Touched

T = TypeVar("T")
MAX_TRAILS = 32
"""Workspaces that are watched at the same time; the one that was not used for longest is let go."""
_TOGETHER = "another session wrote at the same time"
_BACKGROUND = "written while a command ran in the background"
_CUT_OFF = "two sessions were cut off at the same time"
_UNSEEN = "the files could not be read right before or after the call"
_log = logging.getLogger(__name__)


class Window:
    def __init__(self, by: Caller, *, exact: bool) -> None:
        self.by = by
        self.exact = exact
        self.paths: set[bytes] = set()
        self.found = False
        self.kept: Kept | None = None
        self.in_background = False
        self.trouble: Exception | None = None
        self._running: Callable[[], bool] | None = None

    def wrote(self, path: str) -> None:
        self.paths.add(os.fsencode(path))

    def goes_on(self, running: Callable[[], bool]) -> None:
        self._running = running

    @property
    def goes_on_later(self) -> bool:
        return self._running is not None

    def leave(self) -> bool:
        """The call is over; whether something of it goes on in the background."""
        self.in_background = self.goes_on_later
        return self.in_background

    @property
    def over(self) -> bool:
        return self._running is not None and not self._running()


class Start(NamedTuple):
    """The workspace before a turn's first call, as values: it costs nothing to keep."""

    turn: int
    files: Manifest
    repository: Manifest | None


class Kept:
    """A workspace that is being watched."""

    def __init__(
        self,
        trail: Trail,
        lock: asyncio.Lock,
        guard: GitGuard,
        tell: Callable[["Kept", list[Disarmed]], None],
        stop: Callable[[Path], None],
    ) -> None:
        self.trail = trail
        self.guard = guard
        self.patrol = Patrol(trail.store.workspace, guard, functools.partial(tell, self), stop)
        self.lock = lock
        self.root = os.fsencode(trail.store.workspace)
        self.windows: list[Window] = []
        self.unseen: list[Window] = []
        """Those that ended when the files could not be read: the next look finds what they wrote."""
        self.unwritten: list[tuple[str, Entry]] = []
        """What the journal has no place for yet, by session: on a full disk, for one."""
        self.starts: dict[str, Start] = {}
        self.saved: dict[str, int] = {}
        """The last turn of each session that has its checkpoint."""
        self.explained: dict[bytes, object] = {}
        """What a session of another workspace around or inside this one wrote here."""
        self.claimed: tuple[str, int] | None = None
        self.failed = False
        """The last look did not come to its end: nothing can be brought back."""
        self.shared: Path | None = None
        """The repository that the workspace is a work tree of. No copy of it is kept."""

    def close(self) -> None:
        self.patrol.close()
        self.trail.close()


class WorkspaceWrites:
    def __init__(
        self,
        home: Path,
        checkpoints: GitCheckpoints,
        *,
        watched: bool = True,
        jails: Jails = NoJails(),  # noqa: B008 -- it holds nothing
        on_disarmed: Callable[[str, list[Disarmed], Path], None] = lambda _session, _found, _kept: None,
    ) -> None:
        """`watched=False` compares everything at every look, as where the kernel does not tell what was touched.
        `on_disarmed` is called from any thread: session, what was done to its repositories, and where the originals
        are."""
        self._home = home
        self._watched = watched
        self._checkpoints = checkpoints
        self._jails = jails
        self.origin_of: Callable[[Path], Path] = lambda workspace: workspace
        """Of a copy: the workspace it was made from."""
        self._on_disarmed = on_disarmed
        self._kept: dict[Path, Kept] = {}
        self._reals: dict[str, tuple[tuple[int, int], str]] = {}
        self._directories: dict[str, Path] = {}
        """Where the store of a workspace is, by the workspace's real path."""
        checkpoints.on_collect = self._before_collecting
        checkpoints.on_forget = self._forget

    async def begin(self, workspace: Path, by: Caller, *, exact: bool = False) -> WriteWindow:
        kept = self._keep(workspace)
        window = Window(by, exact=exact)
        window.kept = kept
        await kept.lock.acquire()
        try:
            try:
                await self._look(kept)
                await self._note_start(kept, by)
                kept.trail.unclaimed = []
            except Exception as problem:  # the supervisor: the call runs, and what it writes is looked for afterwards
                window.trouble = problem
            kept.windows.append(window)
            if not exact and kept.trail.opened:
                kept.patrol.begin()
        except BaseException:
            kept.lock.release()
            raise
        if not exact:
            kept.lock.release()
        return window

    async def unsaved(self, workspace: Path, session: str) -> Sequence[Path]:
        if (seen := self._seen(workspace)) is None or not seen.trail.opened:
            kept = self._keep(workspace)
            async with kept.lock:
                with suppress(Exception):  # whoever begins a call is told
                    await self._look(kept)
                    await _to_the_end(kept.trail.look_at_repository)
        return self.known_unsaved(workspace, session)

    def known_unsaved(self, workspace: Path, session: str) -> Sequence[Path]:
        kept = self._seen(workspace)
        if kept is None:
            return ()
        if kept.failed:
            return (workspace,)
        if not kept.trail.opened:
            return ()
        shared = [kept.shared] if kept.shared else []
        return [*(workspace / os.fsdecode(path) for path in kept.trail.unsaved(session)), *shared]

    def _seen(self, workspace: Path) -> Kept | None:
        directory = self._directories.get(str(workspace))
        return self._kept.get(directory) if directory is not None else None

    async def end(self, window: WriteWindow) -> Checkpoint | None:
        assert isinstance(window, Window)
        assert window.kept is not None
        kept = window.kept
        if not window.exact:
            await kept.lock.acquire()
        try:
            try:
                await self._look(kept, window)
            except Exception:
                kept.unseen.append(window)
                raise
            finally:
                await self._wall_off(kept, window)
            self._write_what_waits(kept)
            return await self._save_start(kept, window)
        finally:
            if not window.leave():
                kept.windows.remove(window)
            kept.windows = [each for each in kept.windows if not each.over]
            kept.lock.release()

    async def interrupted(self, workspace: Path, by: Caller) -> None:
        kept = self._keep(workspace)
        async with kept.lock:
            await self._look(kept)
            trail = kept.trail
            if not trail.unclaimed:
                return
            shared = ""
            if kept.claimed is not None and kept.claimed[0] != by.session:
                shared = _CUT_OFF
                first, number = kept.claimed
                trail.journal.append(first, Entry(0, 0, "unsure", shared=shared, taken=[(number, b"")]))
            entry = Entry(0, 0, turn=by.turn, call=by.call, touched=trail.unclaimed, shared=shared)
            kept.claimed = by.session, trail.journal.append(by.session, entry).number
            kept.guard.forget(trail.unclaimed)
            found = await _to_the_end(
                lambda: kept.guard.look(trail.root, trail.unclaimed, repository=False, all_of_it=False)
            )
            if found:
                self._on_disarmed(by.session, found, kept.guard.kept)

    async def merging(
        self, workspace: Path, by: Caller | None, work: Callable[[], T], written: Callable[[T], Collection[str]]
    ) -> T:
        """Runs something that writes into the workspace in one go and tells what it wrote."""
        kept = self._keep(workspace)
        async with kept.lock:
            await self._look(kept)
            if by is not None:
                await self._note_start(kept, by)
            window = Window(by, exact=True) if by is not None else None

            def run() -> T:
                with kept.trail.store.locked():
                    done = work()
                    if window is not None:
                        for path in written(done):
                            window.wrote(path)
                    self._look_now(kept, window)
                return done

            done = await _to_the_end(run)
            if window is not None:
                await self._save_start(kept, window)
            return done

    async def changes(
        self, workspace: Path, session: str, turn: int | None, *, since: bool = False
    ) -> list[ChangedFile]:
        kept = self._keep(workspace)
        async with kept.lock:
            await self._look(kept)
            return await _to_the_end(lambda: changes_of(kept.trail, session, turn, since=since))

    async def last_undo(self, workspace: Path, session: str) -> LastUndo | None:
        kept = self._keep(workspace)
        async with kept.lock:
            return await _to_the_end(lambda: last_undo(kept.trail, session))

    async def keeps(self, workspace: Path, session: str) -> bool:
        kept = self._keep(workspace)
        async with kept.lock:
            await self._look(kept)
            return bool(await _to_the_end(lambda: kept.trail.journal.read(session)))

    async def rewind(
        self,
        workspace: Path,
        session: str,
        turn: int,
        *,
        git_state: bool = False,
        overwrite: bool = False,
        paths: Collection[str] = (),
    ) -> Restored | None:
        kept = self._keep(workspace)
        wish = Request(session, turn, token_hex(6), git_state, overwrite, frozenset(paths))
        return await self._restore(kept, lambda found: take_back(kept.trail, wish, found))

    async def unrewind(self, workspace: Path, session: str, undo: str) -> Restored | None:
        kept = self._keep(workspace)
        return await self._restore(kept, lambda found: put_again(kept.trail, session, undo, found))

    async def review(self, workspace: Path, session: str, turn: int | None, path: str) -> Review:
        kept = self._keep(workspace)
        async with kept.lock:
            await self._look(kept)
            return await _to_the_end(lambda: review_of(kept.trail, session, turn, path))

    async def revert(self, workspace: Path, part: Part) -> Restored:
        kept = self._keep(workspace)
        done = await self._restore(kept, lambda found: revert(kept.trail, part, found))
        if done is None:
            raise AssertionError("a revert does something, or says why not")
        return done

    async def _restore(
        self, kept: Kept, work: Callable[[Callable[[Sequence[Change]], None]], Restored | None]
    ) -> Restored | None:
        async with kept.lock:
            await self._look(kept)

            def run() -> Restored | None:
                with kept.trail.store.locked():
                    return work(lambda changes: self._assign(kept, changes))

            return await _to_the_end(run)

    # Looking

    def _keep(self, workspace: Path) -> Kept:
        real = self._real(workspace)
        directory = self._directories.get(real)
        kept = self._kept.pop(directory, None) if directory is not None and os.path.isdir(real) else None
        if directory is None or kept is None:
            store = self._checkpoints.store(workspace)
            directory = self._directories[real] = store.directory
            trail = Trail(store, self._home, self._checkpoints.limits, watched=self._watched)
            guard = GitGuard(store.workspace, store.directory, self._jails)
            kept = Kept(trail, self._checkpoints.lock_of(store), guard, self._tell, self._jails.stop)
            kept.shared = self._shared_by(store.workspace)
        self._kept[directory] = kept
        if len(self._kept) > MAX_TRAILS:
            self._let_go(len(self._kept) - MAX_TRAILS)
        return kept

    def _shared_by(self, workspace: Path) -> Path | None:
        """Not what lies in the workspace itself, nor what a copy was made from: the state of both before is kept."""
        shared = common_directory(workspace / ".git")
        if shared is None or shared.is_relative_to(workspace) or shared == self.origin_of(workspace) / ".git":
            return None
        return shared

    def _real(self, workspace: Path) -> str:
        """Links are followed once, unless the path leads to another folder since."""
        named = str(workspace)
        try:
            found = os.stat(named)
        except OSError:
            return os.path.realpath(named)
        known = self._reals.get(named)
        if known is None or known[0] != (found.st_dev, found.st_ino):
            known = self._reals[named] = (found.st_dev, found.st_ino), os.path.realpath(named)
        return known[1]

    def _let_go(self, number: int) -> None:
        idle = [each for each, other in self._kept.items() if not other.windows and not other.lock.locked()]
        for directory in idle[:number]:
            kept = self._kept.pop(directory)
            self._directories.pop(str(kept.trail.store.workspace), None)
            kept.close()
        self._reals = {named: known for named, known in self._reals.items() if known[1] in self._directories}

    def drop(self, workspace: Path) -> None:
        """The folder is gone, and whatever comes in its place is another."""
        directory = self._directories.pop(str(workspace), None)
        if directory is not None and (kept := self._kept.pop(directory, None)) is not None:
            kept.close()

    async def _look(self, kept: Kept, ending: Window | None = None) -> None:
        """With the lock held."""
        try:
            await self._look_if_touched(kept, ending)
        except Exception:
            kept.failed = True
            raise

    async def _look_if_touched(self, kept: Kept, ending: Window | None) -> None:
        """Nothing touched: nothing is read. Little was touched: not worth a thread."""
        trail = kept.trail
        self._write_what_waits(kept)
        if trail.opened:
            touched = trail.peek()
            if not touched:
                self._all_seen(kept)
                kept.failed = False
                return
            if not touched.repository and trail.is_quick(touched):
                self._look_now(kept, ending)
                kept.failed = False
                return

        def run() -> None:
            with trail.store.locked():
                if not trail.opened:
                    trail.open()
                    kept.guard.learn(trail.root)
                else:
                    self._look_now(kept, ending)

        await _to_the_end(run)
        kept.failed = False

    def _look_now(self, kept: Kept, ending: Window | None) -> None:
        trail = kept.trail
        touched = trail.peek()
        working = {window.by.session for window in kept.windows}
        trail.maker = next(iter(working)) if len(working) == 1 else ""
        changes = trail.look()
        try:
            own = ending.paths if ending is not None and ending.exact else ()
            changes += self._guard(kept, touched, changes, [each for each in changes if not _is_of(each, own)])
            repository = self._repository_after(kept, touched)
        except BaseException:
            self._assign(kept, changes, ending)
            raise
        self._assign(kept, changes, ending, repository)
        self._all_seen(kept)

    def _all_seen(self, kept: Kept) -> None:
        """From here on, what changes is known to be new."""
        kept.unseen.clear()
        for window in kept.windows:
            window.trouble = None

    def _guard(
        self, kept: Kept, touched: Touched, changes: Sequence[Change], unasked: Sequence[Change]
    ) -> list[Change]:
        """Repositories that changed are looked at before the person's git meets them: what was done about them."""
        try:
            found = self._guarded(kept, touched, changes)
            if any(not window.exact for window in kept.windows):
                found += kept.guard.look_at_files(unasked)
        except Exception as problem:  # the supervisor: a defect there does not cost what is known of the files
            _log.exception("repository check of a workspace failed")
            why = f"the repositories here could not be checked ({type(problem).__name__}: {problem})"
            found = [Disarmed(".", why[:300], left=True)]
        if not found:
            return []
        self._tell(kept, found)
        return kept.trail.look()

    def _guarded(self, kept: Kept, touched: Touched, changes: Sequence[Change]) -> list[Disarmed]:
        guard, tree, everything = kept.guard, kept.trail.root, touched.everything
        writing = [window for window in kept.windows if not window.exact]
        if not writing and not guard.is_open():
            named = guard.named_in(changes) | ({b".git"} if touched.repository else set[bytes]())
            if named or everything:
                guard.learn(tree, None if everything else named)
            return []
        found = guard.look(tree, changes, repository=touched.repository, all_of_it=everything)
        if unlisted := guard.places_in(touched):  # folders that cannot be listed are in no change
            found += guard.look_at(unlisted)
        return found

    async def _wall_off(self, kept: Kept, ending: Window) -> None:
        """While a command is at work, its repositories are being made."""
        others = [window for window in kept.windows if window is not ending and not window.exact and not window.over]
        is_over = not (others or ending.exact or ending.goes_on_later)
        if is_over and kept.guard.has_new and (found := await _to_the_end(kept.guard.wall_off)):
            self._tell(kept, found)

    def _tell(self, kept: Kept, found: list[Disarmed]) -> None:
        """Whoever is at work; when nobody is, whoever was: a process that a command left may have done it."""
        working = [window.by.session for window in kept.windows if not window.exact]
        for session in dict.fromkeys(working or kept.starts):
            self._on_disarmed(session, found, kept.guard.kept)

    def _repository_after(self, kept: Kept, touched: Touched) -> bytes:
        """The repository's own state, when it may be another and somebody of ours may have changed it."""
        if not (touched.repository or touched.everything) or not (kept.windows or kept.unseen):
            return b""
        before = kept.trail.repository_tree
        state = kept.trail.look_at_repository()
        after = write_trees(kept.trail.store.objects, state.root) if state else b""
        return after if after != before else b""

    def _assign(
        self, kept: Kept, changes: Sequence[Change], ending: Window | None = None, repository: bytes = b""
    ) -> None:
        rest = list(changes)
        self._note_lost(kept)
        if ending is not None and ending.exact:
            own = [change for change in rest if _is_of(change, ending.paths)]
            rest = [change for change in rest if not _is_of(change, ending.paths)]
            self._write(kept, ending, own, _UNSEEN if ending.trouble else "")
            self._explain(kept, own)
        for unseen in kept.unseen:
            if unseen.exact:
                own = [change for change in rest if _is_of(change, unseen.paths)]
                rest = [change for change in rest if not _is_of(change, unseen.paths)]
                self._write(kept, unseen, own, _UNSEEN)
        if kept.explained:
            theirs = [change for change in rest if kept.explained.get(change.path, _NOBODY) == change.after]
            rest = [change for change in rest if change not in theirs]
            kept.explained.clear()
            self._write(kept, None, theirs)
        if not rest and not repository:
            return
        by_windows: dict[tuple[Window, ...], list[Change]] = {}
        around = self._windows_around(kept)
        for change in rest:
            open_ = (
                *kept.windows,
                *kept.unseen,
                *(window for window, root in around if inside(kept.root + b"/" + change.path, [root])),
            )
            by_windows.setdefault(tuple(window for window in open_ if not window.exact), []).append(change)
        if repository and not rest:
            open_ = (*kept.windows, *kept.unseen)
            by_windows[tuple(window for window in open_ if not window.exact)] = []
        for windows, found in by_windows.items():
            self._share_out(kept, windows, found, repository)

    def _note_lost(self, kept: Kept) -> None:
        """For everybody who may have done it: it is only told of, and never touched."""
        lost, kept.trail.lost = kept.trail.lost, []
        callers = {window.by.session: window.by for window in (*kept.windows, *kept.unseen) if not window.exact}
        for by in callers.values() if lost else ():
            self._append(kept, by.session, Entry(0, 0, turn=by.turn, call=by.call, lost=lost))

    def _share_out(self, kept: Kept, windows: Sequence[Window], found: list[Change], repository: bytes) -> None:
        sessions = {window.by.session for window in windows}
        last = {window.by.session: window for window in sorted(windows, key=lambda each: not each.in_background)}
        shared = _TOGETHER if len(sessions) > 1 else ""
        if len(sessions) == 1 and all(window.in_background for window in windows):
            shared = _BACKGROUND
        if not shared and any(window.trouble or window in kept.unseen for window in windows):
            shared = _UNSEEN
        own = [window for window in last.values() if window in kept.windows or window in kept.unseen]
        if not own:
            self._write(kept, None, found)
        for window in own:
            self._write(kept, window, found, shared, repository if not shared else b"")

    def _write(
        self, kept: Kept, window: Window | None, changes: list[Change], shared: str = "", repository: bytes = b""
    ) -> None:
        if not changes and not repository:
            return
        if window is None:
            self._append(kept, OTHERS, Entry(0, 0, touched=changes))
            return
        by = window.by
        window.found = True
        entry = Entry(0, 0, turn=by.turn, call=by.call, touched=changes, shared=shared, repository=repository)
        self._append(kept, by.session, entry)

    def _append(self, kept: Kept, session: str, entry: Entry) -> None:
        """What the disk has no room for is written before the next look: the files are not compared again."""
        try:
            kept.trail.journal.append(session, entry)
        except OSError as problem:
            kept.unwritten.append((session, entry))
            _log.warning(
                "undo journal not written, retrying at the next look", exc_info=problem, extra={"session": session}
            )

    def _write_what_waits(self, kept: Kept) -> None:
        while kept.unwritten:
            kept.trail.journal.append(*kept.unwritten[0])
            del kept.unwritten[0]

    def _windows_around(self, kept: Kept) -> list[tuple[Window, bytes]]:
        """Of workspaces that hold this one, or lie in it."""
        if len(self._kept) == 1:
            return []
        return [
            (window, other.root)
            for other in self._kept.values()
            if other is not kept and (inside(other.root, [kept.root]) or inside(kept.root, [other.root]))
            for window in other.windows
        ]

    def _explain(self, kept: Kept, own: Sequence[Change]) -> None:
        for other in self._kept.values() if len(self._kept) > 1 else ():
            if other is kept:
                continue
            for change in own:
                path = kept.root + b"/" + change.path
                if path.startswith(other.root + b"/"):
                    other.explained[path[len(other.root) + 1 :]] = change.after

    # The state before a turn

    async def _note_start(self, kept: Kept, by: Caller) -> None:
        known = kept.starts.get(by.session)
        if known is not None and known.turn == by.turn:
            return
        look = kept.trail.look_at_repository
        repository = look() if kept.trail.repository_is_known else await _to_the_end(look)
        kept.starts[by.session] = Start(by.turn, kept.trail.files, repository)

    async def _save_start(self, kept: Kept, window: Window) -> Checkpoint | None:
        by = window.by
        start = kept.starts.get(by.session)
        if not window.found or start is None or start.turn != by.turn or kept.saved.get(by.session) == by.turn:
            return None
        kept.saved[by.session] = by.turn
        kept.starts[by.session] = Start(by.turn, Manifest(empty_folder(), []), None)
        store = kept.trail.store

        def run() -> Checkpoint:
            with store.locked():
                tree = store.write(start.files, start.repository)
                return store.checkpoint(Snapshot(tree, start.files, start.repository), by.session, by.turn, "turn")

        return await _to_the_end(run)

    # Cleaning up

    def _before_collecting(self, directory: Path) -> None:
        """With the store's lock held: what is known in memory alone must not be taken for garbage."""
        if (kept := self._kept.get(directory)) is not None and kept.trail.opened:
            kept.trail.save()
            kept.trail.forget_repository()
            kept.starts.clear()

    def _forget(self, directory: Path, session: str) -> None:
        if (kept := self._kept.get(directory)) is not None:
            if kept.trail.opened:
                kept.trail.save()
            kept.trail.journal.forget(session)
            kept.starts.pop(session, None)
            kept.saved.pop(session, None)


def _is_of(change: Change, paths: Collection[bytes]) -> bool:
    """Also the folders that were made on the way."""
    if change.path in paths:
        return True
    made = change.before is None and change.after is not None and change.after.kind == "folder"
    return made and any(path.startswith(change.path + b"/") for path in paths)


_NOBODY = object()


async def _to_the_end(work: Callable[[], T]) -> T:
    """In a thread; also when whoever waits is cancelled, because a lock is held meanwhile."""
    doing = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(doing)
    except asyncio.CancelledError:
        if not doing.done():
            await asyncio.wait([doing])
        raise


if TYPE_CHECKING:

    def type_check(writes: WorkspaceWrites) -> None:
        _: Writes = writes
