"""What leaves the daemon, watched: requests to providers, calls of MCP servers. It carries the trace it is part of."""

from msgspec.structs import replace

from openagent.plugins.provider import ModelRequest, Provider
from openagent.telemetry.measures import Measures
from openagent.telemetry.traces import Traces
from openagent.telemetry.watched_provider import Attempted, WatchedProvider


class Watched:
    def __init__(self, measures: Measures, traces: Traces) -> None:
        self._measures = measures
        self._traces = traces

    def provider(self, provider: Provider) -> Provider:
        return WatchedProvider(provider, self._prepare, self._ended)

    def traceparent(self, session: str, call_id: str) -> str:
        context = self._traces.call(session, call_id)
        return context.traceparent if context else ""

    def mcp_called(self, server: str, seconds: float, end: str, *, session: str, call_id: str) -> None:
        self._measures.mcp_called(server, seconds, end)
        self._traces.mcp_called(session, call_id, server)

    def _prepare(self, request: ModelRequest) -> ModelRequest:
        context = self._traces.request(request.session)
        return replace(request, traceparent=context.traceparent) if context else request

    def _ended(self, attempt: Attempted) -> None:
        self._measures.attempted(attempt)
        self._traces.attempted(attempt)
