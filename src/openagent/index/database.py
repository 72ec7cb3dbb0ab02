"""What is known of one workspace: an SQLite file of its own.

Only the indexing processes write; readers see the last committed state.
"""

import os
import sqlite3
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from openagent.index.walk import Stamp
from openagent.index.words import match_expression, searchable
from openagent.protocol.index import CodeHit, CodeReference, CodeSymbol, MappedSymbol

if TYPE_CHECKING:  # whoever only searches needs no grammars
    from openagent.index.chunks import Parsed

SCHEMA = 2
"""Another number: the file is made anew."""
BUSY_MS = 10_000
ELSEWHERE = "vectors_elsewhere"
"""Whether the vectors are in Chroma. When that is changed in the settings, they are made anew."""
_WEIGHTS = "6.0, 2.0, 1.0"
"""A name counts more than a path, a path more than text."""
_TABLES = """
CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, hash BLOB NOT NULL, size INTEGER NOT NULL,
  modified_ns INTEGER NOT NULL, changed_ns INTEGER NOT NULL, inode INTEGER NOT NULL, language TEXT NOT NULL,
  left_out INTEGER NOT NULL);
CREATE TABLE chunks (id INTEGER PRIMARY KEY AUTOINCREMENT, file INTEGER NOT NULL, start_line INTEGER NOT NULL,
  end_line INTEGER NOT NULL, symbol TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX chunks_of_file ON chunks (file);
CREATE VIRTUAL TABLE words USING fts5(symbol, path, text, content='', tokenize="porter unicode61");
CREATE TABLE symbols (name TEXT NOT NULL COLLATE NOCASE, symbol TEXT NOT NULL COLLATE NOCASE, kind TEXT NOT NULL,
  file INTEGER NOT NULL, start_line INTEGER NOT NULL, end_line INTEGER NOT NULL, signature TEXT NOT NULL);
CREATE INDEX symbols_by_name ON symbols (name);
CREATE INDEX symbols_of_file ON symbols (file);
CREATE TABLE refs (name TEXT NOT NULL, file INTEGER NOT NULL, line INTEGER NOT NULL);
CREATE INDEX refs_by_name ON refs (name, file, line);
CREATE INDEX refs_of_file ON refs (file);
CREATE TABLE vectors (chunk INTEGER PRIMARY KEY, scale REAL NOT NULL, vector BLOB NOT NULL);
CREATE TABLE context_refs (id INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, call TEXT NOT NULL,
  words TEXT NOT NULL, path TEXT NOT NULL, symbol TEXT NOT NULL, start_line INTEGER NOT NULL, end_line INTEGER NOT NULL,
  relevance_score REAL NOT NULL, was_useful INTEGER, shown_at REAL NOT NULL);
CREATE INDEX context_refs_of_session ON context_refs (session, was_useful);
CREATE TABLE facts (name TEXT PRIMARY KEY, value REAL NOT NULL);
"""


def digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


