"""`python -m benchmarks`: measure, show a table, keep the results."""

import argparse
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks import (
    adapters,
    checkpoints,
    code_index,
    commands,
    crowd,
    decisions,
    fanout,
    jails,
    long_session,
    memory,
    monitoring,
    report,
    requests,
    soak,
    storage,
    translation,
    tui,
)
from benchmarks.effort import FULL, QUICK, Effort
from benchmarks.machine import look
from benchmarks.rows import Row

TOPICS: Mapping[str, Callable[[Effort], list[Row]]] = {
    "answer": commands.one_answer,
    "steps": commands.fifty_calls,
    "cold": commands.cold_start,
    "fanout": fanout.fan_out,
    "crowd": crowd.crowd,
    "memory": memory.memory,
    "metrics": monitoring.monitoring,
    "soak": soak.soak,
    "long-session": long_session.long_session,
    "jail": jails.jails,
    "policy": decisions.decisions,
    "checkpoint": checkpoints.checkpoints,
    "prompt": requests.fixed_part,
    "prefix": requests.reused_prefix,
    "storage": storage.storage,
    "imports": adapters.imports,
    "chunks": adapters.chunks,
    "dialects": translation.translation,
    "index": code_index.code_index,
    "tui": tui.terminal,
}
RESULTS = Path(__file__).parent / "results"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=TOPICS, help=f"of {', '.join(TOPICS)}")
    parser.add_argument("--quick", action="store_true", help="few repetitions: shows that it works, not how fast")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR", help="where to keep the results")
    given = parser.parse_args(arguments)
    machine = look()
    if machine.noisy:
        _say(f"warning: {machine.warning}")
    topics: list[str] = given.only or list(TOPICS)
    rows: list[Row] = []
    failed: list[str] = []
    for number, topic in enumerate(topics, 1):
        began = time.perf_counter()
        try:
            rows += TOPICS[topic](QUICK if given.quick else FULL)
        except Exception:  # the supervisor: one topic's failure does not cost the others' results
            traceback.print_exc()
            failed.append(topic)
        _say(f"[{number}/{len(topics)}] {topic}: {time.perf_counter() - began:.1f} s")
    print(report.table(rows))
    file = report.write(report.Report(machine, given.quick, topics, rows), given.results)
    missed = sum(row.ok is False for row in rows)
    print(f"\n{missed or 'No'} bound{'s' * (missed != 1)} missed. Kept in {file}.")
    if failed:
        _say(f"Not measured, because something went wrong: {', '.join(failed)}.")
    return 1 if failed else 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
