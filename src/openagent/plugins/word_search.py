"""Finding by some words what has a name and a description, where there is too much of it to be listed."""

import re
from collections.abc import Mapping

_WORD = re.compile(r"[a-z0-9]+")
_IN_NAME = 3
"""What a word in the name counts beside one in the description."""


def best_matches(query: str, described: Mapping[str, str], most: int) -> list[str]:
    """Names, the best first; none that no word fits."""
    words = set(_WORD.findall(query.lower()))
    fits = {name: _fits(words, name.lower(), text.lower()) for name, text in described.items()}
    ranked = sorted((name for name in fits if fits[name]), key=lambda name: -fits[name])
    return ranked[:most]


def _fits(words: set[str], name: str, text: str) -> int:
    return sum(_IN_NAME * (word in name) + (word in text) for word in words)
