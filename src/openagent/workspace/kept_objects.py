"""A second name for every object of the workspace's repository, so that `rm -rf .git` can be taken back.

Objects never change, so a hard link is a copy that takes no room; where there can be none, small ones are copied. What
the repository itself has dropped is dropped here two weeks later.
"""

import errno
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_LARGEST_COPY = 32 << 20
_KEPT_S = 14 * 86_400


def kept_objects(store: Path) -> Path:
    """Where a workspace's are, beside its checkpoints."""
    return store / "kept-objects"


class KeptObjects:
    """Blocks."""

    def __init__(self, kept: Path) -> None:
        self._kept = kept
        self._seen: dict[str, int] = {}
        self.without_copy: set[str] = set()
        """Folders of objects in which one is neither linked nor copied."""

    def keep(self, repository: Path) -> None:
        """Folders that were not changed since are not listed again."""
        for folder in _folders(repository / "objects"):
            changed = folder.stat(follow_symlinks=False).st_mtime_ns
            if self._seen.get(folder.name) == changed:
                continue
            self._seen[folder.name] = changed
            target = self._kept / folder.name
            target.mkdir(mode=0o700, parents=True, exist_ok=True)
            names = {entry.name for entry in os.scandir(folder.path) if entry.is_file(follow_symlinks=False)}
            known = set(os.listdir(target))
            self.without_copy.discard(folder.name)
            for name in names - known:
                if not name.startswith("tmp_") and not _give(Path(folder.path, name), target / name):
                    self.without_copy.add(folder.name)
            for name in known - names:
                _drop_old(target / name)

    def bring_back(self, repository: Path) -> None:
        if not self._kept.is_dir() or (repository / "objects").is_symlink():
            return
        for folder in _folders(self._kept):
            target = repository / "objects" / folder.name
            if target.is_symlink():
                continue
            target.mkdir(parents=True, exist_ok=True)
            for name in set(os.listdir(folder.path)) - set(os.listdir(target)):
                _give(Path(folder.path, name), target / name)
        self._seen.clear()


def _folders(objects: Path) -> Iterator[os.DirEntry[str]]:
    if objects.is_symlink() or not objects.is_dir():
        return
    with os.scandir(objects) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False) and (len(entry.name) == 2 or entry.name == "pack"):
                yield entry


def _give(source: Path, target: Path) -> bool:
    """False when it is there, and cannot be given."""
    try:
        os.link(source, target, follow_symlinks=False)
    except FileNotFoundError:
        return True
    except OSError as problem:
        try:
            if problem.errno not in (errno.EXDEV, errno.EPERM, errno.EMLINK) or source.stat().st_size > _LARGEST_COPY:
                return False
            shutil.copy2(source, target, follow_symlinks=False)
        except OSError:
            return not source.exists()
    return True


def _drop_old(kept: Path) -> None:
    with suppress(OSError):
        if time.time() - kept.lstat().st_ctime > _KEPT_S:
            kept.unlink()
