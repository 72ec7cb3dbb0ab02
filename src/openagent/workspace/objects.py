"""Writing objects into the private git repository, without a process for each.

The format is git's own, so that git reads, compares, packs and prunes what is written here. An object
is written beside its place and renamed into it: it is there whole, or not at all.
"""

import hashlib
import os
import zlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from openagent.filesystem.atomic_files import replace_file
from openagent.workspace.pack import Pack

_WHOLE = 1 << 20
_BULK = 200
_LEVEL = 1
_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tbare = true
\tautocrlf = false
\thooksPath = /dev/null
\tattributesFile = /dev/null
\texcludesFile = /dev/null
\tfsmonitor = false
\tprotectNTFS = false
\tprotectHFS = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
[diff]
\trenameLimit = 2000
"""

TreeItem = tuple[bytes, bytes, bytes]
"""Mode, name, object."""


class FileChanged(Exception):
    """A file grew shorter while it was read."""


class Objects:
    def __init__(self, git_dir: Path) -> None:
        self.git_dir = git_dir
        self._directory = os.fsencode(git_dir / "objects")
        self._count = 0
        self._pack: Pack | None = None

    def prepare(self) -> None:
        """A repository made by hand: `git init` would copy templates and read settings."""
        if (self.git_dir / "HEAD").exists():
            return
        self.git_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        for folder in ("objects", "refs"):
            (self.git_dir / folder).mkdir(exist_ok=True)
        (self.git_dir / "config").write_text(_CONFIG)
        replace_file(self.git_dir / "HEAD", b"ref: refs/heads/none\n", flush=False)

    def blob(self, data: bytes) -> bytes:
        return self._whole(b"blob", data)

    def tree(self, items: Iterable[TreeItem]) -> bytes:
        ordered = sorted(items, key=lambda item: item[1] + b"/" if item[0] == b"40000" else item[1])
        return self._whole(b"tree", b"".join(b"%b %b\0%b" % item for item in ordered))

    def commit(self, tree: bytes, at: float, message: bytes) -> bytes:
        who = b"openagent <openagent> %d +0000" % int(at)
        return self._whole(b"commit", b"tree %b\nauthor %b\ncommitter %b\n\n%b" % (_hex(tree), who, who, message))

    def file(self, descriptor: int, size: int, known: bytes) -> bytes:
        """The first `size` bytes of a file. Nothing is written when they are the `known` object."""
        if size > _WHOLE:
            return self._streamed(descriptor, size, known)
        return self._whole(b"blob", b"".join(_chunks(descriptor, size)), known)

    @contextmanager
    def bulk(self, expected: int) -> Generator[None]:
        """Objects written inside go into one pack, when there are many."""
        if expected < _BULK:
            yield
            return
        self._pack = Pack(self.git_dir / "objects" / "pack")
        try:
            yield
            self._pack.finish()
        except BaseException:
            self._pack.discard()
            raise
        finally:
            self._pack = None

    def _whole(self, kind: bytes, data: bytes, known: bytes = b"") -> bytes:
        header = b"%b %d\0" % (kind, len(data))
        digest = hashlib.sha1(header, usedforsecurity=False)
        digest.update(data)
        oid = digest.digest()
        if oid == known or (self._pack and oid in self._pack):
            return oid
        if self._pack:
            self._pack.add(kind, oid, data)
            return oid
        place = self._place(oid)
        if not os.path.exists(place):
            self._put(zlib.compress(header + data, _LEVEL), place)
        return oid

    def _streamed(self, descriptor: int, size: int, known: bytes) -> bytes:
        """A large file that may be as before is read twice, so that nothing is written in vain."""
        if known:
            digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
            for chunk in _chunks(descriptor, size):
                digest.update(chunk)
            if digest.digest() == known:
                return known
            os.lseek(descriptor, 0, os.SEEK_SET)
        if self._pack:
            return self._pack.add_blob(size, _chunks(descriptor, size))
        with self.bulk(_BULK):
            return self._streamed(descriptor, size, b"")

    def _put(self, data: bytes, place: bytes) -> None:
        temporary = self._temporary()
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o400)
        try:
            with os.fdopen(descriptor, "wb", buffering=0) as out:
                if out.write(data) != len(data):
                    raise OSError(28, "the disk is full", os.fsdecode(temporary))
            self._move(temporary, place)
        except BaseException:
            if os.path.exists(temporary):
                os.unlink(temporary)
            raise

    def _move(self, temporary: bytes, place: bytes) -> None:
        try:
            os.rename(temporary, place)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            os.rename(temporary, place)

    def _temporary(self) -> bytes:
        """Git itself removes `tmp_obj_*` when it prunes, so a crash leaves nothing for ever."""
        self._count += 1
        return b"%b/tmp_obj_%d_%d_%d" % (self._directory, os.getpid(), id(self), self._count)

    def _place(self, oid: bytes) -> bytes:
        name = _hex(oid)
        return b"%b/%b/%b" % (self._directory, name[:2], name[2:])


def _chunks(descriptor: int, size: int) -> Iterator[bytes]:
    while size:
        chunk = os.read(descriptor, min(size, _WHOLE))
        if not chunk:
            raise FileChanged
        size -= len(chunk)
        yield chunk


def _hex(oid: bytes) -> bytes:
    return oid.hex().encode()
