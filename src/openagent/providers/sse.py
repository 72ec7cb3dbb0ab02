"""Server-sent events, as far as model providers use them: the data of each event, as bytes."""


class EventParser:
    """Feed it bytes as they arrive; it gives back the data of every event completed so far.

    Field names other than `data` carry nothing that the JSON does not repeat, so they are skipped. Lines end with LF,
    CR LF or CR alone. However the bytes are cut, each is copied a fixed number of times.
    """

    __slots__ = ("_after_cr", "_data", "_has_data", "_line")

    def __init__(self) -> None:
        self._line = bytearray()
        """The beginning of a line that is not complete."""
        self._data = bytearray()
        """The lines of an event that is not complete."""
        self._has_data = False
        self._after_cr = False
        """The last byte was a CR: an LF that follows belongs to it."""

    @property
    def held(self) -> int:
        """Bytes that wait for the rest of their event."""
        return len(self._line) + len(self._data)

    def feed(self, chunk: bytes) -> list[bytes]:
        if self._after_cr or b"\r" in chunk:
            chunk = self._with_plain_ends(chunk)
        rows = chunk.split(b"\n")
        rest = rows.pop()
        events: list[bytes] = []
        if rows:
            if self._line:
                self._line += rows[0]
                rows[0] = bytes(self._line)
                self._line.clear()
            self._read(rows, events)
        self._line += rest
        return events

    def end(self) -> list[bytes]:
        """What was still open when the stream ended: some servers leave out the last blank line."""
        return self.feed(b"\n\n")

    def _read(self, rows: list[bytes], events: list[bytes]) -> None:
        waiting: bytes | None = None
        """The only line so far of an event: by far the most have one."""
        for row in rows:
            if row.startswith(b"data:"):
                if waiting is not None:
                    self._keep(waiting)
                waiting = row[5:]
            elif not row:
                if self._has_data:
                    if waiting is not None:
                        self._keep(waiting)
                    events.append(bytes(self._data))
                    self._data.clear()
                    self._has_data = False
                elif waiting is not None:
                    events.append(waiting)
                waiting = None
        if waiting is not None:
            self._keep(waiting)

    def _keep(self, line: bytes) -> None:
        if self._has_data:
            self._data += b"\n"
        self._data += line
        self._has_data = True

    def _with_plain_ends(self, chunk: bytes) -> bytes:
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        if chunk:
            self._after_cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
