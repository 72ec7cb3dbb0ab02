"""A plugin's folder once more, where a jail may read it."""

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from openagent.protocol.errors import OpenAgentError


def plugin_copy(folder: Path, copies: Path) -> Path:
    """As the folder is now; the copy of what it was before is removed. Raises OpenAgentError('jail_error')."""
    try:
        copy = copies / f"{folder.name}-{_state_of(folder)}"
        if not copy.is_dir():
            _make(folder, copy)
    except (OSError, shutil.Error) as problem:
        raise OpenAgentError(
            "jail_error",
            f"The plugin in {folder} could not be copied to where the jail sees it: {problem}.",
            hint="Free some space, or install the plugin again.",
        ) from None
    return copy


def _state_of(folder: Path) -> str:
    state = hashlib.sha256()
    for place, names, files in os.walk(folder):
        names.sort()
        for name in sorted(files):
            path = os.path.join(place, name)
            status = os.lstat(path)
            state.update(f"{os.path.relpath(path, folder)}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return state.hexdigest()[:12]


def _make(folder: Path, copy: Path) -> None:
    copy.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    older = [each for each in copy.parent.glob(f"{folder.name}-*") if len(each.name) == len(copy.name)]
    with tempfile.TemporaryDirectory(dir=copy.parent, prefix=".") as room:
        made = Path(room, "plugin")
        shutil.copytree(folder, made, symlinks=True)
        try:
            made.rename(copy)
        except OSError:  # somebody else was quicker
            if not copy.is_dir():
                raise
    for each in older:
        shutil.rmtree(each, ignore_errors=True)
