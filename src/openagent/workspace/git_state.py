"""The state of the workspace's own repository: everything in `.git` but the objects, which only ever grow.

Saved as files, by reading alone. Restoring it undoes `reset --hard`, `branch -D`, `stash drop` and the like, as long as
the objects are still there, which is checked first.
"""

import os
import re
from pathlib import Path
from typing import NamedTuple

from openagent.workspace.git import BlobReader, run_git
from openagent.workspace.tree import Folder, walk_files

_OTHERS = {b"commondir", b"worktrees", b"gc.pid", b"fsmonitor--daemon"}
_OBJECT_NAME = re.compile(rb"\b[0-9a-f]{40}\b")
_NO_OBJECT = b"0" * 40


class Named(NamedTuple):
    present: list[str]
    missing: list[str]


def repository_of(workspace: Path) -> Path | None:
    """Only a real folder: a `.git` file may name any folder of the machine, and belongs to whoever wrote it."""
    repository = workspace / ".git"
    return repository if repository.is_dir() and not repository.is_symlink() else None


def passed_over(path: bytes, name: bytes, siblings: set[bytes]) -> bool:
    """Objects, also of submodules; locks; and what belongs to other work trees."""
    if name in (b"objects", b"lfs"):
        return b"HEAD" in siblings
    return name.endswith(b".lock") or (not path and name in _OTHERS)


def missing_objects(git_dir: Path, reader: BlobReader, state: Folder, repository: Path) -> list[str]:
    """Names that the saved state refers to and the repository's objects do not hold any more."""
    return named_objects(git_dir, reader, state, repository).missing


def named_objects(git_dir: Path, reader: BlobReader, state: Folder, repository: Path) -> Named:
    """What the saved state refers to: by its HEAD, its references, its stashes and its index."""
    wanted: set[bytes] = set()
    for path, entry in walk_files(state):
        if path in (b"HEAD", b"packed-refs", b"logs/refs/stash") or path.startswith(b"refs/"):
            wanted.update(_OBJECT_NAME.findall(reader.read(entry.oid.hex())))
    objects = repository / "objects"
    if not objects.is_dir():
        return Named([], sorted(name.decode() for name in wanted - {_NO_OBJECT}))
    extra = beside(objects)
    if index := state.files.get(b"index"):
        copy = git_dir / "index-to-check"
        copy.write_bytes(reader.read(index.oid.hex()))
        staged = run_git(
            git_dir, ["ls-files", "--stage", "-z"], extra={**extra, "GIT_INDEX_FILE": str(copy)}, accept=(0, 128)
        )
        entries = [entry.split(b" ") for entry in staged.stdout.split(b"\0")[:-1]]
        wanted.update(entry[1] for entry in entries if entry[0] != b"160000" and len(entry[1]) == 40)
        copy.unlink()
    wanted.discard(_NO_OBJECT)
    listing = b"".join(name + b"\n" for name in sorted(wanted))
    answers = run_git(git_dir, ["cat-file", "--batch-check"], stdin=listing, extra=extra).stdout
    missing = [line.split()[0].decode() for line in answers.splitlines() if line.endswith(b" missing")]
    return Named(sorted({name.decode() for name in wanted} - set(missing)), missing)


def beside(objects: Path) -> dict[str, str]:
    """What has git find these objects too."""
    return {"GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted(objects)}


def _quoted(path: Path) -> str:
    """Git splits this variable at colons, unless an entry is quoted."""
    text = os.fspath(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
