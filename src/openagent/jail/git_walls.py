"""Which parts of a repository's metadata a jailed command must not write, because the person's own git acts on them.

Objects, references, index, logs, HEAD and whatever else is data stay writable. Settings and hooks name programs, and
`commondir` says where settings and hooks are: where one of these is absent, something harmless is put in its place for
as long as a jail is open, since only what exists can be mounted over.
"""

import contextlib
import os
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from openagent.jail.hook_files import is_awaited, may_be_awaited
from openagent.jail.processes import children_of, descendants, hold_tree, is_in_use, thaw
from openagent.plugins.worktrees import common_directory, named_by

_MOST_WHOLE = 24
"""Repositories below the workspace's own that get all their walls; the others' metadata is read-only as a whole."""
_MOST = 200
_LISTS = ("hooks", "info")
_LEGACY = ("branches", "remotes")
_ITSELF = b".\n"
"""As the content of `commondir`: what is shared is here, which is so without the file."""
_placed: Counter[Path] = Counter()
"""Stand-ins that this process made, and how many jails rest on each."""


class Wall(NamedTuple):
    """A place of its own in the jail's file system. Later ones lie over earlier ones."""

    path: Path
    writable: bool = False
    emptied: bool = False
    """There is nothing to be seen in it."""
    unreadable: bool = False
    """It is seen, and cannot be read."""
    source: Path | None = None
    """Where it is outside, when a link leads there."""


class GitSetting(NamedTuple):
    origin: Path
    """The file that says so."""
    key: str
    value: str


def git_walls(workspace: Path, nested: Sequence[Path] = ()) -> list[Wall]:
    """Of the workspace's repository, and of `.git` files and folders below it."""
    walls: dict[Path, Wall] = {}
    for number, dot_git in enumerate((workspace / ".git", *nested[:_MOST])):
        for wall in _around(workspace, dot_git, whole=number <= _MOST_WHOLE):
            walls.setdefault(wall.path, wall)
    return list(walls.values())


def _around(workspace: Path, dot_git: Path, *, whole: bool) -> Iterator[Wall]:
    if dot_git.is_symlink():
        # The link itself cannot be held; what it leads to can.
        target = dot_git.resolve()
        if _is_inside(target, workspace) and is_git_directory(target):
            yield from _repository(workspace, target)
    elif dot_git.is_dir():
        if whole:
            yield from _repository(workspace, dot_git)
        else:
            yield Wall(dot_git)
    elif dot_git.is_file():
        yield Wall(dot_git)
        if common := common_directory(dot_git):
            yield from _repository(workspace, common)
        elif (own := named_by(dot_git)) and _is_inside(own, workspace) and is_git_directory(own):
            yield from _repository(workspace, own)


def _repository(workspace: Path, directory: Path) -> Iterator[Wall]:
    # A mount of its own cannot be renamed away and replaced by one with hooks.
    yield Wall(directory, writable=True)
    for name in _LISTS:
        path = directory / name
        if not path.is_symlink():
            with contextlib.suppress(FileExistsError):
                path.mkdir(exist_ok=True)  # what does not exist cannot be mounted over
            yield Wall(path)
    for name in _LEGACY:
        if (directory / name).is_dir() and not (directory / name).is_symlink():
            yield Wall(directory / name)
    yield from _settings(directory, directory)
    modules = directory / "modules"
    if modules.is_dir() and not modules.is_symlink():
        yield Wall(modules)
        for module in _git_directories_below(modules):
            yield from _repository(workspace, module)
    worktrees = directory / "worktrees"
    if worktrees.is_dir() and not worktrees.is_symlink():
        for tree in sorted(worktrees.iterdir())[:_MOST]:
            if tree.is_dir() and not tree.is_symlink():
                yield from _worktree(workspace, directory, tree)


def _settings(directory: Path, common: Path) -> Iterator[Wall]:
    stand_ins = {"commondir": _ITSELF} if directory == common else {"commondir": b"../..\n", "gitdir": b""}
    if directory == common:
        stand_ins["config"] = b""
    stand_ins["config.worktree"] = b""  # not read until the person switches it on
    for name, content in stand_ins.items():
        path = directory / name
        if path.is_symlink():
            continue  # a person's own doing: what was in the jail is looked at when a command ends
        if path.exists() or _stands_in(path, content):
            yield Wall(path)


