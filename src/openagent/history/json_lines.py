"""Files of one JSON object per line, read line by line however large they are."""

import json
import os
import stat
from collections.abc import Iterator
from typing import Any, BinaryIO, TypeVar

import msgspec

from openagent.history.reading import Unreadable

LARGEST_FILE = 4 << 30
LONGEST_LINE = 64 << 20
_AT_ONCE = 1 << 20

T = TypeVar("T")


def opened(path: str, largest: int = LARGEST_FILE) -> BinaryIO:
    """For reading, and leaving not even the date of the last look. Raises Unreadable."""
    try:
        descriptor = _descriptor(path)
    except OSError as problem:
        raise Unreadable(f"cannot be opened: {problem.strerror}") from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise Unreadable("is not a file")
    if status.st_size > largest:
        os.close(descriptor)
        raise Unreadable(f"is too large: {status.st_size >> 20} MB, and up to {largest >> 20} MB are read")
    return os.fdopen(descriptor, "rb", buffering=_AT_ONCE)


def _descriptor(path: str) -> int:
    # A pipe that nobody writes to would be waited for.
    how = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        return os.open(path, how | getattr(os, "O_NOATIME", 0))
    except PermissionError:  # somebody else's file, whose dates are not ours to leave alone
        return os.open(path, how)


class Lines:
    """The lines of a file from a byte on, and what was wrong with some."""

    def __init__(self, path: str, position: int = 0) -> None:
        self._path = path
        self.position = position
        """Of the line that was given last."""
        self.damaged = 0
        self.too_long = 0
        self.half_written = False

    def __iter__(self) -> Iterator[bytes]:
        with opened(self._path) as file:
            file.seek(self.position)
            following = self.position
            while line := file.readline(LONGEST_LINE):
                self.position, following = following, following + len(line)
                if not line.endswith(b"\n"):
                    if len(line) == LONGEST_LINE:
                        following += _rest_of_line(file)
                        self.too_long += 1
                        continue
                    self.half_written = not _is_whole(line)
                    if self.half_written:
                        return
                if not line.isspace():
                    yield line

    def remark(self) -> str:
        """What of it could not be read, after the file's name; empty: nothing."""
        wrong: list[str] = []
        if self.damaged:
            some = "a line" if self.damaged == 1 else f"{self.damaged} lines"
            wrong.append(f"{some} that cannot be read")
        if self.too_long:
            wrong.append(f"{self.too_long} of more than {LONGEST_LINE >> 20} MB")
        if self.half_written:
            wrong.append("a last line that is half written")
        return f"has {' and '.join(wrong)}, left out" if wrong else ""


def decoded(line: bytes, decoder: "msgspec.json.Decoder[T]") -> T | None:
    """None: it is not what it should be."""
    try:
        return decoder.decode(line)
    except msgspec.DecodeError:
        pass
    except (UnicodeDecodeError, RecursionError):
        return None
    try:  # half of a character, or a number beyond all bounds: what other languages write, and this decoder refuses
        return msgspec.convert(_whole(json.loads(line)), decoder.type, strict=False)
    except (ValueError, RecursionError, msgspec.ValidationError):
        return None


def _whole(value: Any) -> Any:
    match value:
        case str():
            return value.encode(errors="replace").decode()
        case list():
            return [_whole(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
        case dict():
            return {_whole(name): _whole(each) for name, each in value.items()}  # pyright: ignore[reportUnknownVariableType]
        case _:
            return value


def _rest_of_line(file: BinaryIO) -> int:
    skipped = 0
    while piece := file.readline(_AT_ONCE):
        skipped += len(piece)
        if piece.endswith(b"\n"):
            break
    return skipped


def _is_whole(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True
