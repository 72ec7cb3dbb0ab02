"""That the benchmarks run and say what they found; what they find is nobody's business here."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from benchmarks.report import Report
from benchmarks.requests import share_reused

ROOT = Path(__file__).parents[2]


def bench(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)


def test_a_quick_run_of_two_topics_shows_a_table_and_keeps_the_results(tmp_path: Path) -> None:
    done = bench("--quick", "--only", "prompt", "jail", "--results", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "[2/2] jail" in done.stderr
    (file,) = tmp_path.glob("*.json")
    kept = msgspec.json.decode(file.read_bytes(), type=Report)
    assert kept.quick
    assert kept.topics == ["prompt", "jail"]
    assert kept.machine.cpus > 0
    assert file.stem == f"{kept.machine.at[:10]}-{kept.machine.commit}"
    for row in kept.rows:
        assert row.name in done.stdout
        assert row.name in (tmp_path / "latest.md").read_text()
        assert (row.ok is None) == (row.bound is None)
    fixed = next(row for row in kept.rows if row.unit == "tokens")
    assert 0 < fixed.value < 100_000


def test_a_topic_that_does_not_exist_is_refused_with_those_that_do() -> None:
    done = bench("--only", "weather")
    assert done.returncode == 2
    assert "long-session" in done.stderr


@pytest.mark.parametrize(("before", "after", "share"), [("ab]}", "abc]}", 1.0), ("ab]}", "aXc]}", 0.5)])
def test_a_prefix_counts_as_reused_up_to_its_first_changed_byte(before: str, after: str, share: float) -> None:
    assert share_reused(before, after) == share
