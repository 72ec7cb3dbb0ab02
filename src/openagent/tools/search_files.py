"""The search of grep where there is no ripgrep: `python -m openagent.tools.search_files ROOT`, a Search on stdin.

Prints what ripgrep prints with `--null`: a zero byte ends each path, where more follows.
"""

import os
import re
import stat
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Literal

import msgspec
from msgspec import Struct

from openagent.filesystem.patterns import Glob
from openagent.protocol.errors import OpenAgentError
from openagent.tools.beneath import Root
from openagent.tools.files import open_directory, open_file
from openagent.tools.walk import walk

MAX_COLUMNS = 400
MAX_PRINTED = 60 * 1024
_MAX_LINE = 1 << 20
_LOOKED_AT = 64 * 1024
GrepMode = Literal["lines", "files", "count"]


class Search(Struct, frozen=True):
    pattern: str
    path: str
    """Relative to the root, with no symbolic link in it."""
    glob: str
    ignore_case: bool
    around: int
    mode: GrepMode


def found_in(root: Root, search: Search) -> Iterator[str]:
    """Raises OpenAgentError when the pattern is no regular expression."""
    try:
        pattern = re.compile(search.pattern, re.IGNORECASE if search.ignore_case else 0)
    except re.error as problem:
        raise OpenAgentError("tool_error", f"The pattern is not a regular expression: {problem}.") from None
    first = True
    for path, file in _files(root, search):
        with file:
            printed = _in_file(path, file, pattern, search)
            for place, line in enumerate(printed):
                if place == 0 and search.around and search.mode == "lines" and not first:
                    yield "--"
                first = False
                yield line


def _files(root: Root, search: Search) -> Iterator[tuple[str, BinaryIO]]:
    if not stat.S_ISDIR(root.stat(search.path).st_mode):
        yield search.path, os.fdopen(open_file(root, search.path).fd, "rb")
        return
    wanted = Glob(search.glob.removeprefix("!")) if search.glob else None
    keep = not search.glob.startswith("!")
    for file in walk(root, open_directory(root, search.path)):
        if wanted is None or wanted.matches(file.path) is keep:
            with suppress(OSError):
                yield file.path, os.fdopen(file.open(), "rb")


def _in_file(path: str, file: BinaryIO, pattern: re.Pattern[str], search: Search) -> Iterator[str]:
    if b"\0" in file.read(_LOOKED_AT):
        return
    file.seek(0)
    if search.mode == "lines":
        yield from _lines(path, file, pattern, search.around)
        return
    count = 0
    for line in _decoded(file):
        if pattern.search(line):
            count += 1
            if search.mode == "files":
                yield path
                return
    if count:
        yield f"{path}\0{count}"


def _lines(path: str, file: BinaryIO, pattern: re.Pattern[str], around: int) -> Iterator[str]:
    before: deque[tuple[int, str]] = deque(maxlen=around)
    after = 0
    printed = 0
    for number, line in enumerate(_decoded(file), 1):
        if pattern.search(line):
            if around and printed and number - len(before) > printed + 1:
                yield "--"
            for earlier, text in before:
                yield f"{path}\0{earlier}-{_clipped(text)}"
            before.clear()
            yield f"{path}\0{number}:{_clipped(line)}"
            after, printed = around, number
        elif after:
            yield f"{path}\0{number}-{_clipped(line)}"
            after, printed = after - 1, number
        else:
            before.append((number, line))


def _decoded(file: BinaryIO) -> Iterator[str]:
    while line := file.readline(_MAX_LINE):
        whole = line.endswith(b"\n")
        while not whole and (rest := file.readline(_MAX_LINE)):
            whole = rest.endswith(b"\n")
        yield line.rstrip(b"\r\n").decode(errors="replace")


def _clipped(line: str) -> str:
    return line if len(line.encode()) <= MAX_COLUMNS else line[:MAX_COLUMNS] + "…"


def _print(lines: Iterable[str]) -> None:
    room = MAX_PRINTED
    for line in lines:
        data = line.encode(errors="surrogateescape") + b"\n"
        sys.stdout.buffer.write(data[:room])
        room -= len(data)
        if room <= 0:
            return


def main() -> int:
    search = msgspec.json.decode(sys.stdin.buffer.read(), type=Search)
    try:
        with Root(Path(sys.argv[1])) as root:
            _print(found_in(root, search))
    except (OpenAgentError, OSError) as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
