"""Repositories that a session made or changed where no wall stood, looked at before the person's own git meets them.

A jail protects the repositories that were there when it was opened. Those that appear later (`git init`, `git clone`, a
submodule, a bare repository, a `.git` file that names some folder) are compared with what was there before the call:
what is new and could run a program is taken out, kept beside the checkpoints, and told.
"""

import errno
import logging
import os
import re
import stat
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cache
from pathlib import Path
from secrets import token_hex
from typing import Protocol

from msgspec import Struct, field

from openagent.filesystem.beneath import (
    make_writable,
    open_file,
    opened_folder,
    opened_root,
    put_file,
    set_mode,
    status_of,
)
from openagent.protocol.errors import OpenAgentError
from openagent.workspace.git import run_git
from openagent.workspace.git_harmless import Setting, is_harmless, parsed, plainly, written
from openagent.workspace.states import Change
from openagent.workspace.tree import Folder, join
from openagent.workspace.watch import Touched

_DOT_GIT = b".git"
_SETTINGS = (b"config", b"config.worktree")
_TELLS_A_REPOSITORY = frozenset((b"HEAD", b"config", b"config.worktree", b"commondir", b"objects", b"refs"))
_LARGEST = 1 << 20
_MOST_PARSED = 64
_DISARMED = b".disarmed"
_GITLINK = b"\x00\x00\xe0\x00"
"""The mode of an entry of the index that stands for another repository."""
_EXEC_LINE = re.compile(rb"^\s*(?:exec|x)\s+(.*)$", re.MULTILINE)
_ANY = "*"
_OVERRIDES_MODES = 1 << 1
"""CAP_DAC_OVERRIDE"""
_log = logging.getLogger(__name__)


class Metadata(Struct, frozen=True):
    """What of a repository can make git run a program."""

    link: bytes = b""
    """Where a `.git` that is a file or a symbolic link leads, as it stands there."""
    common: bytes = b""
    settings: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])
    hooks: dict[bytes, tuple[int, int, int]] = field(default_factory=dict[bytes, tuple[int, int, int]])
    """Those git would run, by name: inode, size, time of change."""
    others: frozenset[bytes] = frozenset()
    """What runs only when a person goes on with it: told, and left."""


_NOTHING = Metadata()


class Disarmed(Struct, frozen=True):
    path: str
    what: str
    left: bool = False
    """It was only told."""
    stopped: bool = False
    """It was done so often that what ran in the jail was ended."""

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


class Jails(Protocol):
    """Those that are open, as far as they could change what git would run at a place."""

    def is_walled(self, place: Path) -> bool | None:
        """False: they could. None: none is open there at all."""
        ...

    def held(self, place: Path) -> AbstractContextManager[Callable[[], None]]:
        """Keeps them from going on, and gives what keeps them out for good."""
        ...

    def are_busy(self, place: Path) -> bool:
        """Whether anything runs in them."""
        ...

    def hold_on_to(self, place: Path) -> bool:
        """Whether something in them passes by the walls of the place."""
        ...

    def would_run(self, path: Path) -> bool:
        """Whether the person's hooks run a new file."""
        ...

    def stop(self, place: Path) -> None: ...


class NoJails:
    """Where nothing is jailed: whatever is done is the person's own."""

    def __init__(self, *, walled: bool = True) -> None:
        self._walled = walled

    def is_walled(self, place: Path) -> bool | None:
        del place
        return self._walled

    def held(self, place: Path) -> AbstractContextManager[Callable[[], None]]:
        del place
        return nullcontext(lambda: None)

    def are_busy(self, place: Path) -> bool:
        del place
        return False

    def hold_on_to(self, place: Path) -> bool:
        del place
        return False

    def would_run(self, path: Path) -> bool:
        del path
        return False

    def stop(self, place: Path) -> None: ...


