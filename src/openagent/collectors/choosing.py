"""What may go, and in which order: old before recent, whole units, never what is pinned or being worked on."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from openagent.plugins.collector import ContextItem
from openagent.plugins.context import is_pinned, ranges, units

Unit = list[ContextItem]
"""An answer with the results of its calls, or one message."""
NEWEST_KEPT = 2
"""Units that stay whatever the goal is: what the model has just seen or asked for."""


class Candidates(NamedTuple):
    old: list[Unit]
    """Before the turns that are kept. Oldest first."""
    recent: list[Unit]
    """In the turns that are kept: for when nothing else is left. Oldest first."""


def candidates(context: Sequence[ContextItem], keep_turns: int) -> Candidates:
    every = units(context)
    turns = list(dict.fromkeys(item.message.turn for item in context))
    kept_turns = set(turns[-keep_turns:]) if keep_turns else set[int]()
    requests = [place for place, unit in enumerate(every) if unit[0].message.role == "user" and unit[0].message.text]
    stay = {*range(len(every) - NEWEST_KEPT, len(every)), *requests[-1:]}
    found = Candidates([], [])
    for place, unit in enumerate(every):
        if place not in stay and not is_pinned(unit):
            (found.recent if unit[0].message.turn in kept_turns else found.old).append(unit)
    return found


def enough_of(some: Iterable[Unit], tokens: int) -> list[Unit]:
    """The first of them that make up so many tokens; all when that is not enough."""
    taken: list[Unit] = []
    for unit in some:
        if tokens <= 0:
            break
        taken.append(unit)
        tokens -= size([unit])
    return taken


def size(some: Iterable[Unit]) -> int:
    return sum(item.tokens for unit in some for item in unit)


def numbers(some: Iterable[Unit]) -> list[tuple[int, int]]:
    return ranges(item.message.number for unit in some for item in unit)
