"""How fast models answer and how often they fail is told with what they cost."""

from pathlib import Path

import pytest

from openagent.protocol.usage import UsageAsk, UsageFailures

from .doing import ask, turn
from .house import house, new_session

pytestmark = pytest.mark.anyio


async def test_answers_are_timed_and_failures_counted(tmp_path: Path) -> None:
    script = [
        {"text": "quick", "latency_ms": 30},
        {"fault": "bad_request"},
    ]
    async with house(tmp_path, script) as h, await h.client() as client:
        attachment = await client.attach(await new_session(h, client))
        completed, _ = await turn(client, attachment)
        assert completed.reason == "done"
        failed, _ = await turn(client, attachment)
        assert failed.error is not None
        report = await ask(client, UsageAsk, by="model")
        assert 30 <= report.total.latency_ms <= report.total.slow_latency_ms < 20_000
        assert report.rows[0].latency_ms == report.total.latency_ms
        (row,) = (await ask(client, UsageFailures)).rows
        assert (row.code, row.failed) == (failed.error.code, 1)
        assert (await ask(client, UsageFailures, until=1.0)).rows == []