class GitGuard:
    """Blocks: it reads files, and runs git to read settings. One thread at a time is at work."""

    def __init__(self, workspace: Path, store: Path, jails: Jails) -> None:
        self._jails = jails
        self._workspace = workspace
        self._store = store
        self._known: dict[bytes, Metadata] = {}
        self._at_work = threading.RLock()
        self._walled_off = set[bytes]()
        """Of these, what has walls by now."""
        self._made = set[bytes]()
        """What changed where no wall stood."""
        self._parsed: dict[bytes, list[Setting] | None] = {}
        self.kept = store / "disarmed"
        """What was taken out, as it was."""

    def learn(self, tree: Folder, paths: Collection[bytes] | None = None) -> None:
        """What is there, and nobody's call changed: the person's own. `paths` are the only ones that may be others."""
        with self._at_work, opened_root(self._workspace) as root:
            places = {b".git", *_in_tree(tree, b""), *self._within(root)} if paths is None else set(paths)
            if paths is None:
                self._known.clear()
                self._made.clear()
                self._walled_off.clear()
            for place in places:
                self._known[place] = self._read(root, place)

    def look(self, tree: Folder, changes: Collection[Change], *, repository: bool, all_of_it: bool) -> list[Disarmed]:
        """After a call that may have written."""
        with self._at_work, opened_root(self._workspace) as root:
            places = set(_in_tree(tree, b"")) if all_of_it else set(_named_in(changes))
            if repository or all_of_it:
                places |= {b".git", *self.gitlinks(), *self._within(root)}
            found: list[Disarmed] = []
            for place in sorted(places):  # all of them: what is passed over is what somebody would hide behind many
                found += self._looked_at(root, place)
            return found

    def look_at_files(self, changes: Collection[Change]) -> list[Disarmed]:
        """New ones that nobody was asked about, and that the person's hooks would run."""
        found: list[Disarmed] = []
        for change in changes:
            if change.before is not None or change.after is None or change.after.kind == "folder":
                continue
            if self._jails.would_run(self._workspace / os.fsdecode(change.path)):
                parent, _, name = change.path.rpartition(b"/")
                with suppress(OSError), opened_root(self._workspace) as root, opened_folder(root, parent) as folder:
                    aside = _put_aside(folder, name)
                    found.append(Disarmed(_shown(change.path), f"what the next commit would run, now {_text(aside)}"))
        return found

    def look_at(self, places: Collection[bytes]) -> list[Disarmed]:
        """While commands, or what they left behind, are at work. The workspace may be gone: a copy that was merged, for
        one."""
        with suppress(FileNotFoundError, NotADirectoryError), self._at_work, opened_root(self._workspace) as root:
            return [found for place in sorted(places) for found in self._looked_at(root, place)]
        return []

    def look_for_the_first_time(self, places: Collection[bytes]) -> list[Disarmed]:
        """What is there when no jail is open yet, or stands behind walls, is the person's own."""
        with suppress(FileNotFoundError, NotADirectoryError), self._at_work, opened_root(self._workspace) as root:
            for place in [each for each in places if each not in self._known]:
                now = self._read(root, place)
                if self._jails.is_walled(self._workspace / os.fsdecode(place)) is not False:
                    self._known[place] = now
        return self.look_at(places)

    @property
    def has_new(self) -> bool:
        return not self._made <= self._walled_off

    def wall_off(self) -> list[Disarmed]:
        """When a command is over: what was made gets its walls before anybody meets it, where something still runs that
        could change it. Where nothing does, it can be deleted and configured by the next command."""
        found: list[Disarmed] = []
        with (
            suppress(FileNotFoundError, NotADirectoryError),
            self._at_work,
            opened_root(self._workspace) as root,
        ):
            for place in sorted(self._made - self._walled_off):
                path = self._workspace / os.fsdecode(place)
                if self._read(root, place) == _NOTHING:
                    self._made.discard(place)
                elif self._jails.is_walled(path) is not False:
                    self._walled_off.add(place)
                elif self._jails.are_busy(path):
                    with self._jails.held(path) as wall_off:
                        found += self._looked_at(root, place)
                        if place not in self._walled_off:
                            self._walled_off.add(place)
                            self._put_up(place, wall_off)
                    self._known[place] = self._read(root, place)
        return found

    def is_open(self) -> bool:
        """Whether anything jailed could write here just now."""
        return self._jails.is_walled(self._workspace / "any") is False

    def look_everywhere(self) -> list[Disarmed]:
        """At files that came from elsewhere: whatever is a repository among them."""
        with opened_root(self._workspace) as root:
            return [found for place in sorted(_below(root, b"")) for found in self._look_at(root, place)]

    def places_in(self, touched: Touched) -> set[bytes]:
        """What may be a repository of all that was touched and not looked at yet."""
        paths = {join(folder, name) for folder, names in touched.names.items() for name in names}
        named = {place for path in paths for place in places_on(path)}
        for folder in touched.subtrees:
            named |= {folder, join(folder, _DOT_GIT), *places_on(folder)}
        return named | ({b".git", *self.gitlinks()} if touched.repository else set[bytes]())

    def forget(self, changes: Collection[Change]) -> None:
        """What was learned of these was not the person's own after all."""
        with self._at_work:
            for place in _named_in(changes):
                self._known.pop(place, None)

    def named_in(self, changes: Collection[Change]) -> set[bytes]:
        return set(_named_in(changes))

    # --- one repository ---------------------------------------------------------------------------------------------

    def _looked_at(self, root: int, place: bytes) -> list[Disarmed]:
        """A place that makes this code fail costs neither the look at the other places nor what undo knows. What was
        found there before it failed is told."""
        found: list[Disarmed] = []
        try:
            for each in self._look_at(root, place):
                found.append(each)  # noqa: PERF402
        except Exception as problem:  # the supervisor: whatever a command left there, the user is told of the place
            _log.exception("repository check failed", extra={"place": _shown(place)})
            why = f"it could not be checked ({type(problem).__name__}: {problem})"
            found.append(Disarmed(_shown(place), why[:300], left=True))
        return found

    def _look_at(self, root: int, place: bytes, *, followed: int = 0) -> Iterator[Disarmed]:
        known, path = self._known.get(place, _NOTHING), self._workspace / os.fsdecode(place)
        walled = self._jails.is_walled(path)
        if not walled:
            make_listable(root, place)
        now = self._read(root, place)
        if now == _NOTHING:
            self._made.discard(place)
            self._walled_off.discard(place)
        elif not walled:
            self._made.add(place)
        if now == known:
            return
        theirs = walled and not (place in self._made and self._jails.hold_on_to(path))
        if theirs or self._is_plain(place, known, now):
            self._known[place] = now
            return
        try:
            with self._jails.held(path) as wall_off:
                found = list(self._disarm(root, place, known, self._read(root, place), followed))
                if any(not each.left for each in found) and place not in self._walled_off:
                    self._walled_off.add(place)
                    self._put_up(place, wall_off)
            yield from found
        except FileNotFoundError:
            return  # it is being changed right now: it is looked at again, and nothing of it is taken for known
        except OSError as problem:
            why = problem.strerror or str(problem)
            yield Disarmed(_shown(place), f"what git would run there could not be taken out ({why})", left=True)
            return
        self._known[place] = self._read(root, place)

    def _is_plain(self, place: bytes, known: Metadata, now: Metadata) -> bool:
        """Nothing is new that could run a program, which takes no time to see."""
        if (now.link, now.others) != (known.link, known.others) or not now.hooks.items() <= known.hooks.items():
            return False
        if now.common not in (b"", known.common) and not self._leads_home(place, now.common):
            return False
        for name, content in now.settings.items():
            settings = plainly(content) if content != known.settings.get(name) else []
            if settings is None or not all(is_harmless(each) or self._is_home(place, each) for each in settings):
                return False
        return True

    def _put_up(self, place: bytes, wall_off: Callable[[], None]) -> None:
        try:
            wall_off()
        except Exception:  # the supervisor: what is armed again is disarmed again, and then ended
            _log.warning(
                "write protection of a repository failed; it is disarmed again if it changes",
                exc_info=True,
                extra={"place": _shown(place)},
            )

    def _disarm(self, root: int, place: bytes, known: Metadata, now: Metadata, followed: int) -> Iterator[Disarmed]:
        shown = _shown(place)
        if now.link and now.link != known.link:
            yield from self._follow(root, place, now.link, followed)
        if now.common and now.common != known.common and not self._leads_home(place, now.common):
            self._keep(place + b"/commondir", now.common)
            with opened_folder(root, place) as folder:
                if b"/worktrees/" in place:
                    _put(folder, b"commondir", b"../..\n")
                else:
                    make_writable(folder)
                    os.unlink(b"commondir", dir_fd=folder)
            yield Disarmed(shown, f"it took its settings and hooks from {_text(now.common)!r} (commondir)")
        for name, content in now.settings.items():
            if content != known.settings.get(name):
                yield from self._disarm_settings(root, place, name, content, known.settings.get(name, b""))
        new_hooks = [name for name, print_ in now.hooks.items() if known.hooks.get(name) != print_]
        for name in new_hooks:
            inside, moved = (place, b"hooks") if name == _ANY.encode() else (join(place, b"hooks"), name)
            with opened_folder(root, inside) as folder:
                aside = _put_aside(folder, moved)
            yield Disarmed(shown, f"the hook {_text(name)}, now {_text(aside)}")
        for other in sorted(now.others - known.others):
            yield Disarmed(shown, _text(other), left=True)

    def _disarm_settings(
        self, root: int, place: bytes, name: bytes, content: bytes, before: bytes
    ) -> Iterator[Disarmed]:
        settings = plainly(content)
        if settings is None:
            with opened_folder(root, place) as folder:
                _put(folder, name, b"")  # whoever runs git now must not wait for what git says of it
            settings = self._settings(content)
        own = plainly(before) or self._settings(before) or []
        kept = [each for each in settings or [] if is_harmless(each) or each in own or self._is_home(place, each)]
        if settings is not None and len(kept) == len(settings):
            with opened_folder(root, place) as folder:
                _put(folder, name, content)
            return
        self._keep(join(place, name), content)
        with opened_folder(root, place) as folder:
            _put(folder, name, written(kept))
        if settings is None:
            yield Disarmed(_shown(place), f"{_text(name)}, which git could not have read")
            return
        for gone in [each for each in settings if each not in kept]:
            yield Disarmed(_shown(place), f"the setting {gone.key}={gone.value or ''}"[:300])

    def _follow(self, root: int, place: bytes, link: bytes, followed: int) -> Iterator[Disarmed]:
        """A `.git` that is a file or a link is as harmless as what it leads to."""
        here = self._workspace / os.fsdecode(place)
        target = Path(os.path.realpath(here.parent / os.fsdecode(link)))
        if followed < 8 and self._workspace in target.parents:
            inside = os.fsencode(target.relative_to(self._workspace))
            if _is_repository(root, inside):
                yield from self._look_at(root, inside, followed=followed + 1)
                return
        elif target.is_dir():
            yield Disarmed(_shown(place), f"it leads to {_printable(target)}, outside the workspace", left=True)
            return
        if target.exists():
            self._keep(place, link)
            parent, _, name = place.rpartition(b"/")
            with opened_folder(root, parent) as folder:
                make_writable(folder)
                os.unlink(name, dir_fd=folder)
            yield Disarmed(_shown(place), f"it led to {_printable(target)}, and was removed")

    def _leads_home(self, place: bytes, common: bytes) -> bool:
        """A work tree's own metadata lies in its repository's, or says that all is here."""
        here = self._workspace / os.fsdecode(place)
        path = _path_in(common)
        if not path:
            return False
        home = os.path.realpath(here / os.fsdecode(path))
        return home == os.path.realpath(here) or (
            here.parent.name == "worktrees" and home == os.path.realpath(here.parent.parent)
        )

    def _is_home(self, place: bytes, setting: Setting) -> bool:
        """A submodule's files lie elsewhere in the same workspace."""
        if setting.key != "core.worktree" or not setting.value or b"/modules/" not in place:
            return False
        files = Path(os.path.realpath(self._workspace / os.fsdecode(place) / setting.value))
        return self._workspace in files.parents

    def _settings(self, content: bytes) -> list[Setting] | None:
        """None: git cannot read them."""
        if not content.strip():
            return []
        if content not in self._parsed:
            if len(self._parsed) >= _MOST_PARSED:
                self._parsed.clear()
            self._parsed[content] = self._parse(content)
        return self._parsed[content]

    def _parse(self, content: bytes) -> list[Setting] | None:
        try:
            listing = run_git(
                self._store, ["config", "--file", "-", "--no-includes", "--list", "--null"], stdin=content
            )
        except OpenAgentError:
            return None
        return parsed(listing.stdout)

    def _keep(self, path: bytes, content: bytes) -> None:
        name = b"%d-%s" % (time.time_ns(), path.replace(b"/", b"%")[-150:])
        try:
            self.kept.mkdir(mode=0o700, exist_ok=True)
            (self.kept / os.fsdecode(name)).write_bytes(content)
        except OSError:  # a full disk keeps nothing from being taken out
            _log.warning("removed git settings and hooks could not be saved for the user", exc_info=True)

    # --- reading ----------------------------------------------------------------------------------------------------

    def _read(self, root: int, place: bytes) -> Metadata:
        parent, _, name = place.rpartition(b"/")
        try:
            with opened_folder(root, parent) as folder:
                status = status_of(folder, name) if name else os.fstat(folder)
                if status is None:
                    return _NOTHING
                if stat.S_ISLNK(status.st_mode):
                    return Metadata(link=os.readlink(name, dir_fd=folder)) if is_in_git(place) else _NOTHING
                if not stat.S_ISDIR(status.st_mode):
                    # Any other file is none that git follows: it stands where a folder was that is gone.
                    return Metadata(link=_led_to(folder, name)) if name.lower() == _DOT_GIT else _NOTHING
                with opened_folder(folder, name) as below:
                    return _metadata(below) if is_in_git(place) or _looks_bare(below) else _NOTHING
        except OSError:
            return _NOTHING

    def _within(self, root: int) -> Iterator[bytes]:
        for kind in (b".git/worktrees", b".git/modules"):
            try:
                with opened_folder(root, kind) as folder:
                    names = [os.fsencode(name) for name in os.listdir(folder)]
            except OSError:
                continue
            yield from (join(kind, name) for name in names)

    def gitlinks(self) -> Iterator[bytes]:
        """Where the person's `git status` goes by itself."""
        index = self._workspace / ".git" / "index"
        try:
            if index.is_symlink() or _GITLINK not in index.read_bytes():
                return
            staged = run_git(
                self._store, ["ls-files", "--stage", "-z"], extra={"GIT_INDEX_FILE": str(index)}, accept=(0, 128)
            )
        except (OSError, OpenAgentError):
            return
        for entry in staged.stdout.split(b"\0"):
            if entry.startswith(b"160000 "):
                yield join(entry.partition(b"\t")[2], _DOT_GIT)


