"""procrastinate's jobs over connections that may break, and without waits for nothing.

Its worker ends with the first query that fails: it takes nothing new until all that it runs has ended, which may be
long, and gives no sign of life meanwhile, so that others take its jobs for lost ones. A connection that breaks is no
reason for that: the same is asked again a moment later.
"""

import asyncio
import logging
from collections.abc import Iterable
from typing import Any

from procrastinate import JobContext
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job
from procrastinate.manager import JobManager
from procrastinate.worker import Worker

_BROKEN = ("08", "25P", "53", "57P")
"""Beginnings of the SQLSTATEs of a connection that was lost, cut or refused."""
_log = logging.getLogger(__name__)


class SteadyJobs(JobManager):
    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> Job | None:
        """What was given over a connection that broke then is found among the forgotten ones."""
        try:
            return await super().fetch_job(queues, worker_id)
        except ConnectorException as problem:
            _only_broken(problem, "fetching a job")
            return None

    async def update_heartbeat(self, worker_id: int) -> None:
        try:
            await super().update_heartbeat(worker_id)
        except ConnectorException as problem:
            _only_broken(problem, "sending the heartbeat")

    async def defer_periodic_job(self, job: Job, periodic_id: str, defer_timestamp: int) -> int | None:
        try:
            return await super().defer_periodic_job(job, periodic_id, defer_timestamp)
        except ConnectorException as problem:
            _only_broken(problem, "starting a periodic job")
            return None


class PromptWorker(Worker):
    """Looks for another job when one has ended, too: the next of the same session waits for that, and nothing else
    would tell that it may begin. What is told during a look counts for one more; by itself, procrastinate forgets it
    and looks again seconds later."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._new_job_event = self._bell = _Bell()

    async def _process_job(self, context: JobContext) -> None:
        try:
            await super()._process_job(context)
        finally:
            self._bell.set()

    async def _fetch_and_process_jobs(self) -> None:
        heard = -1
        while heard != self._bell.rung and not self._stop_event.is_set():
            heard = self._bell.rung
            await super()._fetch_and_process_jobs()


class _Bell(asyncio.Event):
    def __init__(self) -> None:
        super().__init__()
        self.rung = 0

    def set(self) -> None:
        self.rung += 1
        super().set()


def _only_broken(problem: ConnectorException, what: str) -> None:
    """Anything else, such as a worker that the database does not know any more, ends the worker, and begins it anew."""
    state: str | None = getattr(problem.__cause__, "sqlstate", None)
    if state is not None and not state.startswith(_BROKEN):
        raise problem
    _log.warning(
        "job queue lost its database connection, retrying", extra={"while": what, "reason": str(problem.__cause__)}
    )
