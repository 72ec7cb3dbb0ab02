"""The half of `otlp` that needs OpenTelemetry's SDK."""

from collections.abc import Mapping

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from openagent import __version__
from openagent.telemetry.traces import Attributes, Span

_KINDS = {"internal": SpanKind.INTERNAL, "client": SpanKind.CLIENT}
_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_TOKENS = tuple(4.0**power for power in range(14))
"""Bounds that the conventions recommend."""
_NAMED = (
    "gen_ai.operation.name",
    "gen_ai.provider.name",
    "gen_ai.request.model",
    "gen_ai.response.model",
    "gen_ai.tool.name",
    "mcp.method.name",
)
"""Attributes of spans that metrics have, too: the others would make a time series each."""


class Sending:
    def __init__(self, endpoint: str, env: Mapping[str, str]) -> None:
        at = endpoint.rstrip("/")
        name = env.get("OTEL_SERVICE_NAME") or "openagent"
        self._resource = Resource.create({"service.name": name, "service.version": __version__})
        self._scope = InstrumentationScope("openagent", __version__)
        self._spans = BatchSpanProcessor(OTLPSpanExporter(f"{at}/v1/traces" if at else None))
        reader = PeriodicExportingMetricReader(OTLPMetricExporter(f"{at}/v1/metrics" if at else None))
        self._metrics = MeterProvider([reader], self._resource, shutdown_on_exit=False)
        meter = self._metrics.get_meter("openagent", __version__)
        self._seconds = {
            operation: meter.create_histogram(name, "s", about, explicit_bucket_boundaries_advisory=_SECONDS)
            for operation, name, about in (
                ("chat", "gen_ai.client.operation.duration", "GenAI operation duration."),
                ("invoke_agent", "gen_ai.client.operation.duration", "GenAI operation duration."),
                ("execute_tool", "gen_ai.client.operation.duration", "GenAI operation duration."),
                ("mcp", "mcp.client.operation.duration", "How long an MCP server took to answer."),
                ("first", "gen_ai.client.operation.time_to_first_chunk", "Time to the first piece of an answer."),
            )
        }
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            "{token}",
            "Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=_TOKENS,
        )

    def send(self, span: Span) -> None:
        context = span.context
        flags = TraceFlags(TraceFlags.SAMPLED)
        trace = int(context.trace, 16)
        error = {"error.type": span.error} if span.error else {}
        self._spans.on_end(
            ReadableSpan(
                span.name,
                SpanContext(trace, int(context.span, 16), False, flags),
                SpanContext(trace, int(span.parent, 16), True, flags) if span.parent else None,
                resource=self._resource,
                attributes={**span.attributes, **error},
                kind=_KINDS[span.kind],
                status=Status(StatusCode.ERROR if span.error else StatusCode.UNSET),
                start_time=round(span.started * 1e9),
                end_time=round(span.ended * 1e9),
                instrumentation_scope=self._scope,
            )
        )
        self._measure(span, {name: span.attributes[name] for name in _NAMED if name in span.attributes} | error)

    def _measure(self, span: Span, named: Attributes) -> None:
        operation, seconds = str(span.attributes["gen_ai.operation.name"]), span.ended - span.started
        self._seconds[operation].record(seconds, named)
        if "mcp.method.name" in named:
            self._seconds["mcp"].record(seconds, named)
        if operation != "chat":
            return
        if (first := span.attributes.get("gen_ai.response.time_to_first_chunk")) is not None:
            self._seconds["first"].record(float(str(first)), named)
        for kind in ("input", "output"):
            if (used := span.attributes.get(f"gen_ai.usage.{kind}_tokens")) is not None:
                self._tokens.record(int(str(used)), {**named, "gen_ai.token.type": kind})

    def close(self) -> None:
        self._spans.shutdown()
        self._metrics.shutdown()
