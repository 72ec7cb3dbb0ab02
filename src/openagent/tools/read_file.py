"""read_file"""

import asyncio
import base64
import io
import os
from typing import Annotated, BinaryIO, NamedTuple

from openagent.plugins.tool import ToolContext, ToolOutcome, tool
from openagent.protocol.display import Display
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.messages import ImagePart
from openagent.tools.beneath import root_of
from openagent.tools.files import Opened, open_file
from openagent.tools.scratch import OUTPUT, open_output

MAX_LINES = 2000
MAX_LINE_BYTES = 2000
MAX_PAGE_BYTES = 48 * 1024
MAX_IMAGE_BYTES = 5 * 1024 * 1024
READ_AT_ONCE = 256 * 1024
"""Larger files are read in a thread, piece by piece."""
_CHUNK = 1 << 20
_LOOKED_AT = 8192


@tool(
    effect="read",
    kind="read",
    words=("read", "reading", "read"),
    summary="path",
    paths=("path",),
    known_as=("Read",),
    keys={"path": "file_path"},
)
async def read_file(
    context: ToolContext,
    path: Annotated[str, "In the workspace, or output:ID."],
    start: Annotated[int, "First line, from 1; negative counts from the end."] = 1,
    lines: int = MAX_LINES,
) -> ToolOutcome:
    """Read a text file, with line numbers, or an image."""
    if path.startswith(OUTPUT):
        fd = open_output(context, path)
        opened = Opened(fd, "", os.fstat(fd))
    else:
        with root_of(context, path) as root:
            opened = open_file(root, path)
            if opened.real != root.called(root.relative(path)) and not context.may_read(opened.real):
                os.close(opened.fd)
                raise OpenAgentError("tool_error", f"{path} is a link to {opened.real}.", hint="Name that path itself.")
    wanted = _Wanted(path, start, min(max(lines, 1), MAX_LINES))
    if opened.size > READ_AT_ONCE:
        outcome = await asyncio.to_thread(_read_large, opened, wanted)
        content = None
    else:
        with os.fdopen(opened.fd, "rb", buffering=0) as file:
            content = file.read() or b""
        outcome = _outcome(io.BytesIO(content), len(content), wanted)
    if opened.real:
        context.files_read.saw(opened.real, opened.stamp, content)
    return outcome


class _Wanted(NamedTuple):
    path: str
    start: int
    lines: int


class _Page(NamedTuple):
    first: int
    shown: list[bytes]
    total: int


def _read_large(opened: Opened, wanted: _Wanted) -> ToolOutcome:
    with os.fdopen(opened.fd, "rb", buffering=_CHUNK) as file:
        return _outcome(file, opened.size, wanted)


def _outcome(file: BinaryIO, size: int, wanted: _Wanted) -> ToolOutcome:
    beginning = file.read(_LOOKED_AT)
    path = wanted.path
    if media_type := image_type(beginning):
        if size > MAX_IMAGE_BYTES:
            return ToolOutcome(f"{path} is an image of {size} bytes; at most 5 MB can be shown.", is_error=True)
        image = ImagePart(media_type, base64.b64encode(beginning + file.read()).decode())
        return ToolOutcome(
            f"{path}: {media_type}, {size} bytes.", images=[image], display=Display(path=path, summary=media_type)
        )
    if b"\0" in beginning and not path.startswith(OUTPUT):
        return ToolOutcome(f"{path} is a binary file of {size} bytes.", is_error=True)
    page = _read_page(file, wanted)
    if not page.shown:
        text = f"{path} has {page.total} lines." if page.total else f"{path} is empty."
        return ToolOutcome(text, display=Display(path=path, lines=0))
    last = page.first + len(page.shown) - 1
    numbered = [b"%d\t%b" % (number, line.rstrip(b"\r\n")) for number, line in enumerate(page.shown, page.first)]
    text = b"\n".join(numbered).decode(errors="replace")
    if page.first > 1 or last < page.total:
        text += f"\n[lines {page.first} to {last} of {page.total}]"
    display = Display(path=path, summary=f"{page.first}–{last}", lines=len(page.shown))
    return ToolOutcome(text, display=display)


def _read_page(file: BinaryIO, wanted: _Wanted) -> _Page:
    file.seek(0)
    first = wanted.start
    if first < 0:
        total = _count_lines(file)
        first = max(total + first + 1, 1)
        file.seek(0)
    first = max(first, 1)
    skipped = _skip_lines(file, first - 1)
    shown: list[bytes] = []
    room = MAX_PAGE_BYTES
    while len(shown) < wanted.lines and room > 0 and (line := file.readline(MAX_LINE_BYTES + 1)):
        if not line.endswith(b"\n") and len(line) > MAX_LINE_BYTES:
            line = line[:MAX_LINE_BYTES] + "…".encode()
            _skip_rest_of_line(file)
        shown.append(line)
        room -= len(line)
    return _Page(first, shown, skipped + len(shown) + _count_lines(file))


def _skip_lines(file: BinaryIO, count: int) -> int:
    """How many there were to skip."""
    skipped = 0
    unfinished = False
    while skipped < count and (chunk := file.read(_CHUNK)):
        there = chunk.count(b"\n")
        if skipped + there < count:
            skipped += there
            unfinished = not chunk.endswith(b"\n")
            continue
        end = -1
        for _ in range(count - skipped):
            end = chunk.index(b"\n", end + 1)
        file.seek(end + 1 - len(chunk), os.SEEK_CUR)
        return count
    return skipped + unfinished


def _skip_rest_of_line(file: BinaryIO) -> None:
    while (piece := file.readline(_CHUNK)) and not piece.endswith(b"\n"):
        pass


def _count_lines(file: BinaryIO) -> int:
    count = 0
    last = b"\n"
    while chunk := file.read(_CHUNK):
        count += chunk.count(b"\n")
        last = chunk[-1:]
    return count + (last != b"\n")


def image_type(beginning: bytes) -> str | None:
    if beginning.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if beginning.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if beginning.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if beginning.startswith(b"RIFF") and beginning[8:12] == b"WEBP":
        return "image/webp"
    return None
