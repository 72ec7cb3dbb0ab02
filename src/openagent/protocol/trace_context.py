"""Which trace something belongs to, as W3C's Trace Context has it.

An op's id may be one: a `traceparent`, and after a dot whatever makes it the client's own. What the op causes is then
part of the client's trace. The id of a whole trace alone, without anybody who called, is one, too.
"""

import re
from os import urandom

from msgspec import Struct

_TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_TRACE = re.compile(r"[0-9a-f]{32}")


class TraceContext(Struct, frozen=True):
    trace: str
    """32 hexadecimal digits."""
    span: str = ""
    """16 of them: the part of the trace that called. Empty: nobody did."""
    sampled: bool = True
    """Whoever began the trace keeps it."""

    @property
    def traceparent(self) -> str:
        return f"00-{self.trace}-{self.span}-{'01' if self.sampled else '00'}"

    def inside(self) -> "TraceContext":
        """A new part of the same trace."""
        return TraceContext(self.trace, urandom(8).hex(), self.sampled)


def new_trace() -> str:
    return urandom(16).hex()


def read_traceparent(text: str) -> TraceContext | None:
    return _context(_TRACEPARENT.fullmatch(text))


def context_of_op(op_id: str) -> TraceContext | None:
    if found := _context(_TRACEPARENT.match(op_id)):
        return found
    return TraceContext(op_id) if _TRACE.fullmatch(op_id) else None


def _context(found: "re.Match[str] | None") -> TraceContext | None:
    if found is None or not found[1].strip("0") or not found[2].strip("0"):  # zeros are nobody's id
        return None
    return TraceContext(found[1], found[2], bool(int(found[3], 16) & 1))
