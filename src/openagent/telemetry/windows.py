"""How much a model can read, and write in one answer, as far as it is known beforehand."""

import re
from collections.abc import Sequence

from openagent.telemetry.price_list import find_model
from openagent.telemetry.prices import LISTED_AS

_WINDOWS: Sequence[tuple[re.Pattern[str], int]] = [
    (re.compile(pattern), window)
    for pattern, window in (
        (r"claude", 200_000),
        (r"gpt-5", 400_000),
        (r"gpt-4\.1", 1_000_000),
        (r"gpt-4o|gpt-4-turbo|o1-mini", 128_000),
        (r"(^|/)o[134]", 200_000),
        (r"gemini-(1\.5|2|3)", 1_000_000),
        (r"^smollm2$", 4_096),
    )
]
_SHORT_ANSWERS: Sequence[tuple[re.Pattern[str], int]] = [
    (re.compile(pattern), tokens)
    for pattern, tokens in (
        (r"claude-3-5", 8_192),
        (r"claude-(2|3-(opus|sonnet|haiku)|v1)", 4_096),
        (r"gpt-4-turbo|gpt-3\.5|gpt-4o-2024-05-13", 4_096),
        (r"gemini-(1\.5|2\.0)", 8_192),
    )
]
"""Models that refuse to be asked for as long an answer as others give."""


def window(kind: str, model: str) -> int:
    """Tokens; 0 when it is not known."""
    listed = find_model(model, LISTED_AS[kind]) if kind in LISTED_AS else None
    if listed is not None and listed.context_window:
        return listed.context_window
    return next((window for pattern, window in _WINDOWS if pattern.search(model)), 0)


def longest_answer(model: str) -> int | None:
    """None: longer than anybody asks for, or not known."""
    return next((tokens for pattern, tokens in _SHORT_ANSWERS if pattern.search(model)), None)
