"""The simulator on a thread of its own, for code without an event loop."""

import asyncio
import threading
from collections.abc import Callable
from typing import Self, TypeVar, Unpack

from devtools.simulator.faults import FaultOptions
from devtools.simulator.records import Record
from devtools.simulator.script import ECHO, ScriptSource
from devtools.simulator.server import Simulator

T = TypeVar("T")


class ThreadedSimulator:
    """`with ThreadedSimulator(script) as sim:`; the same surface as `Simulator`, callable from any thread."""

    def __init__(
        self,
        script: ScriptSource = ECHO,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        require_key: str | None = None,
    ) -> None:
        self._simulator = Simulator(script, host=host, port=port, require_key=require_key)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="simulator", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._simulator.start(), self._loop).result()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._simulator.stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def base_url(self) -> str:
        return self._simulator.base_url

    @property
    def port(self) -> int:
        return self._simulator.port

    @property
    def requests(self) -> list[Record]:
        return self._call(lambda: list(self._simulator.requests))

    def reset(self, script: ScriptSource | None = None) -> None:
        self._call(lambda: self._simulator.reset(script))

    def fail_next(self, name: str, times: int = 1, **options: Unpack[FaultOptions]) -> None:
        self._call(lambda: self._simulator.fail_next(name, times, **options))

    def release(self) -> None:
        self._call(self._simulator.release)

    def until(self, condition: Callable[[], object], timeout: float = 10.0) -> None:
        """Like `Simulator.until`; the condition is called on the simulator's thread."""
        asyncio.run_coroutine_threadsafe(self._simulator.until(condition, timeout), self._loop).result()

    def _call(self, function: Callable[[], T]) -> T:
        if threading.current_thread() is self._thread:
            return function()

        async def on_loop() -> T:
            return function()

        return asyncio.run_coroutine_threadsafe(on_loop(), self._loop).result()
