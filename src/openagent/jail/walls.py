"""The workspace inside the jail: writable, but for the files that programs outside the jail act upon."""

import contextlib
import os
import pwd
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from openagent.protocol.errors import OpenAgentError

_NEVER = (
    "/",
    "/usr",
    "/etc",
    "/var",
    "/proc",
    "/sys",
    "/dev",
    "/run",
    "/boot",
    "/home",
    "/bin",
    "/lib",
    "/sbin",
    "/tmp",  # noqa: S108
)


def home_directories() -> set[Path]:
    """By the environment, and by the user database, whichever the secrets are in."""
    homes = {Path.home()}
    with contextlib.suppress(KeyError):  # a user without an entry has no second home
        homes.add(Path(pwd.getpwuid(os.getuid()).pw_dir))
    return {home.resolve() for home in homes if home != Path("/")}


def checked_workspace(workspace: Path) -> Path:
    try:
        resolved = workspace.resolve(strict=True)
    except OSError as problem:
        raise OpenAgentError(
            "jail_error",
            f"The workspace {workspace} cannot be used: {problem.strerror}.",
            hint="Choose another folder.",
        ) from problem
    if not resolved.is_dir():
        raise OpenAgentError("jail_error", f"The workspace {workspace} is not a folder.", hint="Choose a folder.")
    if str(resolved) in _NEVER or any(home == resolved or resolved in home.parents for home in home_directories()):
        raise OpenAgentError(
            "jail_error",
            f"{resolved} is a home directory or holds system files, and the jail would open all of it.",
            hint="Work in a folder below it.",
        )
    return resolved


_CONFIG_KEPT = re.compile(r"could not (?:write|lock) config file \S*|Update of config-file failed")
_GIT_KEPT = re.compile(r"\.git/(?:hooks|config)\S*'?: (?:Read-only file system|Device or resource busy)")
_IS_KEPT = (
    "this is the jail, not a fault of the disk: .git/config and .git/hooks cannot be changed in it, because programs "
    "named there would run outside. Whatever else git was to do is done, branches and HEAD included; only the setting "
    "(tracking, too) was not written. `git config --global KEY VALUE` works in this jail, `git -c KEY=VALUE ...` for "
    "one command; what the repository itself is to keep, the user has to set"
)


def explain_walls(output: str) -> str | None:
    """What a command ran into, when a program's words for it would mislead."""
    return _IS_KEPT if _CONFIG_KEPT.search(output) or _GIT_KEPT.search(output) else None


class Wall(NamedTuple):
    """A place of its own in the jail's file system. Later ones lie over earlier ones."""

    path: Path
    writable: bool = False
    emptied: bool = False
    """There is nothing to be seen in it."""


def workspace_walls(workspace: Path, hidden: Sequence[Path]) -> list[Wall]:
    """A hook or a setting planted here would run outside, in the person's own git or daemon."""
    walls = [Wall(workspace, writable=True)]
    # A mount of its own cannot be renamed away and replaced by one with hooks.
    walls += [Wall(directory, writable=not read_only) for directory, read_only in _git_directories(workspace)]
    for path in (workspace / ".openagent", *_git_settings(workspace)):
        if path.exists() and not path.is_symlink():
            walls.append(Wall(path))
    for path in hidden:
        resolved = path.resolve()
        if workspace in resolved.parents and resolved.exists():
            walls.append(Wall(resolved, emptied=True))
    return walls


def _git_directories(workspace: Path) -> Iterator[tuple[Path, bool]]:
    dot_git = workspace / ".git"
    if dot_git.is_symlink():
        return
    if dot_git.is_dir():
        yield dot_git, False
    elif dot_git.is_file():
        yield dot_git, True
        if common := _common_directory(dot_git):
            yield common, False


def _git_settings(workspace: Path) -> Iterator[Path]:
    for directory, read_only in _git_directories(workspace):
        if not read_only:
            hooks = directory / "hooks"
            hooks.mkdir(exist_ok=True)  # what does not exist cannot be mounted over
            yield hooks
            yield directory / "config"
            yield directory / "config.worktree"


def _common_directory(dot_git: Path) -> Path | None:
    """A worktree's shared repository, when that repository itself says that this worktree is its own.

    The file in the workspace alone proves nothing: a jailed command could have written it to have any folder let in.
    """
    try:
        own = (dot_git.parent / dot_git.read_text().removeprefix("gitdir:").strip()).resolve()
        claimed = Path((own / "gitdir").read_text().strip())
        common = (own / (own / "commondir").read_text().strip()).resolve()
    except (OSError, UnicodeDecodeError):
        return None
    return common if claimed == dot_git and own.parent == common / "worktrees" else None
