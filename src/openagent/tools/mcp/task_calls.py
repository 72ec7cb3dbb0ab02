"""A call that the server carries out as a task (protocol 2025-11-25): begun, looked after, fetched when it is done.

Loads the SDK: import it only when a server is to be called.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

import mcp_types as types
from mcp import Client

from openagent.tools.mcp.words import visible

KEPT_MS = 24 * 3600 * 1000
"""For so long the server is asked to keep a task."""
_ENDED = ("completed", "failed", "cancelled")
_POLL = 1.0
_SHORTEST_POLL, _LONGEST_POLL = 0.05, 30.0
_CANCEL_PATIENCE = 3.0
Progress = Callable[[float, float | None, str | None], Awaitable[None]]


class Asking(Protocol):
    """Makes one request of a server that may die or hang meanwhile; None: the answer may take as long as it will."""

    async def __call__(self, request: Awaitable[Any], *, timeout: bool = True) -> Any: ...


def takes_tasks(client: Client) -> bool:
    tasks = client.server_capabilities.tasks
    return bool(tasks and tasks.requests and tasks.requests.tools and tasks.requests.tools.call is not None)


class TaskCall:
    """`told` is shown what the server says about how far it is. `meta` goes along with the call."""

    def __init__(
        self, client: Client, asking: Asking, told: Callable[[str], None], meta: Mapping[str, Any] | None = None
    ) -> None:
        self._meta = meta
        self._client = client
        self._asking = asking
        self._told = told
        self._said = ""

    async def run(self, tool: str, arguments: Mapping[str, Any], on_progress: Progress) -> types.CallToolResult:
        begun = await self._asking(self._begin(tool, arguments, on_progress))
        if "task" not in begun:  # it was quick, or knows no tasks after all
            return types.CallToolResult.model_validate(begun, by_name=False)
        task = types.CreateTaskResult.model_validate(begun, by_name=False).task
        result = asyncio.ensure_future(self._asking(self._result(task.task_id), timeout=False))
        try:
            return await self._await(task, result)
        except BaseException:
            await self._cancel(task.task_id)
            raise
        finally:
            result.cancel()
            await asyncio.wait([result])

    async def _begin(self, tool: str, arguments: Mapping[str, Any], on_progress: Progress) -> dict[str, Any]:
        """The SDK refuses any answer to this method but a result, so it is asked past its check."""
        params: dict[str, Any] = {"name": tool, "arguments": dict(arguments), "task": {"ttl": KEPT_MS}}
        if self._meta:
            params["_meta"] = dict(self._meta)
        data: dict[str, Any] = {"method": "tools/call", "params": params}
        options: Any = {"on_progress": on_progress}
        session = self._client.session
        session._stamp(data, options)  # pyright: ignore[reportPrivateUsage]
        return await session._dispatcher.send_raw_request(data["method"], data["params"], options)  # pyright: ignore[reportPrivateUsage]

    async def _result(self, task: str) -> types.CallToolResult:
        request = types.GetTaskPayloadRequest(params=types.GetTaskPayloadRequestParams(task_id=task))
        return await self._client.session.send_request(request, types.CallToolResult)

    async def _await(self, task: types.Task, result: "asyncio.Future[types.CallToolResult]") -> types.CallToolResult:
        """The result is waited for from the start, since questions come with it. Meanwhile the server is asked how far
        it is: one that no longer answers has died."""
        while True:
            self._show(task)
            await (asyncio.sleep(_pause(task)) if result.done() else asyncio.wait([result], timeout=_pause(task)))
            if result.done() and result.exception() is None:
                return result.result()
            task = await self._asking(self._state(task.task_id))
            if task.status in _ENDED:
                if result.done():  # it was asked too early, for this server
                    return await self._asking(self._result(task.task_id))
                return await result

    async def _state(self, task: str) -> types.GetTaskResult:
        request = types.GetTaskRequest(params=types.GetTaskRequestParams(task_id=task))
        return await self._client.session.send_request(request, types.GetTaskResult)

    def _show(self, task: types.Task) -> None:
        said = visible(task.status_message or "", 200)
        if said and said != self._said:
            self._said = said
            self._told(said)

    async def _cancel(self, task: str) -> None:
        tasks = self._client.server_capabilities.tasks
        if tasks is None or tasks.cancel is None:
            return
        request = types.CancelTaskRequest(params=types.CancelTaskRequestParams(task_id=task))
        sending = asyncio.ensure_future(self._client.session.send_request(request, types.CancelTaskResult))
        with contextlib.suppress(Exception):  # it has ended, or is gone: whoever cancels wants no more of it
            async with asyncio.timeout(_CANCEL_PATIENCE):
                await asyncio.shield(sending)
        sending.cancel()


def _pause(task: types.Task) -> float:
    wanted = task.poll_interval / 1000 if task.poll_interval is not None else _POLL
    return min(max(wanted, _SHORTEST_POLL), _LONGEST_POLL)
