"""A scripted model that knows only what it is shown."""

from collections.abc import Sequence
from typing import Any

import pytest

from devtools.simulator import Simulator
from openagent.protocol.messages import Message, TextPart, ToolCallPart

from ..providers.harness import answer_to, ask, calls_of, connect, result, said, text_of, user

pytestmark = pytest.mark.anyio

FACT = {"asked": "port of the harbour", "shown": "harbour listens on 4711", "answer": "4711"}


def script(**changes: Any) -> dict[str, Any]:
    return {"knowledge": {"facts": [FACT], **changes}}


async def answered(knowing: dict[str, Any], messages: Sequence[Message]) -> tuple[str, list[ToolCallPart]]:
    async with Simulator(knowing) as sim, connect("chat", sim) as provider:
        answer = await answer_to(provider, ask("chat", *messages))
        return text_of(answer.parts), calls_of(answer.parts)


async def test_it_answers_from_what_is_shown_and_from_nothing_else() -> None:
    question = user("What is the port of the harbour?", number=3)
    shown = [user("The harbour listens on 4711."), Message(2, "assistant", [TextPart("Noted.")]), question]
    assert await answered(script(), shown) == ("4711", [])
    assert await answered(script(looks_up=False), [question]) == ("I do not know.", [])


async def test_what_is_not_shown_is_looked_up_once() -> None:
    async with Simulator(script()) as sim, connect("chat", sim) as provider:
        for found, answer in (("message 1: The harbour listens on 4711.", "4711"), ("Nothing.", "I do not know.")):
            history = [user("What is the port of the harbour?")]
            first = await answer_to(provider, ask("chat", *history, session=found))
            (call,) = calls_of(first.parts)
            assert (call.name, call.arguments) == ("recall", {"query": "port of the harbour"})
            history += [said(2, first), result(3, call, found)]
            assert text_of((await answer_to(provider, ask("chat", *history, session=found))).parts) == answer


async def test_it_runs_what_stands_between_backticks_and_summarises_by_words() -> None:
    _, calls = await answered(script(), [user("Run `make all` please.")])
    assert [call.arguments for call in calls] == [{"command": "make all"}]
    told = user("We decided on Rust. The weather is fine. It was decided to ship.")
    wanted = user("Now: your summary will stand in its place.", number=2)
    text, _ = await answered(script(keeps=["decided"]), [told, wanted])
    assert text == "Decisions:\nWe decided on Rust.\nIt was decided to ship."
