"""Giving back to the disk what a SQLite database no longer uses."""

import sqlite3
from typing import NamedTuple

_PATIENCE_S = 5.0
_WORTH_IT = 16 << 20
"""Less than this, or than a fifth, is soon used again."""


class Room(NamedTuple):
    used: int
    free: int
    """Bytes that deleted rows left in the file."""

    @property
    def is_worth_it(self) -> bool:
        return self.free >= max(_WORTH_IT, (self.used + self.free) // 5)


def room_in(file: str) -> Room:
    with sqlite3.connect(file, timeout=_PATIENCE_S) as connection:
        found = _room(connection)
    connection.close()
    return found


def compact(file: str) -> int:
    """Bytes that the file is smaller by. Whoever writes waits meanwhile."""
    connection = sqlite3.connect(file, timeout=_PATIENCE_S, isolation_level=None)
    try:
        before = _room(connection)
        connection.execute("VACUUM").close()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").close()
        after = _room(connection)
    finally:
        connection.close()
    return before.used + before.free - after.used - after.free


def _room(connection: sqlite3.Connection) -> Room:
    page, pages, free = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_size", "page_count", "freelist_count")
    )
    return Room((pages - free) * page, free * page)
