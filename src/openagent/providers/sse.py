"""Server-sent events, as far as model providers use them: the data of each event, as bytes."""


class EventParser:
    """Feed it bytes as they arrive; it gives back the data of every event completed so far.

    Field names other than `data` carry nothing that the JSON does not repeat, so they are skipped. A carriage return
    at a line's end stays on: JSON ignores it.
    """

    __slots__ = ("_lines", "rest")

    def __init__(self) -> None:
        self.rest = b""
        """The beginning of a line that is not complete."""
        self._lines: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        rows = (self.rest + chunk).split(b"\n")
        self.rest = rows.pop()
        pending = self._lines
        events: list[bytes] = []
        for row in rows:
            if row.startswith(b"data:"):
                pending.append(row[5:])
            elif pending and row in (b"", b"\r"):
                events.append(pending[0] if len(pending) == 1 else b"\n".join(pending))
                pending.clear()
        return events

    def end(self) -> list[bytes]:
        """What was still open when the stream ended: some servers leave out the last blank line."""
        return self.feed(b"\n\n")
