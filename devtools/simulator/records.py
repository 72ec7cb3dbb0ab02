"""What the simulator remembers of each request."""

from collections import deque
from typing import Any

import msgspec

MAX_RECORDS = 2_000
MAX_BODY_KEPT = 4 * 1024 * 1024
MAX_BODIES_KEPT = 64 * 1024 * 1024


class Record(msgspec.Struct, kw_only=True):
    """One request as it came over the wire. Times are seconds on the machine's monotonic clock."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    """In wire order and case."""
    raw_head: str
    """The head's bytes, as latin-1."""
    body: str
    """Its first `MAX_BODY_KEPT` bytes; of old requests nothing, once all bodies exceed `MAX_BODIES_KEPT`."""
    body_size: int
    arrived_at: float
    """The request's first byte."""
    finished_at: float | None = None
    """The response's last byte handed to the kernel."""
    disconnected_at: float | None = None
    """The client left before that."""
    status: int | None = None
    format: str | None = None
    conversation: str | None = None
    step: int | None = None
    fault: str | None = None
    error: str | None = None
    """The problem that the referee or the script had with it."""

    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    def header(self, name: str) -> str | None:
        """The value of a header, whatever its case."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


class RecordLog(deque[Record]):
    """The latest requests, oldest first, in bounded memory."""

    def __init__(self) -> None:
        super().__init__(maxlen=MAX_RECORDS)
        self._kept = 0

    def remember(self, record: Record) -> None:
        if len(self) == MAX_RECORDS:
            self._kept -= len(self[0].body)
        self.append(record)
        self._kept += len(record.body)
        for old in self:
            if self._kept <= MAX_BODIES_KEPT:
                break
            self._kept -= len(old.body)
            old.body = ""

    def forget(self) -> None:
        self.clear()
        self._kept = 0