def make_listable(root: int, place: bytes) -> None:
    """Git reads settings and runs hooks in folders that it may enter and not list; who looks after them must list."""
    if _lists_everything():
        return
    names = [*place.split(b"/"), b"hooks"] if place else [b"hooks"]
    with suppress(OSError):
        for depth, name in enumerate(names):
            with opened_folder(root, b"/".join(names[:depth])) as folder:
                status = status_of(folder, name)
                if status is None or not stat.S_ISDIR(status.st_mode):
                    return
                if status.st_mode & 0o700 != 0o700 and status.st_uid == os.geteuid():
                    set_mode(folder, name, stat.S_IMODE(status.st_mode) | 0o700)


@cache
def _lists_everything() -> bool:
    """Whether modes do not count, as they do not for root, unless it is without this right: in a container, for one."""
    with suppress(OSError):
        rights = re.search(r"^CapEff:\s*([0-9a-f]+)$", Path("/proc/self/status").read_text(), re.MULTILINE)
        return rights is not None and bool(int(rights[1], 16) & _OVERRIDES_MODES)
    return False


def _put(folder: int, name: bytes, content: bytes) -> None:
    """Under way it has a name that nobody could have taken before, to be in its way."""
    make_writable(folder)
    try:
        put_file(folder, name, b".%s.%s" % (name, token_hex(8).encode()), [content], 0o644)
    except OSError as problem:
        if problem.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        os.unlink(name, dir_fd=folder)  # git goes by what it has without it


