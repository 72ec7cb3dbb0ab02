"""JSON-RPC 2.0 itself: lines, envelopes, batches and error codes, whatever the methods are.

Requests begin in the order they came. A method that takes long returns `Later`, so that those after it (a cancel, an
answer to a permission request) need not wait for it. Either side may ask the other.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, NamedTuple, cast

import msgspec
from msgspec import Struct

from openagent.protocol.errors import OpenAgentError
from openagent.protocol.nearest import nearest

PARSE_ERROR, INVALID_REQUEST, UNKNOWN_METHOD, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
REFUSED = -32000
"""The daemon said no; `data.code` says why."""
MAX_LINE = 32 * 1024 * 1024
CANCELLED = -32800
_CODES = {"invalid_argument": INVALID_PARAMS, "internal": INTERNAL_ERROR}
_log = logging.getLogger(__name__)


class RpcError(Exception):
    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class Later(NamedTuple):
    """The result will be there; whatever was asked next may go ahead meanwhile."""

    result: Awaitable[Any]


class Method(NamedTuple):
    params: type[Struct]
    """By name, or by position in the order of its fields."""
    call: Callable[[Any], Awaitable[Any]]


class Lines:
    """Bytes to lines. None stands for a line that was too long; it was thrown away as it came."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._begun = bytearray()
        self._skipping = False

    def feed(self, data: bytes) -> Iterator[bytes | None]:
        *ended, rest = data.split(b"\n")
        for piece in ended:
            self._add(piece)
            line = None if self._skipping else bytes(self._begun)
            self._begun.clear()
            self._skipping = False
            yield line
        self._add(rest)

    def end(self) -> Iterator[bytes | None]:
        """What came after the last newline."""
        if self._begun or self._skipping:
            yield from self.feed(b"\n")

    def _add(self, piece: bytes) -> None:
        if self._skipping or len(self._begun) + len(piece) > self._limit:
            self._begun.clear()
            self._skipping = True
        else:
            self._begun += piece


class _Request(NamedTuple):
    method: str
    params: Any
    id: Any
    wants_reply: bool


Reply = dict[str, Any] | asyncio.Task[Any]


class Peer:
    def __init__(
        self,
        methods: Mapping[str, Method],
        write: Callable[[bytes], None],
        number_of: Callable[[str], int] = lambda code: _CODES.get(code, REFUSED),
    ) -> None:
        """`write` takes one whole message. `number_of` translates the daemon's error codes."""
        self._methods = methods
        self._write = write
        self._number_of = number_of
        self._pending: set[asyncio.Task[Any]] = set()
        self._owed: dict[Any, asyncio.Task[Any]] = {}
        """What will be answered later, by the id of its request."""
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self._count = 0

    async def receive(self, line: bytes | None) -> None:
        """Returns when everything in the line has begun, and what is quickly done has been answered."""
        try:
            message = _decode(line)
        except RpcError as problem:
            self._send(_failure(None, problem))
            return
        if isinstance(message, list):
            await self._batch(cast("list[Any]", message))
        elif (reply := await self._begin(message)) is not None:
            self._answer([reply], single=True)

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    async def request(self, method: str, params: Mapping[str, Any]) -> Any:
        """Ask the other side. Raises RpcError when it refuses. Whoever gives up waiting takes the question back."""
        self._count += 1
        request_id = self._count
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._asked[request_id] = answer
        self._send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        try:
            return await answer
        except asyncio.CancelledError:
            self.notify("$/cancel_request", {"requestId": request_id})
            raise
        finally:
            del self._asked[request_id]

    def cancel(self, request_id: Any) -> None:
        """Stop working on a request that is still owed an answer; it gets one that says so."""
        if task := self._owed.get(request_id):
            task.cancel()

    async def finish(self) -> None:
        """Returns when nothing is owed any more."""
        while self._pending:
            await asyncio.wait(self._pending)

    async def _batch(self, messages: list[Any]) -> None:
        if not messages:
            self._send(_failure(None, RpcError(INVALID_REQUEST, "The batch is empty.")))
            return
        replies = [reply for message in messages if (reply := await self._begin(message)) is not None]
        if replies:
            self._answer(replies, single=False)

    def _answer(self, replies: list[Reply], *, single: bool) -> None:
        """At once when all are there, otherwise when the last one is."""
        ready = [reply for reply in replies if isinstance(reply, dict)]
        if len(ready) == len(replies):
            self._send(ready[0] if single else ready)
        else:
            self._keep(asyncio.create_task(self._answer_later(replies, single=single)))

    async def _answer_later(self, replies: list[Reply], *, single: bool) -> None:
        done = [reply if isinstance(reply, dict) else await reply for reply in replies]
        self._send(done[0] if single else done)

    def _keep(self, task: "asyncio.Task[Any]") -> None:
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)

    async def _begin(self, message: Any) -> Reply | None:
        """The reply, or what will become it; None where none is wanted."""
        if _is_answer(message):
            self._take_answer(message)
            return None
        try:
            request = _request(message)
        except RpcError as problem:
            return _failure(_id_of(message), problem)
        reply = await self._guarded(request, self._call(request))
        if isinstance(reply, Later):
            reply = asyncio.create_task(self._guarded(request, reply.result))
            self._keep(reply)
            self._owed[request.id] = reply
            reply.add_done_callback(lambda _: self._owed.pop(request.id, None))
        return reply if request.wants_reply else None

    def _take_answer(self, message: Mapping[str, Any]) -> None:
        """An answer nobody waits for any more is dropped."""
        answer = self._asked.get(message["id"]) if isinstance(message.get("id"), int) else None
        if answer is None or answer.done():
            return
        if "error" not in message:
            answer.set_result(message["result"])
            return
        error = cast("dict[str, Any]", message["error"]) if isinstance(message["error"], dict) else {}
        answer.set_exception(RpcError(INTERNAL_ERROR, str(error.get("message", "The other side refused."))))

    async def _call(self, request: _Request) -> Any:
        method = self._methods.get(request.method)
        if method is None:
            raise RpcError(UNKNOWN_METHOD, f"There is no method {request.method[:100]!r}.")
        return await method.call(_convert(request.params, method.params))

    async def _guarded(self, request: _Request, result: Awaitable[Any]) -> Any:
        """A reply, or a Later as it came."""
        try:
            value = await result
        except RpcError as problem:
            return _failure(request.id, problem)
        except asyncio.CancelledError:
            return _failure(request.id, RpcError(CANCELLED, "The request was cancelled."))
        except OpenAgentError as problem:
            data = msgspec.to_builtins(problem.info)
            return _failure(request.id, RpcError(self._number_of(problem.info.code), str(problem), data))
        except Exception as problem:  # the supervisor: a defect fails one request and nothing else
            _log.exception("JSON-RPC request raised an unexpected error")
            return _failure(request.id, RpcError(INTERNAL_ERROR, f"This is a defect ({type(problem).__name__})."))
        return value if isinstance(value, Later) else {"jsonrpc": "2.0", "id": request.id, "result": value}

    def _send(self, message: Any) -> None:
        self._write(msgspec.json.encode(message) + b"\n")