class Database:
    def __init__(self, file: Path, *, write: bool = False) -> None:
        """Raises FileNotFoundError when there is nothing to read."""
        if write:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._connection = _created(file)
        else:
            self._connection = _opened(file)
        self._connection.execute("PRAGMA cache_size = -16000")

    def close(self) -> None:
        self._connection.close()

    @property
    def connection(self) -> sqlite3.Connection:
        return self._connection

    # Writing

    def known(self, path: str) -> tuple[int, bytes, Stamp] | None:
        row = self._connection.execute(
            "SELECT id, hash, size, modified_ns, changed_ns, inode FROM files WHERE path = ?", (path,)
        ).fetchone()
        return None if row is None else (row[0], row[1], Stamp(*row[2:]))

    def is_lines(self, path: str) -> bool:
        """It was indexed without knowing its language."""
        query = "SELECT 1 FROM files WHERE path = ? AND language = '' AND NOT left_out"
        return self._connection.execute(query, (path,)).fetchone() is not None

    def restamp(self, file: int, stamp: Stamp) -> None:
        self._connection.execute(
            "UPDATE files SET size = ?, modified_ns = ?, changed_ns = ?, inode = ? WHERE id = ?", (*stamp, file)
        )

    def put(self, path: str, hashed: bytes, stamp: Stamp, language: str, parsed: "Parsed | None") -> None:
        """`parsed` is None for a file that is left out: it is remembered so that it is not read again."""
        execute, many = self._connection.execute, self._connection.executemany
        self.drop(path)
        file = execute(
            "INSERT INTO files (path, hash, size, modified_ns, changed_ns, inode, language, left_out) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (path, hashed, *stamp, language, parsed is None),
        ).lastrowid
        if parsed is None:
            return
        for chunk in parsed.chunks:
            row = execute(
                "INSERT INTO chunks (file, start_line, end_line, symbol, kind, text) VALUES (?, ?, ?, ?, ?, ?)",
                (file, *chunk),
            ).lastrowid
            execute(
                "INSERT INTO words (rowid, symbol, path, text) VALUES (?, ?, ?, ?)",
                (row, searchable(chunk.symbol), searchable(path), searchable(chunk.text)),
            )
        many(
            "INSERT INTO symbols VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(each.name, each.symbol, each.kind, file, *each[3:]) for each in parsed.symbols],
        )
        many("INSERT INTO refs VALUES (?, ?, ?)", [(name, file, line) for name, line in set(parsed.references)])

    def drop(self, path: str) -> None:
        execute = self._connection.execute
        if (known := self.known(path)) is None:
            return
        file = (known[0],)
        for row, symbol, text in execute("SELECT id, symbol, text FROM chunks WHERE file = ?", file).fetchall():
            execute(
                "INSERT INTO words (words, rowid, symbol, path, text) VALUES ('delete', ?, ?, ?, ?)",
                (row, searchable(symbol), searchable(path), searchable(text)),
            )
        execute("DELETE FROM vectors WHERE chunk IN (SELECT id FROM chunks WHERE file = ?)", file)
        for table in ("chunks", "symbols", "refs"):
            execute(f"DELETE FROM {table} WHERE file = ?", file)  # noqa: S608
        execute("DELETE FROM files WHERE id = ?", file)

    def begin_sweep(self) -> None:
        self._connection.execute("CREATE TEMP TABLE IF NOT EXISTS seen (path TEXT PRIMARY KEY) WITHOUT ROWID")
        self._connection.execute("DELETE FROM seen")

    def saw(self, path: str) -> None:
        self._connection.execute("INSERT OR IGNORE INTO seen VALUES (?)", (path,))

    def sweep(self) -> int:
        """Drops what was not seen."""
        gone = self._connection.execute("SELECT path FROM files WHERE path NOT IN (SELECT path FROM seen)").fetchall()
        for (path,) in gone:
            self.drop(path)
        return len(gone)

    def not_embedded(self, after: int, limit: int) -> list[tuple[int, str, str]]:
        return self._connection.execute(
            "SELECT id, symbol, text FROM chunks WHERE id > ? AND id NOT IN (SELECT chunk FROM vectors) "
            "ORDER BY id LIMIT ?",
            (after, limit),
        ).fetchall()

    def forget_vectors(self) -> None:
        self._connection.execute("DELETE FROM vectors")

    def chunks(self) -> set[int]:
        return {row for (row,) in self._connection.execute("SELECT id FROM chunks")}

    def put_vectors(self, rows: Iterable[tuple[int, float, bytes]]) -> None:
        """A chunk may have gone meanwhile: then its vector goes too."""
        self._connection.executemany("INSERT OR REPLACE INTO vectors SELECT id, ?2, ?3 FROM chunks WHERE id = ?1", rows)

    def note(self, name: str, value: float) -> None:
        self._connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def commit(self) -> None:
        self._connection.commit()

    # Reading

    def by_words(self, query: str, limit: int) -> list[int]:
        """Chunks, best first."""
        if not (expression := match_expression(query)):
            return []
        rows = self._connection.execute(
            f"SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words, {_WEIGHTS}) LIMIT ?",  # noqa: S608
            (expression, limit),
        )
        return [row for (row,) in rows]

    def hit(self, chunk: int, score: float) -> CodeHit | None:
        row = self._connection.execute(
            "SELECT path, start_line, end_line, symbol, kind, language, text FROM chunks "
            "JOIN files ON files.id = chunks.file WHERE chunks.id = ?",
            (chunk,),
        ).fetchone()
        if row is None:
            return None
        path, start_line, end_line, symbol, kind, language, text = row
        return CodeHit(path, start_line, end_line, score, text, symbol, kind, language)

    def chunk_at(self, path: str, symbol: str, start_line: int) -> int | None:
        """The piece that stands where another stood; lines may have moved since."""
        row = self._connection.execute(
            "SELECT chunks.id FROM chunks JOIN files ON files.id = chunks.file WHERE path = ? AND symbol = ? "
            "ORDER BY abs(start_line - ?) LIMIT 1",
            (path, symbol, start_line),
        ).fetchone()
        return None if row is None else row[0]

    def symbols(self, name: str, limit: int) -> list[CodeSymbol]:
        rows = self._connection.execute(
            "SELECT name, symbol, kind, path, start_line, end_line, signature FROM symbols "
            "JOIN files ON files.id = symbols.file WHERE name = ? AND (symbol = ? OR symbol LIKE ?) "
            "ORDER BY path, start_line LIMIT ?",
            (name.rsplit(".", 1)[-1], name, f"%{name}", limit),
        )
        return [CodeSymbol(*row) for row in rows]

    def symbols_like(self, letters: str, limit: int) -> list[CodeSymbol]:
        """Whose names have these letters in their order: those with them together first, short ones before long."""
        escaped = [f"\\{each}" if each in "\\%_" else each for each in letters]
        rows = self._connection.execute(
            "SELECT name, symbol, kind, path, start_line, end_line, signature FROM symbols "
            "JOIN files ON files.id = symbols.file WHERE language != 'markdown' AND symbol LIKE ? ESCAPE '\\' "
            "ORDER BY instr(lower(name), lower(?)) = 0, length(name), path, start_line LIMIT ?",
            (f"%{'%'.join(escaped)}%", letters, limit),
        )
        return [CodeSymbol(*row) for row in rows]

    def references(self, name: str, limit: int) -> list[CodeReference]:
        rows = self._connection.execute(
            "SELECT name, path, line FROM refs JOIN files ON files.id = refs.file WHERE name = ? "
            "ORDER BY path, line LIMIT ?",
            (name.rsplit(".", 1)[-1], limit),
        )
        return [CodeReference(*row) for row in rows]

    def most_used(self, limit: int) -> list[tuple[str, MappedSymbol]]:
        """With their paths. A name that is defined in many places counts less for each."""
        rows = self._connection.execute(
            "WITH used AS (SELECT name, count(DISTINCT file) AS uses FROM refs GROUP BY name), "
            "defined AS (SELECT name, count(*) AS times FROM symbols GROUP BY name) "
            "SELECT path, symbol, kind, start_line, signature, coalesce(uses, 0) FROM symbols "
            "JOIN files ON files.id = symbols.file JOIN defined USING (name) LEFT JOIN used USING (name) "
            "WHERE language != 'markdown' AND instr(symbol, '.') = 0 "
            "ORDER BY coalesce(uses, 0) / CAST(times AS REAL) DESC, path, start_line LIMIT ?",
            (limit,),
        )
        return [(path, MappedSymbol(*facts)) for path, *facts in rows]

    def vectors(self) -> list[tuple[int, float, bytes]]:
        return self._connection.execute("SELECT chunk, scale, vector FROM vectors").fetchall()

    def fact(self, name: str) -> float | None:
        row = self._connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return None if row is None else row[0]

    def count(self, what: str) -> int:
        counted = {
            "files": "files WHERE NOT left_out",
            "left_out": "files WHERE left_out",
            "chunks": "chunks",
            "symbols": "symbols",
            "references": "refs",
            "embedded": "vectors",
            "shown": "context_refs",
            "useful": "context_refs WHERE was_useful",
        }[what]
        return self._connection.execute(f"SELECT count(*) FROM {counted}").fetchone()[0]  # noqa: S608


def _created(file: Path) -> sqlite3.Connection:
    connection = _connected(file)
    if not _is_ours(connection):
        for ending in ("", "-wal", "-shm"):
            Path(f"{file}{ending}").unlink(missing_ok=True)
        connection = _connected(file)
        os.chmod(file, 0o600)
        connection.executescript(f"PRAGMA journal_mode = WAL; {_TABLES} PRAGMA user_version = {SCHEMA};")
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def _opened(file: Path) -> sqlite3.Connection:
    if not file.exists():
        raise FileNotFoundError(file)
    connection = _connected(file)
    if not _is_ours(connection):
        raise FileNotFoundError(file)
    return connection


def _is_ours(connection: sqlite3.Connection) -> bool:
    """Whether it is readable and of this version; if not, it is closed, and can be rebuilt from the files."""
    ours = False
    try:
        ours = connection.execute("PRAGMA user_version").fetchone()[0] == SCHEMA
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        pass
    finally:
        if not ours:
            connection.close()
    return ours


def _connected(file: Path) -> sqlite3.Connection:
    # IMMEDIATE: two writers wait for each other, instead of one failing on what it has read before
    return sqlite3.connect(file, timeout=BUSY_MS / 1000, isolation_level="IMMEDIATE", check_same_thread=False)
