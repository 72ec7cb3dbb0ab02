"""One server: a task that connects to it, looks after the connection and makes another when it is lost."""

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from openagent.plugins.call_watch import CallWatch
from openagent.plugins.held_time import HeldTime
from openagent.plugins.tool import ToolContext
from openagent.protocol.errors import OpenAgentError
from openagent.tools.mcp.definitions import ServerDefinition, fetches_program
from openagent.tools.mcp.offer import Offer, ask_offer
from openagent.tools.mcp.questions import ask_form, ask_to_visit
from openagent.tools.mcp.sampling import Sampled, SampleRequest, request_of
from openagent.tools.mcp.words import last_words, visible

if TYPE_CHECKING:
    import httpx2
    import mcp_types as types
    from mcp import Client

    from openagent.tools.mcp import wire

ServerStatus = Literal["starting", "up", "down", "failed", "disabled"]
Sample = Callable[[str, SampleRequest], Awaitable[Sampled]]
"""Session and request to what its model answered, if that was allowed. Raises OpenAgentError when it was not."""
AskToVisit = Callable[[str, str], Awaitable[bool]]
"""Message and address to whether a person went there."""
Authorize = Callable[[ServerDefinition, AskToVisit], "Awaitable[httpx2.Auth | None]"]
"""What shows a server that somebody is logged in, if somebody is. When the server wants more, a person is asked."""
MayConnect = Callable[[ServerDefinition, Path], Awaitable[str]]
"""Why a server on the network may not be reached; empty when it may."""
Missed = Callable[[ServerDefinition, Path, str], str]
"""What a command that failed with these words may not have found, because the jail hides it; empty: nothing known."""
LAST_WORDS = 800
"""Characters of what a process wrote to stderr before it ended."""
FLOOD = 100
"""Changes that a server tells of between two lists of its tools. One that tells of more is shown to people."""
T = TypeVar("T")
_log = logging.getLogger(__name__)


class Patience(Struct, frozen=True, kw_only=True):
    """Seconds."""

    start: float = 60.0
    """From the start of a server to the list of its tools."""
    fetch: float = 300.0
    """The same, where its program is fetched first."""
    list: float = 15.0
    first_retry: float = 0.5
    """Doubles with each failure."""
    last_retry: float = 60.0
    steady: float = 60.0
    """A connection that held for so long starts the retries anew."""
    health: float = 30.0
    """Between two checks of a connection."""
    debounce: float = 0.25
    """At most one new list of tools in this time, however often the server says that it changed. Doubles, up to the
    time between two checks, while that is not true."""


