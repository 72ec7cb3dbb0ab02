"""What the readers of databases share: one source for each session in one."""

import os
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from openagent.history.copies import Copies, InUse
from openagent.history.dates import seconds
from openagent.history.reading import Source, Unreadable
from openagent.protocol.origin import ForeignAgent


@contextmanager
def in_database(source: Source, copies: Copies) -> Generator[sqlite3.Connection]:
    """Raises Unreadable."""
    try:
        yield copies.database(Path(source.path))
    except (InUse, OSError, sqlite3.Error) as problem:
        raise Unreadable(_words(problem)) from None


def _words(problem: Exception) -> str:
    match problem:
        case OSError():
            return f"cannot be opened: {problem.strerror}"
        case sqlite3.Error():
            return f"is damaged, or of a version that is not known: {problem}"
        case _:
            return str(problem)


def listed(agent: ForeignAgent, file: Path, copies: Copies, query: str) -> Iterator[Source]:
    """`query` gives the id, the version and the date of each session. A file that cannot be read is one source, which
    says why."""
    try:
        size, modified = os.path.getsize(file), os.path.getmtime(file)
    except OSError:
        return
    try:
        rows = copies.database(file).execute(query).fetchall()
    except (InUse, OSError, sqlite3.Error) as problem:
        yield Source(agent, str(file), size, f"{size}:{modified}", modified, sessions=0, problem=_words(problem))
        return
    share = size // max(len(rows), 1)
    for id_, version, date in rows:
        yield Source(agent, str(file), share, str(version), seconds(date) or modified, part=str(id_))
