"""How sure figures are: intervals for a share, and for the difference between two runs on the same instances."""

import math
import random
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

Interval = tuple[float, float]
_Z = 1.959963984540054
"""95 %."""
_SAMPLES = 4000
_SEED = 20240229


def wilson(successes: int, count: int) -> Interval:
    """Of a share; it holds for few instances too, and at 0 and 1."""
    if not count:
        return 0.0, 1.0
    share, z2 = successes / count, _Z * _Z
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = _Z * math.sqrt(share * (1 - share) / count + z2 / (4 * count * count)) / (1 + z2 / count)
    return max(0.0, middle - half), min(1.0, middle + half)


class Difference(Struct, frozen=True):
    """Second less first, over the instances that both have."""

    first: float
    second: float
    difference: float
    low: float
    high: float


class Compared(Struct, frozen=True):
    instances: int
    only_first: tuple[str, ...]
    """Resolved by one alone."""
    only_second: tuple[str, ...]
    resolved: Difference
    p_value: float
    """How likely a difference as large is when both are equally good: exact, from those that one alone resolved."""
    means: Mapping[str, Difference]
    """Per instance: dollars, tokens, seconds."""


def compare(
    first: Mapping[str, bool],
    second: Mapping[str, bool],
    measures: Mapping[str, tuple[Mapping[str, float], Mapping[str, float]]],
) -> Compared:
    both = sorted(first.keys() & second.keys())
    pairs = [(float(first[name]), float(second[name])) for name in both]
    only_first = tuple(name for name in both if first[name] and not second[name])
    only_second = tuple(name for name in both if second[name] and not first[name])
    means: dict[str, Difference] = {}
    for measure, (of_first, of_second) in measures.items():
        measured = sorted(set(both) & of_first.keys() & of_second.keys())
        if measured:
            means[measure] = difference([(of_first[name], of_second[name]) for name in measured])
    return Compared(
        len(both), only_first, only_second, difference(pairs), mcnemar(len(only_first), len(only_second)), means
    )


def difference(pairs: Sequence[tuple[float, float]]) -> Difference:
    """By resampling pairs: what both did on an instance stays together."""
    if not pairs:
        return Difference(0.0, 0.0, 0.0, 0.0, 0.0)
    deltas = [second - first for first, second in pairs]
    low, high = _bootstrap(deltas, _mean)
    return Difference(_mean([a for a, _ in pairs]), _mean([b for _, b in pairs]), _mean(deltas), low, high)


def mcnemar(only_first: int, only_second: int) -> float:
    count, fewer = only_first + only_second, min(only_first, only_second)
    tail = sum(math.comb(count, each) for each in range(fewer + 1)) / 2**count
    return min(1.0, 2 * tail)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _bootstrap(values: Sequence[float], of: Callable[[Sequence[float]], float]) -> Interval:
    """The same numbers give the same interval."""
    chance = random.Random(_SEED)  # noqa: S311
    drawn = sorted(of(chance.choices(values, k=len(values))) for _ in range(_SAMPLES))
    return drawn[int(0.025 * _SAMPLES)], drawn[int(0.975 * _SAMPLES) - 1]
