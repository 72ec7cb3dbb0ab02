"""Calls that run right now, and what they have printed: for whoever comes to look meanwhile."""

import msgspec

from openagent.protocol.events import ToolStarted
from openagent.protocol.sessions import RunningCall

MOST_KEPT = 16 * 1024
"""Characters of what a call has printed."""


class RunningCalls:
    def __init__(self) -> None:
        self._calls: dict[str, RunningCall] = {}

    def began(self, started: ToolStarted, at: float) -> None:
        self._calls[started.call_id] = RunningCall(
            started.call_id, started.tool, arguments=started.arguments, summary=started.summary, started_at=at
        )

    def printed(self, call_id: str, text: str) -> None:
        if call := self._calls.get(call_id):
            whole = call.output + text
            call.output = whole[-MOST_KEPT:]
            call.dropped += len(whole) - len(call.output)

    def ended(self, call_id: str) -> None:
        self._calls.pop(call_id, None)

    @property
    def all(self) -> list[RunningCall]:
        """As they are now: what is printed later comes as events."""
        return [msgspec.structs.replace(call) for call in self._calls.values()]
