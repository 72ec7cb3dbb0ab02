import json
import stat
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openagent.plugins.ledger import Activity
from openagent.protocol.usage import Usage
from openagent.telemetry.journal import Journal
from openagent.telemetry.reports import GroupBy, usage_report
from openagent.telemetry.tokens import TokenTracker, TokenUsage

NOON = datetime(2026, 3, 10, 12).timestamp()


def a_record(
    session: str = "a",
    model: str = "x/m",
    activity: Activity = "conversation",
    cost: float | None = 0.1,
    at: float = NOON,
) -> TokenUsage:
    return TokenUsage(session, model, Usage(100, 10, cached_tokens=50), activity, cost, at)


@given(usages=st.lists(st.builds(Usage, st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))))
def test_tracked_tokens_equal_reported_tokens(usages: list[Usage]) -> None:
    heard: list[TokenUsage] = []
    tracker = TokenTracker("s", budget=1_000_000)
    tracker.subscribe(heard.append)
    for usage in usages:
        tracker.record(TokenUsage("s", "x/m", usage))
    stats = tracker.get_session_stats()
    assert stats.tokens == sum(usages, start=Usage())
    assert stats.total_tokens == sum(record.total for record in heard)
    assert stats.request_count == stats.unpriced_count == len(usages)
    assert tracker.get_budget_remaining() == max(0, 1_000_000 - stats.total_tokens)
    assert 0 <= (tracker.get_budget_percentage() or 0) <= 100


def test_without_a_budget_there_is_no_remainder() -> None:
    tracker = TokenTracker("s")
    assert tracker.get_budget_remaining() is None
    assert tracker.get_budget_percentage() is None


def test_the_journal_has_one_whole_line_per_request(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "ledger.jsonl"
    journal = Journal(path)
    journal.append(a_record())
    path.rename(tmp_path / "rotated.jsonl")
    journal.append(a_record(cost=None, activity="summarizing"))
    (line,) = (json.loads(line) for line in path.read_text().splitlines())
    assert line == {
        "at": NOON,
        "session": "a",
        "model": "x/m",
        "activity": "summarizing",
        "usage": {
            "input_tokens": 100,
            "output_tokens": 10,
            "cached_tokens": 50,
            "cache_write_tokens": 0,
            "reasoning_tokens": 0,
            "estimated": False,
        },
        "cost_usd": None,
    }
    assert len((tmp_path / "rotated.jsonl").read_text().splitlines()) == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_journal_that_cannot_be_written_is_told_once_and_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "ledger.jsonl").mkdir()
    journal = Journal(tmp_path / "ledger.jsonl")
    journal.append(a_record())
    journal.append(a_record())
    assert caplog.text.count("cannot be written") == 1


RECORDS = [
    a_record("a", "x/small", "conversation", 0.1),
    a_record("a", "x/large", "tool_use", 0.5),
    a_record("b", "x/large", "conversation", None, NOON - 86_400),
    a_record("b", "x/small", "subagent", 0.1, NOON - 86_400),
]


@pytest.mark.parametrize(
    ("by", "keys"),
    [
        ("model", ["x/large", "x/small"]),
        ("session", ["a", "b"]),
        ("day", ["2026-03-09", "2026-03-10"]),
        ("activity", ["tool_use", "conversation", "subagent"]),
    ],
)
def test_a_report_groups_and_sums(by: GroupBy, keys: list[str]) -> None:
    report = usage_report(RECORDS, by)
    assert [row.key for row in report.rows] == keys
    assert sum(row.requests for row in report.rows) == report.total.requests == 4
    assert report.total.cost_usd == pytest.approx(0.7)
    assert report.total.unpriced == sum(row.unpriced for row in report.rows) == 1
    assert report.total.usage == Usage(400, 40, cached_tokens=200)
    assert report.total.cached_percent == 50.0


def test_a_report_on_nothing_is_empty() -> None:
    report = usage_report([], "day")
    assert report.rows == []
    assert report.total.requests == 0
