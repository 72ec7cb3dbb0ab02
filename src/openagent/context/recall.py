"""What was collected, searched and read back for the model."""

import re

from openagent.core.view_log import REWIND, standing
from openagent.plugins.context import within
from openagent.plugins.recall import Recalled
from openagent.plugins.store import Store
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.messages import ImagePart, Message, NotePart, TextPart, ToolCallPart, ToolResultPart

_MOST_TERMS = 12
_EXCERPT = 400
_COMMON = re.compile(r"a|an|and|are|as|at|be|by|do|does|for|from|how|in|is|it|of|on|or|that|the|this|to|was|what")


class StoredMemory:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def search(self, session: str, query: str, limit: int) -> list[Recalled]:
        terms = _terms(query)
        collected, taken_back = await self._collected(session)
        found = await self._store.search_messages(session, terms, within=collected, limit=limit + len(taken_back))
        kept = [message for message in found if not within(message.number, taken_back)]
        return [_recalled(message, terms) for message in kept[:limit]]

    async def read(self, session: str, message: int) -> str:
        collected, taken_back = await self._collected(session)
        if not within(message, collected) or within(message, taken_back):
            raise OpenAgentError(
                "not_found", f"Message {message} is not among what was left out.", hint="Search for it, with a query."
            )
        (found,) = await self._store.messages(session, limit=1, after=message - 1)
        return "\n".join(_texts(found))

    async def _collected(self, session: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """What collectors took or shortened, and what a person took back."""
        records = standing(await self._store.collections(session))
        taken_back = [span for record in records if record.collector == REWIND for span in record.hidden]
        collected = [span for record in records if record.collector != REWIND for span in record.hidden]
        shortened = [(number, number) for record in records for number in record.replaced]
        return [*collected, *shortened], taken_back


def _terms(query: str) -> list[str]:
    words = list(dict.fromkeys(re.findall(r"[\w./:@-]+", query.lower())))
    telling = [word.strip(".:-") for word in words if not _COMMON.fullmatch(word)]
    return [word for word in telling if word][:_MOST_TERMS] or words[:_MOST_TERMS]


def _recalled(message: Message, terms: list[str]) -> Recalled:
    text = " ".join(" ".join(_texts(message)).split())
    lower = text.lower()
    places = sorted(place for term in terms if (place := lower.find(term)) >= 0)
    start = max((places[0] if places else 0) - _EXCERPT // 4, 0)
    excerpt = ("…" if start else "") + text[start : start + _EXCERPT] + ("…" if start + _EXCERPT < len(text) else "")
    result = next((part for part in message.parts if isinstance(part, ToolResultPart)), None)
    return Recalled(message.number, message.turn, f"result of {result.name}" if result else message.role, excerpt)


def _texts(message: Message) -> list[str]:
    texts: list[str] = []
    for part in message.parts:
        match part:
            case TextPart() | NotePart() | ToolResultPart():
                texts.append(part.text)
            case ToolCallPart():
                texts.append(f"[called {part.name} {part.arguments}]")
            case ImagePart():
                texts.append("[image]")
            case _:
                pass
    return texts