def _put_aside(folder: int, name: bytes) -> bytes:
    aside = name + _DISARMED
    if status_of(folder, aside) is not None:
        aside = b"%s.%s%s" % (name, token_hex(8).encode(), _DISARMED)
    make_writable(folder)
    os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
    return aside


def _metadata(folder: int) -> Metadata:
    settings = {name: content for name in _SETTINGS if (content := _content(folder, name))}
    hooks: dict[bytes, tuple[int, int, int]] = {}
    status = status_of(folder, b"hooks")
    if status is not None and not stat.S_ISDIR(status.st_mode):
        hooks[_ANY.encode()] = status.st_ino, status.st_size, status.st_ctime_ns
    with suppress(OSError), opened_folder(folder, b"hooks") as below:
        for name in map(os.fsencode, os.listdir(below)):
            found = status_of(below, name)
            if found is None or name.endswith((b".sample", _DISARMED)):
                continue
            if stat.S_ISLNK(found.st_mode) or (stat.S_ISREG(found.st_mode) and found.st_mode & 0o111):
                hooks[name] = found.st_ino, found.st_size, found.st_mtime_ns
    return Metadata(
        common=_content(folder, b"commondir"), settings=settings, hooks=hooks, others=frozenset(_others(folder))
    )


def _others(folder: int) -> Iterator[bytes]:
    with suppress(OSError), opened_folder(folder, b"rebase-merge") as rebase:
        for line in _EXEC_LINE.findall(_content(rebase, b"git-rebase-todo")):
            yield b"a rebase that would run " + line[:200]
    with suppress(OSError), opened_folder(folder, b"objects/info") as info:
        if borrowed := _content(info, b"alternates").strip():
            yield b"objects that are taken from " + borrowed[:200]


