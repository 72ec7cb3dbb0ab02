"""One connection to a server, on the official SDK. Loads the SDK: import it only when a server is to be reached."""

import asyncio
import contextlib
import logging
import os
import re
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types as types
from mcp import Client, MCPError
from mcp.client.context import ClientRequestContext
from mcp.client.session import IncomingMessage
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.message import SessionMessage
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from openagent import __version__
from openagent.protocol.errors import OpenAgentError
from openagent.tools.mcp.definitions import ServerDefinition
from openagent.tools.mcp.guarded import guarded_client
from openagent.tools.mcp.sampling import Sampled

MAX_MESSAGE = 64 << 20
"""Bytes of one message. A server that sends more is cut off."""
PARSED_ASIDE = 1 << 20
"""Messages of more bytes are parsed in a thread."""
GRACE = 1.0
"""Seconds a server's process has to end by itself once its input is closed."""
STDERR_KEPT = 8000
CONNECT_TIMEOUT = 30.0
_CHANGES = (
    types.ToolListChangedNotification,
    types.ResourceListChangedNotification,
    types.PromptListChangedNotification,
)
_REFUSED = -1
"""What the protocol suggests for a person who says no."""
_LIST_CHANGED = re.compile(
    rb'\s*\{\s*"jsonrpc"\s*:\s*"2.0"\s*,\s*"method"\s*:\s*"notifications/\w+/list_changed"\s*\}\s*'
)
"""Told apart before it is parsed: a server may send thousands."""
SILENCE = 300.0
"""Seconds without a byte after which an HTTP stream counts as dead."""
_log = logging.getLogger(__name__)

StartProcess = Callable[[ServerDefinition, Path], Awaitable[asyncio.subprocess.Process]]
Elicit = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any] | None]]
"""Message and JSON Schema to what a person answered; None: declined."""
Visit = Callable[[str, str], Awaitable[bool]]
"""Message and address to whether a person went there."""
AskModel = Callable[[types.CreateMessageRequestParams], Awaitable[Sampled]]
"""Raises OpenAgentError when the model may not be asked."""
RELISTEN = 5.0
"""Seconds between two attempts to hear of changes, where a server ends the stream."""


class Lost:
    """When a connection is over, and the last words of the process behind it."""

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.reason = ""
        self.stderr = b""
        self.unauthorized = False
        """It wants somebody to log in."""

    def tell(self, reason: str) -> None:
        self.reason = self.reason or reason
        self.event.set()

    @property
    def last_words(self) -> str:
        return self.stderr.decode(errors="replace").strip()