def _decode(line: bytes | None) -> Any:
    if line is None:
        raise RpcError(INVALID_REQUEST, f"The line is longer than {MAX_LINE} bytes.")
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise RpcError(PARSE_ERROR, f"The line is not JSON: {problem}.") from None


def _request(message: Any) -> _Request:
    if not isinstance(message, dict):
        raise RpcError(INVALID_REQUEST, "A request is a JSON object.")
    fields = cast("dict[str, Any]", message)
    if fields.get("jsonrpc") != "2.0":
        raise RpcError(INVALID_REQUEST, 'A request says "jsonrpc": "2.0".')
    if not isinstance(fields.get("method"), str):
        raise RpcError(INVALID_REQUEST, "A request names its method.")
    if "id" in fields and not _is_id(fields["id"]):
        raise RpcError(INVALID_REQUEST, "An id is a string, a number or null.")
    if not isinstance(fields.get("params", {}), dict | list):
        raise RpcError(INVALID_REQUEST, "Params are an object or an array.")
    return _Request(fields["method"], fields.get("params", {}), fields.get("id"), "id" in fields)


def _is_answer(message: Any) -> bool:
    return isinstance(message, dict) and "method" not in message and ("result" in message or "error" in message)


def _is_id(value: Any) -> bool:
    return value is None or (isinstance(value, str | int | float) and not isinstance(value, bool))


def _id_of(message: Any) -> Any:
    found = cast("dict[str, Any]", message).get("id") if isinstance(message, dict) else None
    return found if _is_id(found) else None


def _convert(params: Any, kind: type[Struct]) -> Struct:
    if isinstance(params, list):
        given = cast("list[Any]", params)
        if len(given) > len(kind.__struct_fields__):
            raise RpcError(INVALID_PARAMS, f"At most {len(kind.__struct_fields__)} params are taken.")
        params = dict(zip(kind.__struct_fields__, given, strict=False))
    try:
        return msgspec.convert(params, kind)
    except msgspec.ValidationError as problem:
        raise RpcError(INVALID_PARAMS, f"{problem}.{nearest(problem, kind)}") from None


def _failure(request_id: Any, problem: RpcError) -> dict[str, Any]:
    error: dict[str, Any] = {"code": problem.code, "message": str(problem)}
    if problem.data is not None:
        error["data"] = problem.data
    return {"jsonrpc": "2.0", "id": request_id, "error": error}