def _worktree(workspace: Path, common: Path, tree: Path) -> Iterator[Wall]:
    """Another work tree of the repository: one outside the workspace is none of a jailed command's business."""
    place = Path(os.fsdecode(_content(tree / "gitdir").strip()))
    if not _is_inside(place, workspace):
        yield Wall(tree)
        return
    yield Wall(tree, writable=True)
    yield from _settings(tree, common)


def _stands_in(path: Path, content: bytes) -> bool:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except FileExistsError:
        return True
    except OSError:  # a repository that cannot be written needs no walls
        return False
    try:
        os.write(descriptor, content)
    finally:
        os.close(descriptor)
    return True


class Standing:
    """The walls of one jail that is open, and the stand-ins it rests on."""

    def __init__(self, workspace: Path, walls: Sequence[Wall]) -> None:
        self.workspace = workspace
        self.first: Callable[[], int] = lambda: 0
        """The process that all others in the jail are below; 0 where there is none on this machine."""
        self.has_shells = False
        """It holds nothing but shells of a session, and what these run."""
        self.stop: Callable[[], object] = lambda: None
        """Ends all that runs in the jail; from any thread."""
        self.raise_walls: Callable[[Sequence[Wall]], None] = lambda _walls: None
        """Puts them up in the jail; from any thread."""
        self._closed: set[Path] = set()
        self._needed: list[Path] = []
        self.add(walls)
        _standing.append(self)

    def add(self, walls: Sequence[Wall]) -> None:
        self._closed.update(wall.path for wall in walls if not wall.writable)
        needed = [wall.path for wall in walls if _content_of_stand_in(wall.path) is not None]
        self._needed += needed
        _placed.update(needed)

    def holds(self, place: Path) -> bool:
        """Whether what is inside cannot change what git would run in a repository."""
        return place / "commondir" in self._closed or any(path in self._closed for path in (place, *place.parents))

    def end(self) -> None:
        """The last jail that needed a stand-in takes it away."""
        _standing.remove(self)
        for path in self._needed:
            _placed[path] -= 1
            if _placed[path] <= 0:
                del _placed[path]
                with contextlib.suppress(OSError):
                    if _content(path) == _content_of_stand_in(path):
                        path.unlink()


_standing: list[Standing] = []


def is_walled(place: Path) -> bool | None:
    """Of a `.git` or another repository: whether no open jail reaches it in a way that could harm whoever uses it
    outside. None: no jail is open there at all."""
    around = [standing for standing in tuple(_standing) if _is_inside(place, standing.workspace)]
    return all(standing.holds(place) for standing in around) if around else None


class OpenJails:
    """What can be done about the open jails that could change what git would run at a place. From any thread."""

    def is_walled(self, place: Path) -> bool | None:
        return is_walled(place)

    @contextlib.contextmanager
    def held(self, place: Path) -> Generator[Callable[[], None]]:
        """Nothing moves in them meanwhile. What is given puts up walls around the place in those in which anything runs
        now, as around what was there before the jail."""
        around = _around_place(place)
        busy = [each for each in around if _is_busy(each)]
        frozen: list[int] = []

        def wall_off() -> None:
            if os.path.realpath(place) == str(place):
                for standing in busy:
                    standing.raise_walls(_walls_of(standing.workspace, place))

        try:
            for standing in around:
                if first := standing.first():
                    frozen += hold_tree(first)
            yield wall_off
        finally:
            thaw(frozen)

    def are_busy(self, place: Path) -> bool:
        """Whether anything runs in them besides shells that wait for a command."""
        return any(map(_is_busy, _around_place(place)))

    def hold_on_to(self, place: Path) -> bool:
        """Whether something got hold of it before its walls were put up, which it then passes by."""
        return any(
            not first or any(is_in_use(pid, str(place)) for pid in (first, *descendants(first)))
            for first in (each.first() for each in tuple(_standing) if _is_inside(place, each.workspace))
        )

    def would_run(self, path: Path) -> bool:
        """Whether the person's hooks run a file that was not there when the jails were opened."""
        if not may_be_awaited(path) and not any(map(may_be_awaited, path.parents)):
            return False
        for workspace in {each.workspace for each in tuple(_standing) if _is_inside(path, each.workspace)}:
            paths = [setting.value for setting in git_settings(workspace) if setting.key == "core.hookspath"]
            if is_awaited(workspace, path, paths):
                return True
        return False

    def stop(self, place: Path) -> None:
        """Also of those in which the place has its walls by now: what was done before is what they are stopped for."""
        for standing in tuple(_standing):
            if _is_inside(place, standing.workspace):
                standing.stop()


