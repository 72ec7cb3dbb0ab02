"""What was shown of a workspace, whether it was used, and what that says about the next search.

A piece that was opened or changed after it was shown for a question counts for later questions in similar words; one
that was passed over counts a little against.
"""

import time
from collections.abc import Sequence

from openagent.index.database import Database
from openagent.index.words import terms
from openagent.plugins.index import Hit

KEPT = 10_000
"""Rows; older ones go."""
_LOOKED_AT = 2000
_SIMILAR = 0.25
"""Shared words over all words, from which on two questions are about the same."""
_PASSED_OVER = -0.25


def shown(database: Database, session: str, call: str, query: str, hits: Sequence[Hit]) -> None:
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


def passed_over(database: Database, session: str) -> None:
    """What was shown and not used by now was of no use."""
    database.connection.execute(
        "UPDATE context_refs SET was_useful = 0 WHERE session = ? AND was_useful IS NULL", (session,)
    )
    database.commit()


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