@asynccontextmanager
async def connected(
    definition: ServerDefinition,
    workspace: Path,
    start: StartProcess,
    lost: Lost,
    *,
    elicit: Elicit,
    visit: Visit,
    sample: AskModel,
    list_changed: Callable[[], None],
    auth: httpx2.Auth | None = None,
) -> AsyncGenerator[Client, None]:
    """A client whose greetings have been exchanged."""

    async def on_message(message: IncomingMessage) -> None:
        if isinstance(message, _CHANGES):
            list_changed()

    async def on_elicit(
        context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        if isinstance(params, types.ElicitRequestURLParams):
            gone = await visit(params.message, params.url)
            return types.ElicitResult(action="accept" if gone else "decline")
        answer = await elicit(params.message, params.requested_schema)
        if answer is None:
            return types.ElicitResult(action="decline")
        return types.ElicitResult(action="accept", content=answer)

    async def on_sample(
        context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        try:
            sampled = await sample(params)
        except OpenAgentError as problem:
            return types.ErrorData(code=_REFUSED, message=problem.info.message)
        content = types.TextContent(type="text", text=sampled.text)
        stop = "maxTokens" if sampled.stop_reason == "max_tokens" else "endTurn"
        return types.CreateMessageResult(role="assistant", content=content, model=sampled.model, stop_reason=stop)

    async def on_roots(context: ClientRequestContext) -> types.ListRootsResult:
        root = types.Root.model_validate({"uri": workspace.as_uri(), "name": workspace.name})
        return types.ListRootsResult(roots=[root])

    async with contextlib.AsyncExitStack() as stack:
        transport = await _transport(definition, workspace, start, lost, list_changed, stack, auth)
        client = Client(
            transport,
            message_handler=on_message,
            elicitation_callback=on_elicit,
            sampling_callback=on_sample,
            list_roots_callback=on_roots,
            client_info=types.Implementation(name="openagent", version=__version__),
            cache=None,
        )
        await stack.enter_async_context(client)
        client.session.validate_tool_result = _taken_as_it_is
        yield client


async def hear_changes(client: Client, list_changed: Callable[[], None]) -> None:
    """Servers of the 2026 protocol tell about changes only to those who listen."""
    has = client.server_capabilities
    tools, prompts, resources = bool(has.tools), bool(has.prompts), bool(has.resources)
    while client.protocol_version in MODERN_PROTOCOL_VERSIONS and (tools or prompts or resources):
        try:
            async with client.listen(
                tools_list_changed=tools, prompts_list_changed=prompts, resources_list_changed=resources
            ) as changes:
                list_changed()  # what changed before anybody listened was not told
                async for _ in changes:
                    list_changed()
        except (SubscriptionLost, TimeoutError) as problem:
            _log.info("MCP change subscription lost, subscribing again", extra={"reason": str(problem)})
        except MCPError as problem:
            if problem.code in (types.METHOD_NOT_FOUND, types.INVALID_PARAMS):
                return
        await asyncio.sleep(RELISTEN)


async def _taken_as_it_is(name: str, result: types.CallToolResult) -> None:
    """A model reads the text, whatever was promised; and a pattern in a server's schema could keep us busy for ever."""


async def _transport(  # noqa: PLR0917
    definition: ServerDefinition,
    workspace: Path,
    start: StartProcess,
    lost: Lost,
    list_changed: Callable[[], None],
    stack: contextlib.AsyncExitStack,
    auth: httpx2.Auth | None,
) -> AbstractAsyncContextManager[Any]:

    async def note_refusal(response: httpx2.Response) -> None:
        lost.unauthorized = lost.unauthorized or response.status_code == 401

    def guarded(
        headers: dict[str, str] | None = None, timeout: httpx2.Timeout | None = None, auth: httpx2.Auth | None = None
    ) -> httpx2.AsyncClient:
        return guarded_client(definition.url, headers=headers, timeout=timeout, auth=auth)

    if definition.transport == "sse":
        return sse_client(
            definition.url,
            headers=dict(definition.headers),
            timeout=CONNECT_TIMEOUT,
            sse_read_timeout=SILENCE,
            auth=auth,
            httpx_client_factory=guarded,
        )
    if definition.transport == "http":
        http = guarded_client(
            definition.url,
            headers=definition.headers,
            auth=auth,
            timeout=httpx2.Timeout(CONNECT_TIMEOUT, read=SILENCE),
            event_hooks={"response": [_refuse_oversized, note_refusal]},
        )
        await stack.enter_async_context(http)
        return streamable_http_client(definition.url, http_client=http, max_sse_event_size=MAX_MESSAGE)
    return _pipes(await start(definition, workspace), lost, list_changed)


async def _refuse_oversized(response: httpx2.Response) -> None:
    announced = response.headers.get("content-length", "0")
    if announced.isdigit() and int(announced) > MAX_MESSAGE:
        raise OpenAgentError("tool_error", f"The server's answer is larger than {MAX_MESSAGE >> 20} MB.")


# --- a process behind pipes --------------------------------------------------------------------------------------


@asynccontextmanager
async def _pipes(
    process: asyncio.subprocess.Process, lost: Lost, list_changed: Callable[[], None]
) -> AsyncGenerator[tuple[Any, Any], None]:
    inward, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, outward = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        assert process.stdout is not None
        with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            async with inward:
                try:
                    async for line in _lines(process.stdout):
                        if _LIST_CHANGED.fullmatch(line):
                            list_changed()
                        else:
                            await inward.send(await _parsed(line))
                    lost.tell("its process ended")
                except OpenAgentError as problem:
                    lost.tell(problem.info.message)

    async def write() -> None:
        assert process.stdin is not None
        try:
            async with outward:
                async for message in outward:
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    process.stdin.write(text.encode() + b"\n")
                    await process.stdin.drain()
        except (OSError, RuntimeError):
            lost.tell("its process takes no more input")
            await inward.aclose()

    async def keep_last_words() -> None:
        assert process.stderr is not None
        while chunk := await process.stderr.read(65536):
            lost.stderr = (lost.stderr + chunk)[-STDERR_KEPT:]

    tasks = [asyncio.create_task(job()) for job in (read, write, keep_last_words)]
    try:
        yield incoming, outgoing
    finally:
        for stream in (incoming, outgoing, inward, outward):
            stream.close()
        await _end(process, tasks)


async def _end(process: asyncio.subprocess.Process, tasks: list[asyncio.Task[None]]) -> None:
    if process.stdin is not None:
        process.stdin.close()
    ending = asyncio.create_task(process.wait())
    try:
        await asyncio.wait([ending], timeout=GRACE)
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        for task in tasks:
            task.cancel()
        await asyncio.wait([ending, *tasks, asyncio.create_task(_drain(process))], timeout=GRACE)


async def _drain(process: asyncio.subprocess.Process) -> None:
    """What nobody read keeps a pipe open. That one of them broke is no news by now, and must be heard all the same."""
    for stream in (process.stdout, process.stderr):
        while stream is not None and await stream.read(1 << 18):
            pass
    if process.stdin is not None:
        with contextlib.suppress(OSError, RuntimeError):
            await process.stdin.wait_closed()


async def _lines(stream: asyncio.StreamReader) -> AsyncGenerator[bytes, None]:
    """Of any length up to the bound; what has been read is searched for its end once."""
    pieces: list[bytes] = []
    size = 0
    while chunk := await stream.read(1 << 18):
        *ended, rest = chunk.split(b"\n")
        for end in ended:
            yield b"".join([*pieces, end])
            pieces, size = [], 0
        if rest:
            pieces.append(rest)
            size += len(rest)
        if size > MAX_MESSAGE:
            raise OpenAgentError("tool_error", f"It sent a message of more than {MAX_MESSAGE >> 20} MB.")


async def _parsed(line: bytes) -> SessionMessage | Exception:
    if len(line) > PARSED_ASIDE:
        return await asyncio.to_thread(_parse, line)
    return _parse(line)


def _parse(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as problem:
        return problem
