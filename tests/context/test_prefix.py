"""Every request of a session begins with the bytes of the one before, on every wire format."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from devtools.simulator import Simulator
from openagent.protocol.context import ContextCollect

from ..models.place import place, provider, session, turn

pytestmark = pytest.mark.anyio

STEPS = 50
KINDS = {
    "anthropic": ("anthropic", "claude-sonnet-4-5"),
    "chat": ("compatible", "gpt-4.1"),
    "responses": ("openai", "gpt-5"),
    "gemini": ("gemini", "gemini-3-pro-preview"),
}


def calls(number: int) -> dict[str, Any]:
    """Two at once, one of them failing, and now and then some thinking."""
    tools = [
        {"name": "shell", "arguments": {"command": f"echo {number}"}},
        {"name": "read_file", "arguments": {"path": f"missing-{number}.txt"}},
    ]
    return {"text": f"Step {number}.", "tool_calls": tools, **({"thinking": "Hm."} if number % 7 == 0 else {})}


@pytest.mark.parametrize("wire", KINDS)
async def test_fifty_steps_change_nothing_that_was_sent(tmp_path: Path, wire: str) -> None:
    kind, model = KINDS[wire]
    script = [*map(calls, range(STEPS)), {"text": "Done."}, {"text": "Summary."}, {"text": "On."}, {"text": "On."}]
    async with Simulator(script) as sim:
        config = provider("p", kind, sim, 'api_key = "k"')
        async with place(tmp_path, sim, config) as house, await house.client() as client:
            name = await session(house, client, f"p/{model}")
            (house.workspace / "AGENTS.md").write_text("Be brief.")
            ended, _ = await turn(client, name)
            assert ended.steps == STEPS + 1, ended.error
            bodies = [request.body for request in sim.requests]
            assert_append_only(bodies)
            op = ContextCollect(id=client.next_id(), session=name, collector="truncate")
            assert (await client.request(op)).done
            for _ in range(2):
                await turn(client, name)
            after = [request.body for request in sim.requests][len(bodies) :]
            assert len(after[0]) < len(bodies[-1])
            assert_append_only(after)


def assert_append_only(bodies: list[str]) -> None:
    for number, (before, after) in enumerate(itertools.pairwise(bodies)):
        kept = before.rstrip("]}")
        same = next(
            (place for place, pair in enumerate(zip(kept, after, strict=False)) if pair[0] != pair[1]), len(kept)
        )
        assert after.startswith(kept), f"request {number + 1} changed at {same}: {kept[same - 40 : same + 40]!r}"
