"""What is kept of a command's output: head and tail in memory, all of it in a file when there is too much."""

import codecs
from collections import deque
from pathlib import Path

from openagent.plugins.jail import OnOutput, OutputStream

HEAD_BYTES = 32 * 1024
TAIL_BYTES = 32 * 1024
LOG_BYTES = 512 * 1024 * 1024


class Log:
    """All of a command's output in order of arrival. Nothing is written until it is needed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._early: list[bytes] | None = []
        self._file = None
        self._room = LOG_BYTES

    @property
    def written(self) -> bool:
        return self._file is not None or self._early is None

    def add(self, data: bytes) -> None:
        if self._early is not None:
            self._early.append(data)
        else:
            self._write(data)

    def keep(self) -> None:
        """From here on everything goes to the file, and what came before goes there first."""
        if self._early is None:
            return
        early, self._early = self._early, None
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("wb", buffering=0)
        for data in early:
            self._write(data)

    def _write(self, data: bytes) -> None:
        if self._file is None or self._room <= 0:
            return
        try:
            self._file.write(data[: self._room])
        except OSError:
            self._room = 0  # the disk is full: the head and the tail are still kept
            return
        self._room -= len(data)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


class Capture:
    """One stream of one command."""

    def __init__(self, stream: OutputStream, on_output: OnOutput | None, log: Log | None) -> None:
        self._stream: OutputStream = stream
        self.on_output = on_output
        self._log = log
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self.total = 0

    def feed(self, data: bytes) -> None:
        self.total += len(data)
        if self._log is not None:
            self._log.add(data)
            if self.total > HEAD_BYTES:
                self._log.keep()
        room = HEAD_BYTES - len(self._head)
        if room > 0:
            self._head += data[:room]
        if len(data) > room:
            self._keep_tail(data[room:] if room > 0 else data)
        if self.on_output is not None and (text := self._decoder.decode(data)):
            self.on_output(self._stream, text)

    def _keep_tail(self, data: bytes) -> None:
        self._tail.append(data)
        self._tail_size += len(data)
        while self._tail_size - len(self._tail[0]) >= TAIL_BYTES:
            self._tail_size -= len(self._tail.popleft())

    def finish(self) -> None:
        if self.on_output is not None and (text := self._decoder.decode(b"", True)):
            self.on_output(self._stream, text)

    @property
    def truncated(self) -> bool:
        return self.total > HEAD_BYTES + TAIL_BYTES

    def text(self) -> str:
        tail = b"".join(self._tail)
        if not self.truncated:
            return (bytes(self._head) + tail).decode("utf-8", "replace")
        left_out = self.total - HEAD_BYTES - TAIL_BYTES
        head = self._head.decode("utf-8", "replace")
        return f"{head}\n[… {left_out} bytes left out …]\n{tail[-TAIL_BYTES:].decode('utf-8', 'replace')}"

    def tail_text(self, limit: int) -> str:
        kept = b"".join(self._tail) if self._tail_size >= limit else bytes(self._head) + b"".join(self._tail)
        return kept[-limit:].decode("utf-8", "replace")
