import sys

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from openagent.plugins.provider import ModelRequest, ToolSchema
from openagent.protocol.display import Display
from openagent.protocol.messages import Message, TextPart, ToolResultPart
from openagent.protocol.usage import Usage
from openagent.telemetry.cache_misses import CacheStep, CacheWatch

TOOLS = (ToolSchema("read", "Read a file.", {"type": "object"}),)
LONG = Usage(5000, 100)


def said(*texts: str) -> list[Message]:
    return [Message(number=number, role="user", parts=[TextPart(text)]) for number, text in enumerate(texts, 1)]


def request_of(
    messages: list[Message], system: str = "You help.", tools: tuple[ToolSchema, ...] = TOOLS
) -> ModelRequest:
    return ModelRequest(model="m", system=system, messages=messages, tools=tools)


def second_step(
    first: ModelRequest,
    second: ModelRequest,
    *,
    read: int = 0,
    model: str = "x/m",
    after: float = 10.0,
    before: Usage = LONG,
) -> CacheStep:
    watch = CacheWatch()
    watch.observe("s", "x/m", first, before, 1000.0)
    return watch.observe("s", model, second, Usage(6000, 100, cached_tokens=read), 1000.0 + after)


def test_the_first_request_of_a_session_finds_nothing_cached() -> None:
    step = CacheWatch().observe("s", "x/m", request_of(said("one")), Usage(5000, 1), 0.0)
    assert (step.reason, step.read_tokens, step.expected_tokens) == ("first_request", 0, 0)


def test_reading_what_was_there_before_is_a_hit() -> None:
    step = second_step(request_of(said("one")), request_of(said("one", "two")), read=4992)
    assert (step.reason, step.detail, step.expected_tokens) == (None, "", 5000)
    assert step.share == 4992 / 6000


def test_a_changed_message_is_named_with_its_place() -> None:
    step = second_step(
        request_of(said("one", "two", "three")), request_of(said("one", "tWo", "three", "four")), read=2000
    )
    assert step.reason == "prefix_changed"
    assert "in message 2" in step.detail


def test_a_changed_system_prompt_and_changed_tools_are_named() -> None:
    first = request_of(said("one"))
    assert "in system" in second_step(first, request_of(said("one"), system="You help a lot.")).detail
    more = (*TOOLS, ToolSchema("write", "Write a file.", {}))
    assert "in tools" in second_step(first, request_of(said("one"), tools=more)).detail


def test_a_message_taken_away_is_a_change() -> None:
    step = second_step(request_of(said("one", "two")), request_of(said("one")))
    assert "in message 2" in step.detail


@given(
    texts=st.lists(st.text("ab", min_size=1, max_size=8), min_size=1, max_size=4),
    position=st.integers(0, 3),
    at=st.integers(0, 7),
)
def test_the_byte_is_the_first_that_differs(texts: list[str], position: int, at: int) -> None:
    position %= len(texts)
    old = texts[position]
    at %= len(old)
    changed = [*texts[:position], old[:at] + "X" + old[at + 1 :], *texts[position + 1 :]]
    step = second_step(request_of(said(*texts)), request_of(said(*changed)))

    def written(said_texts: list[str]) -> bytes:
        pieces = [TOOLS, "You help.", *(["user", [TextPart(text)]] for text in said_texts)]
        return b"".join(msgspec.json.encode(piece) for piece in pieces)

    before, now = written(texts), written(changed)
    first = next(index for index, (one, other) in enumerate(zip(before, now, strict=False)) if one != other)
    assert step.detail == f"The prompt changed at byte {first:,}, in message {position + 1}."


def test_what_only_people_see_of_a_result_is_no_change() -> None:
    def result(shown: Display) -> list[Message]:
        part = ToolResultPart(call_id="c", name="read", text="same", display=shown, duration_ms=shown.lines or 0)
        return [Message(number=1, role="tool", parts=[part])]

    step = second_step(request_of(result(Display())), request_of(result(Display(lines=3))))
    assert step.reason == "not_read_by_provider"


def test_other_causes_are_told_apart() -> None:
    first, second = request_of(said("one")), request_of(said("one", "two"))
    assert second_step(first, second, model="x/other").reason == "model_switched"
    assert second_step(first, second, after=301.0).reason == "expired"
    assert second_step(first, second, before=Usage(900, 1)).reason == "below_minimum"
    assert second_step(first, second).reason == "not_read_by_provider"


def test_a_list_that_grows_in_place_is_remembered_as_it_was() -> None:
    messages = said("one")
    watch = CacheWatch()
    watch.observe("s", "x/m", request_of(messages), LONG, 0.0)
    messages[0] = said("other")[0]
    step = watch.observe("s", "x/m", request_of(messages), LONG, 1.0)
    assert step.reason == "prefix_changed"


def test_of_a_session_that_was_put_away_only_a_line_is_kept() -> None:
    messages = said("one")
    watch = CacheWatch()
    held = sys.getrefcount(messages[0])
    watch.observe("s", "x/m", request_of(messages), LONG, 0.0)
    watch.forget("s")
    still_held = sys.getrefcount(messages[0])
    assert still_held == held
    assert watch.observe("s", "x/m", request_of(said("one")), LONG, 1.0).reason == "not_known"
    watch.forget("s")
    assert watch.observe("s", "x/m", request_of(said("one")), LONG, 1000.0).reason == "expired"
    assert watch.observe("s", "x/m", request_of(said("one")), LONG, 1001.0).reason == "not_read_by_provider"
