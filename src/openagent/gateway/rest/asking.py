"""Ops on a caller's behalf, and answers that are given once and again."""

import hashlib
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast
from uuid import uuid4

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from openagent.daemon.callers import Caller
from openagent.daemon.connection import Connection, called_from, trace_id
from openagent.daemon.daemon import Daemon
from openagent.gateway.authentication import Answer, Gate
from openagent.gateway.rest.decode import (
    decode_body,
    decode_cursor,
    decode_path,
    decode_query,
    encode_cursor,
    read_body,
)
from openagent.gateway.rest.endpoint import Endpoint
from openagent.gateway.rest.in_full import encode_full
from openagent.gateway.rest.problems import Refused, problem
from openagent.protocol.op import Done, Op
from openagent.protocol.people import Invited
from openagent.protocol.routes import Page
from openagent.protocol.tokens import LoginAddress, TokenCreated
from openagent.protocol.trace_context import new_trace

LONGEST_KEY = 255
MOST_KEPT = 4 * 1024 * 1024
"""Bytes of an answer that can be given again."""
_SECRETS = (TokenCreated, LoginAddress, Invited)
R = TypeVar("R", bound=Struct)


class NoLine:
    """For a caller that hears the answer and nothing else."""

    unsent = 0

    def send(self, body: bytes) -> None:
        """Progress of a long op: nobody listens."""

    def flush(self) -> None:
        """Nobody listens."""

    def pause_reading(self) -> None:
        """There is one op."""

    def resume_reading(self) -> None:
        """See pause_reading."""

    def hang_up(self) -> None:
        """The answer is its end."""


class Asking:
    def __init__(self, daemon: Daemon, gate: Gate) -> None:
        self.daemon = daemon
        self._gate = gate
        self._under_way: set[tuple[str, str]] = set()

    async def perform(self, caller: Caller, op: Op[R]) -> R:
        connection = Connection(self.daemon, NoLine(), caller)
        connection.name = caller.name
        connection.greeted = True
        connection.interactive = caller.may("approve")
        try:
            return await self.daemon.perform(connection, op)
        finally:
            connection.close()

    async def tell_login(self, caller: Caller, what: str) -> None:
        await self.daemon.tell_login(caller, what)

    async def respond(self, endpoint: Endpoint, request: Request) -> Response:
        body = await read_body(request) if endpoint.method != "GET" else b""
        given = decode_body(request, body, endpoint.body) if endpoint.body else decode_query(request, endpoint.query)
        op = endpoint.make(new_op_id(), decode_path(request, endpoint), given)
        if endpoint.paging is not None and (cursor := getattr(given, "cursor", "")):
            op = msgspec.structs.replace(op, **decode_cursor(cursor, endpoint))
        caller: Caller = request.state.caller

        async def answer() -> Response:
            return encode(endpoint, await self.perform(caller, op))

        return await self.once(request, body, answer, tells_secret=endpoint.result in _SECRETS)

    async def once(
        self,
        request: Request,
        body: bytes,
        answer: Callable[[], Awaitable[Response]],
        *,
        tells_secret: bool = False,
    ) -> Response:
        """With an idempotency key, the same request is carried out once and answered the same whenever it comes; but a
        secret is told once and not kept."""
        key = request.headers.get("idempotency-key", "")
        if not key or request.method != "POST":
            return await answer()
        if len(key) > LONGEST_KEY:
            raise Refused(422, "invalid_argument", f"An idempotency key has at most {LONGEST_KEY} characters.")
        caller: Caller = request.state.caller
        target = f"{request.method} {request.url.path}?{request.url.query}\n"
        fingerprint = hashlib.sha256(target.encode() + body).digest()
        if (caller.id, key) in self._under_way:
            raise Refused(
                409, "busy", "A request with this idempotency key is under way.", headers={"Retry-After": "1"}
            )
        self._under_way.add((caller.id, key))
        try:
            kept = await self._gate.answered(caller.id, key)
            if kept is not None:
                return _again(kept, fingerprint)
            response = await answer()
            if response.status_code < 300:
                kept = _told_once(fingerprint) if tells_secret else _to_keep(response, fingerprint)
                await self._gate.keep_answer(caller.id, key, kept)
            return response
        finally:
            self._under_way.discard((caller.id, key))


def new_op_id() -> str:
    """The request's trace id: its events, the log and the answer can be held against each other. Of a trace that the
    caller began, which may have many requests, one of its own, that begins with who called."""
    if caller := called_from.get():
        return f"{caller}.{uuid4().hex[:8]}"
    return trace_id.get() or new_trace()


def encode(endpoint: Endpoint, result: object) -> Response:
    if isinstance(result, Done):
        return Response(status_code=204)
    if endpoint.paging is None:
        return json_response(result, endpoint.status)
    following = cast("Page", result).following()
    cursor = encode_cursor(following) if following is not None else None
    beside = {name: getattr(result, name) for name in endpoint.paging.beside}
    page = {"items": getattr(result, endpoint.paging.items), **beside, "next": cursor}
    return json_response(page, endpoint.status)


def json_response(value: object, status: int = 200) -> Response:
    return Response(encode_full(value), status, media_type="application/json")


def _to_keep(response: Response, fingerprint: bytes) -> Answer:
    body = bytes(response.body)
    headers = [(name, value) for name, value in response.headers.items() if name != "content-length"]
    if len(body) > MOST_KEPT:
        return _refusal(fingerprint, "The request was carried out before; its answer was too large to be given again.")
    return Answer(fingerprint, response.status_code, headers, body)


def _told_once(fingerprint: bytes) -> Answer:
    return _refusal(
        fingerprint,
        "The request was carried out before; the secret in its answer is told once and was not kept.",
        hint="Revoke what it made, and make another.",
    )


def _refusal(fingerprint: bytes, detail: str, hint: str = "") -> Answer:
    refusal = problem(409, "conflict", detail, hint=hint, trace="")
    return Answer(fingerprint, 409, [("content-type", refusal.media_type or "")], bytes(refusal.body))


def _again(kept: Answer, fingerprint: bytes) -> Response:
    if kept.fingerprint != fingerprint:
        raise Refused(
            422,
            "key_reused",
            "This idempotency key was used for another request.",
            hint="Make a new key for every request that is not a repetition.",
        )
    return Response(kept.body, kept.status, {**dict(kept.headers), "Idempotent-Replayed": "true"})
