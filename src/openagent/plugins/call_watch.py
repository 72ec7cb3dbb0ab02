"""Who is told of calls that leave the daemon."""

from typing import Protocol


class CallWatch(Protocol):
    def mcp_called(self, server: str, seconds: float, end: str) -> None:
        """An MCP server was called; `end` is done, failed, lost (it did not answer) or cancelled."""
        ...
