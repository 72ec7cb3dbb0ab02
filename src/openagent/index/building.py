"""Bringing an index up to date: a stream of files, one of them in memory at a time."""

import time
from collections.abc import Iterable
from pathlib import Path

from openagent.index.chroma import ChromaVectors
from openagent.index.chunks import parse
from openagent.index.database import ELSEWHERE, Database, digest
from openagent.index.embedding import Embedder
from openagent.index.languages import grammar_comes_later, has_grammar, language_of
from openagent.index.walk import Found, decoded, read, walk
from openagent.plugins.index import OnProgress
from openagent.protocol.index import IndexBuilt

_COMMIT_EVERY = 200
_TELL_EVERY = 50
_EMBEDDED_TOGETHER = 64
_SHOWN_TOGETHER = 32 * _EMBEDDED_TOGETHER
"""Whoever searches loads all vectors anew when there are more: not too often."""


def build(workspace: Path, file: Path, progress: OnProgress, *, without: set[str] | None = None) -> IndexBuilt:
    """`without` is told the languages of files whose grammar is not here."""
    began = time.monotonic()
    database = Database(file, write=True)
    try:
        expected = int(database.fact("walked") or 0)
        database.begin_sweep()
        done = indexed = 0
        for found in walk(workspace, _data_home(file)):
            database.saw(found.path)
            if without is not None and (late := grammar_comes_later(found.path)) and not has_grammar(late):
                without.add(late)
            indexed += _bring_in(database, workspace, found)
            done += 1
            if done % _TELL_EVERY == 0:
                progress("Reading files", done, max(expected, done) if expected else 0)
            if done % _COMMIT_EVERY == 0:
                database.commit()
        removed = database.sweep()
        database.note("walked", done)
        database.note("built_at", time.time())
        database.commit()
        progress("Reading files", done, done)
        return _built(database, indexed, removed, began)
    finally:
        database.close()


def update(workspace: Path, file: Path, paths: Iterable[str]) -> IndexBuilt:
    began = time.monotonic()
    database = Database(file, write=True)
    try:
        wanted = set(paths)
        present = {
            found.path: found for found in walk(workspace, _data_home(file), list(wanted)) if found.path in wanted
        }
        indexed = sum(_bring_in(database, workspace, found) for found in present.values())
        gone = [path for path in wanted - present.keys() if database.known(path) is not None]
        for path in gone:
            database.drop(path)
        database.note("built_at", time.time())
        database.commit()
        return _built(database, indexed, len(gone), began)
    finally:
        database.close()


def embed(file: Path, model: Path, chroma: Path | None = None) -> int:
    """Vectors for the chunks that have none; how many. With `chroma` they are kept there."""
    embedder = Embedder(model)
    database = Database(file, write=True)
    elsewhere = ChromaVectors(chroma) if chroma is not None else None
    try:
        if bool(database.fact(ELSEWHERE)) != (elsewhere is not None):
            database.forget_vectors()
            database.note(ELSEWHERE, elsewhere is not None)
            database.commit()
        done = last = 0
        show_at = 1
        while rows := database.not_embedded(last, _EMBEDDED_TOGETHER):
            vectors = embedder.embed([f"{symbol}\n{text}" for _, symbol, text in rows])
            chunks = [row for row, _, _ in rows]
            if elsewhere is None:
                database.put_vectors((row, *packed) for row, packed in zip(chunks, vectors.packed(), strict=True))
            else:
                elsewhere.put(chunks, vectors)
                database.put_vectors((row, 0.0, b"") for row in chunks)
            last, done = rows[-1][0], done + len(rows)
            if done >= show_at or len(rows) < _EMBEDDED_TOGETHER:
                database.note("embedded_at", time.time())
                show_at = done + min(done, _SHOWN_TOGETHER)
            database.commit()
        if elsewhere is not None:
            elsewhere.keep_only(database.chunks())
        return done
    finally:
        database.close()


def _data_home(file: Path) -> Path:
    """What was said and done is not a workspace's code, should it lie inside one."""
    return file.parent.parent


def _bring_in(database: Database, workspace: Path, found: Found) -> bool:
    known = database.known(found.path)
    if known is not None and _gained_its_grammar(database, found.path):
        known = None
    if known is not None and known[2] == found.stamp:
        return False
    if (content := read(workspace, found.path)) is None:
        database.drop(found.path)
        return False
    data, stamp = content
    hashed = digest(data) if data is not None else b""
    if known is not None and data is not None and known[1] == hashed:
        database.restamp(known[0], stamp)
        return False
    if data is None:
        database.put(found.path, hashed, stamp, "", None)
        return False
    language = language_of(found.path, data)
    if not has_grammar(language):
        language = ""
    database.put(found.path, hashed, stamp, language, parse(decoded(data), language))
    return True


def _gained_its_grammar(database: Database, path: str) -> bool:
    late = grammar_comes_later(path)
    return bool(late) and has_grammar(late) and database.is_lines(path)


def _built(database: Database, indexed: int, removed: int, began: float) -> IndexBuilt:
    return IndexBuilt(
        files=database.count("files"),
        indexed=indexed,
        removed=removed,
        left_out=database.count("left_out"),
        seconds=round(time.monotonic() - began, 3),
    )
