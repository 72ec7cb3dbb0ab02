"""What was acknowledged is there, whatever happens next."""

import asyncio
import signal
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openagent.plugins.store import AuditEntry, Batch, CollectionRecord, Store, UsageRecord
from openagent.protocol.display import Display, WrittenFile
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import AnyEvent, Event, StatusChanged
from openagent.protocol.messages import ImagePart, Message, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from openagent.protocol.sessions import PlanItem, QueuedMessage
from openagent.protocol.usage import Usage
from openagent.store import open_store
from tests.store.store_contract import SESSION, announced, created, filled, said, session_info

pytestmark = pytest.mark.anyio

TAKES_ITS_TIME = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]

small = st.integers(0, 2**31 - 1)
times = st.floats(0, 4e9)
usages = st.builds(Usage, small, small, small, small, small, st.booleans())
values = st.dictionaries(st.text(max_size=5), st.none() | st.booleans() | small | times | st.text(), max_size=2)
displays = st.builds(
    Display,
    summary=st.text(),
    files=st.lists(st.builds(WrittenFile, st.text(), small), max_size=2),
    added=st.none() | small,
    exit_code=st.none() | small,
)
parts = st.one_of(
    st.builds(TextPart, st.text()),
    st.builds(ThinkingPart, st.text(), signature=st.none() | st.text()),
    st.builds(ToolCallPart, st.text(), st.text(), values),
    st.builds(ToolResultPart, st.text(), st.text(), st.text(), st.booleans(), display=displays, duration_ms=times),
    st.builds(ImagePart, st.just("image/png"), st.text()),
)
bodies = st.lists(
    st.builds(
        Message,
        number=st.just(0),
        role=st.sampled_from(["user", "assistant", "tool"]),
        parts=st.lists(parts, max_size=3),
        turn=small,
        created_at=times,
        model=st.none() | st.just("a/b"),
        usage=st.none() | usages,
        cost_usd=st.none() | times,
        latency_ms=st.none() | times,
        stop_reason=st.none() | st.sampled_from(["end", "cancelled"]),
    ),
    max_size=3,
)
batches = st.lists(
    st.builds(
        Batch,
        session=st.just(""),
        messages=bodies,
        usage=st.lists(
            st.builds(UsageRecord, st.none() | small, st.just("a/b"), usages, st.none() | times), max_size=2
        ),
        audit=st.lists(st.builds(AuditEntry, st.just("command"), st.text(), at=times), max_size=2),
        plan=st.none() | st.lists(st.builds(PlanItem, st.text()), max_size=2),
        queued=st.lists(
            st.builds(QueuedMessage, st.just(""), st.lists(st.builds(TextPart, st.text()), max_size=2), times),
            max_size=2,
        ),
    ),
    max_size=6,
)


class Expected:
    """What the store should hold."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.messages: list[Message] = []
        self.events: list[Event] = []
        self.plan: list[PlanItem] = []
        self.queued: list[QueuedMessage] = []
        self.audit: list[AuditEntry] = []

    def numbered(self, drawn: Batch) -> Batch:
        """The drawn batch as a session would send it: everything numbered, everything announced."""
        first = len(self.messages) + 1
        messages = [msgspec.structs.replace(m, number=first + n) for n, m in enumerate(drawn.messages)]
        status = StatusChanged(session=self.session, seq=len(self.events) + 1, status="thinking", detail="\x00é")
        events: Sequence[Event] = [status, *announced(messages, status.seq + 1, self.session)]
        queued = [msgspec.structs.replace(item, id=uuid.uuid4().hex) for item in drawn.queued]
        taken = [item.id for item in self.queued[:1]]
        self.messages += messages
        self.events += events
        self.audit += drawn.audit
        self.plan = self.plan if drawn.plan is None else list(drawn.plan)
        self.queued = self.queued[1:] + queued
        info = session_info(self.session, seq=len(self.events), message_count=len(self.messages))
        return msgspec.structs.replace(
            drawn, session=self.session, info=info, messages=messages, events=events, queued=queued, unqueued=taken
        )

    async def check(self, store: Store) -> None:
        stored = await store.session(self.session)
        assert stored.info == session_info(self.session, seq=len(self.events), message_count=len(self.messages))
        assert (stored.plan, stored.queued) == (self.plan, self.queued)
        assert await store.messages(self.session, limit=1_000) == self.messages
        assert await store.events(self.session, after=0, limit=1_000) == self.events
        trail = await store.audit(self.session, limit=1_000)
        assert [msgspec.structs.replace(entry, id=0, session="") for entry in reversed(trail)] == self.audit


@given(batches)
@settings(max_examples=20, deadline=None, suppress_health_check=TAKES_ITS_TIME)
def test_any_sequence_of_batches_is_the_same_after_reopening(database_url: str, batches: list[Batch]) -> None:
    async def write_and_reopen() -> None:
        expected = Expected(uuid.uuid4().hex)
        store = open_store(database_url)
        await created(store, expected.session)
        for drawn in batches:
            await store.commit(expected.numbered(drawn))
        await expected.check(store)
        await store.close()
        again = open_store(database_url)
        await expected.check(again)
        await again.close()

    asyncio.run(write_and_reopen())


COMMIT_UNTIL_KILLED = """
import asyncio, sys
from openagent.plugins.store import Batch
from tests.store.store_contract import SESSION, announced, created, said
from openagent.store import open_store

