"""Per step: how much of the prompt came from the provider's cache, and why not more.

A provider caches the beginning of a prompt: tools, system prompt, messages, in this order. What the last request of a
session began with can be read again as long as not one byte of it changed.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Literal

import msgspec
from msgspec import Struct, structs

from openagent.plugins.provider import ModelRequest, ToolSchema
from openagent.protocol.display import NO_DISPLAY
from openagent.protocol.messages import Message, ToolResultPart
from openagent.protocol.usage import Usage

LIFETIME = 300.0
"""Seconds after which providers drop a prompt that was not asked for again."""
SMALLEST = 1024
"""Tokens below which providers cache nothing."""
_ENOUGH = 0.9
"""Caches work in blocks: reading this share of what was there before is a hit."""

_FIRST: "tuple[MissReason, str]" = ("first_request", "Nothing was cached yet: the session's first request.")
_PUT_AWAY = 1024
"""Sessions of which is still known when and of what model they asked last."""

MissReason = Literal[
    "first_request",
    "model_switched",
    "expired",
    "prefix_changed",
    "below_minimum",
    "not_known",
    "not_read_by_provider",
]


class CacheStep(Struct, frozen=True):
    prompt_tokens: int
    read_tokens: int
    expected_tokens: int
    """What the request before had: as much of the prompt could have been read."""
    reason: MissReason | None = None
    """None: a hit."""
    detail: str = ""
    """The reason in a sentence."""

    @property
    def share(self) -> float:
        return self.read_tokens / self.prompt_tokens if self.prompt_tokens else 0.0


class Change(Struct, frozen=True):
    """Where two prompts part."""

    part: str
    """`system`, `tools`, or `message 12`, counted from 1 as sent."""
    byte: int
    """Bytes of the prompt that are the same before it."""


class _Seen(Struct, frozen=True):
    model: str
    request: ModelRequest | None
    """None: the session was put away since."""
    messages: Sequence[Message]
    usage: Usage
    at: float


class CacheWatch:
    """Remembers the last request of every session in memory; it shares the messages with the session and copies
    nothing. Of those that were put away only a line is kept, of the newest of them."""

    def __init__(self) -> None:
        self._last: dict[str, _Seen] = {}
        self._put_away: OrderedDict[str, _Seen] = OrderedDict()

    def observe(self, session: str, model: str, request: ModelRequest, usage: Usage, at: float) -> CacheStep:
        before = self._last.get(session) or self._put_away.pop(session, None)
        self._last[session] = seen = _Seen(model, request, tuple(request.messages), usage, at)
        expected = before.usage.input_tokens if before and before.model == model else 0
        hit = usage.cached_tokens > 0 and usage.cached_tokens >= expected * _ENOUGH
        reason, detail = (None, "") if hit else _explain(before, seen) if before else _FIRST
        return CacheStep(
            prompt_tokens=usage.input_tokens,
            read_tokens=usage.cached_tokens,
            expected_tokens=expected,
            reason=reason,
            detail=detail,
        )

    def forget(self, session: str) -> None:
        """It is in memory no longer."""
        if last := self._last.pop(session, None):
            self._put_away[session] = structs.replace(last, request=None, messages=())
            if len(self._put_away) > _PUT_AWAY:
                self._put_away.popitem(last=False)


def _explain(before: _Seen, now: _Seen) -> tuple[MissReason, str]:
    if before.model != now.model:
        return "model_switched", f"The model changed from {before.model} to {now.model}; each has its own cache."
    size = before.usage.input_tokens
    if size < SMALLEST:
        return "below_minimum", f"The prompt was too short to be cached ({size:,} of at least {SMALLEST:,} tokens)."
    if change := _change_since(before, now):
        return "prefix_changed", f"The prompt changed at byte {change.byte:,}, in {change.part}."
    if now.at - before.at > LIFETIME:
        minutes = (now.at - before.at) / 60
        return "expired", f"The request before was {minutes:.0f} minutes ago; caches are kept for {LIFETIME / 60:.0f}."
    if before.request:
        return "not_read_by_provider", "The prompt began with the same bytes, but the provider did not read its cache."
    return "not_known", "The session was put away since its last request, which was not kept for comparing."


def _change_since(before: _Seen, now: _Seen) -> Change | None:
    if before.request is None or now.request is None:
        return None
    return first_change(before.request, before.messages, now.request, now.messages)


def first_change(
    before: ModelRequest, earlier: Sequence[Message], now: ModelRequest, later: Sequence[Message]
) -> Change | None:
    """None when the later prompt begins with all of the earlier one."""
    same_head = before.system == now.system and before.tools == now.tools
    if same_head and tuple(later[: len(earlier)]) == tuple(earlier):
        return None
    for (part, old), (_, new) in zip_longest(_parts(before, earlier), _parts(now, later), fillvalue=("", None)):
        if old is None:
            return None
        if old is new or old == new:
            continue
        sent_before, sent_now = _sent(old), b"" if new is None else _sent(new)
        if sent_before != sent_now:
            return Change(part, _bytes_before(before, earlier, old) + _same_bytes(sent_before, sent_now))
    return None


def _same_bytes(one: bytes, other: bytes) -> int:
    """By halves: comparing slices is fast, going byte by byte is not."""
    same, differs = 0, min(len(one), len(other)) + 1
    while differs - same > 1:
        middle = (same + differs) // 2
        same, differs = (middle, differs) if one[:middle] == other[:middle] else (same, middle)
    return same


Piece = str | Sequence[ToolSchema] | Message


def _parts(request: ModelRequest, messages: Sequence[Message]) -> Iterator[tuple[str, Piece]]:
    yield "tools", request.tools
    yield "system", request.system
    for position, message in enumerate(messages, 1):
        yield f"message {position}", message


def _bytes_before(request: ModelRequest, messages: Sequence[Message], piece: Piece) -> int:
    size = 0
    for _, other in _parts(request, messages):
        if other is piece:
            break
        size += len(_sent(other))
    return size


def _sent(piece: Piece) -> bytes:
    """What of it a provider gets to see, however the wire format writes it."""
    if not isinstance(piece, Message):
        return msgspec.json.encode(piece)
    parts = [
        msgspec.structs.replace(part, display=NO_DISPLAY, duration_ms=0.0) if isinstance(part, ToolResultPart) else part
        for part in piece.parts
    ]
    return msgspec.json.encode([piece.role, parts])
