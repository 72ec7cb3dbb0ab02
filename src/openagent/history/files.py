"""Finding files of other agents: names, sizes and dates, nothing else."""

import os
from collections.abc import Iterator
from pathlib import Path

from openagent.history.reading import Source
from openagent.protocol.origin import ForeignAgent

_DEEPEST = 8


def beneath(folder: Path, endings: tuple[str, ...], deepest: int = _DEEPEST) -> Iterator[os.DirEntry[str]]:
    """Files that end so. A folder that cannot be read has none; links are not followed into other folders."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if deepest:
                yield from beneath(Path(entry.path), endings, deepest - 1)
        elif entry.name.endswith(endings):
            yield entry


def source(agent: ForeignAgent, path: str, sessions: int = 1) -> Source | None:
    """None: it is gone by now."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    version = f"{status.st_size}:{status.st_mtime_ns}"
    return Source(agent, path, status.st_size, version, status.st_mtime, sessions=sessions)
