"""From a rendered reply to timed writes, and what each fault does to them."""

from collections.abc import Callable
from typing import Any

from devtools.simulator.faults import Fault
from devtools.simulator.http import LAST_CHUNK, UNTIL_RELEASED, Write, http_chunk, response_head
from devtools.simulator.wire import Event, encode

_PROXY_PAGE = (
    "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n"
    "<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
)


class Pace:
    """When the parts of an answer leave, in seconds."""

    def __init__(self, latency: float, between_chunks: float, split_bytes: int | None) -> None:
        self.latency = latency
        self.between_chunks = between_chunks
        self.split_bytes = split_bytes


def json_writes(status: int, headers: dict[str, str], body: Any, latency: float = 0) -> list[Write]:
    return body_writes(status, {"content-type": "application/json", **headers}, encode(body), latency)


def body_writes(status: int, headers: dict[str, str], body: bytes, latency: float = 0) -> list[Write]:
    head = response_head(status, {**headers, "content-length": str(len(body))})
    return [Write(latency, head + body)]


def proxy_page_writes(fault: Fault) -> list[Write]:
    return body_writes(fault.status or 502, {"content-type": "text/html"}, (fault.message or _PROXY_PAGE).encode())


def broken_body(headers: dict[str, str], body: bytes, latency: float, fault: Fault) -> tuple[list[Write], bool]:
    """A whole answer under a fault: the writes, and whether the connection closes after them."""
    fields = {"content-type": "application/json", **headers}
    half = len(body) // 2
    if fault.name == "garbage":
        return body_writes(200, fields, garble(body), latency), False
    if fault.name in ("truncated", "no_end"):
        return body_writes(200, fields, body[:half], latency), False
    head = response_head(200, {**fields, "content-length": str(len(body))})
    if fault.name == "stall":
        return [Write(latency, head + body[:half]), Write(UNTIL_RELEASED, body[half:])], False
    return [Write(latency, head + body[:half])], True


def stream_writes(headers: dict[str, str], events: list[Event], pace: Pace) -> list[Write]:
    return [*_paced(headers, events, pace), Write(0, LAST_CHUNK)]


def broken_stream(
    headers: dict[str, str],
    events: list[Event],
    pace: Pace,
    fault: Fault,
    error_event: Callable[[int], bytes],
) -> tuple[list[Write], bool]:
    """A streamed answer under a fault: the writes, and whether the connection closes after them."""
    place = _break_place(events, fault.after)
    before, after = events[:place], events[place:]
    if fault.name == "disconnect":
        return _paced(headers, before, pace), True
    if fault.name == "stall":
        rest = b"".join(http_chunk(event.data) for event in after) + LAST_CHUNK
        return [*_paced(headers, before, pace), Write(UNTIL_RELEASED, rest)], False
    if fault.name == "garbage":
        first, *others = after
        return stream_writes(headers, [*before, Event(garble(first.data), first.content), *others], pace), False
    if fault.name == "truncated":
        data = after[0].data
        return stream_writes(headers, [*before, Event(data[: len(data) // 2])], pace), False
    if fault.name == "stream_error":
        return stream_writes(headers, [*before, Event(error_event(place))], pace), False
    return stream_writes(headers, before, pace), False


def garble(data: bytes) -> bytes:
    """No JSON any more, but still the same event to an SSE parser."""
    return data.replace(b"{", b"{<garbage>", 1)


def _break_place(events: list[Event], after: int) -> int:
    """Before the content chunk number `after`; with fewer chunks than that, right after the last one."""
    places = [index for index, event in enumerate(events) if event.content]
    if after < len(places):
        return places[after]
    return places[-1] + 1 if places else len(events) - 1


def _paced(headers: dict[str, str], events: list[Event], pace: Pace) -> list[Write]:
    head = response_head(200, {**headers, "cache-control": "no-cache", "transfer-encoding": "chunked"})
    if not pace.between_chunks:
        return [Write(pace.latency, head + _framed([event.data for event in events], pace.split_bytes))]
    writes = [Write(pace.latency, head)]
    first = True
    for event in events:
        pause = 0 if first or not event.content else pace.between_chunks
        first = first and not event.content
        writes.append(Write(pause, _framed([event.data], pace.split_bytes)))
    return writes


def _framed(pieces: list[bytes], split_bytes: int | None) -> bytes:
    if split_bytes:
        data = b"".join(pieces)
        pieces = [data[start : start + split_bytes] for start in range(0, len(data), split_bytes)]
    return b"".join(map(http_chunk, pieces))
