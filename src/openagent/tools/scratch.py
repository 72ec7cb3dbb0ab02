"""A session's private directory, outside the workspace."""

import os
import re
import secrets
from contextlib import suppress
from pathlib import Path

from openagent.plugins.tool import ToolContext
from openagent.protocol.errors import OpenAgentError

INLINE_BYTES = 16 * 1024
"""Output up to this size stands in the result; of more, the head and the tail."""
HEAD_BYTES = 10 * 1024
TAIL_BYTES = 5 * 1024
OUTPUTS_KEPT = 200
_LONGEST_LINE = 1024
"""Head and tail end with a whole line, unless that cost more than this."""
OUTPUT = "output:"
_ID = re.compile(r"[a-z0-9]{4,32}")


def private_directory(path: Path) -> Path:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def keep_newest(directory: Path, count: int) -> None:
    """When there are more, the oldest quarter goes at once."""
    names = os.listdir(directory)
    if len(names) <= count:
        return
    files = sorted((directory / name for name in names), key=_modified)
    for file in files[: len(files) - count * 3 // 4]:
        with suppress(OSError):
            file.unlink()


def _modified(file: Path) -> float:
    with suppress(OSError):
        return file.stat().st_mtime
    return 0.0


def shortened(context: ToolContext, text: str) -> str:
    """Long text goes to a file that read_file can page through; its head and its tail stay here."""
    data = text.encode(errors="replace")
    if len(data) <= INLINE_BYTES:
        return text
    name = secrets.token_hex(4)
    (_outputs(context) / name).write_bytes(data)
    return head_and_tail(data, len(data), OUTPUT + name)


def head_and_tail(data: bytes, size: int, kept_as: str) -> str:
    """`size` is that of the whole output, of which `data` may already be an excerpt."""
    if len(data) <= INLINE_BYTES:
        return f"{data.decode(errors='replace')}\n[all {size} bytes: read_file {kept_as}]"
    head = data[: max(data.rfind(b"\n", 0, HEAD_BYTES) + 1, HEAD_BYTES - _LONGEST_LINE)]
    tail = data[min(data.find(b"\n", -TAIL_BYTES) + 1 or len(data), len(data) - TAIL_BYTES + _LONGEST_LINE) :]
    left_out = size - len(head) - len(tail)
    return (
        f"{head.decode(errors='replace').rstrip(chr(10))}\n"
        f"[… {left_out} of {size} bytes left out; all of it: read_file {kept_as} …]\n"
        f"{tail.decode(errors='replace')}"
    )


def keep_log(context: ToolContext, log: str, *, finished: bool) -> tuple[str, int] | None:
    """Takes in the file where a jail put a command's whole output: its name for read_file, and its size."""
    try:
        status = os.stat(log)
        name = f"log{status.st_ino:x}"
        with suppress(FileExistsError):
            os.link(log, _outputs(context) / name)
        if finished:
            os.unlink(log)
    except OSError:
        return None
    return OUTPUT + name, status.st_size


def _outputs(context: ToolContext) -> Path:
    directory = private_directory(context.scratch / "outputs")
    keep_newest(directory, OUTPUTS_KEPT)
    return directory


def open_output(context: ToolContext, path: str) -> int:
    """What `output:ID` stands for."""
    name = path.removeprefix(OUTPUT)
    if _ID.fullmatch(name):
        with suppress(FileNotFoundError):
            return os.open(context.scratch / "outputs" / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    raise OpenAgentError("tool_error", f"There is no output named {path}.", hint="Run the command again.")
