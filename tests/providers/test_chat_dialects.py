"""Servers that call themselves compatible, and what they make of the format."""

import json
from collections.abc import Sequence

import pytest

from openagent.config.settings import ProviderSettings
from openagent.plugins.provider import Answer, MalformedAnswer
from openagent.protocol.usage import Usage
from openagent.providers.build import build_provider

from .harness import ask, calls_of, canned, items_of, text_of, thinking_of

pytestmark = pytest.mark.anyio

DONE = "[DONE]"
STOP = '{"choices":[{"delta":{},"finish_reason":"stop"}]}'


async def hear(*events: str, content_type: str = "text/event-stream", end: str = "\n\n") -> Answer:
    """The answer made of these events, each a line of data."""
    return await hear_bytes("\n\n".join(f"data: {event}" for event in events) + end, content_type)


async def hear_bytes(body: str, content_type: str) -> Answer:
    async with canned(body, content_type=content_type) as address:
        provider = build_provider("odd", ProviderSettings(kind="compatible", base_url=f"{address}/v1"), {})
        try:
            items = await items_of(provider, ask("chat"))
        finally:
            await provider.close()
    assert isinstance(items[-1], Answer)
    return items[-1]


def calls(answer: Answer) -> Sequence[tuple[str, object]]:
    return [(call.name, call.arguments) for call in calls_of(answer.parts)]


async def test_calls_without_an_index_are_told_apart_by_their_names():
    first = '{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\\"x\\":"}}]}}]}'
    more = '{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"1}"}}]}}]}'
    second = '{"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"g","arguments":"{}"}}]}}]}'
    assert calls(await hear(first, more, second, STOP, DONE)) == [("f", {"x": 1}), ("g", {})]


async def test_calls_with_one_id_for_all_get_ids_of_their_own():
    both = (
        '{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"0","function":{"name":"f","arguments":"{}"}},'
        '{"index":1,"id":"0","function":{"name":"g","arguments":""}}]}}]}'
    )
    answer = await hear(both, STOP, DONE)
    assert calls(answer) == [("f", {}), ("g", {})]
    assert len({call.id for call in calls_of(answer.parts)}) == 2
    assert answer.stop_reason == "tool_calls", "whatever the server called it"


async def test_reasoning_is_found_under_either_name():
    for field in ("reasoning", "reasoning_content"):
        answer = await hear(f'{{"choices":[{{"delta":{{"{field}":"hm"}}}}]}}', STOP, DONE)
        assert thinking_of(answer.parts) == "hm"


async def test_missing_usage_is_marked_as_unknown():
    assert (await hear(STOP, DONE)).usage == Usage(estimated=True)


async def test_nulls_are_nothing():
    nulls = '{"error":null,"usage":null,"choices":[{"delta":{"content":null,"tool_calls":null},"finish_reason":null}]}'
    assert (await hear(nulls, '{"choices":null}', STOP, DONE)).parts == []


async def test_a_stream_may_end_without_its_end_mark_once_the_reason_was_given():
    said = '{"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}'
    assert text_of((await hear(said, end="")).parts) == "Hi"


async def test_a_refusal_is_shown_and_marked():
    answer = await hear('{"choices":[{"delta":{"refusal":"No."}}]}', STOP, DONE)
    assert (text_of(answer.parts), answer.stop_reason) == ("No.", "refusal")


async def test_an_answer_that_comes_whole_is_read_all_the_same():
    call = {"id": "c1", "type": "function", "function": {"name": "shell", "arguments": '{"command": "ls"}'}}
    message = {"role": "assistant", "content": "Look.", "reasoning_content": "Hm.", "tool_calls": [call]}
    body = {
        "object": "chat.completion",
        "model": "m-1",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3},
    }
    answer = await hear_bytes(json.dumps(body, indent=1), "application/json")
    assert (text_of(answer.parts), thinking_of(answer.parts)) == ("Look.", "Hm.")
    assert (answer.stop_reason, answer.model) == ("tool_calls", "m-1")
    assert calls(answer) == [("shell", {"command": "ls"})]
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (7, 3)


@pytest.mark.parametrize(
    ("body", "kind"),
    [("<html>Sign in</html>", "a web page"), ('{"choices": []}', "plain JSON")],
)
async def test_something_else_than_a_stream_is_named(body: str, kind: str):
    with pytest.raises(MalformedAnswer, match=f"answered with {kind} instead of a stream"):
        await hear_bytes(body, "text/plain")
