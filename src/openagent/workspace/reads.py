"""What sessions have read, so that an edit based on an outdated read can be refused with what changed."""

import difflib
import hashlib
from collections import OrderedDict

MAX_FILE = 1 << 20
MAX_TOTAL = 32 << 20
MAX_DIFF = 8_000


def content_hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Reads:
    """The newest contents read, by their hash, up to a bound."""

    def __init__(self, max_total: int = MAX_TOTAL) -> None:
        self._contents: OrderedDict[str, bytes] = OrderedDict()
        self._total = 0
        self._max_total = max_total

    def remember(self, data: bytes) -> str:
        key = content_hash(data)
        if key in self._contents:
            self._contents.move_to_end(key)
        elif len(data) <= MAX_FILE:
            self._contents[key] = data
            self._total += len(data)
            while self._total > self._max_total:
                self._total -= len(self._contents.popitem(last=False)[1])
        return key

    def get(self, key: str) -> bytes | None:
        return self._contents.get(key)


def difference(path: str, before: bytes, now: bytes) -> str:
    """A unified diff, cut at a bound."""
    try:
        old, new = before.decode().splitlines(), now.decode().splitlines()
    except UnicodeDecodeError:
        return f"{path} is not text: it had {len(before)} bytes when it was read, and has {len(now)} now."
    lines = difflib.unified_diff(old, new, f"{path} as you read it", f"{path} now", lineterm="", n=3)
    text = "\n".join(lines)
    return text if len(text) <= MAX_DIFF else text[:MAX_DIFF] + "\n… cut here"
