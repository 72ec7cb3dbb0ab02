"""Folders that are nobody's workspace, whoever asks and whatever jail there is.

An agent changes the files of its workspace, and a person may open a terminal there. Where keys, settings and programs
lie, that would be more than work on files.
"""

import contextlib
import os
import pwd
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from openagent.protocol import locations
from openagent.protocol.errors import OpenAgentError

_ITSELF = (
    *("/", "/home", "/tmp", "/var", "/var/tmp", "/opt", "/srv", "/mnt", "/media", "/run/media", "/dev/shm"),  # noqa: S108
    *("/Users", "/Users/Shared", "/Volumes", "/private", "/private/tmp", "/private/var", "/private/var/tmp"),
)
"""They hold what is many people's; a folder below one may be a workspace."""
_WHOLE = (
    *("/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/run", "/sbin", "/sys", "/usr"),
    *("/var/backups", "/var/cache", "/var/db", "/var/lib", "/var/log", "/var/mail", "/var/run", "/var/spool"),
    *("/Applications", "/Library", "/System", "/cores", "/private/etc", "/private/var/db", "/private/var/log"),
    *("/private/var/mail", "/private/var/root", "/private/var/run", "/private/var/spool"),
)
"""Nothing below them, but for:"""
_YET = ("/usr/src", "/usr/local/src", "/run/media", "/dev/shm")  # noqa: S108


class Places:
    def __init__(self, env: Mapping[str, str], *, copies: Path | None = None) -> None:
        """`copies` lies in the data home, and what lies in it was made to be worked in."""
        self._homes = _homes(env)
        settings = Path(locations.config_file(env))
        self._settings = _real(settings)
        own = [Path(locations.data_home(env))]
        if not env.get("OPENAGENT_CONFIG"):
            own.append(settings.parent)
        self._own = [_real(path) for path in own]
        self._copies = _real(copies) if copies is not None else None

    def problem(self, folder: str) -> str:
        """Why this real path can be no workspace; empty when it can."""
        if self._copies is not None and folder.startswith(f"{self._copies}/"):
            return ""
        if any(_is_within(folder, own) for own in self._own) or folder == self._settings:
            return "holds OpenAgent's own data or settings"
        return self._of_a_home(folder) or self._of_the_system(folder)

    def opens_a_home(self, folder: str) -> bool:
        """It is somebody's home or holds one: all that lies hidden there would be in it."""
        return any(_is_within(home, folder) for home in self._homes)

    def _of_a_home(self, folder: str) -> str:
        homes = [*self._homes]
        if folder.startswith(("/home/", "/Users/")):
            homes.append("/".join(folder.split("/")[:3]))
        for home in homes:
            if folder.startswith(f"{home.rstrip('/')}/."):
                return "is a hidden folder of a home, where programs keep keys and settings"
        return ""

    def _of_the_system(self, folder: str) -> str:
        below_a_home = any(folder.startswith(f"{home}/") for home in self._homes)
        belongs = folder in _ITSELF or any(_is_within(folder, place) for place in _WHOLE)
        excepted = any(folder.startswith(f"{place}/") for place in _YET) or below_a_home
        return "belongs to the system" if belongs and not excepted else ""


def refuse_as_workspace(folder: str, problem: str) -> OpenAgentError:
    return OpenAgentError(
        "invalid_argument", f"{folder} {problem}: it can be no workspace.", hint="Work in a folder of a project."
    )


def still_there(workspace: Path, real: str) -> None:
    """Raises when a workspace's path leads elsewhere by now, as `real` says: somebody has put a link in its place."""
    if real != str(workspace):
        raise OpenAgentError(
            "jail_error",
            f"The workspace {workspace} is not where it was: a link in its path leads elsewhere.",
            hint="Put the folder back, or make a session where it is now.",
        )


def _homes(env: Mapping[str, str]) -> list[str]:
    """By the environment, and by the user database, whichever the keys are in."""
    homes = [env["HOME"]] if env.get("HOME") else []
    with contextlib.suppress(KeyError):  # a user without an entry has no second home
        homes.append(pwd.getpwuid(os.getuid()).pw_dir)
    return [home for home in dict.fromkeys(map(_real, homes)) if home != "/"]


def _real(path: str | Path) -> str:
    return os.path.realpath(path)


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


Problem = Callable[[str], str]
"""From a real path to why it can be no workspace."""


def lies_in(folder: str, folders: Iterable[str]) -> bool:
    """It is one of them, or below one. Real paths, for a link is no way around."""
    return any(folder == each or folder.startswith(f"{each.rstrip('/')}/") for each in folders)
