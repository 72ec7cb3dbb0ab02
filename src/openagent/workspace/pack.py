"""Many objects in one file, as git's packs are: a first checkpoint of thousands of files is one file, not thousands."""

import hashlib
import os
import struct
import zlib
from collections.abc import Iterable
from pathlib import Path

_CHUNK = 1 << 20
_LEVEL = 1
_KINDS = {b"commit": 1, b"tree": 2, b"blob": 3}
_FAR = 1 << 31
"""Offsets from here on stand in a table of their own."""


class Pack:
    """It can be read once `finish` has put its index in place; until then it is nothing but a temporary file."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._temporary = directory / f"tmp_pack_{os.getpid()}_{id(self)}"
        self._file = open(self._temporary, "xb+")  # noqa: SIM115
        self._file.write(b"PACK" + struct.pack(">II", 2, 0))
        self._at = 12
        self._entries: dict[bytes, tuple[int, int]] = {}

    def __contains__(self, oid: bytes) -> bool:
        return oid in self._entries

    def add(self, kind: bytes, oid: bytes, data: bytes) -> None:
        raw = _entry_header(_KINDS[kind], len(data)) + zlib.compress(data, _LEVEL)
        self._file.write(raw)
        self._entries[oid] = (self._at, zlib.crc32(raw))
        self._at += len(raw)

    def add_blob(self, size: int, chunks: Iterable[bytes]) -> bytes:
        """Of a size known before its content is; written once, and taken back when it is there already."""
        digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        squeeze = zlib.compressobj(_LEVEL)
        written = _entry_header(_KINDS[b"blob"], size)
        checksum = zlib.crc32(written)
        length = self._file.write(written)
        try:
            for chunk in chunks:
                digest.update(chunk)
                written = squeeze.compress(chunk)
                checksum = zlib.crc32(written, checksum)
                length += self._file.write(written)
            written = squeeze.flush()
            checksum = zlib.crc32(written, checksum)
            length += self._file.write(written)
        except BaseException:
            self._take_back()
            raise
        oid = digest.digest()
        if oid in self._entries:
            self._take_back()
        else:
            self._entries[oid] = (self._at, checksum)
            self._at += length
        return oid

    def _take_back(self) -> None:
        self._file.flush()
        self._file.truncate(self._at)
        self._file.seek(self._at)

    def finish(self) -> None:
        if not self._entries:
            self.discard()
            return
        self._file.seek(8)
        self._file.write(struct.pack(">I", len(self._entries)))
        self._file.seek(0)
        digest = hashlib.sha1(usedforsecurity=False)
        while chunk := self._file.read(_CHUNK):
            digest.update(chunk)
        name = digest.digest()
        self._file.write(name)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        final = self._directory / f"pack-{name.hex()}.pack"
        index = self._temporary.with_name(self._temporary.name + "_idx")
        index.write_bytes(self._index(name))
        os.chmod(self._temporary, 0o400)
        os.chmod(index, 0o400)
        self._temporary.replace(final)
        index.replace(final.with_suffix(".idx"))

    def discard(self) -> None:
        self._file.close()
        self._temporary.unlink(missing_ok=True)

    def _index(self, name: bytes) -> bytes:
        oids = sorted(self._entries)
        counts = [0] * 256
        for oid in oids:
            counts[oid[0]] += 1
        total, fanout = 0, list[int]()
        for count in counts:
            total += count
            fanout.append(total)
        far = [self._entries[oid][0] for oid in oids if self._entries[oid][0] >= _FAR]
        places = {offset: _FAR | number for number, offset in enumerate(far)}
        offsets = [places.get(self._entries[oid][0], self._entries[oid][0]) for oid in oids]
        body = b"".join(
            (
                b"\xfftOc",
                struct.pack(">I256I", 2, *fanout),
                *oids,
                struct.pack(f">{len(oids)}I", *(self._entries[oid][1] for oid in oids)),
                struct.pack(f">{len(oids)}I", *offsets),
                struct.pack(f">{len(far)}Q", *far),
                name,
            )
        )
        return body + hashlib.sha1(body, usedforsecurity=False).digest()


def _entry_header(kind: int, size: int) -> bytes:
    first = kind << 4 | size & 15
    size >>= 4
    encoded = bytearray()
    while size:
        encoded.append(first | 0x80)
        first = size & 0x7F
        size >>= 7
    encoded.append(first)
    return bytes(encoded)
