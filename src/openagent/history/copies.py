"""Files of other programs that cannot be read where they lie without leaving a trace: copies of them, for as long
as one look or import takes.

A SQLite file that nobody has open is read as it lies, without a lock, and no file appears beside it. One with a
write-ahead log or a journal is in use, or was left by a crash: it is copied, with its log, and the copy is read. What
is compressed is unpacked.
"""

import os
import shutil
import sqlite3
import subprocess
from importlib import import_module
from pathlib import Path
from tempfile import mkdtemp

LARGEST_COPY = 4 << 30
_TRIES = 3
_LOGS = ("-wal", "-journal")


class InUse(Exception):
    """It kept changing while it was copied, is too large to be, or is packed in a way that nothing here unpacks."""


class Copies:
    """Each file is opened once."""

    def __init__(self, scratch: Path | None = None) -> None:
        self._scratch = scratch
        self._folder: Path | None = None
        self._opened: dict[str, sqlite3.Connection] = {}
        self._unpacked: dict[str, Path] = {}

    def close(self) -> None:
        for connection in self._opened.values():
            connection.close()
        self._opened.clear()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
        self._unpacked.clear()

    def database(self, path: Path) -> sqlite3.Connection:
        """Raises InUse, sqlite3.Error or OSError."""
        name = str(path)
        if name not in self._opened:
            self._opened[name] = _connect(self._copied(path), own=True) if _has_log(path) else _connect(path)
        return self._opened[name]

    def unpacked(self, path: str) -> str:
        """The newest one alone is kept. Raises InUse where nothing here can unpack it, and OSError."""
        if path not in self._unpacked:
            for old in self._unpacked.values():
                old.unlink(missing_ok=True)
            self._unpacked = {path: self._room() / "unpacked"}
            _unpack(path, self._unpacked[path])
        return str(self._unpacked[path])

    def _room(self) -> Path:
        if self._folder is None:
            if self._scratch is not None:
                self._scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._folder = Path(mkdtemp(prefix="history-", dir=self._scratch))
        return self._folder

    def _copied(self, path: Path) -> Path:
        if sum(size for size, _ in _states(path)) > LARGEST_COPY:
            raise InUse("is in use and too large to be copied; close the program that uses it, and import again")
        copy = self._room() / f"{len(self._opened)}.db"
        for _ in range(_TRIES):
            before = _states(path)
            for suffix in ("", *_LOGS):
                if os.path.exists(f"{path}{suffix}"):
                    shutil.copyfile(f"{path}{suffix}", f"{copy}{suffix}")
            if _states(path) == before:
                return copy
        raise InUse("kept changing while it was read; import again when the program that uses it rests")


def _unpack(path: str, into: Path) -> None:
    """From zstd, by the standard library where it can, or by the program of that name."""
    try:
        zstd = import_module("compression.zstd")
    except ModuleNotFoundError:
        if (program := shutil.which("zstd")) is None:
            raise InUse("is compressed; install `zstd`, and import again") from None
        with into.open("wb") as file:
            done = subprocess.run([program, "-dcq", "--", path], stdout=file, stderr=subprocess.DEVNULL, check=False)
        if done.returncode:
            raise InUse("is compressed, and damaged") from None
        return
    with zstd.open(path, "rb") as packed, into.open("wb") as file:
        try:
            shutil.copyfileobj(packed, file)
        except (zstd.ZstdError, EOFError):
            raise InUse("is compressed, and damaged") from None


def _connect(path: Path, *, own: bool = False) -> sqlite3.Connection:
    """`own`: a copy, whose log is read with it."""
    how = "mode=rw" if own else "mode=ro&immutable=1"
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?{how}", uri=True, check_same_thread=False)
    try:
        connection.execute("PRAGMA query_only = 1").close()
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _has_log(path: Path) -> bool:
    return any(size for size, _ in _states(path)[1:])


def _states(path: Path) -> list[tuple[int, int]]:
    """Size and date of it and its logs."""
    found: list[tuple[int, int]] = []
    for suffix in ("", *_LOGS):
        try:
            status = os.stat(f"{path}{suffix}")
            found.append((status.st_size, status.st_mtime_ns))
        except FileNotFoundError:
            found.append((0, 0))
    return found
