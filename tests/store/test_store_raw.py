"""What is kept of raw requests and responses, and that it reads back."""

import asyncio
import os
import uuid
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openagent.plugins.store import Batch, RawAnswer
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.messages import TextPart
from openagent.store import open_store
from openagent.store.raw import KEPT_EXCHANGES, PART_LIMIT, shared_length
from tests.store.store_contract import SESSION, announced, answer, created

pytestmark = pytest.mark.anyio

Step = tuple[str, int, str]
steps = st.lists(
    st.tuples(st.sampled_from(["grow", "grow", "grow", "cut", "fresh", "restart"]), st.integers(0, 60), st.text()),
    max_size=50,
)


@given(steps)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_history_of_requests_reads_back(database_url: str, steps: list[Step]) -> None:
    async def write_and_read() -> None:
        session = uuid.uuid4().hex
        store = open_store(database_url)
        await created(store, session)
        requests: list[str] = []
        request = "{}"
        for number, (change, amount, text) in enumerate(steps):
            match change:
                case "restart":
                    await store.close()
                    store = open_store(database_url)
                case "cut":
                    request = request[:amount] + text
                case "fresh":
                    request = text
                case _:
                    request += text * 3
            requests.append(request)
            await store.commit(Batch(session, raw=RawAnswer(number, request.encode(), text.encode())))
        for number, (request, (_, _, text)) in enumerate(zip(requests, steps, strict=True)):
            raw = await store.raw(session, number)
            assert (raw.request, raw.response, raw.truncated) == (request, text, False)
        await store.close()

    asyncio.run(write_and_read())


@given(st.binary(max_size=300), st.binary(max_size=40), st.binary(max_size=40))
def test_the_shared_length_is_where_two_requests_first_differ(start: bytes, first: bytes, second: bytes) -> None:
    first, second = start + first, start + second
    length = shared_length(first, second)
    assert first[:length] == second[:length]
    assert first == second or first[length : length + 1] != second[length : length + 1]


async def test_only_the_newest_exchanges_are_kept_and_each_reads_back(sqlite_url: str) -> None:
    store = open_store(sqlite_url)
    await created(store)
    request = b"system prompt"
    for number in range(1, KEPT_EXCHANGES + 101):
        request += b" %d" % number
        await store.commit(Batch(SESSION, raw=RawAnswer(number, request, b"")))
    with pytest.raises(OpenAgentError):
        await store.raw(SESSION, 1)
    for number in range(100, KEPT_EXCHANGES + 101, 7):
        assert (await store.raw(SESSION, number)).request.endswith(f" {number}")
    await store.close()


async def test_what_is_too_long_is_cut_and_says_so_and_the_next_ones_are_whole_again(sqlite_url: str) -> None:
    store = open_store(sqlite_url)
    await created(store)
    start = os.urandom(PART_LIMIT).hex().encode()
    huge = start + os.urandom(PART_LIMIT - 100).hex().encode()
    requests = [start, huge, huge + b"more", b"small", b"small again"]
    for number, request in enumerate(requests, start=1):
        await store.commit(Batch(SESSION, raw=RawAnswer(number, request, b"." * (PART_LIMIT - 4 + number))))
    read = [await store.raw(SESSION, number) for number in range(1, 6)]
    assert [raw.truncated for raw in read] == [False, True, False, False, True]
    assert read[1].request.encode() == huge[: len(start) + PART_LIMIT]
    assert [read[index].request.encode() for index in (0, 2, 3, 4)] == [requests[index] for index in (0, 2, 3, 4)]
    assert [len(raw.response) for raw in read] == [PART_LIMIT + missing for missing in (-3, -2, -1, 0, 0)]
    await store.close()


async def test_a_thousand_ordinary_messages_take_less_than_ten_megabytes(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/store.db")
    await created(store)
    request = b'{"model":"m","system":"' + os.urandom(8_000).hex().encode() + b'","messages":['
    tail = b'],"tools":"' + os.urandom(4_000).hex().encode() + b'"}'
    for number in range(1, 1_001):
        message = answer(number, TextPart(text=os.urandom(500).hex()))
        request += b'{"content":"' + message.text.encode() + b'"},'
        if number % 100 == 0:  # a collector made room
            request = request[:20_000]
        raw = RawAnswer(number, request + tail, b"data: " + message.text.encode()) if number % 2 else None
        await store.commit(Batch(SESSION, messages=[message], events=announced([message], number), raw=raw))
    await store.close()
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 10_000_000
