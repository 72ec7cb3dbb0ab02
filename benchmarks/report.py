"""Results for people and for programs."""

import math
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks.machine import Machine
from benchmarks.rows import Row

_HEADINGS = ("what", "measured", "best", "bound", "")


class Report(msgspec.Struct, frozen=True):
    machine: Machine
    quick: bool
    topics: Sequence[str]
    rows: Sequence[Row]


def table(rows: Sequence[Row]) -> str:
    cells = [_HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(_HEADINGS))]
    lines = [
        f"{line[0]:<{widths[0]}}  {line[1]:>{widths[1]}}  {line[2]:>{widths[2]}}  {line[3]:>{widths[3]}}  {line[4]}"
        for line in cells
    ]
    return "\n".join([lines[0], "─" * len(lines[0]), *lines[1:]])


def markdown(report: Report) -> str:
    machine = report.machine
    head = (
        f"Commit {machine.commit}, {machine.at}, {machine.cpus} CPUs, load {machine.load:.1f}, "
        f"Python {machine.python}, Linux {machine.kernel}{', few repetitions' if report.quick else ''}."
    )
    lines = [" | ".join(["", *_cells(row), row.note, ""]).strip() for row in report.rows]
    titles = "| what | measured | best | bound | | note |\n|---|--:|--:|--:|---|---|"
    warning = [f"**{machine.warning}**"] if machine.noisy else []
    return "\n\n".join(["# Benchmarks", head, *warning, "\n".join([titles, *lines])]) + "\n"


def write(report: Report, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{report.machine.at[:10]}-{report.machine.commit}.json"
    file.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n")
    (folder / "latest.md").write_text(markdown(report))
    return file


def _cells(row: Row) -> tuple[str, str, str, str, str]:
    mark = "" if row.ok is None else "✓" if row.ok else "✗"
    bound = "" if row.bound is None else f"{'≥' if row.at_least else '≤'} {_number(row.bound)} {row.unit}".rstrip()
    best = "" if row.best is None else _number(row.best)
    return row.name, f"{_number(row.value)} {row.unit}".rstrip(), best, bound, mark


def _number(value: float) -> str:
    if math.isnan(value):
        return "–"
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{1 if abs(value) >= 100 else 2}f}"
