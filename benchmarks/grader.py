"""`python -m benchmarks.grader FOLDER`: is the grader of `openagent eval` right?

FOLDER holds instances.jsonl, trees/, predictions.jsonl and verdicts.json, the official harness's word on those
predictions. Gold patches must resolve, empty ones must not, and the recorded ones get their verdict. Environments are
built from the package index, so this is no test; what it found is in docs/evaluations.md.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--needs", type=Path, help="what instances need, in place of what OpenAgent knows")
    parser.add_argument("--environments", type=Path, help="where they are kept (default: with OpenAgent's data)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", action="append", default=[], metavar="ID")
    given = parser.parse_args()
    official: dict[str, bool] = json.loads((given.folder / "verdicts.json").read_text())
    wanted = given.only or list(official)
    wrong = 0
    print("| instance | gold | empty | recorded | official | tests, s |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="openagent-grader-") as scratch:
        runs = {
            source: _graded(given, Path(scratch) / str(number), source)
            for number, source in enumerate(("gold", "empty", str(given.folder / "predictions.jsonl")))
        }
    gold, empty, recorded = runs.values()
    for name in wanted:
        found = [each.get(name, {"status": "missing"}) for each in (gold, empty, recorded)]
        right = [each["status"] == "resolved" for each in found] == [True, False, official[name]]
        wrong += not right
        words = [each["status"] + (f" ({each['why']})" if each.get("why") else "") for each in found]
        seconds = found[0].get("seconds", 0)
        print(f"| {name} | {' | '.join(words)} | {'resolved' if official[name] else 'unresolved'} | {seconds:.1f} |")
    print(f"\n{len(wanted) - wrong} of {len(wanted)} as they must be.")
    return 1 if wrong else 0


def _graded(given: argparse.Namespace, out: Path, source: str) -> dict[str, dict[str, Any]]:
    words = [str(given.folder / "instances.jsonl"), "--repos", str(given.folder / "trees"), "--jobs", str(given.jobs)]
    words += [f"--only={name}" for name in given.only]
    words += ["--needs", str(given.needs)] if given.needs else []
    words += ["--environments", str(given.environments)] if given.environments else []
    command = [sys.executable, "-m", "openagent", "eval", "grade", *words, "--predictions", source, "--out", str(out)]
    subprocess.run(command, check=True, stdout=sys.stderr)
    rows = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    return {row["instance_id"]: row for row in rows}


if __name__ == "__main__":
    sys.exit(main())
