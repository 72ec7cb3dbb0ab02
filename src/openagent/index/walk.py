"""The files of a workspace worth finding again, as a stream.

Symbolic links are not followed, so none leads out or round in circles. Left out: what .gitignore says, `.git`, what is
usually produced by tools, and what usually holds secrets.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from openagent.filesystem import walking
from openagent.filesystem.beneath import open_file, open_root, opened_folder, opened_root
from openagent.filesystem.patterns import IgnoreFile

MAX_FILE = 1 << 20
"""A larger file is data or was generated."""
_TRIES = 3
"""For a file that is being written to. Should it change again, its next stamp tells."""
_PRODUCED = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache"})
_PRIVATE = frozenset({".ssh", ".gnupg", ".aws", ".kube", ".docker", ".config"})
_SECRET_NAMES = frozenset({".env", ".netrc", ".npmrc", ".pypirc", "id_rsa", "id_ed25519", "credentials"})
_SECRET_ENDINGS = (".pem", ".key", ".p12", ".pfx", ".kdbx")


class Stamp(NamedTuple):
    """Equal stamps: the same content."""

    size: int
    modified_ns: int
    changed_ns: int
    inode: int


class Found(NamedTuple):
    path: str
    stamp: Stamp


def walk(workspace: Path, hidden: Path, only: Sequence[str] = ()) -> Iterator[Found]:
    """Regular files, paths relative to the workspace, in order, without those below `hidden`.

    `only` names files: no other directory than theirs is looked into."""
    fd = open_root(workspace)
    here, there = workspace.resolve(), hidden.resolve()
    inside = re.sub(r"([*?\[\\])", r"\\\1", str(there.relative_to(here))) if here in there.parents else ""
    rules = IgnoreFile(f"/{inside}/" if inside else "")
    passed_over = _PRODUCED | _PRIVATE
    ways = (
        {path[: end + 1] for path in only for end, character in enumerate(path) if character == "/"} if only else None
    )

    def unwanted(path: str, name: str, is_folder: bool) -> bool:
        if not _nameable(name):
            return True
        return name in passed_over or (ways is not None and f"{path}/" not in ways) if is_folder else _secret(name)

    for found in walking.walk(fd, unwanted, scopes=[walking.Scope("", rules)]):
        with suppress(OSError):
            yield Found(found.path, _stamp(found.status()))


def read(workspace: Path, path: str) -> tuple[bytes | None, Stamp] | None:
    """The bytes (None when there are too many or they are no text) and what they were read from; None when it is gone.

    Stamps differ before and after when it was written to meanwhile: then it is read once more."""
    fd = _open_beneath(workspace, path)
    if fd is None:
        return None
    try:
        before, data = _read_whole(fd)
        for _ in range(_TRIES):
            if data is None or _stamp(os.fstat(fd)) == before:
                break
            before, data = _read_whole(fd)
        return (None if data is None or b"\0" in data[:8192] else data), before
    except OSError:
        return None
    finally:
        os.close(fd)


def _read_whole(fd: int) -> tuple[Stamp, bytes | None]:
    stamp = _stamp(os.fstat(fd))
    data = os.pread(fd, MAX_FILE + 1, 0) if stamp.size <= MAX_FILE else None
    return stamp, data if data is None or len(data) <= MAX_FILE else None


def decoded(data: bytes) -> str:
    """Bytes that are no UTF-8 become the replacement character; a UTF-16 file has NULs, and is not read at all."""
    return data.removeprefix(b"\xef\xbb\xbf").decode(errors="replace")


def _open_beneath(workspace: Path, path: str) -> int | None:
    parent, slash, name = path.rpartition("/")
    if slash and not parent:  # from the root of the machine
        return None
    try:
        with opened_root(workspace) as root, opened_folder(root, parent) as folder:
            return open_file(folder, name)
    except OSError:
        return None


def _nameable(name: str) -> bool:
    """A name that is no UTF-8 can be shown to nobody and asked for by nobody."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _stamp(status: os.stat_result) -> Stamp:
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def _secret(name: str) -> bool:
    return name in _SECRET_NAMES or name.startswith(".env.") or name.endswith(_SECRET_ENDINGS)
