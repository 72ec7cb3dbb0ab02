"""The repository map: what others use most, file by file, within a bound."""

from collections.abc import Callable
from functools import cache

from openagent.index.database import Database

_CHARS_PER_TOKEN = 3
"""On the safe side for code."""
_MOST = 2000
_MAX_SIGNATURE = 100


def overview(database: Database, max_tokens: int, may_read: Callable[[str], bool]) -> str:
    room = max_tokens * _CHARS_PER_TOKEN
    chosen: dict[str, list[str]] = {}
    readable = cache(may_read)
    for path, symbol, signature, _ in database.most_used(_MOST):
        if not readable(path):
            continue
        line = f"  {(signature or symbol)[:_MAX_SIGNATURE].rstrip(' {:')}"
        cost = len(line) + 1 + (0 if path in chosen else len(path) + 2)
        if cost > room:
            break
        room -= cost
        chosen.setdefault(path, []).append(line)
    return "\n".join("\n".join([f"{path}:", *chosen[path]]) for path in sorted(chosen))
