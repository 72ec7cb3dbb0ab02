"""What was shown of a workspace, whether it was used, and what that says about the next search.

A piece that was opened, changed or named in the answer after it was shown for a question counts for later questions in
similar words. One that was passed over for another of the same list counts a little against. Where nothing was used,
nothing is known: code that is good enough is answered from without another look at it.
"""

import re
import time
from collections.abc import Sequence

from openagent.index.database import Database
from openagent.index.words import terms
from openagent.protocol.index import CodeHit

KEPT = 10_000
"""Rows; older ones go."""
_LOOKED_AT = 2000
_SIMILAR = 0.25
"""Shared words over all words, from which on two questions are about the same."""
_PASSED_OVER = -0.25
_NAMES = re.compile(r"[\w./-]*\w")
"""Words, dotted names and paths of an answer."""
_SHORTEST_NAME = 4
"""Shorter names are words of any answer: `run`, `get`, `id`."""


def shown(database: Database, session: str, call: str, query: str, hits: Sequence[CodeHit]) -> None:
    words = " ".join(sorted(terms(query)))
    now = time.time()
    connection = database.connection
    connection.executemany(
        "INSERT INTO context_refs (session, call, words, path, symbol, start_line, end_line, "
        "relevance_score, shown_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(session, call, words, hit.path, hit.symbol, hit.start_line, hit.end_line, hit.score, now) for hit in hits],
    )
    connection.execute("DELETE FROM context_refs WHERE id <= (SELECT max(id) FROM context_refs) - ?", (KEPT,))
    database.commit()


def used(database: Database, session: str, path: str, lines: tuple[int, int] | None) -> None:
    """`lines` are the ones that were opened; None: all of them, or it is not known which."""
    first, last = lines or (1, 1 << 62)
    database.connection.execute(
        "UPDATE context_refs SET was_useful = 1 WHERE session = ? AND path = ? AND was_useful IS NULL "
        "AND start_line <= ? AND end_line >= ?",
        (session, path, last, first),
    )
    database.commit()


def answered(database: Database, session: str, since: float, answer: str) -> None:
    """The session ended its turn with this answer: what it was shown since then is judged."""
    connection = database.connection
    rows = connection.execute(
        "SELECT id, call, shown_at, path, symbol, was_useful FROM context_refs WHERE session = ? AND shown_at >= ?",
        (session, since),
    ).fetchall()
    said = set(_NAMES.findall(answer))
    named = {row[0] for row in rows if row[5] is None and _is_named(row[3], row[4], said)}
    lists_used = {(call, at) for number, call, at, _, _, useful in rows if useful or number in named}
    passed_over = [
        number
        for number, call, at, _, _, useful in rows
        if useful is None and number not in named and (call, at) in lists_used
    ]
    connection.executemany("UPDATE context_refs SET was_useful = 1 WHERE id = ?", [(number,) for number in named])
    connection.executemany("UPDATE context_refs SET was_useful = 0 WHERE id = ?", [(number,) for number in passed_over])
    database.commit()


def _is_named(path: str, symbol: str, said: set[str]) -> bool:
    name = symbol.rpartition(".")[2]
    return path in said or path.rpartition("/")[2] in said or (len(name) >= _SHORTEST_NAME and name in _words_of(said))


def _words_of(said: set[str]) -> set[str]:
    return {word for name in said for word in re.split(r"[^\w]", name)}


def learned(database: Database, query: str) -> tuple[list[int], set[int]]:
    """Chunks that were useful for similar questions, best first, and those that were not."""
    asked = set(terms(query))
    if not asked:
        return [], set()
    weights: dict[tuple[str, str], tuple[float, int]] = {}
    for words, path, symbol, start_line, was_useful in database.connection.execute(
        "SELECT words, path, symbol, start_line, was_useful FROM context_refs WHERE was_useful IS NOT NULL "
        "ORDER BY id DESC LIMIT ?",
        (_LOOKED_AT,),
    ):
        other = set(words.split())
        similarity = len(asked & other) / len(asked | other)
        if similarity >= _SIMILAR:
            weight, line = weights.get((path, symbol), (0.0, start_line))
            weights[path, symbol] = (weight + similarity * (1.0 if was_useful else _PASSED_OVER), line)
    ranked = sorted(weights.items(), key=lambda item: -item[1][0])
    good: list[int] = []
    bad: set[int] = set()
    for (path, symbol), (weight, line) in ranked:
        if (chunk := database.chunk_at(path, symbol, line)) is None:
            continue
        if weight > 0:
            good.append(chunk)
        elif weight < _PASSED_OVER:
            bad.add(chunk)
    return good, bad
