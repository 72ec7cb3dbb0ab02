"""Histories of any shape that a session can have, and views over them."""

from collections.abc import Sequence

from hypothesis import strategies as st

from openagent.core.view import View
from openagent.plugins.store import CollectionRecord
from openagent.protocol.messages import ImagePart, Message, Part, TextPart, ThinkingPart, ToolCallPart, ToolResultPart

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SYSTEM = {"system": "You are a test."}

_sizes = st.sampled_from([0, 3, 40, 900, 4_000])


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    messages: list[Message] = []

    def add(role: str, parts: list[Part], turn: int) -> None:
        messages.append(Message(len(messages) + 1, role, parts, turn=turn))  # pyright: ignore[reportArgumentType]

    calls = 0
    for turn in range(1, draw(st.integers(1, 9)) + 1):
        asked: list[Part] = [TextPart(f"Turn {turn}: do it. " + "u" * draw(_sizes))]
        if draw(st.integers(0, 7)) == 0:
            asked.append(ImagePart("image/png", PIXEL))
        add("user", asked, turn)
        for _ in range(draw(st.integers(0, 4))):
            wanted = [
                ToolCallPart(f"call_{calls + place}", "shell", {"command": "c" * draw(_sizes)})
                for place in range(draw(st.integers(1, 3)))
            ]
            calls += len(wanted)
            thought: list[Part] = [ThinkingPart("Hm.")] if draw(st.booleans()) else []
            add("assistant", [*thought, TextPart("Step."), *wanted], turn)
            for call in draw(st.permutations(wanted)):
                add("tool", [ToolResultPart(call.id, call.name, f"out of {call.id} " + "r" * draw(_sizes))], turn)
        if draw(st.integers(0, 5)):
            add("assistant", [TextPart(f"Done with {turn}. " + "a" * draw(_sizes))], turn)
    return messages


def view_of(messages: Sequence[Message], log: Sequence[CollectionRecord]) -> View:
    return View(SYSTEM, messages, log)
