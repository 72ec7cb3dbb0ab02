"""Looks at a repository in the moment in which something that a jail holds may have changed what git would run there.

A look when a command ends is too late: until then, and from then on when the command left something running, the
person's own git would run what it finds. The kernel tells of each change; what is armed is disarmed within
milliseconds, and whoever arms it again and again is ended.
"""

import logging
import os
import select
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

from openagent.filesystem.beneath import opened_folder, opened_root
from openagent.workspace.git_guard import Disarmed, GitGuard, is_in_git, make_listable, places_on
from openagent.workspace.inotify import (
    CREATE,
    EVERYTHING,
    IGNORED,
    IS_FOLDER,
    MOVED_TO,
    OVERFLOW,
    Inotify,
    RawEvent,
    Unwatchable,
)
from openagent.workspace.tree import join

_DOT_GIT = b".git"
_MAX_FOLDERS = 20_000
_ARMS = frozenset((b"config", b"config.worktree", b"commondir", b"hooks", b"gitdir"))
_MAKES_BARE = frozenset((b"HEAD", b"objects", b"refs"))
_REPOSITORIES_IN_GIT = frozenset((b"hooks", b"modules", b"worktrees"))
_DATA = frozenset((b"objects", b"refs", b"logs", b"info"))
_OTHERS_PACKAGES = frozenset((b"node_modules", b".venv", b"venv", b"__pycache__", b".tox", b".nox"))
"""With very many folders. A gitlink that leads into one is followed."""
_OFTEN = 3
"""So often one repository is armed until it counts as done on purpose,"""
_MANY, _WITHIN_S = 20, 10.0
"""or so many are within that time."""
_TICK_S = 2.0
_ROUND_S, _RESTS = 0.25, 5
_LINGERS_S = 10.0
_ENDS_WITHIN_S = 5.0
_log = logging.getLogger(__name__)


