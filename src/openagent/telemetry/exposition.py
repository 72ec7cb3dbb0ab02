"""What was counted, as text: in the formats of Prometheus and in InfluxDB's line protocol.

Loads prometheus_client, which brings a web server along: import it only when somebody asks.
"""

import time
from collections.abc import Iterable, Iterator
from typing import cast

from prometheus_client import Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.exposition import generate_latest as as_text
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from openagent.protocol.metrics import MetricsFormat, MetricsText
from openagent.telemetry.instruments import Family, Observed

_PLAIN = "text/plain; charset=utf-8"
_ESCAPED_TAG = str.maketrans({",": r"\,", "=": r"\=", " ": r"\ ", "\n": r"\ ", "\\": r"\\"})


class _Found(Collector):
    def __init__(self, families: Iterable[Family]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        for family in self._families:
            metric = Metric(family.name, family.about, family.kind)
            for labels, value in family.rows:
                named = dict(zip(family.labels, labels, strict=True))
                if not isinstance(value, Observed):
                    metric.add_sample(f"{family.name}{_SUFFIX.get(family.kind, '')}", named, value)
                    continue
                for bound, count in _buckets(family, value):
                    metric.add_sample(f"{family.name}_bucket", {**named, "le": bound}, count)
                metric.add_sample(f"{family.name}_count", named, sum(value.counts))
                metric.add_sample(f"{family.name}_sum", named, value.sum)
            yield metric
        yield from ProcessCollector(registry=None).collect()


_SUFFIX = {"counter": "_total"}


def _buckets(family: Family, observed: Observed) -> Iterator[tuple[str, int]]:
    so_far = 0
    for bound, count in zip((*family.bounds, float("inf")), observed.counts, strict=True):
        so_far += count
        yield ("+Inf" if bound == float("inf") else str(bound)), so_far


def written(families: Iterable[Family], wanted: MetricsFormat) -> MetricsText:
    if wanted == "influx":
        return MetricsText(_PLAIN, "".join(lines(families, time.time_ns())))
    if wanted == "openmetrics":
        told = cast("bytes", openmetrics.generate_latest(_Found(families)))  # pyright: ignore[reportUnknownMemberType]
        return MetricsText(openmetrics.CONTENT_TYPE_LATEST, told.decode())
    return MetricsText(CONTENT_TYPE_PLAIN_0_0_4, as_text(_Found(families)).decode())


def lines(families: Iterable[Family], at_ns: int) -> Iterator[str]:
    """A measurement for each name: labels are its tags; a histogram has its buckets as fields beside sum and count."""
    for family in families:
        for labels, value in family.rows:
            # A tag without a value is not allowed: what is not known is left out.
            tags = "".join(
                f",{name}={text.translate(_ESCAPED_TAG)}"
                for name, text in zip(family.labels, labels, strict=True)
                if text
            )
            if isinstance(value, Observed):
                buckets = "".join(f",le_{bound}={count}i" for bound, count in _buckets(family, value))
                fields = f"count={sum(value.counts)}i,sum={value.sum!r}{buckets}"
            else:
                fields = f"value={float(value)!r}"
            yield f"{family.name}{tags} {fields} {at_ns}\n"
