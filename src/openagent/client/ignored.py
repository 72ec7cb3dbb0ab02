"""Changed files that git ignores: shown after the others, in one line until somebody opens it."""

from collections.abc import Sequence

from openagent.client.text import one_line
from openagent.protocol.undo import ChangedFile

_NAMED = 3


def apart(files: Sequence[ChangedFile]) -> tuple[list[ChangedFile], list[ChangedFile]]:
    """Those that git knows of, and those that it ignores."""
    return [file for file in files if not file.ignored], [file for file in files if file.ignored]


def in_one_line(ignored: Sequence[ChangedFile]) -> str:
    added, removed = sum(file.added for file in ignored), sum(file.removed for file in ignored)
    names = ", ".join(one_line(file.path, 50) for file in ignored[:_NAMED])
    more = ", …" if len(ignored) > _NAMED else ""
    return f"{len(ignored)} ignored {'file' if len(ignored) == 1 else 'files'} (+{added} −{removed}): {names}{more}"
