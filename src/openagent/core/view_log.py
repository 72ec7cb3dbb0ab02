"""The log of what happened to a view (collections, rewinds, pins), and which messages it leaves to be shown."""

from collections.abc import Sequence
from itertools import takewhile

from msgspec import Struct

from openagent.plugins.context import within
from openagent.plugins.store import CollectionRecord, Store
from openagent.protocol.messages import Message

REWIND = "rewind"
"""What stands as the collector of messages that were taken back."""
_OPENING = 8
"""Messages that a turn begins with at most: notes, and what was asked."""


class Shown(Struct, frozen=True):
    messages: list[Message]
    cut_at: int
    """Messages before this number were too many; 0: all are there."""


async def load_shown(store: Store, session: str, log: Sequence[CollectionRecord], token_budget: int) -> Shown:
    """What is not hidden, as far as it fits; what is pinned, and what was asked last, in any case."""
    records = standing(log)
    hidden = [numbers for record in records for numbers in record.hidden]
    messages = await store.recent_messages(session, token_budget=token_budget, without=hidden)
    if not messages or all(within(number, hidden) for number in range(1, messages[0].number)):
        return Shown(messages, 0)
    first = next((place for place, message in enumerate(messages) if message.role == "user"), None)
    asked: list[Message] = []
    if first is None:  # all of them belong to one long turn: it goes on from its message and a whole step
        asked = [each for each in await _asked(store, session, messages[-1].turn) if not within(each.number, hidden)]
        first = next((place for place, each in enumerate(messages) if each.role == "assistant"), len(messages))
    messages = messages[first:]
    cut_at = messages[0].number if messages else asked[-1].number + 1 if asked else 1
    pins = dict.fromkeys(number for record in records for number in record.pinned if number < cut_at)
    pins = pins.keys() - {each.number for each in asked}
    early = [await store.messages(session, limit=1, after=number - 1) for number in pins if not within(number, hidden)]
    before = sorted([*(message for found in early for message in found), *asked], key=lambda each: each.number)
    return Shown([*before, *messages], cut_at)


async def _asked(store: Store, session: str, turn: int) -> list[Message]:
    """What a turn began with."""
    start = await store.turn_start(session, turn)
    opening = await store.messages(session, limit=_OPENING, after=(start or 1) - 1)
    return list(takewhile(lambda message: message.role == "user" and message.turn == turn, opening))


def standing(log: Sequence[CollectionRecord]) -> list[CollectionRecord]:
    """The records that were not taken back. One that was takes nothing back itself."""
    undone: set[int] = set()
    found: list[CollectionRecord] = []
    for record in reversed(log):
        if record.id not in undone:
            undone.update(record.undone)
            found.append(record)
    return found[::-1]
