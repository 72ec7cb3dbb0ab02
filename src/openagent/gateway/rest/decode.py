"""From a request to what it gives."""

import base64
import math
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from starlette.requests import ClientDisconnect, Request

from openagent.gateway.rest.endpoint import Endpoint, Row
from openagent.gateway.rest.problems import Refused
from openagent.protocol.codec import MAX_FRAME
from openagent.protocol.nearest import nearest

S = TypeVar("S", bound=Struct)


async def read_body(request: Request) -> bytes:
    """Raises for one that is larger than anything an op could hold."""
    read = bytearray()
    try:
        async for chunk in request.stream():
            read += chunk
            if len(read) > MAX_FRAME:
                raise Refused(413, "too_large", f"The body is larger than {MAX_FRAME} bytes.")
    except ClientDisconnect:
        raise Refused(400, "bad_frame", "The body ended before its end.") from None
    return bytes(read)


def decode_body(request: Request, body: bytes, kind: type[S]) -> S:
    if body and request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refused(415, "wrong_media_type", "The body is not application/json.", hint="Set Content-Type.")
    try:
        return msgspec.json.decode(body or b"{}", type=kind)
    except msgspec.ValidationError as problem:
        guess = nearest(problem, kind).strip()
        raise Refused(422, "invalid_argument", f"The body does not fit: {problem}.", hint=guess) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise Refused(400, "bad_frame", f"The body is not JSON: {problem}.") from None


def decode_query(request: Request, kind: type[S] | None) -> S | None:
    lists = (
        {
            field.encode_name
            for field in msgspec.structs.fields(kind or Struct)
            if getattr(field.type, "__origin__", 0) is list
        }
        if kind
        else set[str]()
    )
    given: dict[str, Any] = {}
    for name in request.query_params:
        values = request.query_params.getlist(name)
        if len(values) > 1 and name not in lists:
            raise Refused(422, "invalid_argument", f"The parameter {name!r} is given more than once.")
        given[name] = values if name in lists else values[0]
    if kind is None:
        if given:
            raise Refused(422, "invalid_argument", f"There is no parameter {next(iter(given))!r} here.")
        return None
    try:
        decoded = msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as problem:
        raise Refused(422, "invalid_argument", f"The query does not fit: {problem}.") from None
    for value in msgspec.structs.astuple(decoded):
        if isinstance(value, float) and not math.isfinite(value):
            raise Refused(422, "invalid_argument", "The query holds a number that is not finite.")
    return decoded


def decode_path(request: Request, row: Row) -> dict[str, Any]:
    try:
        return {
            name: msgspec.convert(request.path_params[name], kind, strict=False)
            for name, kind in row.path_types.items()
        }
    except msgspec.ValidationError as problem:
        raise Refused(422, "invalid_argument", f"The address does not fit: {problem}.") from None


def encode_cursor(fields: Mapping[str, Any]) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(fields)).rstrip(b"=").decode()


def decode_cursor(cursor: str, endpoint: Endpoint) -> dict[str, Any]:
    assert endpoint.paging is not None
    try:
        fields: Any = msgspec.json.decode(base64.urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)))
        return {name: msgspec.convert(fields[name], endpoint.cursor_field(name)) for name in endpoint.paging.fields}
    except (ValueError, KeyError, TypeError, msgspec.MsgspecError):
        raise Refused(
            422, "invalid_argument", "The cursor is not one that was given out here.", hint="Start without one."
        ) from None
