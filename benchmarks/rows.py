"""One measured number, and how it is made from many."""

import math
import statistics
from collections.abc import Sequence

from msgspec import Struct


class Row(Struct, frozen=True, omit_defaults=True):
    name: str
    value: float
    unit: str
    bound: float | None = None
    """Nothing was promised when there is none."""
    ok: bool | None = None
    at_least: bool = False
    """The bound is a floor, not a ceiling."""
    best: float | None = None
    """The least of all repetitions: what is left when the machine does nothing else."""
    note: str = ""


def row(
    name: str,
    value: float,
    unit: str,
    *,
    at_most: float | None = None,
    at_least: float | None = None,
    best: float | None = None,
    note: str = "",
) -> Row:
    ok: bool | None = None
    if at_most is not None:
        ok = value <= at_most
    elif at_least is not None:
        ok = value >= at_least
    return Row(
        name=name,
        value=value,
        unit=unit,
        bound=at_most if at_most is not None else at_least,
        ok=ok,
        at_least=at_least is not None,
        best=best,
        note=note,
    )


def median_row(name: str, values: Sequence[float], unit: str, *, at_most: float | None = None, note: str = "") -> Row:
    return row(name, statistics.median(values), unit, at_most=at_most, best=min(values), note=note)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of all do not exceed."""
    return sorted(values)[max(1, math.ceil(len(values) * share)) - 1]


def milliseconds(seconds: Sequence[float]) -> list[float]:
    return [1000 * value for value in seconds]
