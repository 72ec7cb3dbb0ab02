"""Session ids: short, sortable by time, safe in URLs and file names. A client may make its own."""

from os import urandom
from time import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def new_session_id() -> str:
    """48 bits of milliseconds, then 32 of chance."""
    return _spelt((int(time() * 1000) << 32 | int.from_bytes(urandom(4), "big")) & (1 << 80) - 1)


def session_id_of(content: bytes) -> str:
    """Always the same for the same content."""
    from hashlib import sha256

    return _spelt(int.from_bytes(sha256(content).digest()[:10], "big"))


def _spelt(value: int) -> str:
    return "".join(_ALPHABET[value >> shift & 31] for shift in range(75, -1, -5))