def _content(folder: int, name: bytes) -> bytes:
    """Of a regular file. Anything else under a name that git reads is as suspicious as it gets."""
    status = status_of(folder, name)
    if status is None or stat.S_ISDIR(status.st_mode):
        return b""
    if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
        return b"\0"
    try:
        with os.fdopen(open_file(folder, name), "rb") as file:
            return file.read(_LARGEST)
    except OSError:
        return b"\0"


def _led_to(folder: int, name: bytes) -> bytes:
    """Where a `.git` file leads."""
    content = _content(folder, name)
    return _path_in(content.removeprefix(b"gitdir:").removeprefix(b" "))


def _path_in(content: bytes) -> bytes:
    """The path that git takes from such a file: without line ends at its end, and only up to the first NUL byte."""
    return content.rstrip(b"\r\n").partition(b"\0")[0]


def is_in_git(place: bytes) -> bool:
    return _DOT_GIT in place.lower().split(b"/")


def _looks_bare(folder: int) -> bool:
    return all(status_of(folder, name) is not None for name in (b"HEAD", b"objects", b"refs"))


def _is_repository(root: int, place: bytes) -> bool:
    try:
        with opened_folder(root, place) as folder:
            return status_of(folder, b"HEAD") is not None
    except OSError:
        return False


def _named_in(changes: Collection[Change]) -> Iterator[bytes]:
    """`.git`, whatever it is, and folders that look like a bare repository."""
    for change in changes:
        if change.after is None:
            continue
        yield from places_on(change.path)


