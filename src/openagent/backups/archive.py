"""The archive: a gzipped tar whose first file says what follows, with a checksum of each. Any tar can unpack it.

Whoever reads one reads it to its end before using anything of it: what is torn or changed is refused whole.
"""

import gzip
import io
import os
import tarfile
import zlib
from collections.abc import Mapping
from hashlib import file_digest, sha256
from pathlib import Path, PurePosixPath
from typing import IO, NoReturn

import msgspec
from msgspec import Struct

from openagent.protocol.backups import BackupInfo, BackupKind
from openagent.protocol.errors import OpenAgentError

VERSION = 1
"""Grows when an older program could no longer read it."""
MANIFEST = "manifest.json"
SUFFIX = ".tar.gz"
_LONGEST_MANIFEST = 64 * 1024 * 1024
_PIECE = 1024 * 1024
_FAST = 1
"""Compression: most of what the best one saves, at a fraction of its time."""
_TORN = (EOFError, zlib.error, gzip.BadGzipFile, tarfile.TarError, msgspec.DecodeError, UnicodeDecodeError)


class ArchivedFile(Struct, frozen=True):
    bytes: int
    sha256: str


class Manifest(Struct, frozen=True, kw_only=True):
    format: str = "openagent backup"
    version: int = VERSION
    made_by: str = ""
    created_at: float = 0.0
    kind: BackupKind = "by hand"
    store: str = "sqlite"
    schema: str = ""
    sessions: int = 0
    messages: int = 0
    keys: bool = False
    keys_left_out: str = ""
    checkpoints: bool = False
    files: dict[str, ArchivedFile] = {}


class _Head(Struct):
    format: str = ""
    version: int = 0


def write(to: Path, about: Manifest, files: Mapping[str, Path]) -> None:
    """`files` must not change meanwhile. All is on the disk when this returns."""
    listed = {name: _measured(path) for name, path in files.items()}
    manifest = msgspec.json.format(msgspec.json.encode(msgspec.structs.replace(about, files=listed)), indent=1)
    descriptor = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as raw:
        with (
            gzip.GzipFile("", "wb", _FAST, raw, mtime=int(about.created_at)) as packed,
            tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
        ):
            _add(tar, MANIFEST, len(manifest), io.BytesIO(manifest), about.created_at)
            for name, path in files.items():
                with path.open("rb") as file:
                    _add(tar, name, listed[name].bytes, file, about.created_at)
        raw.flush()
        os.fsync(raw.fileno())


def peek(archive: Path) -> Manifest:
    """What it says of itself: nothing behind that is looked at."""
    with (
        _Refusing(archive),
        archive.open("rb") as raw,
        gzip.GzipFile(fileobj=raw) as packed,
        tarfile.open(fileobj=packed, mode="r|") as tar,
    ):
        return _manifest(archive, tar)


def unpack(archive: Path, to: Path) -> Manifest:
    """Every file below `to`, under its name in the archive; raises where a byte of it is missing or wrong."""
    with _Refusing(archive), archive.open("rb") as raw, gzip.GzipFile(fileobj=raw) as packed:
        with tarfile.open(fileobj=packed, mode="r|") as tar:
            manifest = _manifest(archive, tar)
            missing = dict(manifest.files)
            while (member := tar.next()) is not None:
                wanted = missing.pop(member.name, None)
                content = tar.extractfile(member) if wanted is not None and member.isreg() else None
                if wanted is None or content is None:
                    _refuse(archive, f"it holds {member.name!r}, which its list does not name")
                if _copied(content, _place(archive, to, member.name)) != wanted:
                    _refuse(archive, f"{member.name} is not what was put in")
        while packed.read(_PIECE):  # to the checksum at the end, and the end itself
            pass
    if missing:
        _refuse(archive, f"{len(missing)} of its files are missing, such as {next(iter(missing))}")
    return manifest


def described(archive: Path) -> BackupInfo:
    """For lists: one that cannot be read says why."""
    size = archive.stat().st_size
    try:
        found = peek(archive)
    except OpenAgentError as problem:
        return BackupInfo(archive.name, str(archive), size, archive.stat().st_mtime, problem=problem.info.message)
    return BackupInfo(
        name=archive.name,
        path=str(archive),
        bytes=size,
        created_at=found.created_at,
        kind=found.kind,
        store=found.store,
        sessions=found.sessions,
        messages=found.messages,
        keys=found.keys,
        keys_left_out=found.keys_left_out,
        checkpoints=found.checkpoints,
        version=found.made_by,
    )


class _Refusing:
    """What reading a torn archive raises, in one sentence."""

    def __init__(self, archive: Path) -> None:
        self._archive = archive

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, _: object) -> None:
        if isinstance(problem, _TORN):
            _refuse(self._archive, "it ends too early, or bytes in it were changed")
        if isinstance(problem, OSError | ValueError):  # the latter for what can be no path
            told = f"The backup {str(self._archive)!r} cannot be read: {getattr(problem, 'strerror', None) or problem}."
            raise OpenAgentError(
                "not_found", told, hint="`openagent backup list` shows those that there are."
            ) from None


def _refuse(archive: Path, why: str) -> NoReturn:
    raise OpenAgentError(
        "invalid_argument",
        f"The backup {archive} is torn or damaged: {why}. Nothing of it was used.",
        hint="Use another one: `openagent backup list` shows those that there are.",
    ) from None


def _manifest(archive: Path, tar: tarfile.TarFile) -> Manifest:
    member = tar.next()
    if member is None or member.name != MANIFEST or not member.isreg() or member.size > _LONGEST_MANIFEST:
        _refuse(archive, "it does not begin with a list of what is in it")
    content = tar.extractfile(member)
    data = content.read() if content else b""
    head = msgspec.json.decode(data, type=_Head)
    if head.format != Manifest().format:
        _refuse(archive, "it is no backup of OpenAgent")
    if head.version != VERSION:
        told = f"The backup {archive} is of version {head.version}, and this OpenAgent reads version {VERSION}."
        raise OpenAgentError("invalid_argument", told, hint="`openagent update` brings the newest.")
    return msgspec.json.decode(data, type=Manifest)


def _measured(path: Path) -> ArchivedFile:
    with path.open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
        return ArchivedFile(file.tell(), digest)


def _add(tar: tarfile.TarFile, name: str, size: int, content: IO[bytes], at: float) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = size, 0o600, int(at)
    tar.addfile(member, content)


def _place(archive: Path, to: Path, name: str) -> Path:
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or "\0" in name:
        _refuse(archive, f"it names a file outside of it, {name!r}")
    place = to.joinpath(*parts)
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return place


def _copied(content: IO[bytes], to: Path) -> ArchivedFile:
    digest, size = sha256(), 0
    descriptor = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        while piece := content.read(_PIECE):
            digest.update(piece)
            size += len(piece)
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    return ArchivedFile(size, digest.hexdigest())
