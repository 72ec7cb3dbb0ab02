"""Whatever a store does, what was told is stored once, and in the order in which it was told."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Literal, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openagent.core import outbox as outboxes
from openagent.core.outbox import Outbox
from openagent.plugins.store import Batch, Store
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import StatusChanged
from openagent.protocol.sessions import SessionInfo

Luck = Literal["stored", "unreachable", "lost"]
"""lost: it was stored, and the connection broke before anybody heard of it."""


class UnluckyStore:
    def __init__(self, luck: Iterable[Luck]) -> None:
        self._luck = iter(luck)
        self.stored: list[int] = []
        self.whole: list[int] = []
        """Those that say all of the session's row."""

    async def commit(self, batch: Batch) -> None:
        await asyncio.sleep(0)
        assert batch.info is not None
        luck = next(self._luck, "stored")
        if luck != "unreachable" and not (batch.again and self.stored and self.stored[-1] >= batch.info.seq):
            self.stored.append(batch.info.seq)
            self.whole += [] if batch.before else [batch.info.seq]
        if luck != "stored":
            raise OpenAgentError("store_unavailable", "The server is gone.", hint="Start it.")

    def hand_over(self, batch: Batch, told: Callable[[Exception | None], None]) -> None:
        committing = asyncio.ensure_future(self.commit(batch))
        committing.add_done_callback(lambda _: told(cast("Exception | None", committing.exception())))


def numbered(seq: int) -> Batch:
    before, info = (SessionInfo("s", "", "/", 0.0, 0.0, seq=each) for each in (seq - 1, seq))
    return Batch("s", info, before=before, events=[StatusChanged(session="s", seq=seq, status="idle")])


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outboxes, "PATIENCE", 0.0005)
    monkeypatch.setattr(outboxes, "_SECOND_CHANCE_S", 0.0005)
    monkeypatch.setattr(outboxes, "_FIRST_RETRY_S", 0.0001)
    monkeypatch.setattr(outboxes, "_LONGEST_RETRY_S", 0.0002)


@given(luck=st.lists(st.sampled_from(["stored", "unreachable", "lost"]), max_size=30), count=st.integers(1, 12))
def test_each_batch_is_stored_once_and_in_order(luck: list[Luck], count: int) -> None:
    async def play() -> None:
        store = UnluckyStore(luck)
        drained: list[bool] = []
        outbox = Outbox("s", cast("Store", cast("Any", store)), lambda: drained.append(outbox.is_empty))
        for seq in range(1, count + 1):
            if await outbox.store(numbered(seq)):
                assert store.stored == list(range(1, seq + 1))
            else:
                # Whoever comes back now hears what is on its way, too.
                told = await outbox.events(after=seq - 1, limit=5) if not outbox.is_empty else []
                assert [event.seq for event in told] in ([], [seq])
        async with asyncio.timeout(60):
            while not await outbox.stored_within(0.1):
                pass
        assert store.stored == list(range(1, count + 1))
        assert all(drained)
        outbox.check()

    asyncio.run(play())


@pytest.mark.anyio
async def test_a_batch_that_the_store_refuses_for_good_does_not_hold_up_the_others() -> None:
    class Picky(UnluckyStore):
        async def commit(self, batch: Batch) -> None:
            if batch.again and batch.info is not None and batch.info.seq == 1:
                raise OpenAgentError("conflict", "There is one already.")
            await super().commit(batch)

    store = Picky(["unreachable"])
    outbox = Outbox("s", cast("Store", cast("Any", store)), lambda: None)
    for seq in (1, 2, 3):
        await outbox.store(numbered(seq))
    async with asyncio.timeout(60):
        while not await outbox.stored_within(0.1):
            pass
    assert store.stored[-2:] == [2, 3]
    assert store.whole == [2]  # what the first one changed in the session's row is stored with the second


@pytest.mark.anyio
async def test_after_something_was_told_and_never_stored_the_next_batch_says_the_whole_row() -> None:
    store = UnluckyStore([])
    outbox = Outbox("s", cast("Store", cast("Any", store)), lambda: None)
    await outbox.store(numbered(1))
    outbox.missed()
    for seq in (3, 4):
        await outbox.store(numbered(seq))
    assert store.whole == [3]


@pytest.mark.anyio
async def test_a_batch_that_is_refused_leaves_the_whole_row_to_the_next() -> None:
    class Picky(UnluckyStore):
        async def commit(self, batch: Batch) -> None:
            if batch.info is not None and batch.info.seq == 2:
                raise OpenAgentError("conflict", "There is one already.")
            await super().commit(batch)

    store = Picky([])
    outbox = Outbox("s", cast("Store", cast("Any", store)), lambda: None)
    outbox.missed()
    with pytest.raises(OpenAgentError):
        await outbox.store(numbered(2))
    await outbox.store(numbered(3))
    assert store.whole == [3]


@pytest.mark.anyio
async def test_who_is_cancelled_while_something_is_stored_has_told_it_all_the_same() -> None:
    store, told = UnluckyStore([]), list[int]()
    outbox = Outbox("s", cast("Store", cast("Any", store)), lambda: None)
    storing = asyncio.ensure_future(outbox.store(numbered(1), lambda: told.append(1)))
    await asyncio.sleep(0)
    storing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await storing
    assert (store.stored, told, outbox.is_empty) == ([1], [1], True)


@pytest.mark.anyio
async def test_what_can_not_be_stored_in_time_is_told_once() -> None:
    store, told = UnluckyStore(["unreachable", "unreachable", "unreachable"]), list[int]()
    outbox = Outbox("s", cast("Store", cast("Any", store)), lambda: None)
    for seq in (1, 2):
        await outbox.store(numbered(seq), lambda seq=seq: told.append(seq))
    async with asyncio.timeout(60):
        while not await outbox.stored_within(0.1):
            pass
    assert (store.stored, told) == ([1, 2], [1, 2])