def places_on(path: bytes) -> Iterator[bytes]:
    parts = path.split(b"/")
    for at, part in enumerate(parts):
        if part.lower() == _DOT_GIT:
            yield b"/".join(parts[: at + 1])
        elif part in _TELLS_A_REPOSITORY or part == b"hooks":
            yield b"/".join(parts[:at])


def _in_tree(folder: Folder, path: bytes) -> Iterator[bytes]:
    if b"HEAD" in folder.files and b"objects" in folder.folders:
        yield path
    if _DOT_GIT in folder.files or _DOT_GIT in folder.folders:
        yield join(path, _DOT_GIT)
    for name, below in folder.folders.items():
        yield from _in_tree(below, join(path, name))


def _below(folder: int, path: bytes) -> Iterator[bytes]:
    """All repositories at and below an open folder, those in a `.git` (submodules, work trees) included."""
    names = {os.fsencode(name) for name in os.listdir(folder)}
    if b"HEAD" in names and not names.isdisjoint((b"objects", b"commondir")):
        yield path
    for name in names:
        if name.lower() == _DOT_GIT:
            yield join(path, name)
        status = status_of(folder, name)
        if status is not None and stat.S_ISDIR(status.st_mode):
            with opened_folder(folder, name) as below:
                yield from _below(below, join(path, name))


def _shown(place: bytes) -> str:
    return place.decode("utf-8", "backslashreplace") or "."


def _printable(path: Path) -> str:
    return _shown(os.fsencode(path))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace").strip()
