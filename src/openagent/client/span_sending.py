"""A client's own part of a trace, on its way to the collector that the environment names. Needs the extra `otel`."""

import time

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from openagent import __version__
from openagent.client.own_trace import OwnTrace

PATIENCE = 2
"""Seconds: nobody waits longer for a collector that is away."""


def send(own: OwnTrace, name: str, code: int) -> None:
    flags, trace = TraceFlags(TraceFlags.SAMPLED), int(own.trace, 16)
    sender = SimpleSpanProcessor(OTLPSpanExporter(timeout=PATIENCE))
    sender.on_end(
        ReadableSpan(
            name,
            SpanContext(trace, int(own.span, 16), False, flags),
            SpanContext(trace, int(own.parent, 16), True, flags) if own.parent else None,
            resource=Resource.create({"service.name": "openagent-cli", "service.version": __version__}),
            attributes={"process.exit.code": code},
            kind=SpanKind.CLIENT,
            status=Status(StatusCode.ERROR if code else StatusCode.UNSET),
            start_time=own.began,
            end_time=time.time_ns(),
            instrumentation_scope=InstrumentationScope("openagent", __version__),
        )
    )
    sender.shutdown()
