"""Counters and histograms, kept in memory. Whoever is asked writes them out in the format that is wanted."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Literal, NamedTuple

Labels = tuple[str, ...]
MOST_SERIES = 200
"""Label sets of one instrument. What is new beyond them is counted as `other`: models and tools have names that anybody
may choose, and a time series each would fill the memory of whoever collects them."""
OTHER = "other"

LATENCY = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
"""Seconds: from a tool that reads a file to a turn that runs a test suite."""


class Observed:
    """What a histogram saw under one label set."""

    __slots__ = ("counts", "sum")

    def __init__(self, buckets: int) -> None:
        self.counts = [0] * (buckets + 1)
        self.sum = 0.0

    def as_now(self) -> "Observed":
        """What is written in a thread must not change meanwhile: buckets and count are to agree."""
        copy = Observed(0)
        copy.counts, copy.sum = self.counts.copy(), self.sum
        return copy


class Family(NamedTuple):
    """All that is known under one name, at one moment."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    about: str
    labels: Labels
    rows: Sequence[tuple[Labels, float | Observed]]
    bounds: Sequence[float] = ()
    """Of a histogram's buckets."""


class Counter:
    def __init__(self, name: str, about: str, *labels: str) -> None:
        """`name` is without the `_total` that counters end in."""
        self.name, self.about, self.labels = name, about, labels
        self.values: dict[Labels, float] = {} if labels else {(): 0.0}

    def add(self, *labels: str, by: float = 1.0) -> None:
        values = self.values
        if labels not in values and len(values) >= MOST_SERIES:
            labels = (OTHER,) * len(labels)
        values[labels] = values.get(labels, 0.0) + by

    def family(self) -> Family:
        return Family(self.name, "counter", self.about, self.labels, list(self.values.items()))


class Histogram:
    def __init__(self, name: str, about: str, *labels: str, bounds: Sequence[float] = LATENCY) -> None:
        self.name, self.about, self.labels, self.bounds = name, about, labels, bounds
        self.values: dict[Labels, Observed] = {} if labels else {(): Observed(len(bounds))}

    def observe(self, value: float, *labels: str) -> None:
        observed = self.values.get(labels)
        if observed is None:
            if len(self.values) >= MOST_SERIES:
                labels = (OTHER,) * len(labels)
            observed = self.values.setdefault(labels, Observed(len(self.bounds)))
        observed.counts[bisect_left(self.bounds, value)] += 1
        observed.sum += value

    def family(self) -> Family:
        rows = [(labels, observed.as_now()) for labels, observed in self.values.items()]
        return Family(self.name, "histogram", self.about, self.labels, rows, self.bounds)
