"""How much a model can read, and write in one answer, as far as it is known beforehand."""

import re
from collections.abc import Sequence
from typing import Any

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


class ModelFacts:
    def __init__(self) -> None:
        self._listed: Any = None

    def load(self) -> None:
        """The bundled list, which knows more and newer models. Takes 0.2 s: call it off the event loop."""
        from genai_prices.data_snapshot import get_snapshot

        self._listed = get_snapshot()

    def window(self, kind: str, model: str) -> int:
        """Tokens; 0 when it is not known."""
        if self._listed is not None and (listed := LISTED_AS.get(kind)):
            try:
                _, found = self._listed.find_provider_model(model, None, listed, None)
                if found.context_window:
                    return int(found.context_window)
            except LookupError:
                pass
        return next((window for pattern, window in _WINDOWS if pattern.search(model)), 0)

    def longest_answer(self, model: str) -> int | None:
        """None: longer than anybody asks for, or not known."""
        return next((tokens for pattern, tokens in _SHORT_ANSWERS if pattern.search(model)), None)
