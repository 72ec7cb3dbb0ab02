"""Structs to bytes and back, and the frame of the unix socket: 4-byte big-endian length, then JSON."""

import msgspec

from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import AnyEvent, Event
from openagent.protocol.nearest import nearest
from openagent.protocol.op import Op
from openagent.protocol.ops import BY_TAG, AnyOp

MAX_FRAME = 32 * 1024 * 1024
HEADER_SIZE = 4

_encoder = msgspec.json.Encoder()
_op_decoder: msgspec.json.Decoder[Op] = msgspec.json.Decoder(AnyOp)
_event_decoder: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)


class _OpHead(msgspec.Struct):
    id: str = ""
    op: str = ""


_head_decoder = msgspec.json.Decoder(_OpHead)
KNOWN_OPS = frozenset(BY_TAG)
_REPLACED = {"session.rewind": "session.undo", "session.unrewind": "session.redo"}
"""Ops of older clients that would now do something else than those were told."""


def frame(body: bytes) -> bytes:
    return len(body).to_bytes(HEADER_SIZE, "big") + body


def encode_op(op: Op) -> bytes:
    return _encoder.encode(op)


def encode_event(event: Event) -> bytes:
    return _encoder.encode(event)


def decode_event(data: bytes | bytearray | memoryview | str) -> AnyEvent:
    return _event_decoder.decode(data)


class UndecodableOp(OpenAgentError):
    """A frame that is not an op. `op_id` is what could be read of its id."""

    op_id: str = ""


def decode_op(data: bytes | bytearray | memoryview | str) -> Op:
    try:
        return _op_decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise _explain(data, problem) from None


def _explain(data: bytes | bytearray | memoryview | str, problem: Exception) -> UndecodableOp:
    try:
        head = _head_decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return UndecodableOp("bad_frame", f"The frame is not a JSON object with an op: {problem}.")
    if head.op in _REPLACED:
        error = UndecodableOp(
            "version_mismatch",
            f"This client is older than the daemon, where {head.op!r} is {_REPLACED[head.op]!r}. Nothing was done.",
            hint="Close the client and start it again; in a browser, reload the page.",
        )
    elif head.op not in KNOWN_OPS:
        error = UndecodableOp(
            "unknown_op",
            f"There is no op named {head.op!r}." if head.op else "The frame names no op.",
            hint="`openagent protocol schema` lists the ops.",
        )
    else:
        guess = nearest(problem, BY_TAG[head.op]).strip()
        error = UndecodableOp("bad_op", f"The op {head.op!r} is not well formed: {problem}.", hint=guess)
    error.op_id = head.id
    return error
