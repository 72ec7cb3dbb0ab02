"""What was said, word by word: a full-text index in a file of its own, which can be thrown away and made anew."""

import sqlite3
from collections.abc import Collection, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, cast

from openagent.protocol.errors import OpenAgentError
from openagent.protocol.messages import Message, TextPart, ToolCallPart, ToolResultPart
from openagent.store.threads import DatabaseThreads

FOUND, END = "\x02", "\x03"
_VERSION = 3
_LONGEST_TEXT = 20_000
_LONGEST_TOOL_TEXT = 1_000
_SNIPPET_WORDS = 24
_OWN, _BROUGHT = "texts", "brought_texts"
"""What was said here, and what was brought from other agents: rows come in the order of their dates in each, and a
sorting of all that hold a word would take long."""
_TEXTS = """
CREATE VIRTUAL TABLE {table} USING fts5(
    text, session UNINDEXED, number UNINDEXED, role UNINDEXED, created_at UNINDEXED,
    tokenize = "unicode61 remove_diacritics 2"
);
"""
_SCHEMA = f"""
CREATE TABLE sessions (id TEXT PRIMARY KEY, indexed INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE spans (session TEXT NOT NULL, place TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL);
CREATE INDEX spans_of_a_session ON spans (session, place);
{_TEXTS.format(table=_OWN)}
{_TEXTS.format(table=_BROUGHT)}
"""
_INSERT = "INSERT INTO {table} VALUES (?, ?, ?, ?, ?)"
_DELETE = "DELETE FROM {table} WHERE rowid BETWEEN ? AND ?"
_FIND = """
SELECT session, number, role, created_at, snippet({table}, 0, ?, ?, '…', ?)
FROM {table} WHERE {table} MATCH ? ORDER BY rowid DESC LIMIT ?
"""
_FIND_IN_SESSION = """
SELECT session, number, role, created_at, snippet({table}, 0, ?, ?, '…', ?)
FROM {table} WHERE {table} MATCH ? AND rowid BETWEEN ? AND ? AND session = ? ORDER BY rowid DESC LIMIT ?
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

    async def add(self, session: str, messages: Sequence[Message], brought: int = 0) -> None:
        """The next ones of a session, of which those up to number `brought` are another agent's."""
        await self._thread.run(lambda: self._add(session, messages, brought))

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

    def _add(self, session: str, messages: Sequence[Message], brought: int) -> None:
        rows = [(text, session, each.number, each.role, each.created_at) for each in messages if (text := _text(each))]
        with self._database as database:
            for table, some in (
                (_BROUGHT, [row for row in rows if row[2] <= brought]),
                (_OWN, [row for row in rows if row[2] > brought]),
            ):
                if some:
                    database.executemany(_INSERT.format(table=table), some)
                    _add_span(database, session, table, len(some))
            database.execute(
                "INSERT INTO sessions VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET indexed = excluded.indexed",
                (session, messages[-1].number),
            )

    def _forget(self, session: str) -> None:
        with self._database as database:
            spans = database.execute("SELECT place, first, last FROM spans WHERE session = ?", (session,)).fetchall()
            for table, first, last in spans:
                database.execute(_DELETE.format(table=table), (first, last))
            database.execute("DELETE FROM spans WHERE session = ?", (session,))
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
        found = [
            *self._find_in(_OWN, match, session, limit, among),
            *self._find_in(_BROUGHT, match, session, limit, among),
        ]
        return sorted(found, key=lambda hit: hit.created_at, reverse=True)[:limit]

    def _find_in(self, table: str, match: str, session: str, limit: int, among: Collection[str] | None) -> list[Hit]:
        most = limit if among is None else -1
        shown = (FOUND, END, _SNIPPET_WORDS, match)
        if session:
            span = "SELECT min(first), max(last) FROM spans WHERE session = ? AND place = ?"
            first, last = self._database.execute(span, (session, table)).fetchone()
            query = _FIND_IN_SESSION.format(table=table)
            found = self._database.execute(query, (*shown, first, last, session, most))
        else:
            found = self._database.execute(_FIND.format(table=table), (*shown, most))
        hits = (Hit(*row) for row in found)
        return list(islice((hit for hit in hits if among is None or hit.session in among), limit))


def _add_span(database: sqlite3.Connection, session: str, table: str, count: int) -> None:
    """Where the newest rows of a session are: most of one lie next to each other."""
    (last,) = database.execute("SELECT last_insert_rowid()").fetchone()
    first = last - count + 1
    goes_on = database.execute(
        "UPDATE spans SET last = ? WHERE session = ? AND place = ? AND last = ?", (last, session, table, first - 1)
    )
    if not goes_on.rowcount:
        database.execute("INSERT INTO spans VALUES (?, ?, ?, ?)", (session, table, first, last))


def _open(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, check_same_thread=False)
    try:
        path.chmod(0o600)
        _set_up(database)
    except BaseException:
        database.close()
        raise
    return database


def _set_up(database: sqlite3.Connection) -> None:
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL"):
        database.execute(f"PRAGMA {pragma}").close()
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version != _VERSION:
        for (name,) in database.execute(
            "SELECT name FROM sqlite_master WHERE name IN ('texts', 'brought_texts', 'spans', 'sessions')"
        ).fetchall():
            database.execute(f"DROP TABLE {name}")
        database.executescript(f"{_SCHEMA} PRAGMA user_version = {_VERSION};")


def _text(message: Message) -> str:
    texts: list[str] = []
    for part in message.parts:
        match part:
            case TextPart():
                texts.append(part.text[:_LONGEST_TEXT])
            case ToolCallPart():
                texts += [_words(value)[:_LONGEST_TOOL_TEXT] for value in part.arguments.values()]
            case ToolResultPart():
                texts.append(part.text[:_LONGEST_TOOL_TEXT])
            case _:
                pass
    return "\n".join(texts).replace(FOUND, "").replace(END, "")


def _words(value: Any) -> str:
    """What a person would read of it: no brackets, quotes or names of fields."""
    match value:
        case dict():
            return _words(list(cast("dict[str, Any]", value).values()))
        case list():
            return "\n".join(filter(None, map(_words, cast("list[Any]", value))))
        case None | bool():
            return ""
        case _:
            return str(value)
