"""Every answer names its request, and the log knows it by that name."""

import logging
from pathlib import Path

import pytest

from openagent.daemon.connection import trace_id
from openagent.gateway.request_guard import TRACE
from openagent.gateway.rest.app import OPENAPI

from ..interaction.house import house
from .calling import events, rest

pytestmark = pytest.mark.anyio


class Kept(logging.Handler):
    """What was logged, and for which request."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[tuple[str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append((trace_id.get(), record.getMessage()))


async def test_every_answer_has_a_trace_id_of_its_own_and_an_error_says_it_too(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}], web=True) as h, rest(h) as owner, rest(h, "") as stranger:
        agent = await owner.agent()
        answers = [
            await owner("GET", "/api/agents"),
            await owner("GET", OPENAPI),
            await owner("GET", "/"),
            await owner("POST", f"/api/agents/{agent}/cancel", {}),
            await owner("GET", "/api/agents/none"),
            await owner("GET", "/api/agents", query={"limit": 0}),
            await owner("PUT", "/api/agents"),
            await owner("GET", "/api/nothing"),
            await stranger("GET", "/api/agents"),
            await owner("GET", "/api/agents", Origin="https://elsewhere.example"),
        ]
        traces = [answer.headers[TRACE] for answer in answers]
        assert len(set(traces)) == len(answers)
        refused = [answer for answer in answers if answer.status_code >= 400]
        assert len(refused) == 6
        assert [answer.json()["trace"] for answer in refused] == [answer.headers[TRACE] for answer in refused]


async def test_who_brings_a_trace_along_finds_all_of_it_there(tmp_path: Path) -> None:
    given = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    async with (
        house(tmp_path, [{"text": "hi"}], provider="traced = true", web=True) as h,
        rest(h, traceparent=given) as owner,
    ):
        place = f"/api/agents/{await owner.agent()}/message"
        async with owner.client.stream(
            "POST", place, json={"text": "hi"}, headers={"Accept": "text/event-stream"}
        ) as response:
            started = [data["op_id"] async for kind, data in events(response) if kind == "turn.started"]
        refused = await owner("GET", "/api/agents/none")
        assert response.headers[TRACE] == refused.headers[TRACE] == refused.json()["trace"] == given[3:35]
        assert started[0].startswith(given)
        (asked,) = [dict(each.headers) for each in h.sim.requests if each.method == "POST"]
        assert asked["traceparent"].startswith(given[:36])
        other = await owner("GET", "/api/agents", traceparent="00-" + "0" * 32 + "-" + "1" * 16 + "-01")
        assert len(other.headers[TRACE]) == 32
        assert other.headers[TRACE].strip("0")


async def test_the_log_tells_of_a_refusal_under_its_trace_id(tmp_path: Path) -> None:
    kept = Kept()
    logger = logging.getLogger("openagent.gateway.rest.app")
    before = logger.level
    logger.addHandler(kept)
    logger.setLevel(logging.INFO)
    try:
        async with house(tmp_path, [{"text": "hi"}], web=True) as h, rest(h) as owner:
            answer = await owner("GET", "/api/agents/none")
    finally:
        logger.removeHandler(kept)
        logger.setLevel(before)
    assert (answer.headers[TRACE], "HTTP request refused") in kept.lines


async def test_the_events_of_a_turn_carry_the_trace_id_of_the_request_that_began_it(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}], web=True) as h, rest(h) as owner:
        place = f"/api/agents/{await owner.agent()}/message"
        async with owner.client.stream(
            "POST", place, json={"text": "hi"}, headers={"Accept": "text/event-stream"}
        ) as response:
            started = [data async for kind, data in events(response) if kind == "turn.started"]
        assert [each["op_id"] for each in started] == [response.headers[TRACE]]
