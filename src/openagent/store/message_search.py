"""What was said, word by word: a full-text index in a file of its own, which can be thrown away and made anew."""

import sqlite3
from collections.abc import Collection, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from openagent.protocol.errors import OpenAgentError
from openagent.protocol.messages import Message, TextPart, ToolCallPart, ToolResultPart
from openagent.store.threads import DatabaseThreads

FOUND, END = "\x02", "\x03"
_VERSION = 1
_LONGEST_TEXT = 20_000
_LONGEST_TOOL_TEXT = 1_000
_SNIPPET_WORDS = 24
_SCHEMA = """
DROP TABLE IF EXISTS texts;
DROP TABLE IF EXISTS sessions;
CREATE TABLE sessions (id TEXT PRIMARY KEY, indexed INTEGER NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE texts USING fts5(
    text, session UNINDEXED, number UNINDEXED, role UNINDEXED, created_at UNINDEXED,
    tokenize = "unicode61 remove_diacritics 2"
);
"""
_FIND = """
SELECT session, number, role, created_at, snippet(texts, 0, ?, ?, '…', ?)
FROM texts WHERE texts MATCH ? AND (? = '' OR session = ?) ORDER BY rowid DESC LIMIT ?
"""


class Hit(NamedTuple):
    session: str
    number: int
    role: str
    created_at: float
    excerpt: str


class MessageSearch:
    """Everything happens on one thread of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = DatabaseThreads("message-search")
        self._opened: sqlite3.Connection | None = None

    async def indexed(self) -> dict[str, int]:
        """How many messages of each session are in it."""
        return await self._thread.run(self._indexed)

    async def add(self, session: str, messages: Sequence[Message]) -> None:
        """The next ones of a session."""
        await self._thread.run(lambda: self._add(session, messages))

    async def forget(self, session: str) -> None:
        await self._thread.run(lambda: self._forget(session))

    async def search(self, query: str, session: str, limit: int, among: Collection[str] | None = None) -> list[Hit]:
        """The newest first. All words must be there; the last one may be a beginning. `among`: of these sessions."""
        return await self._thread.run(lambda: self._search(query, session, limit, among))

    async def close(self) -> None:
        await self._thread.run(self._shut)
        self._thread.close()

    def _shut(self) -> None:
        if self._opened is not None:
            self._opened.close()

    @property
    def _database(self) -> sqlite3.Connection:
        if self._opened is None:
            try:
                self._opened = _open(self._path)
            except sqlite3.DatabaseError:
                self._path.unlink(missing_ok=True)
                self._opened = _open(self._path)
        return self._opened

    def _indexed(self) -> dict[str, int]:
        return dict(self._database.execute("SELECT id, indexed FROM sessions"))

    def _add(self, session: str, messages: Sequence[Message]) -> None:
        rows = [(text, session, each.number, each.role, each.created_at) for each in messages if (text := _text(each))]
        with self._database as database:
            database.executemany("INSERT INTO texts VALUES (?, ?, ?, ?, ?)", rows)
            database.execute(
                "INSERT INTO sessions VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET indexed = excluded.indexed",
                (session, messages[-1].number),
            )

    def _forget(self, session: str) -> None:
        with self._database as database:
            database.execute("DELETE FROM texts WHERE session = ?", (session,))
            database.execute("DELETE FROM sessions WHERE id = ?", (session,))

    def _search(self, query: str, session: str, limit: int, among: Collection[str] | None) -> list[Hit]:
        words = [word.replace('"', '""') for word in query.replace("\0", " ").split()]
        if not words:
            raise OpenAgentError("invalid_argument", "There is nothing to search for.", hint="Give a word or more.")
        match = " ".join(f'"{word}"' for word in words)
        found = self._find(match, session, limit, among)
        # A beginning may stand for very many words, so it is tried only where whole words find too little.
        return found if len(found) == limit else self._find(f"{match}*", session, limit, among)

    def _find(self, match: str, session: str, limit: int, among: Collection[str] | None) -> list[Hit]:
        most = limit if among is None else -1
        found = self._database.execute(_FIND, (FOUND, END, _SNIPPET_WORDS, match, session, session, most))
        hits = (Hit(*row) for row in found)
        return list(islice((hit for hit in hits if among is None or hit.session in among), limit))


def _open(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, check_same_thread=False)
    path.chmod(0o600)
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL"):
        database.execute(f"PRAGMA {pragma}").close()
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version != _VERSION:
        for (name,) in database.execute(
            "SELECT name FROM sqlite_master WHERE name IN ('texts', 'sessions')"
        ).fetchall():
            database.execute(f"DROP TABLE {name}")
        database.executescript(f"{_SCHEMA} PRAGMA user_version = {_VERSION};")
    return database


def _text(message: Message) -> str:
    texts: list[str] = []
    for part in message.parts:
        match part:
            case TextPart():
                texts.append(part.text[:_LONGEST_TEXT])
            case ToolCallPart():
                texts += [str(value)[:_LONGEST_TOOL_TEXT] for value in part.arguments.values()]
            case ToolResultPart():
                texts.append(part.text[:_LONGEST_TOOL_TEXT])
            case _:
                pass
    return "\n".join(texts).replace(FOUND, "").replace(END, "")
