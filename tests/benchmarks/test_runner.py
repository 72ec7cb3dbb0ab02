"""That the benchmarks run and say what they found; what they find is nobody's business here."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def bench(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)


def test_a_quick_run_of_two_topics_shows_a_table_and_keeps_the_results(tmp_path: Path) -> None:
    done = bench("--quick", "--only", "prompt", "jail", "--results", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "[2/2] jail" in done.stderr
    (file,) = tmp_path.glob("*.json")
    kept = json.loads(file.read_text())
    machine = kept["machine"]
    assert (kept["quick"], kept["topics"]) == (True, ["prompt", "jail"])
    assert machine["cpus"] > 0
    assert machine["load"] >= 0
    assert file.stem == f"{machine['at'][:10]}-{machine['commit']}"
    summary = (tmp_path / "latest.md").read_text()
    for row in kept["rows"]:
        assert {"name", "value", "unit"} <= set(row)
        assert ("bound" in row) == ("ok" in row)
        assert row["name"] in done.stdout
        assert row["name"] in summary
    tokens = next(row for row in kept["rows"] if row["unit"] == "tokens")
    assert tokens["ok"] is (0 < tokens["value"] <= tokens["bound"])


def test_a_topic_that_does_not_exist_is_refused_with_those_that_do() -> None:
    done = bench("--only", "weather")
    assert done.returncode == 2
    assert "long-session" in done.stderr
