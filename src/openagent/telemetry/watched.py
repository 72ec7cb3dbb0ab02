"""What leaves the daemon, watched: requests to providers, calls of MCP servers."""

from openagent.plugins.provider import Answer, ModelRequest, Provider
from openagent.telemetry.measures import Measures
from openagent.telemetry.watched_provider import Attempt, WatchedProvider


class Watched:
    def __init__(self, measures: Measures) -> None:
        self._measures = measures

    def provider(self, provider: Provider) -> Provider:
        return WatchedProvider(provider, self._begin)

    def mcp_called(self, server: str, seconds: float, end: str) -> None:
        self._measures.mcp_called(server, seconds, end)

    def _begin(self, provider: str, request: ModelRequest) -> Attempt:
        return Attempt(provider, request, self._end)

    def _end(self, attempt: Attempt, seconds: float, cause: str, answer: Answer | None) -> None:
        self._measures.answered(
            attempt.provider, attempt.request.model, seconds=seconds, first=attempt.first, cause=cause
        )