async def main():
    store = open_store(sys.argv[1])
    await created(store)
    number = 0
    while True:
        number += 1
        message = said(number, f"message {number}")
        await store.commit(Batch(SESSION, messages=[message], events=announced([message], number)))
        print(number, flush=True)

asyncio.run(main())
"""


async def test_a_killed_process_loses_nothing_it_acknowledged(database_url: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", COMMIT_UNTIL_KILLED, database_url], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        acknowledged = [int(process.stdout.readline()) for _ in range(50)]
        process.send_signal(signal.SIGKILL)
        acknowledged += [int(line) for line in process.stdout.read().splitlines()]
    store = open_store(database_url)
    kept = await store.messages(SESSION, limit=100_000)
    stored = await store.session(SESSION)
    assert len(kept) >= acknowledged[-1]
    assert [message.text for message in kept] == [f"message {number}" for number in range(1, len(kept) + 1)]
    assert stored.info.message_count == stored.info.seq == len(kept)
    await store.close()


async def test_a_write_happens_also_when_its_caller_is_cancelled(database_url: str) -> None:
    store = open_store(database_url)
    await created(store)
    started = asyncio.Event()

    async def commit() -> None:
        started.set()
        await store.commit(Batch(SESSION, messages=[said(1, "kept")]))

    caller = asyncio.create_task(commit())
    await started.wait()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    await store.commit(Batch(SESSION, messages=[said(2, "next")]))
    assert [message.text for message in await store.messages(SESSION, limit=5)] == ["kept", "next"]
    await store.close()


def test_a_store_outlives_the_event_loop_that_asked_it(sqlite_url: str) -> None:
    store = open_store(sqlite_url)

    async def ask_and_leave() -> None:
        await created(store)
        asked = asyncio.ensure_future(store.commit(Batch(SESSION, messages=[said(1, "kept")])))
        await asyncio.sleep(0)
        asked.cancel()

    async def look() -> list[str]:
        await store.commit(Batch(SESSION, messages=[said(2, "next")]))
        kept = [message.text for message in await store.messages(SESSION, limit=5)]
        await store.close()
        return kept

    asyncio.run(ask_and_leave())
    assert asyncio.run(look()) == ["kept", "next"]


async def test_the_write_ahead_log_stays_bounded_however_much_is_written(sqlite_url: str) -> None:
    store = open_store(sqlite_url)
    await created(store)
    for number in range(1, 1801):
        await store.commit(Batch(SESSION, messages=[said(number, "x" * 60_000)]))
    log = Path(sqlite_url.removeprefix("sqlite:///") + "-wal")
    assert 0 < log.stat().st_size < 64_000_000
    await store.close()
    assert not log.exists()


async def test_writes_of_a_session_happen_in_the_order_they_were_asked_for(database_url: str) -> None:
    store = open_store(database_url)
    sessions = [uuid.uuid4().hex for _ in range(6)]
    for session in sessions:
        await created(store, session)
    await asyncio.gather(
        *(store.commit(Batch(session, session_info(session, seq=seq))) for seq in range(1, 21) for session in sessions)
    )
    assert [(await store.session(session)).info.seq for session in sessions] == [20] * 6
    await store.close()


async def test_closing_waits_for_what_was_asked_for_and_refuses_what_comes_after(sqlite_url: str) -> None:
    store = open_store(sqlite_url)
    await created(store)
    pending = [asyncio.ensure_future(store.commit(Batch(SESSION, messages=[said(n, "x")]))) for n in range(1, 31)]
    await asyncio.sleep(0)
    await store.close()
    await asyncio.gather(*pending)
    with pytest.raises(OpenAgentError) as refused:
        await store.count_sessions()
    assert refused.value.info.code == "shutting_down"
    again = open_store(sqlite_url)
    assert len(await again.messages(SESSION, limit=100)) == 30
    await again.close()


async def test_a_message_is_not_stored_a_second_time_with_its_event(sqlite_url: str) -> None:
    store = open_store(sqlite_url)
    messages = [said(1, "a sentence that can be found again")]
    await created(store)
    await store.commit(Batch(SESSION, messages=messages, events=announced(messages, 1)))
    replayed: list[AnyEvent] = await store.events(SESSION, after=0, limit=1)
    assert replayed == announced(messages, 1)
    await store.close()
    with sqlite3.connect(sqlite_url.removeprefix("sqlite:///")) as connection:
        dump = "\n".join(connection.iterdump())
    connection.close()
    assert dump.count("a sentence that can be found again") == 1


async def test_a_deleted_session_leaves_no_rows_but_audit_and_usage(sqlite_url: str) -> None:
    store = open_store(sqlite_url)
    await filled(store, 3)
    await store.commit(
        Batch(
            SESSION,
            usage=[UsageRecord(1, "m", Usage(), None)],
            audit=[AuditEntry("session", "x")],
            queued=[QueuedMessage("q", [], 1.0)],
            collection=CollectionRecord(1, [(1, 1)], "", {}, 1, 1.0),
        )
    )
    await store.delete_session(SESSION)
    await store.close()
    connection = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    filled_tables = {name for name in tables if connection.execute(f"SELECT 1 FROM {name}").fetchone()}
    connection.close()
    assert filled_tables == {"audit", "token_usage", "alembic_version"}
