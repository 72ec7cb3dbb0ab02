"""What every Store must do. The tests of a store subclass `StoreContract` and give it a fixture:

    class TestMyStore(StoreContract):
        @pytest.fixture
        def open_store(self, tmp_path: Path) -> OpenStore:
            async def open_store() -> Store: ...   # each call opens the same, at first empty, storage
            return open_store

and has a fixture `anyio_backend` that says "asyncio".
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import msgspec
import pytest

from openagent.plugins.store import (
    AuditEntry,
    BackgroundWork,
    Batch,
    CollectionRecord,
    DraftPiece,
    FailureRecord,
    FileSeen,
    Holder,
    KeptGrant,
    McpServerRecord,
    RawAnswer,
    SeenRecord,
    Store,
    UsageRecord,
)
from openagent.protocol.display import Display
from openagent.protocol.errors import ErrorInfo, OpenAgentError
from openagent.protocol.events import (
    ErrorRaised,
    Event,
    MessageAdded,
    PlanUpdated,
    RetryScheduled,
    SessionCreated,
    StatusChanged,
    ToolFinished,
    TurnCompleted,
    TurnStarted,
)
from openagent.protocol.mcp import McpServerEntry
from openagent.protocol.messages import ImagePart, Message, Part, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from openagent.protocol.sessions import PlanItem, QueuedMessage, SessionInfo, Settings
from openagent.protocol.templates import Template
from openagent.protocol.usage import SessionUsage, Usage

OpenStore = Callable[[], Awaitable[Store]]

SESSION = "0198c0de-aaaa-7000-8000-000000000001"
OTHER = "0198c0de-bbbb-7000-8000-000000000002"


def session_info(session: str = SESSION, **changes: Any) -> SessionInfo:
    info = SessionInfo(id=session, name="fix the parser", cwd="/home/me/project", created_at=100.0, updated_at=100.0)
    return msgspec.structs.replace(info, **changes)


def answer(number: int, *parts: Part, turn: int = 1) -> Message:
    return Message(
        number=number,
        role="assistant",
        parts=list(parts) or [TextPart(text=f"answer {number}")],
        turn=turn,
        created_at=100.0 + number,
        model="anthropic/claude-sonnet-4-5",
        usage=Usage(input_tokens=900, output_tokens=40, cached_tokens=800, cache_write_tokens=60, reasoning_tokens=7),
        cost_usd=0.0125,
        latency_ms=812.5,
        stop_reason="end",
    )


def said(number: int, text: str, turn: int = 1) -> Message:
    return Message(number=number, role="user", parts=[TextPart(text=text)], turn=turn, created_at=100.0 + number)


def announced(messages: Sequence[Message], first_seq: int, session: str = SESSION) -> list[Event]:
    return [
        MessageAdded(session=session, seq=first_seq + offset, op_id="op-7", at=message.created_at, message=message)
        for offset, message in enumerate(messages)
    ]


def holder(name: str, *, pid: int = 1, place: str = "") -> Holder:
    return Holder(id=name, host=f"host of {name}", pid=pid, home=f"/home/{name}", place=place or name)


async def created(store: Store, session: str = SESSION, **changes: Any) -> SessionInfo:
    info = session_info(session, **changes)
    await store.create_session(info, [])
    return info


async def filled(store: Store, count: int, session: str = SESSION, text: str = "line") -> list[Message]:
    """A session with so many messages."""
    info = await created(store, session)
    messages = [said(number, f"{text} {number}") for number in range(1, count + 1)]
    info = msgspec.structs.replace(info, message_count=count, seq=count)
    await store.commit(Batch(session, info, messages=messages, events=announced(messages, 1, session)))
    return messages


@pytest.mark.anyio
class StoreContract:
    @pytest.fixture
    async def store(self, open_store: OpenStore) -> AsyncIterator[Store]:
        store = await open_store()
        yield store
        await store.close()

    async def test_a_session_comes_back_as_it_was_created(self, store: Store) -> None:
        info = session_info(
            settings=Settings(model="openai/gpt-5", mode="edits", disabled_tools=["web"], budget_usd=2.5),
            status="thinking",
            parent=OTHER,
            forked_from=OTHER,
            usage=SessionUsage(tokens=Usage(input_tokens=5), cost_usd=0.5, requests=1, context_tokens=9),
            seq=1,
        )
        event = SessionCreated(session=SESSION, seq=1, at=100.0, info=info)
        await store.create_session(info, [event])

        stored = await store.session(SESSION)
        assert (stored.info, stored.open_turn, stored.plan, stored.queued) == (info, 0, [], [])
        assert await store.events(SESSION, after=0, limit=10) == [event]
        assert await store.count_sessions() == 1

    async def test_a_batch_that_is_handed_over_again_is_stored_once(self, store: Store) -> None:
        await created(store)
        spoken = [said(1, "hello")]
        batch = Batch(
            SESSION,
            session_info(seq=3, message_count=1),
            messages=spoken,
            events=announced(spoken, 3),
            usage=[UsageRecord(1, "a/b", Usage(input_tokens=5), 0.5, at=100.0)],
            audit=[AuditEntry("session", "created", at=100.0)],
        )
        again = msgspec.structs.replace(batch, again=True)
        await store.commit(again)
        await store.commit(again)
        assert await store.messages(SESSION, limit=5) == spoken
        assert await store.events(SESSION, after=0, limit=5) == announced(spoken, 3)
        assert len(await store.usage_rows()) == len(await store.audit(SESSION)) == 1
        later = Batch(SESSION, session_info(seq=4, message_count=1), audit=[AuditEntry("session", "x")], again=True)
        await store.commit(later)
        assert len(await store.audit(SESSION)) == 2

    async def test_of_a_row_only_what_is_different_from_before_is_written(self, store: Store) -> None:
        before = session_info(seq=1)
        await store.create_session(before, [])
        await store.commit(Batch(SESSION, msgspec.structs.replace(before, name="renamed elsewhere", seq=2)))
        spent = SessionUsage(tokens=Usage(input_tokens=5), requests=1)
        now = msgspec.structs.replace(before, usage=spent, message_count=1, seq=3)
        await store.commit(Batch(SESSION, now, before=before, messages=[said(1, "hello")]))
        stored = (await store.session(SESSION)).info
        assert stored == msgspec.structs.replace(now, name="renamed elsewhere")

    async def test_an_id_is_given_only_once(self, store: Store) -> None:
        await created(store)
        with pytest.raises(OpenAgentError) as refused:
            await store.create_session(session_info(name="another"), [])
        assert refused.value.info.code == "conflict"
        assert (await store.session(SESSION)).info.name == "fix the parser"

    async def test_the_beginning_of_an_id_finds_its_session(self, store: Store) -> None:
        await created(store, "abcdef-1")
        await created(store, "abcdeg-2")
        await created(store, "ABCDEF-3")
        assert (await store.session("abcdef")).info.id == "abcdef-1"

    async def test_an_id_that_is_another_ones_beginning_finds_its_own_session(self, store: Store) -> None:
        await created(store, "abcdef")
        await created(store, "abcdef-longer")
        assert (await store.session("abcdef")).info.id == "abcdef"

    async def test_an_ambiguous_beginning_names_the_sessions_it_could_mean(self, store: Store) -> None:
        for number in range(7):
            await created(store, f"abcdef-{number}")
        with pytest.raises(OpenAgentError) as refused:
            await store.session("abcdef")
        assert refused.value.info.code == "conflict"
        assert [number for number in range(7) if f"abcdef-{number}" in refused.value.info.message] == [0, 1, 2, 3, 4]

    @pytest.mark.parametrize("name", ["", "abcde", "abcdef%", "ghijkl", "abcdef-1-and-more"])
    async def test_an_unknown_session_is_not_found(self, store: Store, name: str) -> None:
        await created(store, "abcdef-1")
        with pytest.raises(OpenAgentError) as refused:
            await store.session(name)
        assert refused.value.info.code == "not_found"

    async def test_sessions_are_listed_by_last_activity_page_by_page(self, store: Store) -> None:
        for number in range(5):
            await created(store, f"session-{number}", updated_at=200.0 + number)
        first = await store.sessions(limit=2)
        second = await store.sessions(limit=2, before=first[-1].updated_at)
        third = await store.sessions(limit=2, before=second[-1].updated_at)
        assert [info.id for info in first + second + third] == [f"session-{number}" for number in (4, 3, 2, 1, 0)]

    async def test_sessions_are_found_by_workspace_and_by_words_of_their_name(self, store: Store) -> None:
        await created(store, "one", cwd="/a", name="Fix 100% of the bugs")
        await created(store, "two", cwd="/b", name="fix nothing")
        await created(store, "three", cwd="/a", name="write docs")
        assert {info.id for info in await store.sessions(limit=9, cwd="/a")} == {"one", "three"}
        assert {info.id for info in await store.sessions(limit=9, query="FIX")} == {"one", "two"}
        assert [info.id for info in await store.sessions(limit=9, query="0%")] == ["one"]
        assert [info.id for info in await store.sessions(limit=9, cwd="/b", query="fix")] == ["two"]

    async def test_messages_keep_every_part_and_figure(self, store: Store) -> None:
        await created(store)
        messages = [
            Message(1, "user", [TextPart(text="look: \x00 é 日本 🎉"), ImagePart(media_type="image/png", data="aGk=")]),
            answer(
                2,
                ThinkingPart(text="hm", signature="sig", origin="anthropic"),
                ToolCallPart(id="c1", name="shell", arguments={"command": "ls", "deep": [{"a": 1.5}, None]}),
            ),
            Message(
                number=3,
                role="tool",
                turn=1,
                parts=[
                    ToolResultPart(
                        call_id="c1",
                        name="shell",
                        text="out",
                        is_error=True,
                        images=[ImagePart(media_type="image/png", data="aGk=")],
                        display=Display(exit_code=1),
                        duration_ms=3.5,
                    )
                ],
            ),
        ]
        await store.commit(Batch(SESSION, messages=messages, events=announced(messages, 1)))
        assert await store.messages(SESSION, limit=10) == messages

    async def test_messages_are_paged_from_either_end(self, store: Store) -> None:
        messages = await filled(store, 9)
        assert await store.messages(SESSION, limit=3) == messages[6:]
        assert await store.messages(SESSION, limit=3, before=7) == messages[3:6]
        assert await store.messages(SESSION, limit=3, after=2) == messages[2:5]
        assert await store.messages(SESSION, limit=9, after=2, before=5) == messages[2:4]
        assert await store.messages(SESSION, limit=3, after=9) == []

    async def test_recent_messages_fill_a_budget_from_the_newest(self, store: Store) -> None:
        messages = await filled(store, 600, text="word " * 40)
        recent = await store.recent_messages(SESSION, token_budget=30_000)
        assert 0 < len(recent) < 600
        assert recent == messages[-len(recent) :]
        more = await store.recent_messages(SESSION, token_budget=31_000)
        assert len(more) > len(recent)
        assert await store.recent_messages(SESSION, token_budget=10**9) == messages
        assert await store.recent_messages(SESSION, token_budget=3) == messages[-1:]

    async def test_an_image_does_not_crowd_out_the_conversation(self, store: Store) -> None:
        await created(store)
        picture = Message(2, "user", [ImagePart(media_type="image/png", data="A" * 400_000)])
        await store.commit(Batch(SESSION, messages=[said(1, "before"), picture]))
        assert len(await store.recent_messages(SESSION, token_budget=20_000)) == 2

    async def test_the_first_message_of_a_turn_is_found(self, store: Store) -> None:
        await filled(store, 3, OTHER)
        await created(store)
        turns = [1, 1, 1, 2, 4, 4, *range(5, 60), *[60] * 40]  # turn 3 was cancelled before it said anything
        messages = [said(number, "line", turn) for number, turn in enumerate(turns, start=1)]
        await store.commit(Batch(SESSION, messages=messages))
        starts = {turn: await store.turn_start(SESSION, turn) for turn in range(62)}
        assert starts == {turn: turns.index(turn) + 1 if turn in turns else None for turn in range(62)}
        assert await store.turn_start("unknown", 1) is None

    async def test_events_replay_in_order_after_any_number(self, store: Store) -> None:
        await created(store)
        message = answer(1)
        events: list[Event] = [
            TurnStarted(session=SESSION, seq=1, op_id="op-1", at=1.0, turn=1, model="m"),
            *announced([message], 2),
            ToolFinished(session=SESSION, seq=3, call_id="c", tool="shell", exit_code=0, duration_ms=1.5),
            PlanUpdated(session=SESSION, seq=4, plan=[PlanItem(text="look", state="done")]),
        ]
        await store.commit(Batch(SESSION, messages=[message], events=events))
        assert await store.events(SESSION, after=0, limit=10) == events
        assert await store.events(SESSION, after=1, limit=2) == events[1:3]
        assert await store.events(SESSION, after=4, limit=2) == []

    async def test_an_announced_message_of_another_batch_replays_too(self, store: Store) -> None:
        await created(store)
        message = answer(1)
        await store.commit(Batch(SESSION, messages=[message]))
        await store.commit(Batch(SESSION, events=announced([message], 1)))
        assert await store.events(SESSION, after=0, limit=5) == announced([message], 1)

    async def test_a_turn_is_open_from_its_start_to_its_completion(self, store: Store) -> None:
        await created(store)
        await created(store, OTHER)
        await store.commit(Batch(SESSION, events=[TurnStarted(session=SESSION, seq=1, turn=4)]))
        await store.commit(Batch(SESSION, events=[StatusChanged(session=SESSION, seq=2, status="thinking")]))
        assert (await store.session(SESSION)).open_turn == 4
        assert await store.unfinished_sessions() == [SESSION]
        await store.commit(Batch(SESSION, events=[TurnCompleted(session=SESSION, seq=3, turn=4, reason="done")]))
        assert (await store.session(SESSION)).open_turn == 0
        assert await store.unfinished_sessions() == []

    async def test_work_of_a_daemon_that_is_gone_is_listed_as_interrupted(
        self, store: Store, open_store: OpenStore
    ) -> None:
        other = await open_store()
        await store.register(holder("one"), lease_s=60)
        await created(store, status="executing_tool")
        await created(store, OTHER, status="error")
        listed = {info.id: info.status for info in await other.sessions(limit=5)}
        assert listed == {SESSION: "executing_tool", OTHER: "error"}
        await store.resign()
        listed = {info.id: info.status for info in await other.sessions(limit=5)}
        assert listed == {SESSION: "interrupted", OTHER: "error"}
        await other.close()

    async def test_a_queue_is_put_in_another_order(self, store: Store) -> None:
        await created(store)
        await created(store, OTHER)
        queued = [QueuedMessage(id=name, parts=[TextPart(text=name)], created_at=1.0) for name in "abc"]
        await store.commit(Batch(SESSION, queued=queued))
        await store.commit(Batch(OTHER, queued=queued[:1]))
        changed = [queued[2], msgspec.structs.replace(queued[0], parts=[TextPart(text="A")])]
        await store.commit(Batch(SESSION, inbox=changed))
        assert (await store.session(SESSION)).queued == changed
        await store.commit(Batch(SESSION, queued=queued[1:2]))
        assert (await store.session(SESSION)).queued == [*changed, queued[1]]
        assert (await store.session(OTHER)).queued == queued[:1]
        assert await store.count_queued() == 4
        await store.commit(Batch(SESSION, inbox=[]))
        assert (await store.session(SESSION)).queued == []

    async def test_sessions_with_queued_messages_wait_unless_they_are_held_back(
        self, store: Store, open_store: OpenStore
    ) -> None:
        other = await open_store()
        await store.register(holder("one"), lease_s=60)
        info = await created(store, queued=2)
        await created(store, OTHER)
        queued = [QueuedMessage(id=name, parts=[], created_at=1.0) for name in "ab"]
        await store.commit(Batch(SESSION, queued=queued))
        assert await other.waiting_sessions() == []
        await store.give_back(SESSION)
        assert await other.waiting_sessions() == [SESSION]
        await store.take(SESSION)
        held = msgspec.structs.replace(info, held=True)
        await store.commit(Batch(SESSION, held))
        await store.resign()
        assert await other.waiting_sessions() == []
        assert (await other.session(SESSION)).info == held
        await other.close()

    async def test_a_session_is_in_the_hands_of_one_daemon_at_a_time(self, store: Store, open_store: OpenStore) -> None:
        other = await open_store()
        await store.register(holder("one", pid=4711), lease_s=60)
        await other.register(holder("two"), lease_s=60)
        info = await created(store)
        assert (await store.take(SESSION)).info == info
        with pytest.raises(OpenAgentError) as refused:
            await other.take(SESSION)
        assert refused.value.info.code == "conflict"
        assert all(word in refused.value.info.message for word in ("4711", "host of one", "/home/one"))
        with pytest.raises(OpenAgentError, match="4711"):
            await other.commit(Batch(SESSION, events=[StatusChanged(session=SESSION, seq=1, status="error")]))
        assert await store.events(SESSION, after=0, limit=5) == []
        assert (await store.kept(), await other.kept()) == ([SESSION], [])

        await store.give_back(SESSION)
        await other.take(SESSION)
        with pytest.raises(OpenAgentError) as refused:
            await store.commit(Batch(SESSION, info))
        assert refused.value.info.code == "conflict"
        await other.close()

    async def test_turns_of_a_living_daemon_are_not_unfinished(self, store: Store, open_store: OpenStore) -> None:
        other = await open_store()
        await store.register(holder("one"), lease_s=60)
        await other.register(holder("two"), lease_s=60)
        await created(store)
        await store.commit(Batch(SESSION, events=[TurnStarted(session=SESSION, seq=1, turn=1)]))
        assert await other.unfinished_sessions() == await store.unfinished_sessions() == []
        await store.resign()
        assert await other.unfinished_sessions() == [SESSION]
        assert (await other.take(SESSION)).open_turn == 1
        await other.close()

    async def test_a_daemon_that_gave_no_sign_of_life_loses_its_sessions(
        self, store: Store, open_store: OpenStore
    ) -> None:
        other = await open_store()
        await store.register(holder("one"), lease_s=0)
        await other.register(holder("two"), lease_s=60)
        info = await created(store)
        assert not await store.renew()
        await store.commit(Batch(SESSION, info))  # nobody wanted it meanwhile
        await other.take(SESSION)
        with pytest.raises(OpenAgentError) as refused:
            await store.commit(Batch(SESSION, info))
        assert refused.value.info.code == "conflict"
        assert await other.renew()
        await other.close()

    async def test_the_next_life_of_a_daemon_has_its_sessions_at_once(
        self, store: Store, open_store: OpenStore
    ) -> None:
        again = await open_store()
        assert await store.register(holder("one"), lease_s=60) == 0.0
        await created(store, updated_at=123.0)
        assert await again.register(holder("next", place="one"), lease_s=60) == 123.0
        await again.take(SESSION)
        assert await again.kept() == [SESSION]
        await again.close()

    async def test_a_session_deleted_by_another_daemon_is_gone(self, store: Store, open_store: OpenStore) -> None:
        other = await open_store()
        await store.register(holder("one"), lease_s=60)
        info = await created(store)
        await other.delete_session(SESSION)
        for asked in (store.take(SESSION), store.commit(Batch(SESSION, info))):
            with pytest.raises(OpenAgentError) as refused:
                await asked
            assert refused.value.info.code == "not_found"
        await other.close()

    async def test_one_batch_may_end_a_turn_and_start_the_next(self, store: Store) -> None:
        await created(store)
        ended = TurnCompleted(session=SESSION, seq=1, turn=1, reason="done")
        await store.commit(Batch(SESSION, events=[ended, TurnStarted(session=SESSION, seq=2, turn=2)]))
        assert (await store.session(SESSION)).open_turn == 2

    async def test_how_turns_ended_is_kept_with_the_session(self, store: Store) -> None:
        await created(store)
        await created(store, OTHER)
        failed = TurnCompleted(
            session=SESSION,
            seq=1,
            at=7.0,
            turn=1,
            reason="error",
            steps=3,
            usage=Usage(input_tokens=5),
            cost_usd=0.25,
            duration_ms=12.5,
            error=ErrorInfo("provider_error", "It broke.", hint="Try again."),
        )
        stopped = TurnCompleted(session=SESSION, seq=2, at=8.0, turn=2, reason="cancelled", by="web")
        elsewhere = TurnCompleted(session=OTHER, seq=1, turn=1, reason="done")
        await store.commit(Batch(SESSION, events=[failed]))
        await store.commit(Batch(SESSION, events=[stopped]))
        await store.commit(Batch(OTHER, events=[elsewhere]))
        assert await store.turns(SESSION, first=1, last=9) == [failed.ended, stopped.ended]
        assert await store.turns(SESSION, first=2, last=2) == [stopped.ended]
        assert await store.turns(OTHER, first=0, last=9) == [elsewhere.ended]
        assert await store.last_ends([SESSION, OTHER, "nobody"]) == {SESSION: stopped.ended, OTHER: elsewhere.ended}
        assert await store.last_ends([]) == {}

    async def test_a_turn_that_is_closed_twice_ended_as_was_said_last(self, store: Store) -> None:
        await created(store)
        for seq, reason in enumerate(("interrupted", "done"), 1):
            await store.commit(Batch(SESSION, events=[TurnCompleted(session=SESSION, seq=seq, turn=1, reason=reason)]))
        assert [end.reason for end in await store.turns(SESSION, first=1, last=1)] == ["done"]

    async def test_what_was_seen_of_files_is_kept_by_message_and_goes_into_a_fork(self, store: Store) -> None:
        await created(store)
        first = SeenRecord(1, [FileSeen("/w/a", 1 << 60, 3, 1 << 61, b"\x00\xff")])
        second = SeenRecord(2, [FileSeen("/w/a", 1, 3, 4, b""), FileSeen("/w/b \n", 2, -1, 0, b"d")])
        for seq, record in enumerate((first, second), 1):
            said_so = said(record.number, "seen")
            added = MessageAdded(session=SESSION, seq=seq, message=said_so)
            await store.commit(Batch(SESSION, messages=[said_so], events=[added], seen=record))
        assert await store.files_seen(SESSION) == [first, second]
        for through, expected in ((1, [first]), (None, [first, second])):
            fork = session_info(f"fork{through}", forked_from=SESSION)
            await store.fork_session(SESSION, fork, through, [])
            assert await store.files_seen(fork.id) == expected
        assert await store.files_seen("nobody") == []

    async def test_what_is_at_work_beside_a_turn_is_known_until_it_has_ended(self, store: Store) -> None:
        await created(store)
        agent = BackgroundWork("coder-1", "agent", "a task", template="coder", at=1.0)
        command = BackgroundWork("bg1", "command", "sleep", at=2.0, for_model=False)
        await store.commit(Batch(SESSION, begun=[command, agent]))
        assert (await store.session(SESSION)).background == [agent, command]
        known = msgspec.structs.replace(agent, child=OTHER)
        await store.commit(Batch(SESSION, begun=[known], ended=["bg1", "nobody"]))
        assert (await store.session(SESSION)).background == [known]
        await store.fork_session(SESSION, session_info("fork", forked_from=SESSION), None, [])
        assert (await store.session("fork")).background == []

    async def test_what_was_allowed_in_a_session_is_kept_with_it_until_it_is_revoked(self, store: Store) -> None:
        await created(store)
        tests = KeptGrant("g1", {"decision": "allow", "command": ["npm test"]}, at=1.0, by="tui")
        host = KeptGrant("g2", {"decision": "allow", "host": ["example.com"]}, at=2.0, by="web")
        await store.commit(Batch(SESSION, granted=[tests, host]))
        assert (await store.session(SESSION)).grants == [tests, host]
        assert await store.grants() == [(SESSION, tests), (SESSION, host)]
        await store.fork_session(SESSION, session_info("fork", forked_from=SESSION), None, [])
        assert (await store.session("fork")).grants == [], "a fork is asked anew"
        await store.commit(Batch(SESSION, revoked=["g1"]))
        assert (await store.session(SESSION)).grants == [host]
        await store.delete_session(SESSION)
        assert await store.grants() == []

    async def test_a_draft_grows_until_it_is_dropped_or_begun_anew(self, store: Store) -> None:
        await created(store)
        await created(store, OTHER)
        first = DraftPiece(3, [ThinkingPart("hm"), TextPart("It is ")], [UsageRecord(3, "m", Usage(1, 2), 0.5, at=1.0)])
        second = DraftPiece(3, [TextPart("so.")], [UsageRecord(3, "m", Usage(1, 3), 0.6, at=2.0)])
        await store.keep_draft(SESSION, first)
        await store.keep_draft(OTHER, second)
        await store.keep_draft(SESSION, second)
        assert await store.draft(SESSION) == [first, second]
        await store.keep_draft(SESSION, second, anew=True)
        assert await store.draft(SESSION) == [second]
        await store.commit(Batch(SESSION, events=[StatusChanged(session=SESSION, seq=1, status="thinking")]))
        assert await store.draft(SESSION) == [second]
        await store.commit(Batch(SESSION, drop_draft=True))
        assert await store.draft(SESSION) == []
        assert await store.draft(OTHER) == [second]

    async def test_a_batch_stores_the_row_of_its_session(self, store: Store) -> None:
        info = await created(store)
        info = msgspec.structs.replace(
            info,
            name="renamed",
            updated_at=300.0,
            status="executing_tool",
            message_count=8,
            turn_count=2,
            seq=31,
            settings=Settings(model="x/y"),
            usage=SessionUsage(cost_usd=1.25, requests=4),
        )
        plan = [PlanItem(text="a"), PlanItem(text="b", state="active")]
        await store.commit(Batch(SESSION, info, plan=plan))
        stored = await store.session(SESSION)
        assert (stored.info, stored.plan) == (info, plan)

    async def test_numbers_given_out_without_a_row_are_remembered(self, store: Store) -> None:
        await created(store)
        messages = [said(1, "a"), said(2, "b")]
        await store.commit(Batch(SESSION, messages=messages, events=announced(messages, 1)))
        info = (await store.session(SESSION)).info
        assert (info.seq, info.message_count) == (2, 2)

    async def test_a_batch_is_stored_whole_or_not_at_all(self, store: Store) -> None:
        await filled(store, 2)
        bad = Batch(
            SESSION,
            session_info(name="changed"),
            messages=[said(3, "new"), said(2, "taken")],
            events=announced([said(3, "new")], 3),
            usage=[UsageRecord(None, "m", Usage(input_tokens=5), 1.0)],
            audit=[AuditEntry("decision", "shell")],
            queued=[QueuedMessage(id="q", parts=[], created_at=1.0)],
        )
        with pytest.raises(OpenAgentError) as refused:
            await store.commit(bad)
        assert refused.value.info.code == "conflict"
        stored = await store.session(SESSION)
        assert (stored.info.name, stored.info.seq, stored.queued) == ("fix the parser", 2, [])
        assert len(await store.messages(SESSION, limit=10)) == 2
        assert len(await store.events(SESSION, after=0, limit=10)) == 2
        assert await store.usage_totals() == (Usage(), 0.0, 0, 0)
        assert await store.audit() == []

    async def test_of_many_sessions_that_store_at_once_each_gets_its_own_answer(self, store: Store) -> None:
        """Others may be stored in the same transaction: whose batch cannot be stored is found out all the same."""
        names = [f"{number:08d}" for number in range(40)]
        for name in names:
            await filled(store, 2, name)
        broken = set(names[5::7])

        def batch(name: str, number: int) -> Batch:
            message = said(2 if name in broken else number, f"{name} {number}")
            events = announced([message], number, name)
            info = session_info(name, seq=number, message_count=number)
            return Batch(name, info, messages=[message], events=events, audit=[AuditEntry("decision", name)])

        for number in (3, 4):
            told = await asyncio.gather(*(store.commit(batch(name, number)) for name in names), return_exceptions=True)
            assert {name for name, said_of_it in zip(names, told, strict=True) if said_of_it is not None} == broken
        for name in names:
            count = 2 if name in broken else 4
            assert [message.number for message in await store.messages(name, limit=9)] == list(range(1, count + 1))
            assert [event.seq for event in await store.events(name, after=0, limit=9)] == list(range(1, count + 1))
            assert (await store.session(name)).info.seq == count
            assert len(await store.audit(name)) == count - 2

    async def test_a_batch_for_an_unknown_session_is_refused(self, store: Store) -> None:
        for batch in (
            Batch(SESSION, session_info()),
            Batch(SESSION, messages=[said(1, "lost")]),
            Batch(SESSION, queued=[QueuedMessage(id="q", parts=[], created_at=1.0)]),
        ):
            with pytest.raises(OpenAgentError) as refused:
                await store.commit(batch)
            assert refused.value.info.code == "not_found"

    async def test_queued_messages_wait_in_order_until_they_are_taken(self, store: Store) -> None:
        await created(store)
        await created(store, OTHER)
        queued = [QueuedMessage(id=name, parts=[TextPart(text=name)], created_at=1.0, op_id="op") for name in "zab"]
        await store.commit(Batch(SESSION, queued=queued[:1]))
        await store.commit(Batch(SESSION, queued=queued[1:]))
        await store.commit(Batch(OTHER, queued=queued[:1]))
        assert (await store.session(SESSION)).queued == queued
        await store.commit(Batch(SESSION, unqueued=["z", "b"]))
        assert (await store.session(SESSION)).queued == [queued[1]]
        assert (await store.session(OTHER)).queued == queued[:1]

    async def test_recent_messages_leave_out_what_they_are_told_to(self, store: Store) -> None:
        await created(store)
        messages = [said(number, "x" * 3_900) for number in range(1, 601)]
        await store.commit(Batch(SESSION, messages=messages))
        hidden = [(1, 200), (203, 203), (250, 590), (300, 400)]
        kept = [each for each in messages if not any(low <= each.number <= high for low, high in hidden)]
        assert await store.recent_messages(SESSION, token_budget=10**9, without=hidden) == kept
        few = await store.recent_messages(SESSION, token_budget=20_000, without=hidden)
        assert few == kept[-len(few) :]
        assert 10 < len(few) < 21
        assert await store.recent_messages(SESSION, token_budget=10**9, without=[(1, 600)]) == []

    async def test_messages_are_found_by_words_within_ranges(self, store: Store) -> None:
        await created(store)
        texts = [
            "The port is 4711.",
            'Say "PORT" in Zürich',
            "100% of _all_",
            "the port, again: 4711",
            "C:\\port\nhere",
        ]
        await store.commit(Batch(SESSION, messages=[said(number, text) for number, text in enumerate(texts, 1)]))

        async def found(*terms: str, within: Sequence[tuple[int, int]] = ((1, 9),), limit: int = 9) -> list[int]:
            messages = await store.search_messages(SESSION, terms, within=within, limit=limit)
            return [message.number for message in messages]

        assert await found("port", "4711") == [4, 1, 5, 2]
        assert await found("PORT", within=[(1, 2), (5, 5)]) == [5, 2, 1]
        assert await found("port", limit=1) == [5]
        assert await found("Zürich", "%") == [3, 2]
        assert await found('"port"') == [2]
        assert await found("c:\\port") == [5]
        assert await found("_all_") == [3]
        assert await found("nowhere") == []
        assert await found() == []
        assert await found("port", within=()) == []

    async def test_collections_come_back_in_order(self, store: Store) -> None:
        await created(store)
        records = [
            CollectionRecord(1, [(1, 4), (7, 9)], "what went", {11: "shorter"}, tokens_freed=900, at=5.0),
            CollectionRecord(2, [], "", {}, tokens_freed=0, at=6.0, collector="hybrid"),
        ]
        for record in records:
            await store.commit(Batch(SESSION, collection=record))
        assert await store.collections(SESSION) == records

    async def test_raw_exchanges_come_back_byte_for_byte(self, store: Store) -> None:
        await created(store)
        requests = [b'{"system":"' + b"s" * 4000 + b'","messages":[' + b'{"m":1},' * count for count in range(1, 80)]
        for number, request in enumerate(requests, start=1):
            await store.commit(Batch(SESSION, raw=RawAnswer(number, request + b"]}", b"data: %d\n\n" % number)))
        for number, request in enumerate(requests, start=1):
            raw = await store.raw(SESSION, number)
            assert (raw.request.encode(), raw.truncated) == (request + b"]}", False)
            assert raw.response == f"data: {number}\n\n"

    async def test_a_message_without_raw_exchange_says_so(self, store: Store) -> None:
        await filled(store, 1)
        with pytest.raises(OpenAgentError) as refused:
            await store.raw(SESSION, 1)
        assert refused.value.info.code == "not_found"

    async def test_usage_sums_up_over_all_sessions_since_a_time(self, store: Store) -> None:
        await created(store)
        await created(store, OTHER)
        assert await store.usage_totals() == (Usage(), 0.0, 0, 0)
        usage = Usage(input_tokens=10, output_tokens=5, cached_tokens=4, cache_write_tokens=3, reasoning_tokens=2)
        guessed = Usage(input_tokens=1, output_tokens=1, estimated=True)
        await store.commit(Batch(SESSION, usage=[UsageRecord(1, "m", usage, 0.25, at=50.0)]))
        await store.commit(Batch(OTHER, usage=[UsageRecord(None, "m", guessed, None, "summarizing", at=10.0)]))
        assert await store.usage_totals(since=50.0) == (usage, 0.25, 1, 0)
        assert await store.usage_totals() == (usage + guessed, 0.25, 2, 1)

    async def test_usage_is_listed_request_by_request_within_a_stretch_of_time(self, store: Store) -> None:
        await created(store)
        await created(store, OTHER)
        assert await store.usage_rows() == []
        usage = Usage(input_tokens=10, output_tokens=5, cached_tokens=4, cache_write_tokens=3, reasoning_tokens=2)
        paid = UsageRecord(1, "m", usage, 0.25, "tool_use", at=50.0)
        unpriced = UsageRecord(None, "n", Usage(input_tokens=1, estimated=True), None, "summarizing", at=10.0)
        await store.commit(Batch(SESSION, usage=[paid]))
        await store.commit(Batch(OTHER, usage=[unpriced]))
        assert await store.usage_rows() == [(OTHER, unpriced), (SESSION, paid)]
        assert await store.usage_rows(since=10.0, until=50.0) == [(OTHER, unpriced)]
        assert await store.usage_rows(since=50.0) == [(SESSION, paid)]

    async def test_a_request_is_listed_with_the_time_its_answer_took(self, store: Store) -> None:
        await created(store)
        message = msgspec.structs.replace(answer(1), latency_ms=12.5)
        record = UsageRecord(1, "m", Usage(input_tokens=1), None, at=50.0)
        await store.commit(Batch(SESSION, messages=[message], usage=[record]))
        ((_, listed),) = await store.usage_rows()
        assert listed.latency_ms == 12.5

    async def test_failures_are_listed_within_a_stretch_of_time(self, store: Store) -> None:
        await created(store)
        wrong = ErrorInfo("rate_limited", "Too fast.")
        retried = RetryScheduled(
            session=SESSION, seq=1, at=10.0, provider="p", attempt=1, max_attempts=3, delay_s=1.0, error=wrong
        )
        ended = ErrorRaised(session=SESSION, seq=2, at=20.0, error=ErrorInfo("provider_error", "Gone."))
        await store.commit(Batch(SESSION, events=[retried, ended]))
        first, second = (
            FailureRecord(SESSION, 10.0, "rate_limited", True),
            FailureRecord(SESSION, 20.0, "provider_error"),
        )
        assert await store.failures() == [first, second]
        assert await store.failures(until=20.0) == [first]

    async def test_what_sessions_that_work_for_one_have_used_is_told_with_it(self, store: Store) -> None:
        used = SessionUsage(Usage(input_tokens=10, output_tokens=2), 0.5, 1)
        await created(store)
        for name, parent in ((OTHER, SESSION), (f"{OTHER}3", OTHER), (f"{OTHER}4", OTHER)):
            await store.create_session(session_info(name, parent=parent, usage=used, template="coder"), [])
        assert [info.id for info in await store.sessions(limit=9, roots=True)] == [SESSION]
        assert {info.id for info in await store.descendants(SESSION)} == {OTHER, f"{OTHER}3", f"{OTHER}4"}
        below = (await store.session(SESSION)).below
        assert (below.tokens.input_tokens, below.cost_usd, below.requests) == (30, 1.5, 3)
        assert (await store.used_below([SESSION, f"{OTHER}3"])) == {SESSION: below}
        assert await store.used_below([]) == {}
        assert (await store.session(f"{OTHER}3")).below == SessionUsage()
        assert (await store.session(OTHER)).info.template == "coder"

    async def test_templates_are_kept_by_name(self, store: Store) -> None:
        whole = Template(
            "coder", "d", "r", "p", model="a/b/c", tools=[], mcp_servers=["m"], mode="edits", max_steps=3, timeout=1.5
        )
        await store.save_template(whole, replace=False)
        await store.save_template(Template("auto", model="auto"), replace=True)
        assert await store.templates() == [Template("auto", model="auto"), whole]
        with pytest.raises(OpenAgentError) as taken:
            await store.save_template(Template("coder"), replace=False)
        assert taken.value.info.code == "conflict"
        assert (await store.templates())[1] == whole
        await store.save_template(Template("coder", "new"), replace=True)
        await store.remove_template("auto")
        assert await store.templates() == [Template("coder", "new")]
        with pytest.raises(OpenAgentError) as missing:
            await store.remove_template("auto")
        assert missing.value.info.code == "not_found"

    async def test_the_audit_trail_is_read_from_its_end(self, store: Store) -> None:
        for number in range(5):
            await store.commit(Batch(SESSION, audit=[AuditEntry("command", f"ls {number}\x00", {"n": number}, at=1.0)]))
        await store.commit(Batch(OTHER, audit=[AuditEntry("decision", "rm", at=2.0)]))
        newest = await store.audit(limit=2)
        assert [(entry.session, entry.subject) for entry in newest] == [(OTHER, "rm"), (SESSION, "ls 4\x00")]
        older = await store.audit(SESSION, limit=2, before=newest[-1].id)
        assert [(entry.kind, entry.detail, entry.at) for entry in older] == [
            ("command", {"n": 3}, 1.0),
            ("command", {"n": 2}, 1.0),
        ]
        assert [entry.subject for entry in await store.audit(kind="decision")] == ["rm"]
        assert [entry.subject for entry in await store.audit(since=1.5)] == ["rm"]
        assert await store.audit(SESSION, kind="decision") == []

    async def test_a_deleted_session_leaves_only_what_was_spent_and_done(self, store: Store) -> None:
        await filled(store, 3, OTHER)
        await filled(store, 3)
        await store.commit(
            Batch(
                SESSION,
                raw=RawAnswer(1, b"request", b"response"),
                usage=[UsageRecord(1, "m", Usage(input_tokens=5), 0.5)],
                audit=[AuditEntry("session", "deleted")],
                queued=[QueuedMessage(id="q", parts=[], created_at=1.0)],
                collection=CollectionRecord(1, [(1, 2)], "", {}, 1, 1.0),
                events=[TurnCompleted(session=SESSION, seq=9, turn=1, reason="done")],
            )
        )
        await store.keep_draft(SESSION, DraftPiece(4, [TextPart("so far")]))
        await store.delete_session(SESSION)
        with pytest.raises(OpenAgentError):
            await store.session(SESSION)
        assert [info.id for info in await store.sessions(limit=5)] == [OTHER]
        await created(store)
        stored = await store.session(SESSION)
        assert stored.queued == []
        assert await store.messages(SESSION, limit=5) == []
        assert await store.events(SESSION, after=0, limit=5) == []
        assert await store.collections(SESSION) == []
        assert await store.turns(SESSION, first=0, last=9) == []
        assert await store.draft(SESSION) == []
        with pytest.raises(OpenAgentError):
            await store.raw(SESSION, 1)
        assert await store.usage_totals() == (Usage(input_tokens=5), 0.5, 1, 0)
        assert [entry.subject for entry in await store.audit(SESSION)] == ["deleted"]
        assert len(await store.messages(OTHER, limit=5)) == 3

    async def test_deleting_an_unknown_session_says_so(self, store: Store) -> None:
        with pytest.raises(OpenAgentError) as refused:
            await store.delete_session(SESSION)
        assert refused.value.info.code == "not_found"

    async def test_a_session_created_anew_after_deletion_keeps_its_raw_exchanges(self, store: Store) -> None:
        request = b"shared beginning " * 50
        await created(store)
        await store.commit(Batch(SESSION, raw=RawAnswer(1, request, b"")))
        await store.delete_session(SESSION)
        await created(store)
        await store.commit(Batch(SESSION, raw=RawAnswer(2, request + b"!", b"")))
        assert (await store.raw(SESSION, 2)).request.encode() == request + b"!"

    async def test_a_fork_holds_what_was_said_up_to_its_point(self, store: Store) -> None:
        messages = await filled(store, 6)
        for number in (2, 4, 6):
            await store.commit(Batch(SESSION, raw=RawAnswer(number, b"request " * number, b"response")))
        for record in (CollectionRecord(1, [(1, 2)], "s", {}, 1, 1.0), CollectionRecord(2, [(3, 5)], "t", {}, 1, 1.0)):
            await store.commit(Batch(SESSION, collection=record))
        fork = session_info(OTHER, parent=SESSION, message_count=4, seq=1)
        event = SessionCreated(session=OTHER, seq=1, info=fork)
        await store.fork_session(SESSION, fork, 4, [event])

        assert (await store.session(OTHER)).info == fork
        assert await store.messages(OTHER, limit=10) == messages[:4]
        assert [record.id for record in await store.collections(OTHER)] == [1]
        assert (await store.raw(OTHER, 4)).request == "request " * 4
        assert await store.events(OTHER, after=0, limit=10) == [event]
        await store.delete_session(SESSION)
        assert await store.messages(OTHER, limit=10) == messages[:4]

    async def test_a_fork_knows_the_ends_of_the_turns_it_holds_whole(self, store: Store) -> None:
        await created(store)
        await store.commit(
            Batch(SESSION, messages=[said(number, "line", turn=(number + 1) // 2) for number in range(1, 7)])
        )
        ends = [TurnCompleted(session=SESSION, seq=turn, turn=turn, reason="done") for turn in (1, 2, 3)]
        await store.commit(Batch(SESSION, events=ends))
        for through, whole in ((3, 1), (4, 2), (None, 3)):
            await store.fork_session(SESSION, session_info(OTHER), through, [])
            assert await store.turns(OTHER, first=1, last=9) == [end.ended for end in ends[:whole]]
            await store.delete_session(OTHER)

    async def test_a_whole_fork_goes_on_with_the_plan_and_spends_nothing_twice(self, store: Store) -> None:
        messages = await filled(store, 3)
        plan = [PlanItem(text="next")]
        await store.commit(Batch(SESSION, plan=plan, usage=[UsageRecord(1, "m", Usage(input_tokens=5), 0.5)]))
        await store.fork_session(SESSION, session_info(OTHER, parent=SESSION), None, [])
        stored = await store.session(OTHER)
        assert (stored.plan, stored.open_turn) == (plan, 0)
        assert await store.messages(OTHER, limit=10) == messages
        assert await store.usage_totals() == (Usage(input_tokens=5), 0.5, 1, 0)

    async def test_a_fork_needs_a_source_and_a_free_id(self, store: Store) -> None:
        with pytest.raises(OpenAgentError) as missing:
            await store.fork_session(SESSION, session_info(OTHER), None, [])
        assert missing.value.info.code == "not_found"
        await created(store)
        await created(store, OTHER)
        with pytest.raises(OpenAgentError) as taken:
            await store.fork_session(SESSION, session_info(OTHER), None, [])
        assert taken.value.info.code == "conflict"

    async def test_mcp_servers_are_kept_by_name_and_replaced_and_removed(self, store: Store) -> None:
        far = McpServerEntry(kind="http", url="https://example.com/mcp", headers={"X": "1"}, description="Far away.")
        near = McpServerEntry(command="mcp-server-time", args=["--utc"], env={"KEY": "${KEY}"})
        for record in (McpServerRecord("time", near), McpServerRecord("docs", far, enabled=False, updated_at=5.0)):
            await store.put_mcp_server(record)
        assert await store.mcp_servers() == [McpServerRecord("docs", far, False, 5.0), McpServerRecord("time", near)]
        await store.put_mcp_server(McpServerRecord("time", far))
        assert [record.server for record in await store.mcp_servers()] == [far, far]
        assert (await store.remove_mcp_server("docs"), await store.remove_mcp_server("docs")) == (True, False)
        assert [record.name for record in await store.mcp_servers()] == ["time"]

    async def test_everything_is_there_after_reopening(self, store: Store, open_store: OpenStore) -> None:
        messages = await filled(store, 3)
        await store.commit(Batch(SESSION, raw=RawAnswer(1, b"request", b"response")))
        before = await store.session(SESSION)
        await store.close()
        again = await open_store()
        try:
            assert await again.session(SESSION) == before
            assert await again.messages(SESSION, limit=5) == messages
            assert await again.events(SESSION, after=0, limit=5) == announced(messages, 1)
            assert (await again.raw(SESSION, 1)).response == "response"
        finally:
            await again.close()
