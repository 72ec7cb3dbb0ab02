import json
import random
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openagent.plugins.provider import ModelRequest, ToolSchema
from openagent.protocol.messages import ImagePart, Message, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from openagent.protocol.usage import Usage
from openagent.telemetry.counting import best_count, counted_usage, estimate_tokens, exact_tokens, prompt_ceiling

pytestmark = pytest.mark.anyio

text = st.text(st.characters(codec="utf-8"), max_size=300)
numbers = random.Random(1)
PROSE = "The quick brown fox jumps over the lazy dog, and nobody in the village seemed to mind it very much. " * 20
CODE = "    def total(self) -> int:\n        return self.input_tokens + self.output_tokens\n\n" * 20
RECORDS = json.dumps([{"id": numbers.randrange(10**6), "name": "abc", "ok": True} for _ in range(100)])


def request_of(*messages: Message, system: str = "", model: str = "gpt-5") -> ModelRequest:
    return ModelRequest(model=model, system=system, messages=messages)


@settings(max_examples=200, deadline=None)
@given(said=text, system=text, result=text)
def test_the_ceiling_is_never_below_the_real_count(said: str, system: str, result: str) -> None:
    messages = [
        Message(number=1, role="user", parts=[TextPart(said)]),
        Message(number=2, role="assistant", parts=[ToolCallPart(id="c", name="read", arguments={"path": said})]),
        Message(number=3, role="tool", parts=[ToolResultPart(call_id="c", name="read", text=result)]),
    ]
    tools = [ToolSchema("read", system, {"type": "object"})]
    request = ModelRequest(model="gpt-5", system=system, messages=messages, tools=tools)
    real = sum(
        exact_tokens(piece)
        for piece in (system, system, said, "read", json.dumps({"path": said}, ensure_ascii=False), result)
    )
    assert prompt_ceiling(request, "openai/gpt-5") >= real


def test_the_ceiling_holds_for_scripts_with_several_tokens_a_letter() -> None:
    cuneiform = "".join(chr(0x12000 + number % 900) for number in range(5000))
    assert exact_tokens(cuneiform) > 2 * len(cuneiform)
    request = request_of(Message(number=1, role="user", parts=[TextPart(cuneiform)]))
    assert prompt_ceiling(request, "openai/gpt-5") >= exact_tokens(cuneiform)


@pytest.mark.parametrize("sample", [PROSE, CODE, RECORDS], ids=["prose", "code", "json"])
def test_the_estimate_is_close_to_the_real_count(sample: str) -> None:
    assert estimate_tokens(sample) == pytest.approx(exact_tokens(sample), rel=0.25)


def test_nothing_has_no_tokens_and_anything_has_some() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens("a") == 1
    assert estimate_tokens("\ud800") >= 1
    assert exact_tokens("\ud800") >= 1


def test_an_answer_that_told_its_count_makes_the_ceiling_tight() -> None:
    asked = Message(number=1, role="user", parts=[TextPart(PROSE * 10)])
    answered = Message(
        number=2, role="assistant", parts=[TextPart("Indeed.")], model="openai/gpt-5", usage=Usage(5000, 100)
    )
    more = Message(number=3, role="user", parts=[TextPart("y" * 1000)])
    without = prompt_ceiling(request_of(asked, more), "openai/gpt-5")
    same_model = prompt_ceiling(request_of(asked, answered, more), "openai/gpt-5")
    other_model = prompt_ceiling(request_of(asked, answered, more), "anthropic/claude")
    assert without > 20_000
    assert 6100 <= same_model < 6500
    assert same_model < other_model < 12_000


def test_a_collected_conversation_is_not_held_to_its_old_size() -> None:
    answered = Message(
        number=2, role="assistant", parts=[TextPart("Indeed.")], model="openai/gpt-5", usage=Usage(150_000, 100)
    )
    assert prompt_ceiling(request_of(answered, system="short"), "openai/gpt-5") < 100


def test_an_image_does_not_count_by_its_bytes() -> None:
    image = Message(number=1, role="user", parts=[ImagePart(media_type="image/png", data="A" * 4_000_000)])
    assert 1000 < prompt_ceiling(request_of(image), "openai/gpt-5") < 10_000
    assert prompt_ceiling(request_of(image, model="gpt-4o-mini"), "openai/gpt-4o-mini") > 48_000


async def test_usage_is_counted_locally_when_a_provider_reports_none() -> None:
    request = request_of(Message(number=1, role="user", parts=[TextPart(PROSE)]), system=CODE)
    usage = counted_usage(request, [ThinkingPart(text="hmm, well"), TextPart("Yes, I think so.")], exact_tokens)
    assert usage.estimated
    assert usage.input_tokens == pytest.approx(exact_tokens(PROSE) + exact_tokens(CODE), rel=0.02)
    assert usage.output_tokens > usage.reasoning_tokens > 0


def test_without_the_tokenizer_a_count_is_estimated_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    request = request_of(Message(number=1, role="user", parts=[TextPart(PROSE)]), system=CODE)
    exact = counted_usage(request, [TextPart(PROSE)], best_count())
    monkeypatch.setitem(sys.modules, "bpe_openai", None)
    usage = counted_usage(request, [TextPart(PROSE)], best_count())
    assert usage.estimated
    assert usage.input_tokens == pytest.approx(exact.input_tokens, rel=0.25)
    assert usage.output_tokens == estimate_tokens(PROSE)
