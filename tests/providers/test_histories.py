"""Any history goes to any provider: started elsewhere, cut short, or with parts missing; nothing said is lost."""

import asyncio
import itertools
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devtools.simulator import Simulator, ThreadedSimulator
from openagent.plugins.provider import Provider
from openagent.protocol.messages import (
    ImagePart,
    Message,
    NotePart,
    Part,
    StopReason,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)

from .harness import (
    FORMATS,
    MODELS,
    PIXEL,
    answer_to,
    ask,
    calls_of,
    connect,
    result,
    said,
    text_of,
    user,
)

pytestmark = pytest.mark.anyio

THINKING = {wire: f"Thought at {wire}, first." for wire in FORMATS}


def step(wire: str, visit: int) -> dict[str, Any]:
    return {
        "thinking": f"{THINKING[wire]} Visit {visit}.",
        "text": f"Said at {wire}, visit {visit}.",
        "tool_calls": [
            {"name": "shell", "arguments": {"command": f"echo {wire} {visit}"}},
            {"name": "read_file", "arguments": {"path": f"{wire}-{visit}.txt"}},
        ],
    }


def everything_said(messages: list[Message]) -> list[str]:
    pieces: list[str] = []
    for part in itertools.chain.from_iterable(message.parts for message in messages):
        match part:
            case TextPart(text=text) | ThinkingPart(text=text) | NotePart(text=text):
                pieces.append(text)
            case ToolCallPart():
                pieces.extend(str(value) for value in part.arguments.values())
            case ToolResultPart():
                pieces.append(part.text)
            case ImagePart():
                pieces.append(part.data)
    return [piece for piece in pieces if piece]


@pytest.mark.parametrize(("start", "then"), list(itertools.permutations(FORMATS, 2)))
async def test_a_conversation_moves_to_another_provider_and_back(start: str, then: str):
    """In the middle of a turn: the simulator refuses what the vendor would refuse."""
    script = {"conversations": [{"match": {"model": model}, "steps": steps} for model, steps in scripts(start, then)]}
    async with Simulator(script) as sim, connect(start, sim) as one, connect(then, sim) as other:
        history: list[Message] = [user("Look around.", ImagePart("image/png", PIXEL))]
        for visit, (wire, provider) in enumerate([(start, one), (then, other), (start, one)]):
            await take_step(provider, wire, history)
            sent = sim.requests[-1]
            assert sent.error is None
            body = sent.json()
            for piece in everything_said(history[:-3]):
                assert piece in str(body), f"visit {visit} to {wire} lost {piece!r}"


def scripts(start: str, then: str) -> list[tuple[str, list[dict[str, Any]]]]:
    return [(MODELS[wire], [step(wire, visit) for visit in range(3)]) for wire in (start, then)]


async def take_step(provider: Provider, wire: str, history: list[Message]) -> None:
    answer = await answer_to(provider, ask(wire, *history))
    history.append(said(len(history) + 1, answer))
    for call in reversed(calls_of(answer.parts)):
        history.append(result(len(history) + 1, call, f"Result of {call.name} {len(history)}."))


@pytest.mark.parametrize("wire", FORMATS)
async def test_a_person_may_speak_in_the_middle_of_a_turn_that_began_elsewhere(wire: str):
    call = ToolCallPart("call_1", "shell", {"command": "ls"})
    history = [user("hi"), Message(2, "assistant", [call]), result(3, call, "files"), user("hurry", number=4)]
    async with Simulator({"steps": [{"text": "Fine."}], "loop": True}) as sim, connect(wire, sim) as provider:
        await answer_to(provider, ask(wire, *history))
        assert wire != "anthropic" or sim.requests[0].json()["thinking"] == {"type": "disabled"}


@pytest.mark.parametrize("wire", FORMATS)
async def test_thinking_of_ones_own_stays_thinking(wire: str):
    """It must not come back as text: the model would take it for something it said."""
    async with Simulator([step(wire, 0), {"text": "Done."}]) as sim, connect(wire, sim) as provider:
        history = [user("hi")]
        await take_step(provider, wire, history)
        await answer_to(provider, ask(wire, *history))
        assert "<thinking>" not in sim.requests[1].body
        assert THINKING[wire] in sim.requests[1].body


CUT: list[StopReason] = ["cancelled", "interrupted", "error"]
CUT_PARTS: list[list[Part]] = [
    [],
    [TextPart("")],
    [TextPart(" \n")],
    [TextPart("Half a sent")],
    [ThinkingPart("Half a thought", origin="anthropic")],
    [ThinkingPart("A thought", signature="c2ln", id="rs_1", redacted="x", origin="gemini"), TextPart("and then")],
    [ThinkingPart("", redacted="b3BhcXVl", id="rs_2", origin="openai-responses")],
    [ToolCallPart("call_1", "shell", {"command": "ls"})],
]


@pytest.mark.parametrize("reason", CUT)
@pytest.mark.parametrize("wire", FORMATS)
async def test_an_answer_that_was_cut_short_does_not_spoil_the_conversation(wire: str, reason: StopReason):
    async with Simulator({"steps": [{"text": "Fine."}], "loop": True}) as sim, connect(wire, sim) as provider:
        for parts in CUT_PARTS:
            history = [user("hi"), Message(2, "assistant", parts, stop_reason=reason), user("go on", number=3)]
            assert text_of((await answer_to(provider, ask(wire, *history, thinking=None))).parts) == "Fine."
            body = str(sim.requests[-1].json())
            for piece in everything_said(history):
                assert not piece.strip() or piece in body


