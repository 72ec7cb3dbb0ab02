"""Who is told of calls that leave the daemon."""

from typing import Protocol


class CallWatch(Protocol):
    def traceparent(self, session: str, call_id: str) -> str:
        """The part of a trace that a tool call is; empty: it is none."""
        ...

    def mcp_called(self, server: str, seconds: float, end: str, *, session: str, call_id: str) -> None:
        """An MCP server was called; `end` is done, failed, lost (it did not answer) or cancelled."""
        ...
