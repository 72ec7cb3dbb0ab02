"""A project's files, found from a directory upwards."""

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from openagent.config.trust import FOLDER, GOVERNED, OWN

CONFIG = "config.toml"
RULES = "policy.toml"


class ProjectFile(Struct, frozen=True):
    path: Path | None = None
    note: str = ""
    """Why a file that is there was left alone."""

    @property
    def folder(self) -> Path:
        """The project's: what is trusted or not."""
        return self.path.parent.parent if self.path else Path()


def find_project_file(cwd: Path, env: Mapping[str, str], name: str = CONFIG) -> ProjectFile:
    """The nearest one from `cwd` up to the root of its git repository or the home directory; elsewhere, `cwd` alone."""
    cwd = Path(os.path.abspath(cwd))
    for directory in reach(cwd, env):
        path = directory / FOLDER / name
        if not path.is_file():
            continue
        owner = path.stat().st_uid
        if owner in (0, os.getuid(), cwd.stat().st_uid):
            return ProjectFile(path)
        return ProjectFile(note=f"{path}: left alone, because it belongs to another user.")
    return ProjectFile()


def project_folder(cwd: Path, env: Mapping[str, str]) -> Path:
    """The nearest one that says something about agents; `cwd` itself when none does."""
    cwd = Path(os.path.abspath(cwd))
    return next((place for place in reach(cwd, env) if _governs(place, env)), cwd)


def _governs(place: Path, env: Mapping[str, str]) -> bool:
    """What other agents keep in a home directory is the person's, and makes no project of it."""
    names = OWN if place == _home(env) else GOVERNED
    return any(os.path.lexists(place / name) for name in names)


def _home(env: Mapping[str, str]) -> Path:
    return Path(env["HOME"]) if env.get("HOME") else Path.home()


def reach(cwd: Path, env: Mapping[str, str]) -> list[Path]:
    """From `cwd` up to the root of its git repository or the home directory; elsewhere, `cwd` alone."""
    home = _home(env)
    above = [cwd, *cwd.parents]
    for index, directory in enumerate(above):
        if directory == home or (directory / ".git").exists():
            return above[: index + 1]
    return [cwd]
