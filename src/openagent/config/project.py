"""The project's file, found from a directory upwards."""

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

_FILE = Path(".openagent", "config.toml")


class ProjectFile(Struct, frozen=True):
    path: Path | None = None
    note: str = ""
    """Why a file that is there was left alone."""


def find_project_file(cwd: Path, env: Mapping[str, str]) -> ProjectFile:
    """The nearest one from `cwd` up to the root of its git repository or the home directory; elsewhere, `cwd` alone."""
    cwd = Path(os.path.abspath(cwd))
    for directory in _reach(cwd, env):
        path = directory / _FILE
        if not path.is_file():
            continue
        owner = path.stat().st_uid
        if owner in (0, os.getuid(), cwd.stat().st_uid):
            return ProjectFile(path)
        return ProjectFile(note=f"{path}: left alone, because it belongs to another user.")
    return ProjectFile()


def _reach(cwd: Path, env: Mapping[str, str]) -> list[Path]:
    home = Path(env["HOME"]) if env.get("HOME") else Path.home()
    above = [cwd, *cwd.parents]
    for index, directory in enumerate(above):
        if directory == home or (directory / ".git").exists():
            return above[: index + 1]
    return [cwd]
