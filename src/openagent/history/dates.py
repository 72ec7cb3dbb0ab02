"""Dates as other agents write them, in seconds since 1970."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any


def seconds(value: Any) -> float:
    """From ISO text, or a number of seconds or milliseconds; 0 for what is no date."""
    match value:
        case bool() | None:
            return 0.0
        case int() | float():
            return float(value) / 1000 if value > 1e11 else float(value)
        case str() if len(value) >= 19:
            return _minute(value[:16]) + _within(value)
        case _:
            return 0.0


@lru_cache(4096)
def _minute(text: str) -> float:
    """Times follow each other closely: most are in the minute of the one before."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0


def _within(text: str) -> float:
    """Seconds, and how far its clock is from UTC. Without a zone it is taken for UTC."""
    rest = text[17:].rstrip("Z")
    zone = 0.0
    for sign in ("+", "-"):
        rest, found, offset = rest.partition(sign)
        if found:
            hours, _, minutes = offset.partition(":")
            if hours.isdigit():
                zone = (float(hours) * 3600 + float(minutes or 0) * 60) * (1 if sign == "+" else -1)
    try:
        return float(rest) - zone
    except ValueError:
        return -zone