def _around_place(place: Path) -> list[Standing]:
    return [each for each in tuple(_standing) if _is_inside(place, each.workspace) and not each.holds(place)]


def _is_busy(standing: Standing) -> bool:
    """Bubblewrap outside, bubblewrap inside, the launcher, one of its own for each shell, the shell: what is below, or
    lost its parent, is a command's."""
    first = standing.first()
    if not first or not standing.has_shells:
        return True
    # Of processes that end meanwhile the kernel may leave out others.
    return _has_commands(first) or _has_commands(first)


def _has_commands(first: int) -> bool:
    inside = children_of(first)
    launchers = [pid for each in inside for pid in children_of(each)]
    shells = [shell for launcher in launchers for own in children_of(launcher) for shell in children_of(own)]
    return len(inside) != 1 or len(launchers) != 1 or any(children_of(shell) for shell in shells)


def _walls_of(workspace: Path, place: Path) -> list[Wall]:
    if place.name == ".git":
        return list(_around(workspace, place, whole=True))
    return list(_repository(workspace, place)) if is_git_directory(place) else []


def _content_of_stand_in(path: Path) -> bytes | None:
    expected = {"commondir": _ITSELF, "config.worktree": b""}.get(path.name)
    return expected if expected is not None and not path.is_symlink() and _content(path) == expected else None


# --- where repositories are ------------------------------------------------------------------------------------------


def is_git_directory(path: Path) -> bool:
    return (path / "HEAD").exists() and (path / "objects").is_dir()


def _git_directories_below(modules: Path) -> Iterator[Path]:
    """A submodule's name may hold slashes, so that its metadata lies several folders deep."""
    ahead, looked = [modules], 0
    while ahead and looked < _MOST:
        here = ahead.pop()
        looked += 1
        for path in sorted(here.iterdir()):
            if path.is_dir() and not path.is_symlink():
                if is_git_directory(path):
                    yield path
                else:
                    ahead.append(path)


def _is_inside(path: Path, folder: Path) -> bool:
    return folder == path or folder in path.parents


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


# --- what a person's settings already name ---------------------------------------------------------------------------


def git_settings(workspace: Path, env: Mapping[str, str] | None = None) -> list[GitSetting]:
    """All that hold for the workspace. Listing them runs none of the programs they name."""
    command = ("git", "config", "--list", "--includes", "--show-origin", "--null")
    try:
        listing = subprocess.run(
            command,
            cwd=workspace,
            env={**(os.environ if env is None else env), "GIT_OPTIONAL_LOCKS": "0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=5,
            check=False,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return []
    fields = os.fsdecode(listing).split("\0")[:-1]
    settings: list[GitSetting] = []
    for origin, entry in zip(fields[::2], fields[1::2], strict=False):
        key, _, value = entry.partition("\n")
        file = origin.removeprefix("file:") if origin.startswith("file:") else "/"
        settings.append(GitSetting(workspace / file, key, value))
    return settings


def steered_by(workspace: Path, settings: Sequence[GitSetting]) -> list[Path]:
    """Files of the workspace that a person's git reads as settings, or runs, because they told it so.

    Anybody who writes those decides what runs on the person's next `git status`.
    """
    found: dict[Path, None] = {}
    for setting in settings:
        origin = _normal(setting.origin)
        if _is_inside(origin, workspace) and ".git" not in origin.relative_to(workspace).parts:
            found[origin] = None  # an included file
        if _RUNS.fullmatch(setting.key):
            plain = setting.key in ("core.hookspath", "core.fsmonitor")
            for word in re.split(r"[\s\"'!;&|()]+", setting.value):
                path = _normal(workspace / word)
                told = (plain or "/" in word) and path != workspace and _is_inside(path, workspace)
                if told and path.exists():
                    found[path] = None
    return list(found)


_RUNS = re.compile(
    r"core\.(?:hookspath|fsmonitor|sshcommand|pager|editor|askpass|gitproxy|alternaterefscommand)|alias\..*|pager\..*"
    r"|filter\..*\.(?:clean|smudge|process)|diff\.external|diff\..*\.(?:command|textconv)|merge\..*\.driver"
    r"|credential\.(?:.*\.)?helper|gpg\.(?:.*\.)?program|interactive\.difffilter|sequence\.editor"
    r"|(?:difftool|mergetool)\..*\.(?:cmd|path)|trailer\..*\.(?:command|cmd)",
    re.DOTALL,
)


def _normal(path: Path) -> Path:
    return Path(os.path.normpath(path))