class Patrol:
    """A thread of its own, for as long as a jail is open: neither a slow call nor a full event loop holds it up."""

    def __init__(
        self,
        workspace: Path,
        guard: GitGuard,
        tell: Callable[[list[Disarmed]], None],
        stop: Callable[[Path], None],
    ) -> None:
        """`stop` ends the jails that can write to a place."""
        self._workspace = workspace
        self._guard = guard
        self._tell = tell
        self._stop = stop
        self._starting = threading.Lock()
        self._walks = False
        self._closed = False
        self._wanted_until = 0.0
        self._paths: dict[int, bytes] = {}
        self._inotify: Inotify | None = None
        self._armed: Counter[str] = Counter()
        self._lately: deque[float] = deque()
        self._left = set[Disarmed]()
        """Told once: a command could have it told without an end."""

    def begin(self) -> None:
        """Before a call that may write."""
        with self._starting:
            self._wanted_until = time.monotonic() + _LINGERS_S
            if not self._walks and not self._closed:
                self._walks = True
                threading.Thread(target=self._walk, name="openagent-git-patrol", daemon=True).start()

    def close(self) -> None:
        self._closed = True

    def _walk(self) -> None:
        while True:
            try:
                try:
                    self._by_the_kernels_word()
                except Unwatchable:
                    self._in_rounds()
            except Exception:  # the supervisor: the looks at the end of each command go on without it
                _log.exception("watching repositories failed; they are checked when a command ends")
                self._wanted_until = 0.0
            with self._starting:
                if self._is_over():
                    self._walks = False
                    return

    def _by_the_kernels_word(self) -> None:
        self._paths.clear()
        self._inotify = Inotify()
        self._inotify.close.atexit = False  # the thread goes on until the very end
        try:
            self._hear_of(self._guard.look_for_the_first_time(self._watch_all()), set())
            while not self._is_over():
                if select.select([self._inotify], [], [], _TICK_S)[0]:
                    self._look_at(self._places_of(self._inotify.read()))
        finally:
            self._inotify.close()
            self._inotify = None

    def _in_rounds(self) -> None:
        """A user may have so many watches, and no more."""
        self._hear_of(self._guard.look_for_the_first_time(self._watch_all()), set())
        while not self._is_over():
            begun = time.monotonic()
            self._look_at(self._watch_all())
            time.sleep(max(_ROUND_S, _RESTS * (time.monotonic() - begun)))

    def _is_over(self) -> bool:
        if self._guard.is_open():
            self._wanted_until = time.monotonic() + _LINGERS_S
        return self._closed or time.monotonic() >= self._wanted_until or not self._workspace.is_dir()

    # --- what changed -----------------------------------------------------------------------------------------------

    def _places_of(self, events: list[RawEvent]) -> set[bytes]:
        places = set[bytes]()
        for event in dict.fromkeys(events):
            if event.mask & OVERFLOW:
                return self._watch_all()
            folder = self._paths.get(event.watch)
            if event.mask & IGNORED:
                self._paths.pop(event.watch, None)
            elif folder is not None and event.name:
                places |= self._places_by(folder, event)
        return places

    def _places_by(self, folder: bytes, event: RawEvent) -> set[bytes]:
        path, places = join(folder, event.name), set[bytes]()
        if event.mask & IS_FOLDER and event.mask & (CREATE | MOVED_TO) and _is_entered(folder, event.name):
            places |= self._watch(path)
        if not is_in_git(folder):
            if event.name in _MAKES_BARE:
                self._add(folder)
            places |= set(places_on(path))
        elif event.name in _ARMS or folder.endswith(b"/hooks"):
            places |= set(places_on(path))
        elif path == b".git/index":
            places |= self._watch_gitlinks()
        return places

    def _look_at(self, places: set[bytes]) -> None:
        if places:
            self._hear_of(self._guard.look_at(places), places)

    def _hear_of(self, found: list[Disarmed], places: set[bytes]) -> None:
        armed = [each.path for each in found if not each.left]
        if armed and self._is_on_purpose(armed):
            for path in set(armed):
                self._stop(self._workspace / path)
            self._wait_for_the_end()
            found += self._guard.look_at(places)
            found.append(Disarmed(armed[0], "it was done again and again", stopped=True))
            self._armed.clear()
            self._lately.clear()
        if new := [each for each in found if not each.left or each not in self._left]:
            self._left.update(each for each in new if each.left)
            self._tell(new)

    def _is_on_purpose(self, armed: list[str]) -> bool:
        now = time.monotonic()
        self._armed.update(set(armed))
        self._lately.extend([now] * len(set(armed)))
        while self._lately[0] < now - _WITHIN_S:
            self._lately.popleft()
        return len(self._lately) >= _MANY or any(self._armed[path] >= _OFTEN for path in armed)

    def _wait_for_the_end(self) -> None:
        until = time.monotonic() + _ENDS_WITHIN_S
        while self._guard.is_open() and time.monotonic() < until:
            time.sleep(0.01)

    # --- what is watched --------------------------------------------------------------------------------------------

    def _watch_all(self) -> set[bytes]:
        return self._watch(b"") | self._watch_gitlinks()

    def _watch_gitlinks(self) -> set[bytes]:
        """Wherever they are: the person's `git status` goes there by itself."""
        places = set[bytes]()
        for place in self._guard.gitlinks():
            parts = place.split(b"/")[:-1]
            for depth in range(1, len(parts)):
                self._add(b"/".join(parts[:depth]), always=True)
            places |= {place, *self._watch(b"/".join(parts), always=True)}
        return places

    def _watch(self, top: bytes, *, always: bool = False) -> set[bytes]:
        """A folder and all below. What may be a repository among them."""
        places, ahead = set[bytes](), [top]
        while ahead:
            path = ahead.pop()
            names = self._add(path, always=always and path == top)
            if path.lower().endswith(_DOT_GIT) or b"/worktrees/" in path or _looks_bare(names):
                places.add(path)
            places |= {join(path, name) for name in names if name.lower() == _DOT_GIT}
            ahead += [join(path, name) for name, is_folder in names.items() if is_folder and _is_entered(path, name)]
        return places

    def _add(self, path: bytes, *, always: bool = False) -> dict[bytes, bool]:
        """What it holds, and what of it are folders. It is listed once it is watched, so that nothing gets in
        between."""
        with suppress(OSError), opened_root(self._workspace) as root:
            with suppress(PermissionError):
                return self._added(root, path, always)
            make_listable(root, path)
            return self._added(root, path, always)
        return {}

    def _added(self, root: int, path: bytes, always: bool) -> dict[bytes, bool]:
        with opened_folder(root, path) as folder:
            if self._inotify is None:
                return _listed(folder)
            is_watched = always or is_in_git(path) or len(self._paths) < _MAX_FOLDERS
            everything = is_in_git(path) or path.endswith(b"hooks")
            if is_watched:
                self._paths[self._inotify.add(folder, EVERYTHING if everything else CREATE | MOVED_TO)] = path
            names = _listed(folder)
            if is_watched and not everything and _looks_bare(names):
                self._inotify.add(folder, EVERYTHING)
                names = _listed(folder)
            return names


def _listed(folder: int) -> dict[bytes, bool]:
    with os.scandir(folder) as entries:
        return {os.fsencode(entry.name): entry.is_dir(follow_symlinks=False) for entry in entries}


def _looks_bare(names: Collection[bytes]) -> bool:
    return b"HEAD" in names and b"objects" in names


def _is_entered(path: bytes, name: bytes) -> bool:
    if not is_in_git(path):
        return name not in _OTHERS_PACKAGES
    within = path.lower().rpartition(_DOT_GIT)[2].split(b"/")
    return name in _REPOSITORIES_IN_GIT or (not _REPOSITORIES_IN_GIT.isdisjoint(within) and name not in _DATA)
