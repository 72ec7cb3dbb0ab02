"""`openagent run` as a person meets it: on a warm daemon, with fifty shell calls, and with no daemon at all."""

import itertools
import statistics
import subprocess
import sys
import time

from benchmarks.effort import Effort
from benchmarks.model import Model, usual_script
from benchmarks.processes import cpu_seconds
from benchmarks.rows import Row, median_row, milliseconds, percentile, row
from benchmarks.stage import Stage, stage_with


def one_answer(effort: Effort) -> list[Row]:
    with stage_with(usual_script()) as (stage, _):
        stage.start()
        walls = [stage.run("T1") for _ in range(effort.answers)]
    bare = [_bare_interpreter() for _ in range(effort.answers)]
    return [
        median_row("run, warm, one answer (T1)", milliseconds(walls), "ms", at_most=45),
        median_row("python -c pass, for comparison", milliseconds(bare), "ms"),
    ]


def _bare_interpreter() -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - began


def fifty_calls(effort: Effort) -> list[Row]:
    walls: list[float] = []
    gaps: list[float] = []
    with stage_with(usual_script()) as (stage, model):
        pid = stage.start()
        before = cpu_seconds(pid)
        for _ in range(effort.long_runs):
            model.forget()
            walls.append(stage.run("T3"))
            gaps += step_gaps(model)
        used = cpu_seconds(pid) - before
    gaps = milliseconds(gaps)
    return [
        median_row("run, warm, fifty shell calls (T3)", milliseconds(walls), "ms", at_most=250),
        row("harness time per step, median", statistics.median(gaps), "ms", at_most=2.5, best=min(gaps)),
        row("harness time per step, p95", percentile(gaps, 0.95), "ms", at_most=6),
        row("daemon's CPU time per step", 1000 * used / len(gaps), "ms", note="all its threads"),
    ]


def step_gaps(model: Model) -> list[float]:
    """From an answer's last byte to the next request's first, the shell call in between included."""
    gaps: list[float] = []
    for answered, following in itertools.pairwise(model.requests()):
        assert answered.finished_at is not None
        gaps.append(following.arrived_at - answered.finished_at)
    return gaps


def cold_start(effort: Effort) -> list[Row]:
    first: list[float] = []
    later: list[float] = []
    for _ in range(effort.cold_starts):
        with stage_with(usual_script()) as (stage, _):
            first.append(stage.run("T1"))
            later.append(_again(stage))
    return [
        median_row("run, no daemon", milliseconds(later), "ms", at_most=450),
        median_row("run, no daemon, empty home", milliseconds(first), "ms", at_most=450, note="makes the database"),
    ]


def _again(stage: Stage) -> float:
    stage.stop()
    return stage.run("T1")
