"""Session ids: short, sortable by time, safe in URLs and file names. A client may make its own."""

from os import urandom
from time import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def new_session_id() -> str:
    """48 bits of milliseconds, then 32 of chance."""
    value = (int(time() * 1000) << 32 | int.from_bytes(urandom(4), "big")) & (1 << 80) - 1
    return "".join(_ALPHABET[value >> shift & 31] for shift in range(75, -1, -5))
