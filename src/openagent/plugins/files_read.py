"""What a session last saw of each file: what an edit is based on."""

import hashlib
from typing import NamedTuple

REMEMBERED_FILE = 256 * 1024


class Stamp(NamedTuple):
    """Equal stamps: surely the same content. Different ones: perhaps another."""

    inode: int
    size: int
    modified_ns: int


GONE = Stamp(0, -1, 0)
"""Of a file that the session itself has deleted: whatever is there later is not what it knows."""


class SeenFile(NamedTuple):
    stamp: Stamp
    digest: bytes
    """Empty for a file too large to have been read whole."""
    content: bytes | None
    """None when it is too large or too long ago to be remembered."""


class FilesRead:
    """By real path."""

    def __init__(self) -> None:
        self._seen: dict[str, SeenFile] = {}

    def get(self, path: str) -> SeenFile | None:
        return self._seen.get(path)

    def saw(self, path: str, stamp: Stamp, content: bytes | None) -> None:
        """The session is shown a file. `content` is None when only a part of a large one was read."""
        self._seen[path] = seen_file(stamp, content)

    def wrote(self, path: str, stamp: Stamp, content: bytes | None) -> None:
        """The session has made a file what it is; with `GONE` and no content, it has deleted it."""
        self._seen[path] = seen_file(stamp, content)


def seen_file(stamp: Stamp, content: bytes | None) -> SeenFile:
    kept = content if content is not None and len(content) <= REMEMBERED_FILE else None
    return SeenFile(stamp, digest(content) if content is not None else b"", kept)


def digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()
