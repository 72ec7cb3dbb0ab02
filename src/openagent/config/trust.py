"""The folders a person trusts, each as it was when they said so.

A repository's own files may steer an agent: settings, rules, MCP servers, hooks. They count only in a folder on this
list, and only as long as none of them has changed since.
"""

import hashlib
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from openagent.config.peers import STEERING
from openagent.filesystem.atomic_files import replace_file
from openagent.protocol.errors import OpenAgentError

FOLDER = ".openagent"
OWN = (FOLDER, ".mcp.json", "mcpServers.json")
GOVERNED = (*OWN, *STEERING)
"""What steers an agent, by its name in a project's folder."""
MAX_FILES = 1000
MAX_BYTES = 8 << 20
_LIST = "trusted.json"
_DECLINED = "not-trusted.json"


class TrustedFolder(Struct, frozen=True):
    folder: str
    fingerprint: str
    at: float


class TrustList:
    def __init__(self, home: Path) -> None:
        self._file = home / _LIST
        self._declined = home / _DECLINED

    def entries(self) -> list[TrustedFolder]:
        """Raises OpenAgentError when the list cannot be read."""
        return self._read(self._file)

    def _read(self, file: Path) -> list[TrustedFolder]:
        try:
            return msgspec.json.decode(file.read_bytes(), type=list[TrustedFolder])
        except FileNotFoundError:
            return []
        except (OSError, msgspec.DecodeError) as problem:
            raise OpenAgentError(
                "config_error",
                f"The list of trusted folders cannot be read: {problem}.",
                hint=f"Remove {file} and trust the folders again.",
            ) from None

    def trusts(self, folder: Path) -> bool:
        """The folder is on the list, and what steers an agent in it is as it was."""
        try:
            real = os.path.realpath(folder)
            entry = next((entry for entry in self.entries() if entry.folder == real), None)
            return entry is not None and entry.fingerprint == fingerprint(Path(real))
        except (OpenAgentError, OSError):
            return False

    def was_declined(self, folder: Path) -> bool:
        """Somebody said no to it as it is now."""
        try:
            real = os.path.realpath(folder)
            entry = next((entry for entry in self._read(self._declined) if entry.folder == real), None)
            return entry is not None and entry.fingerprint == fingerprint(Path(real))
        except (OpenAgentError, OSError):
            return False

    def decline(self, folder: Path) -> TrustedFolder:
        """Not to be asked about again until it changes."""
        real = Path(os.path.realpath(folder))
        entry = TrustedFolder(str(real), fingerprint(real), time.time())
        others = [other for other in self._read(self._declined) if other.folder != entry.folder]
        self._write([*others, entry], self._declined)
        return entry

    def add(self, folder: Path) -> TrustedFolder:
        real = Path(os.path.realpath(folder))
        if not real.is_dir():
            raise OpenAgentError("invalid_argument", f"{folder} is not a folder.", hint="Name an existing one.")
        entry = TrustedFolder(str(real), fingerprint(real), time.time())
        self._write([*(other for other in self.entries() if other.folder != entry.folder), entry])
        return entry

    def remove(self, folder: Path) -> TrustedFolder:
        """Also one that does not exist any more."""
        real = os.path.realpath(folder)
        entries = self.entries()
        removed = next((entry for entry in entries if entry.folder == real), None)
        if removed is None:
            raise OpenAgentError(
                "not_found", f"{real} is not among the trusted folders.", hint="`openagent trust --list` shows them."
            )
        self._write([entry for entry in entries if entry is not removed])
        return removed

    def _write(self, entries: list[TrustedFolder], file: Path | None = None) -> None:
        file = file or self._file
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(file, msgspec.json.format(msgspec.json.encode(entries)))


def governed_files(folder: Path) -> list[Path]:
    """Relative to the folder, in order."""
    return sorted(path.relative_to(folder) for name in GOVERNED for path in _files(folder / name, folder))


def fingerprint(folder: Path) -> str:
    """Of names, contents and executable bits. Raises OpenAgentError for what could change unnoticed, or is too much."""
    digest = hashlib.sha256()
    total = 0
    for number, relative in enumerate(governed_files(folder)):
        path = folder / relative
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise _cannot(path, "is no ordinary file, and no link to one")
        total += status.st_size
        if number >= MAX_FILES or total > MAX_BYTES:
            raise _cannot(folder / FOLDER, f"holds more than {MAX_FILES} files or {MAX_BYTES >> 20} MB")
        content = path.read_bytes()
        executable = b"x" if status.st_mode & 0o111 else b"-"
        digest.update(b"%b\0%b%d\0" % (os.fsencode(relative), executable, len(content)))
        digest.update(content)
    return digest.hexdigest()


def _files(path: Path, folder: Path) -> Iterator[Path]:
    if not os.path.lexists(path):
        return
    if not path.is_dir():
        yield path
        return
    if path.is_symlink():
        link, path = path, path.resolve()
        if not path.is_relative_to(folder):
            raise _cannot(link, "is a link to a folder, whose content could change unnoticed")
    for place, folders, files in os.walk(path):
        for name in folders:
            if (linked := Path(place, name)).is_symlink():
                raise _cannot(linked, "is a link to a folder, whose content could change unnoticed")
        for name in files:
            yield Path(place, name)


def _cannot(path: Path, why: str) -> OpenAgentError:
    return OpenAgentError("invalid_argument", f"The folder cannot be trusted: {path} {why}.", hint="Change that first.")
