"""Parts of traces on their way to an OpenTelemetry collector, and the metrics that the conventions make of them.

Loads the SDK, which the extra `otel` brings, when it begins to run; what ends before that waits.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING

from openagent.telemetry.traces import Span

if TYPE_CHECKING:
    from openagent.telemetry.otlp_sending import Sending

MOST_WAITING = 2000
_log = logging.getLogger(__name__)


class Otlp:
    def __init__(self, endpoint: str, env: Mapping[str, str]) -> None:
        """Without an endpoint, that of the environment's `OTEL_…` variables."""
        self._endpoint = endpoint
        self._env = env
        self._waiting: deque[Span] = deque(maxlen=MOST_WAITING)
        self._sending: Sending | None = None
        self._missing = False

    def tell(self, span: Span) -> None:
        if self._sending is not None:
            self._sending.send(span)
        elif not self._missing:
            self._waiting.append(span)

    async def run(self) -> None:
        try:
            sending = await asyncio.to_thread(_load, self._endpoint, self._env)
        except ImportError as problem:
            self._missing = True
            self._waiting.clear()
            _log.warning("traces are not sent, run `openagent extras get otel`", extra={"reason": str(problem)})
            return
        for span in self._waiting:
            sending.send(span)
        self._waiting.clear()
        self._sending = sending

    async def close(self) -> None:
        """What ended last is sent on."""
        if (sending := self._sending) is not None:
            await asyncio.to_thread(sending.close)


def _load(endpoint: str, env: Mapping[str, str]) -> "Sending":
    from openagent.telemetry.otlp_sending import Sending

    return Sending(endpoint, env)
