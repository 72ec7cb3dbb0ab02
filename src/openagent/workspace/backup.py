"""A workspace as one compressed archive, and back again without trusting what the archive says."""

import hashlib
import os
import shutil
import stat
import tarfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import IO

from openagent.filesystem.beneath import (
    NoRegularFileError,
    make_folder,
    opened_file,
    opened_folder,
    opened_root,
    put_file,
    put_link,
    set_mode,
    status_of,
)
from openagent.plugins.workspace import Backup, Quota, WorkspaceUsage
from openagent.protocol.errors import OpenAgentError
from openagent.workspace.git_guard import Disarmed
from openagent.workspace.quota import enforce
from openagent.workspace.scan import SPECIAL, UNREADABLE
from openagent.workspace.tree import join, shown_left_out

_CHUNK = 1 << 20
_LEVEL = 3
LEADS_OUT = "a link that leads out of the workspace"
_RUNS = "git could run a program named in it"
_MAX_BYTES = 64 << 30


def write_backup(workspace: Path, archive: Path) -> Backup:
    """Everything, `.git` too. The archive appears when it is complete."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    temporary = archive.with_name(f".{archive.name}.{token_hex(4)}")
    left_out: list[tuple[bytes, str]] = []
    files = 0
    try:
        with (
            open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out,
            tarfile.open(fileobj=out, mode="w:gz", compresslevel=_LEVEL, format=tarfile.PAX_FORMAT) as tar,
            opened_root(workspace) as root,
        ):
            own = os.fstat(out.fileno())
            for count in _add_folder(tar, root, b"", left_out, (own.st_dev, own.st_ino)):
                files += count
        temporary.replace(archive)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return Backup(archive=str(archive), files=files, left_out=shown_left_out(left_out))


def _add_folder(
    tar: tarfile.TarFile, at: int, path: bytes, left_out: list[tuple[bytes, str]], own: tuple[int, int]
) -> Iterator[int]:
    for name in sorted(os.fsencode(entry) for entry in os.listdir(at)):
        where = join(path, name)
        status = status_of(at, name)
        if status is None or (status.st_dev, status.st_ino) == own:
            continue
        member = tarfile.TarInfo(os.fsdecode(where))
        member.mode, member.mtime = stat.S_IMODE(status.st_mode), status.st_mtime
        try:
            if stat.S_ISDIR(status.st_mode):
                member.type = tarfile.DIRTYPE
                with opened_folder(at, name) as below:
                    tar.addfile(member)
                    yield from _add_folder(tar, below, where, left_out, own)
            elif stat.S_ISLNK(status.st_mode):
                member.type, member.linkname = tarfile.SYMTYPE, os.fsdecode(os.readlink(name, dir_fd=at))
                tar.addfile(member)
                yield 1
            elif stat.S_ISREG(status.st_mode):
                with opened_file(at, name) as descriptor:
                    _add_file(tar, member, descriptor)
                yield 1
            else:
                left_out.append((where, SPECIAL))
        except NoRegularFileError:  # it took a file's place in this very moment
            left_out.append((where, SPECIAL))
        except PermissionError:
            left_out.append((where, UNREADABLE))


def _add_file(tar: tarfile.TarFile, member: tarfile.TarInfo, descriptor: int) -> None:
    """A file that shrinks meanwhile is filled up with zeros: the archive's header came first."""
    member.size = os.fstat(descriptor).st_size
    with os.fdopen(os.dup(descriptor), "rb") as file:
        tar.addfile(member, _Padded(file, member.size))


