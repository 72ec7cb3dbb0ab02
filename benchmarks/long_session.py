"""A session that has grown for a year: opening it, reading its end, adding to it."""

import asyncio
import time
from collections.abc import Iterator, Mapping

import msgspec

from benchmarks.effort import Effort
from benchmarks.model import usual_script
from benchmarks.rows import Row, median_row, milliseconds
from benchmarks.stage import MODEL, Stage, stage_with
from openagent import config
from openagent.client import Client
from openagent.plugins.store import Batch
from openagent.protocol.conversation import MessagePage, MessagesPage
from openagent.protocol.events import (
    Event,
    MessageAdded,
    StatusChanged,
    ToolFinished,
    ToolStarted,
    TurnCompleted,
    TurnStarted,
)
from openagent.protocol.messages import Message, TextPart, ToolCallPart, ToolResultPart
from openagent.protocol.sessions import SessionInfo, Settings
from openagent.store import open_store

PAGE = 50
_TURN = 10
"""Messages of one turn: a question, four calls with their results, an answer."""
_TURNS_AT_ONCE = 100
_OUTPUT = "".join(f"src/part_{number}.py:{number * 7}: value = compute({number})\n" for number in range(16))


def long_session(effort: Effort) -> list[Row]:
    rows: list[Row] = []
    for length in effort.messages:
        with stage_with(usual_script()) as (stage, _):
            session = asyncio.run(fill(stage, length))
            times: list[Mapping[str, float]] = []
            for _ in range(effort.cold_starts):
                stage.start()
                times.append(asyncio.run(_use(stage, session, length)))
                stage.stop()
        for name, bound in (("attach", 50), ("last page", 50), ("append", 50), ("first turn", None), ("turn", None)):
            values = milliseconds([measured[name] for measured in times])
            rows.append(median_row(f"{length:,}-message session: {name}", values, "ms", at_most=bound))
    return rows


async def _use(stage: Stage, session: str, length: int) -> dict[str, float]:
    """The session is not loaded at first: attaching reads it from the store."""
    times: dict[str, float] = {}
    async with await stage.client() as client:
        began = time.perf_counter()
        attachment = await client.attach(session, messages=PAGE)
        times["attach"] = time.perf_counter() - began
        assert attachment.snapshot is not None
        assert len(attachment.snapshot.messages) == PAGE
        began = time.perf_counter()
        page = await _last_page(client, session)
        times["last page"] = time.perf_counter() - began
        assert page.messages[-1].number >= length
        for name in ("first turn", "turn"):
            began = time.perf_counter()
            await client.send(session, "T1")
            times["append"] = time.perf_counter() - began
            end, _ = await attachment.until_turn_ends()
            times[name] = time.perf_counter() - began
            assert end.reason == "done"
    return times


async def _last_page(client: Client, session: str) -> MessagePage:
    return await client.request(MessagesPage(id=client.next_id(), session=session, limit=PAGE))


async def fill(stage: Stage, length: int) -> str:
    """Straight into the store, through the interface that the daemon uses."""
    store = await asyncio.to_thread(open_store, config.load(stage.env).settings.store.url)
    info = SessionInfo(
        id="00000000-0000-7000-8000-00000000bead",
        name="a long one",
        cwd=str(stage.workspace),
        created_at=time.time(),
        updated_at=time.time(),
        settings=Settings(model=MODEL, mode="full"),
    )
    await store.create_session(info, [])
    for first in range(1, length // _TURN + 1, _TURNS_AT_ONCE):
        turns = range(first, min(first + _TURNS_AT_ONCE, length // _TURN + 1))
        messages = [message for turn in turns for message in _messages(turn)]
        events = [event for turn in turns for event in _events(turn, messages[(turn - first) * _TURN :][:_TURN])]
        numbered = [
            msgspec.structs.replace(event, session=info.id, seq=seq, at=info.created_at)
            for seq, event in enumerate(events, info.seq + 1)
        ]
        info = msgspec.structs.replace(
            info, message_count=messages[-1].number, turn_count=turns[-1], seq=numbered[-1].seq
        )
        await store.commit(Batch(info.id, info, messages=messages, events=numbered))
    await store.close()
    return info.id


def _messages(turn: int) -> Iterator[Message]:
    number = (turn - 1) * _TURN + 1
    at = time.time()
    yield Message(number, "user", [TextPart(f"Question {turn}: where is value {turn} computed, and why?")], turn, at)
    for place in range(number + 1, number + _TURN - 1, 2):
        call = ToolCallPart(f"call-{place}", "shell", {"command": f"grep -rn 'value {place}' src"})
        yield Message(place, "assistant", [TextPart("I look for it."), call], turn, at, MODEL, stop_reason="tool_calls")
        yield Message(place + 1, "tool", [ToolResultPart(call.id, "shell", f"{place}\n{_OUTPUT}")], turn, at)
    yield Message(number + _TURN - 1, "assistant", [TextPart(f"Here: {_OUTPUT[:400]}")], turn, at, MODEL)


def _events(turn: int, messages: list[Message]) -> Iterator[Event]:
    yield TurnStarted(turn=turn, model=MODEL)
    for message in messages:
        for call in message.tool_calls:
            yield StatusChanged(status="executing_tool", detail=call.name)
            yield ToolStarted(call_id=call.id, tool=call.name, arguments=call.arguments)
        yield MessageAdded(message=message)
        if message.role == "tool":
            yield ToolFinished(call_id=f"call-{message.number - 1}", tool="shell", duration_ms=1.0, exit_code=0)
    yield TurnCompleted(turn=turn, reason="done", steps=5)
    yield StatusChanged(status="idle")