NONE = st.just(0)
MESSAGES = st.lists(
    st.one_of(
        st.tuples(st.just("user"), st.sampled_from(["", " ", "hello"]), NONE, NONE),
        st.tuples(st.just("assistant"), st.sampled_from(["", "said"]), st.integers(0, 3), st.integers(0, 3)),
        st.tuples(st.just("orphan"), st.just("left over"), NONE, NONE),
    ),
    min_size=1,
    max_size=8,
)


def build_history(drawn: list[tuple[str, str, int, int]]) -> list[Message]:
    history: list[Message] = []
    for kind, text, calls, answered in drawn:
        number = len(history) + 1
        if kind == "user":
            history.append(user(text, number=number))
        elif kind == "orphan":
            history.append(Message(number, "tool", [ToolResultPart("gone", "shell", text)]))
        else:
            made = [ToolCallPart(f"call {index}", "shell", {"command": str(index)}) for index in range(calls)]
            history.append(Message(number, "assistant", [TextPart(text), *made]))
            for call in list(reversed(made))[:answered]:
                history.append(result(len(history) + 1, call, "out"))
    return history


@pytest.fixture(scope="module")
def standing_simulator() -> Generator[ThreadedSimulator]:
    with ThreadedSimulator({"steps": [{"text": "Fine."}], "loop": True}) as simulator:
        yield simulator


@pytest.mark.parametrize("wire", FORMATS)
@settings(max_examples=50, deadline=None)
@given(drawn=MESSAGES)
def test_no_history_is_one_that_the_provider_refuses(
    standing_simulator: ThreadedSimulator, wire: str, drawn: list[tuple[str, str, int, int]]
):
    """Whatever the order, whatever is missing."""
    request = ask(wire, *build_history(drawn), thinking=None)

    async def send() -> str:
        async with connect(wire, standing_simulator) as provider:
            return text_of((await answer_to(provider, request)).parts)

    assert asyncio.run(send()) == "Fine."


@pytest.mark.parametrize("wire", FORMATS)
async def test_requests_of_a_long_run_only_ever_grow(wire: str):
    """The beginning of every request is the whole of the one before it, up to the closing brackets."""
    steps = [step(wire, visit) for visit in range(50)]
    async with Simulator([*steps, {"text": "Done."}]) as sim, connect(wire, sim) as provider:
        history = [user("Go.")]
        for _ in range(50):
            await take_step(provider, wire, history)
        history.append(user("And now?", number=len(history) + 1))
        await answer_to(provider, ask(wire, *history))
        bodies = [record.body for record in sim.requests]
    assert len(bodies) == 51
    for before, after in itertools.pairwise(bodies):
        assert before.endswith("]}")
        assert after.startswith(before.removesuffix("]}"))


@pytest.mark.parametrize("wire", FORMATS)
async def test_what_was_encoded_before_is_encoded_the_same_by_a_new_process(wire: str):
    """After a restart nothing is remembered, and the prompt cache still hits."""
    async with Simulator([step(wire, 0), {"text": "Done."}]) as sim:
        async with connect(wire, sim) as provider:
            history = [user("Go.")]
            await take_step(provider, wire, history)
            await answer_to(provider, ask(wire, *history))
        async with connect(wire, sim) as restarted:
            await answer_to(restarted, ask(wire, *history))
        assert sim.requests[-1].body == sim.requests[-2].body


@pytest.mark.parametrize("wire", FORMATS)
async def test_a_history_that_was_collected_is_encoded_anew(wire: str):
    async with Simulator({"steps": [{"text": "Fine."}], "loop": True}) as sim, connect(wire, sim) as provider:
        history = [user("old"), Message(2, "assistant", [TextPart("older")]), user("now", number=3)]
        await answer_to(provider, ask(wire, *history))
        shorter = [user("summary"), *history[1:]]
        await answer_to(provider, ask(wire, *shorter))
        assert '"old"' not in sim.requests[1].body
        assert "summary" in sim.requests[1].body


async def test_anthropic_marks_what_may_be_cached():
    async with Simulator([{"text": "x"}]) as sim, connect("anthropic", sim) as provider:
        await answer_to(provider, ask("anthropic"))
        body = sim.requests[0].json()
    assert body["system"][-1]["cache_control"] == {"type": "ephemeral"}
    assert body["cache_control"] == {"type": "ephemeral"}


async def test_responses_stores_nothing_and_asks_for_encrypted_reasoning():
    async with Simulator([step("responses", 0), {"text": "x"}]) as sim, connect("responses", sim) as provider:
        history = [user("hi")]
        await take_step(provider, "responses", history)
        await answer_to(provider, ask("responses", *history))
        first, second = (record.json() for record in sim.requests)
    assert first["store"] is False
    assert first["include"] == ["reasoning.encrypted_content"]
    assert first["prompt_cache_key"] == "test"
    (reasoning,) = [item for item in second["input"] if item.get("type") == "reasoning"]
    assert reasoning["encrypted_content"]
    assert reasoning["summary"] == [{"type": "summary_text", "text": step("responses", 0)["thinking"]}]
