"""What was counted, sent to InfluxDB from time to time."""

import asyncio
import logging

import httpx2

from openagent.config.settings import TelemetrySettings
from openagent.usage.monitoring import Monitoring

PATIENCE = 10.0
"""Seconds for one delivery. What was not taken is not kept: counters only grow, so the next one tells it, too."""
_log = logging.getLogger(__name__)


class InfluxPush:
    def __init__(self, settings: TelemetrySettings) -> None:
        self._settings = settings
        self._failing = False

    async def run(self, monitoring: Monitoring) -> None:
        token = self._settings.influx_token
        headers = {"Authorization": f"Token {token}"} if token else {}
        async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as client:
            while True:
                self._tell(await self._send(client, (await monitoring.text("influx")).text))
                await asyncio.sleep(self._settings.every)

    async def _send(self, client: httpx2.AsyncClient, text: str) -> str:
        """What went wrong; empty: nothing."""
        try:
            answer = await client.post(self._settings.influx, content=text.encode())
        except (httpx2.HTTPError, httpx2.InvalidURL) as problem:
            return str(problem) or type(problem).__name__
        return "" if answer.is_success else f"{answer.status_code} {answer.text[:200]}"

    def _tell(self, problem: str) -> None:
        """Once: a database that is away for a night would fill the log."""
        if problem and not self._failing:
            _log.warning("metrics not sent to InfluxDB, retrying", extra={"reason": problem})
        self._failing = bool(problem)