class McpServer:
    def __init__(
        self,
        definition: ServerDefinition,
        workspace: Path,
        start: "wire.StartProcess",
        on_change: Callable[["McpServer"], None],
        *,
        patience: Patience,
        sample: Sample,
        authorize: Authorize,
        held: HeldTime,
        may_connect: MayConnect,
        missed: Missed | None = None,
        watch: CallWatch | None = None,
    ) -> None:
        self.definition = definition
        self.name = definition.name
        self.began = time.monotonic()
        self.status: ServerStatus = "starting"
        self.detail = ""
        self.offer = Offer()
        self.shadowing: list[str] = []
        """Tools of it that have the name of one that is built in; they go by another."""
        self._workspace = workspace
        self._start = start
        self._on_change = on_change
        self._patience = patience
        self._sample = sample
        self._authorize = authorize
        self._held = held
        self._may_connect = may_connect
        self._missed = missed
        self._call_watch = watch
        self._client: Client | None = None
        self._lost: wire.Lost | None = None
        self._changed = asyncio.Event()
        self._changes_told = 0
        self._floods = False
        self._suspect = asyncio.Event()
        self._settled = asyncio.Event()
        self._contexts: dict[str, ToolContext] = {}
        self._calls: set[asyncio.Task[Any]] = set()
        self._task = asyncio.create_task(self._supervise(), name=f"mcp {self.name}")

    @property
    def warnings(self) -> list[str]:
        """About what it offers, for people."""
        shadowing = [f"{name}: it has the name of a built-in tool; it goes by another here." for name in self.shadowing]
        floods = ["It tells of changes without end; it is listened to ever less often."] if self._floods else []
        return [*floods, *shadowing, *self.offer.warnings()]

    async def settled(self) -> None:
        """Returns when the first attempt to connect has succeeded or failed."""
        await self._settled.wait()

    async def close(self) -> None:
        self._task.cancel()
        for call in self._calls:
            call.cancel()
        await asyncio.wait([self._task, *self._calls])

    async def call(self, tool: str, arguments: Mapping[str, Any], context: ToolContext) -> "types.CallToolResult":
        """Raises OpenAgentError('tool_error') when the server does not answer in time, or not at all."""
        if (watch := self._call_watch) is None:
            return await self._call(tool, arguments, context)
        began, end = time.perf_counter(), "cancelled"
        try:
            result = await self._call(tool, arguments, context)
            end = "failed" if result.is_error else "done"
        except OpenAgentError:
            end = "lost"
            raise
        else:
            return result
        finally:
            seconds = time.perf_counter() - began
            watch.mcp_called(self.name, seconds, end, session=context.session, call_id=context.call_id)

    async def _call(self, tool: str, arguments: Mapping[str, Any], context: ToolContext) -> "types.CallToolResult":

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            share = f"{progress:g}/{total:g}" if total else f"{progress:g}"
            context.output("progress", f"{share} {visible(message or '', 200)}".strip() + "\n")

        if any(each.name == tool and each.as_task for each in self.offer.tools):
            tasks = await asyncio.to_thread(import_module, "openagent.tools.mcp.task_calls")
            if self._client is not None and tasks.takes_tasks(self._client):
                return await self._call_as_task(tasks, tool, arguments, context, on_progress)
        meta: Any = self._trace(context)
        return await self._request(
            lambda client: client.call_tool(tool, dict(arguments), progress_callback=on_progress, meta=meta), context
        )

    def _trace(self, context: ToolContext) -> dict[str, str] | None:
        """As MCP has it. Servers elsewhere are not told: they could tell by it whose calls belong together."""
        if self._call_watch is None or not self.definition.is_here:
            return None
        found = self._call_watch.traceparent(context.session, context.call_id)
        return {"traceparent": found} if found else None

    async def _call_as_task(
        self, tasks: Any, tool: str, arguments: Mapping[str, Any], context: ToolContext, on_progress: Any
    ) -> "types.CallToolResult":
        """Its time is that of each question about it: a task may take hours."""

        async def ask(request: Awaitable[Any], *, timeout: bool = True) -> Any:
            return await self._isolated(request, lost, self.definition.timeout if timeout else None)

        def tell(said: str) -> None:
            context.output("progress", f"{said}\n")

        client, lost = self._connection()
        begun = tasks.TaskCall(client, ask, tell, self._trace(context))
        with self._asked_in(context):
            return await begun.run(tool, arguments, on_progress)

    async def read_resource(self, uri: str, context: ToolContext | None = None) -> "types.ReadResourceResult":
        return await self._request(lambda client: client.read_resource(uri), context)

    async def prompt(self, name: str, arguments: dict[str, str]) -> "types.GetPromptResult":
        return await self._request(lambda client: client.get_prompt(name, arguments), None)

    async def _request(self, ask: "Callable[[Client], Awaitable[T]]", context: ToolContext | None) -> T:
        client, lost = self._connection()
        with self._asked_in(context):
            return await self._isolated(ask(client), lost, self.definition.timeout)

    def _connection(self) -> "tuple[Client, wire.Lost]":
        if self._client is None or self._lost is None:
            raise self._problem(f"is not connected ({self.detail or self.status})")
        return self._client, self._lost

    @contextlib.contextmanager
    def _asked_in(self, context: ToolContext | None) -> Generator[None]:
        """What the server asks meanwhile is asked in this call's session."""
        if context is None:
            yield
            return
        self._contexts[context.call_id] = context
        try:
            yield
        finally:
            del self._contexts[context.call_id]

    async def _isolated(self, request: Awaitable[Any], lost: "wire.Lost", timeout: float | None) -> Any:
        """A dying connection cancels whoever waits for it: that must be a task of ours, never the caller's."""
        call = asyncio.ensure_future(request)
        ended = asyncio.create_task(lost.event.wait())
        self._calls.add(call)
        try:
            with contextlib.suppress(TimeoutError):
                async with self._held.timeout(timeout) if timeout is not None else contextlib.nullcontext():
                    await asyncio.wait([call, ended], return_when=asyncio.FIRST_COMPLETED)
            if call.done() and not call.cancelled():
                return self._answer(call, lost)
            self._suspect.set()
            if call.cancelled() or ended.done():
                raise self._problem(f"ended during the call ({lost.reason or 'the connection broke'})")
            raise self._problem(f"did not answer within {timeout or 0:g} s")
        finally:
            ended.cancel()
            call.cancel()
            await asyncio.wait([call, ended], timeout=1.0)
            self._calls.discard(call)

    def _answer(self, call: "asyncio.Future[Any]", lost: "wire.Lost") -> Any:
        problem = call.exception()
        if problem is None:
            return call.result()
        self._suspect.set()
        if lost.event.is_set():
            raise self._problem(f"ended during the call ({lost.reason})") from None
        raise self._problem(f"answered with an error: {visible(_said(problem), 1000)}") from None

    def _problem(self, what: str) -> OpenAgentError:
        return OpenAgentError("tool_error", f"The MCP server {self.name} {what}.", hint="Try another way, or again.")

    # Supervision

    async def _supervise(self) -> None:
        wait = self._patience.first_retry
        while True:
            began = time.monotonic()
            attempt = asyncio.create_task(self._hold())
            try:
                await asyncio.wait([attempt])
            except asyncio.CancelledError:
                attempt.cancel()
                await asyncio.wait([attempt])
                raise
            finally:
                self._client = None
            was_up = self.status == "up"
            self._change("down" if was_up else "failed", self._reason(attempt), Offer())
            if time.monotonic() - began > self._patience.steady:
                wait = self._patience.first_retry
            await asyncio.sleep(wait * random.uniform(0.8, 1.2))  # noqa: S311
            wait = min(wait * 2, self._patience.last_retry)

    async def _hold(self) -> None:
        """From connecting until the connection is lost."""
        sdk = await asyncio.to_thread(import_module, "openagent.tools.mcp.wire")
        lost: wire.Lost = sdk.Lost()
        self._lost = lost
        self._suspect.clear()
        async with contextlib.AsyncExitStack() as stack:
            async with self._held.timeout(self._start_timeout):
                if refusal := await self._may_connect(self.definition, self._workspace):
                    raise OpenAgentError("permission_denied", refusal)
                client: Client = await stack.enter_async_context(
                    sdk.connected(
                        self.definition,
                        self._workspace,
                        self._start,
                        lost,
                        elicit=self._elicit,
                        visit=self._visit,
                        sample=self._ask_model,
                        list_changed=self._note_change,
                        auth=await self._authorize(self.definition, self._visit),
                    )
                )
                self._changed.clear()
                self._changes_told, self._floods = 0, False
                offer = await self._offer(client)
            self._client = client
            self._change("up", "", offer)
            listening = asyncio.create_task(sdk.hear_changes(client, self._note_change))
            try:
                await self._watch(client, lost)
            finally:
                listening.cancel()
                await asyncio.wait([listening])

    @property
    def _start_timeout(self) -> float:
        fetching = fetches_program(self.definition)
        return self.definition.start_timeout or (self._patience.fetch if fetching else self._patience.start)

    async def _watch(self, client: "Client", lost: "wire.Lost") -> None:
        signals = {event: asyncio.create_task(event.wait()) for event in (lost.event, self._changed, self._suspect)}
        pause = self._patience.debounce
        try:
            while not lost.event.is_set():
                await asyncio.wait(signals.values(), timeout=self._patience.health, return_when=asyncio.FIRST_COMPLETED)
                if lost.event.is_set():
                    return
                await asyncio.wait([signals[lost.event]], timeout=pause)
                for event in (self._changed, self._suspect):
                    event.clear()
                    if signals[event].done():
                        signals[event] = asyncio.create_task(event.wait())
                floods, self._changes_told = self._floods or self._changes_told > FLOOD, 0
                async with asyncio.timeout(self._patience.list):
                    offer = await self._offer(client)
                if offer != self.offer or floods != self._floods:
                    self._floods = floods
                    self._change("up", "", offer)
                    pause = self._patience.debounce
                else:
                    pause = min(pause * 2, self._patience.health)
        finally:
            self._client = None
            for waiting in signals.values():
                waiting.cancel()

    async def _offer(self, client: "Client") -> Offer:
        """Without the tools that its entry leaves out."""
        offer, wanted = await ask_offer(client), self.definition
        tools = [
            tool
            for tool in offer.tools
            if (not wanted.tools or tool.name in wanted.tools) and tool.name not in wanted.without_tools
        ]
        return replace(offer, tools=tools)

    def _note_change(self) -> None:
        self._changes_told += 1
        self._changed.set()

    def _change(self, status: ServerStatus, detail: str, offer: Offer) -> None:
        self.status, self.detail, self.offer = status, detail, offer
        self._settled.set()
        _log.info("MCP server status changed", extra={"server": self.name, "status": status, "detail": detail})
        self._on_change(self)

    def _reason(self, attempt: "asyncio.Task[None]") -> str:
        lost, refusal = self._lost, self._held.refusal
        problem = None if attempt.cancelled() else attempt.exception()
        said = visible(_said(problem), 500) if problem is not None else ""
        words = f" {refusal}" if refusal and refusal not in said else ""
        if lost and lost.last_words:
            words += f" It said: {last_words(lost.last_words, LAST_WORDS)}"
        if (
            self._missed
            and self.definition.command
            and lost
            and (hidden := self._missed(self.definition, self._workspace, f"{said}\n{lost.last_words}"))
        ):
            words += f" {hidden}"
        if isinstance(problem, TimeoutError):
            return f"It did not answer in time.{words}"
        if problem is None:
            return f"The connection ended: {lost.reason if lost and lost.reason else 'it broke'}.{words}"
        if (lost and lost.unauthorized) or (self.definition.url and "401" in said):
            return f"It wants a login: `openagent mcp login {self.name}`. ({said})"
        return f"{said.rstrip('.')}.{words}" if words else said

    # What a server asks for, in the session whose call is running

    async def _elicit(self, message: str, schema: dict[str, Any]) -> dict[str, Any] | None:
        """The server's clock stands still meanwhile, here as in the others: it waits for us."""
        context = self._context()
        with self._held.holding():
            return await ask_form(context, self.name, message, schema) if context else None

    async def _visit(self, message: str, url: str) -> bool:
        context = self._context()
        with self._held.holding():
            return await ask_to_visit(context, self.name, message, url) if context else False

    async def _ask_model(self, params: "types.CreateMessageRequestParams") -> Sampled:
        context = self._context()
        if context is None:
            raise OpenAgentError("permission_denied", "The model is asked only during a call of one session.")
        with self._held.holding():
            return await self._sample(context.session, request_of(self.name, params))

    def _context(self) -> ToolContext | None:
        """None when it is not certain in whose name the server speaks."""
        if len({context.session for context in self._contexts.values()}) != 1:
            return None
        return next(iter(self._contexts.values()))


def _said(problem: BaseException) -> str:
    if isinstance(problem, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", problem)
        return _said(group.exceptions[0])
    return str(problem) or type(problem).__name__