class ArchivesMade:
    """Which archives were made here, by their digest: what their repositories run, the person set up."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def add(self, archive: Path) -> None:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self._directory / _digest(archive)).touch(mode=0o600)

    def knows(self, archive: Path) -> bool:
        with suppress(OSError):  # one that cannot be read is refused where it is opened
            return (self._directory / _digest(archive)).exists()
        return False


def _digest(archive: Path) -> str:
    with archive.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _Padded:
    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._left = file, size

    def read(self, count: int = -1) -> bytes:
        count = self._left if count < 0 else min(count, self._left)
        data = self._file.read(count)
        self._left -= count
        return data + bytes(count - len(data))


def read_backup(
    archive: Path, to: Path, quota: Quota | None, disarm: Callable[[Path], Iterable[Disarmed]] = lambda _folder: ()
) -> Backup:
    """The folder appears when it is complete. `disarm` is given it before that, with everything in it accessible, and
    says what it took out."""
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise OpenAgentError(
            "conflict", f"{to} is not empty, and restoring a backup would mix the two.", hint="Name a new folder."
        )
    to.parent.mkdir(parents=True, exist_ok=True)
    partial = to.with_name(f".{to.name}.{token_hex(4)}")
    partial.mkdir(mode=0o700)
    try:
        with tarfile.open(archive, "r:*") as tar, opened_root(partial) as root:
            result = _Extraction(tar, root, quota or Quota())
            result.extract()
            disarmed = [(os.fsencode(each.path), f"{_RUNS}: {each.what}") for each in disarm(partial)]
            result.set_modes()
        if to.exists():
            to.rmdir()
        partial.rename(to)
    except (tarfile.TarError, EOFError, OSError) as problem:
        discard_tree(partial)
        raise OpenAgentError(
            "invalid_argument", f"{archive} cannot be restored: {problem}.", hint="Choose another backup."
        ) from None
    except BaseException:
        discard_tree(partial)
        raise
    return Backup(archive=str(archive), files=result.files, left_out=shown_left_out([*result.left_out, *disarmed]))


class _Extraction:
    def __init__(self, tar: tarfile.TarFile, root: int, quota: Quota) -> None:
        self._tar, self._root, self._quota = tar, root, quota
        self._bytes = 0
        self._folder_modes: list[tuple[bytes, int]] = []
        self._temporary = f".openagent-{token_hex(8)}".encode()
        self.files = 0
        self.left_out: list[tuple[bytes, str]] = []

    def extract(self) -> None:
        for member in self._tar:
            self._member(member, os.fsencode(member.name).rstrip(b"/"))

    def set_modes(self) -> None:
        for path, mode in reversed(self._folder_modes):
            parent, _, name = path.rpartition(b"/")
            with opened_folder(self._root, parent) as at:
                set_mode(at, name, mode & 0o1777)
        os.fchmod(self._root, 0o755)

    def _member(self, member: tarfile.TarInfo, path: bytes) -> None:
        parts = path.split(b"/")
        if any(part in (b"", b".", b"..") for part in parts) or b"\0" in path:
            raise tarfile.TarError(f"it holds the path {member.name[:200]!r}, which leads out of the folder")
        self._count(member)
        parent, _, name = path.rpartition(b"/")
        with opened_folder(self._root, parent) as at:
            if member.isdir():
                make_folder(at, name)
                self._folder_modes.append((path, member.mode))
            elif status_of(at, name) is not None:
                raise tarfile.TarError(f"it holds {member.name[:200]!r} twice")
            elif member.issym():
                self._link(at, path, name, os.fsencode(member.linkname))
            elif member.isreg():
                put_file(at, name, self._temporary, self._content(member), member.mode & 0o1777)
            else:
                self.left_out.append((path, SPECIAL))

    def _count(self, member: tarfile.TarInfo) -> None:
        self.files += not member.isdir()
        self._bytes += member.size
        allowed = _MAX_BYTES if self._quota.bytes is None else self._quota.bytes
        enforce(Path(str(self._tar.name)), WorkspaceUsage(self._bytes, self.files), Quota(allowed, self._quota.files))

    def _link(self, at: int, path: bytes, name: bytes, target: bytes) -> None:
        if _leads_out(path, target):
            self.left_out.append((path, LEADS_OUT))
        else:
            put_link(at, name, self._temporary, target)

    def _content(self, member: tarfile.TarInfo) -> Iterator[bytes]:
        source = self._tar.extractfile(member)
        if source is None:
            raise tarfile.TarError(f"{member.name[:200]!r} has no content")
        with source:
            while chunk := source.read(_CHUNK):
                yield chunk


def _leads_out(path: bytes, target: bytes) -> bool:
    """Up first, then down: going up after a name could start from wherever another link leads."""
    parts = [part for part in target.split(b"/") if part not in (b"", b".")]
    ups = next((number for number, part in enumerate(parts) if part != b".."), len(parts))
    return target.startswith(b"/") or ups > path.count(b"/") or b".." in parts[ups:]


def discard_tree(path: Path) -> None:
    """Also when folders in it may not be written to."""
    for folder, _, _ in os.walk(path):
        with suppress(OSError):
            os.chmod(folder, 0o700)
    shutil.rmtree(path, ignore_errors=True)
