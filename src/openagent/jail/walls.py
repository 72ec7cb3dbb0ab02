"""The workspace inside the jail: writable, but for the files that programs outside the jail act upon."""

import contextlib
import os
import pwd
import re
from collections.abc import Sequence
from pathlib import Path

from openagent.jail.git_walls import Wall, git_walls
from openagent.jail.workspace_survey import Ground
from openagent.plugins.places import still_there
from openagent.plugins.worktrees import common_directory
from openagent.protocol.errors import OpenAgentError

NEVER = (
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
    "/Applications",
    "/Library",
    "/System",
    "/Users",
    "/Volumes",
    "/private",
    "/private/etc",
    "/private/tmp",
    "/private/var",
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
    still_there(workspace, str(resolved))
    if not resolved.is_dir():
        raise OpenAgentError("jail_error", f"The workspace {workspace} is not a folder.", hint="Choose a folder.")
    if str(resolved) in NEVER or any(home == resolved or resolved in home.parents for home in home_directories()):
        raise OpenAgentError(
            "jail_error",
            f"{resolved} is a home directory or holds system files, and the jail would open all of it.",
            hint="Work in a folder below it.",
        )
    return resolved


_CONFIG_KEPT = re.compile(r"could not (?:write|lock) config file \S*|Update of config-file failed")
_GIT_KEPT = re.compile(
    r"\.git/(?:(?:modules|worktrees)/\S+/)?(?:config|commondir|gitdir|hooks|info|branches|remotes|modules)\b\S*: "
    r"(?:Read-only file system|Device or resource busy)"
)
"""Not objects, branches and the index, which are read-only for other reasons."""
_HOOK_FILE_KEPT = re.compile(
    r"(?:\.husky\b|lefthook|\.pre-commit-config\.)[^\s':]*'?: (?:Read-only file system|Device or resource busy)"
)
_IS_UNREADABLE = (
    "{name} looks as if it held secrets, so the jail keeps it from being read. A command that names it, or read_file, "
    "asks the user for it"
)
_IS_KEPT = (
    "this is the jail, not a fault of the disk: .git/config and .git/hooks cannot be changed in it, because programs "
    "named there would run outside. Whatever else git was to do is done, branches and HEAD included; only the setting "
    "(tracking, too) was not written. `git config --global KEY VALUE` works in this jail, `git -c KEY=VALUE ...` for "
    "one command; what the repository itself is to keep, the user has to set"
)
_RUNS_OUTSIDE = (
    "this is the jail, not a fault of the disk: what the user's git hooks run is read-only for commands: it runs "
    "outside with the next commit. The tools that write and edit files can change it, and the user is asked"
)


def explain_walls(output: str, secrets: Sequence[Path] = ()) -> str | None:
    """What a command ran into, when a program's words for it would mislead."""
    if "ermission denied" in output and (named := [path.name for path in secrets if path.name in output]):
        return _IS_UNREADABLE.format(name=named[0])
    if _HOOK_FILE_KEPT.search(output):
        return _RUNS_OUTSIDE
    return _IS_KEPT if _CONFIG_KEPT.search(output) or _GIT_KEPT.search(output) else None


def workspace_walls(
    workspace: Path,
    hidden: Sequence[Path],
    ground: Ground | None = None,
    *,
    writable: bool = True,
    held: Sequence[Path] = (),
) -> list[Wall]:
    """A hook or a setting planted here would run outside, in the person's own git or daemon.

    `ground` is what was found in the workspace that needs walls; `writable=False` makes all of it read-only, and `held`
    what undo could not bring back.
    """
    ground = ground or Ground()
    walls = [Wall(workspace, writable=writable)]
    shared = [path for path in _shared_by(workspace) if path in held]
    held = [path for path in held if workspace in path.parents and not path.is_symlink() and path.exists()]
    outside_git = [path for path in held if ".git" not in path.relative_to(workspace).parts]
    walls += [Wall(path) for path in outside_git if writable]
    if writable:
        found = git_walls(workspace, ground.repositories)
        walls += [wall._replace(writable=wall.writable and not _is_below(wall.path, outside_git)) for wall in found]
        walls += [Wall(path) for path in held if path not in outside_git]
        for repository in shared:
            walls += [Wall(repository), *_own_part(repository, found)]
    else:
        walls += [Wall(path) for path in _shared_by(workspace)]
    steering = [workspace / ".openagent", *ground.steering]
    walls += [Wall(path) for path in steering if writable and path.exists() and not path.is_symlink()]
    walls += [Wall(path, unreadable=True) for path in ground.secrets if path.is_file() and not path.is_symlink()]
    for path in hidden:
        resolved = path.resolve()
        if workspace in resolved.parents and resolved.exists():
            walls.append(Wall(resolved, emptied=True))
    return walls


def _is_below(path: Path, places: Sequence[Path]) -> bool:
    return any(path.is_relative_to(place) for place in places)


def _shared_by(workspace: Path) -> list[Path]:
    """The repository that a worktree's files belong to lies elsewhere."""
    common = common_directory(workspace / ".git") if (workspace / ".git").is_file() else None
    return [common] if common else []


def _own_part(repository: Path, walls: Sequence[Wall]) -> list[Wall]:
    """What in a shared repository is the workspace's alone: its index, its HEAD."""
    own = [wall.path for wall in walls if wall.writable and wall.path.parent == repository / "worktrees"]
    return [wall for wall in walls if _is_below(wall.path, own)]
