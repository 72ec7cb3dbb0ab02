"""What other agents used, file by file: a file that has not changed since it was counted is not opened."""

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from openagent.history.conversation import Price
from openagent.history.copies import Copies, InUse
from openagent.history.readers import READERS
from openagent.history.reading import Source, Unreadable
from openagent.protocol.history import LeftOut
from openagent.store.history import CountedFile, CountedRequest, HistoryFile, SqlHistory

_BYTES_AT_ONCE = 8 << 20
"""Files of so many bytes are read and written down together: many small ones cost no more than a large one."""


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
        problems = {name: file.problem for name, file in known.items()}
        new = [source for source in sources if not self.is_counted(source, known.get(source.name))]
        for some in _together(new):
            counted = await asyncio.to_thread(self._counted, some, copies)
            await self._history.put_counts(counted)
            problems |= {each.source: each.problem for each in counted}
            for source in some:
                tell(source)
        return [
            LeftOut(source.agent, source.path, problem)
            for source in sources
            if (problem := problems.get(source.name, ""))
        ]

    def _counted(self, sources: Sequence[Source], copies: Copies) -> list[CountedFile]:
        return [
            CountedFile(source.agent, source.name, self._version(source), *self._requests(source, copies))
            for source in sources
        ]

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


def _together(sources: Sequence[Source]) -> Iterator[list[Source]]:
    some: list[Source] = []
    size = 0
    for source in sources:
        some.append(source)
        size += source.size
        if size >= _BYTES_AT_ONCE:
            yield some
            some, size = [], 0
    if some:
        yield some


def _number(text: str) -> int:
    """63 bits that stand for it."""
    return int.from_bytes(hashlib.blake2b(text.encode(errors="replace"), digest_size=8).digest(), "big") >> 1
