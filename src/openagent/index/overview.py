"""The repository map: what others use most, file by file, within a bound."""

from collections.abc import Callable
from functools import cache

from openagent.index.database import Database
from openagent.protocol.index import CodeMap, MappedFile, MappedSymbol

_CHARS_PER_TOKEN = 3
"""On the safe side for code."""
_MOST = 2000
_MAX_SIGNATURE = 100


def overview(database: Database, max_tokens: int, may_read: Callable[[str], bool]) -> CodeMap:
    room = max_tokens * _CHARS_PER_TOKEN
    chosen: dict[str, list[MappedSymbol]] = {}
    readable = cache(may_read)
    for path, found in database.most_used(_MOST):
        if not readable(path):
            continue
        cost = len(_line(found)) + 1 + (0 if path in chosen else len(path) + 2)
        if cost > room:
            break
        room -= cost
        chosen.setdefault(path, []).append(found)
    files = [MappedFile(path, chosen[path]) for path in sorted(chosen)]
    return CodeMap("\n".join(_written(file) for file in files), files)


def _written(file: MappedFile) -> str:
    return "\n".join([f"{file.path}:", *(_line(each) for each in file.symbols)])


def _line(found: MappedSymbol) -> str:
    return f"  {(found.signature or found.symbol)[:_MAX_SIGNATURE].rstrip(' {:')}"
