"""Tasks on their way to pull requests go on after a start. Where there are none, none of their code is loaded."""

import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from openagent.daemon.daemon import Handler
from openagent.daemon.loaded_when_asked import LoadedWhenAsked
from openagent.plugins.tasks import TaskRunStore
from openagent.protocol.tasks import TaskFollow, TaskRun, TasksImport, TaskStop

_log = logging.getLogger(__name__)


class Resumed(Protocol):
    def handlers(self) -> Sequence[Handler]: ...

    async def resume(self) -> None: ...


class TaskRunsIfAny:
    def __init__(self, store: TaskRunStore, make: Callable[[], Resumed]) -> None:
        self._store = store
        self._make = make
        self._made: Resumed | None = None
        self._when_asked = LoadedWhenAsked((TaskRun, TaskFollow, TaskStop, TasksImport), self._service)
        self.handlers = self._when_asked.handlers
        self.close = self._when_asked.close

    def _service(self) -> Resumed:
        self._made = self._made or self._make()
        return self._made

    async def resume(self) -> None:
        try:
            if await self._store.open_task_runs():
                await self._when_asked.load()
                await self._service().resume()
        except Exception:  # whoever asks for one of them is told
            _log.exception("task runs could not be resumed")
