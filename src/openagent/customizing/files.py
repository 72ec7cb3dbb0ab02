"""Reading files that people and strangers wrote: bounded, ordinary ones only, never outside of where they belong."""

import os
import stat
from pathlib import Path

from msgspec import Struct

from openagent.protocol.errors import OpenAgentError


class TextFile(Struct, frozen=True):
    text: str
    size: int
    """In bytes, of all of it."""
    cut: bool = False


def read_text(path: Path, *, within: Path | None, limit: int) -> TextFile:
    """At most `limit` bytes of a file. Raises OpenAgentError for one that cannot be read, is no ordinary file, or lies,
    by a link, outside of `within`."""
    try:
        real = path.resolve(strict=True)
        if within is not None and not real.is_relative_to(within.resolve()):
            raise _refused(path, "it is a link that leads out of its folder")
        descriptor = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as opened:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise _refused(path, "it is no ordinary file")
            content = opened.read(limit + 1)
    except (OSError, RuntimeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) and problem.strerror else "its links lead in a circle"
        raise _refused(path, reason[0].lower() + reason[1:]) from None
    cut = len(content) > limit
    text = content[:limit].decode(errors="ignore" if cut else "replace").removeprefix("\ufeff").replace("\0", "�")
    return TextFile(text, max(status.st_size, len(content)), cut)


def _refused(path: Path, why: str) -> OpenAgentError:
    return OpenAgentError("config_error", f"{path} is left out: {why}.")
