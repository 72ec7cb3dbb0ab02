"""What other agents used, file by file: a file that has not changed since it was counted is not opened."""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from datetime import datetime

from openagent.history.conversation import Price
from openagent.history.copies import Copies, InUse
from openagent.history.readers import READERS
from openagent.history.reading import Source, Unreadable
from openagent.protocol.history import LeftOut
from openagent.store.history import CountedRequest, HistoryFile, SqlHistory


class Counting:
    def __init__(self, history: SqlHistory, price: Price, prices: str) -> None:
        """`prices` names the list that is counted by: with another one, all is counted anew."""
        self._history = history
        self._price = price
        self._prices = prices

    def is_counted(self, source: Source, known: HistoryFile | None) -> bool:
        return known is not None and known.counted == self._version(source)

    async def count(
        self, sources: Sequence[Source], known: dict[str, HistoryFile], copies: Copies, tell: Callable[[Source], None]
    ) -> list[LeftOut]:
        """Those that are new or have changed; the others' problems are told again."""
        left_out: list[LeftOut] = []
        for source in sources:
            before = known.get(source.name)
            problem = before.problem if before else ""
            if not self.is_counted(source, before):
                requests, problem = await asyncio.to_thread(self._requests, source, copies)
                await self._history.put_counts(source.agent, source.name, self._version(source), requests, problem)
                tell(source)
            if problem:
                left_out.append(LeftOut(source.agent, source.path, problem))
        return left_out

    def _version(self, source: Source) -> str:
        return f"{source.version}/{self._prices}"

    def _requests(self, source: Source, copies: Copies) -> tuple[list[CountedRequest], str]:
        found: list[CountedRequest] = []
        if source.problem:
            return found, source.problem
        try:
            for request in READERS[source.agent].count(source, copies):
                key = _number(f"{source.agent}:{request.key}")
                cost = self._price(request)
                day = datetime.fromtimestamp(request.at or source.modified).date().isoformat()
                found.append(CountedRequest(key, day, request.model, request.project, request.usage, cost))
        except (Unreadable, InUse) as problem:
            return found, str(problem)
        return found, ""


def _number(text: str) -> int:
    """63 bits that stand for it."""
    return int.from_bytes(hashlib.blake2b(text.encode(errors="replace"), digest_size=8).digest(), "big") >> 1
