"""Words that somebody looks for, lit where they stand."""

import re
import unicodedata
from collections.abc import Sequence

from textual.content import Content


def folded(text: str) -> str:
    """As the search sees it: without case and accents, each character where it was."""
    return "".join(unicodedata.normalize("NFD", character)[0].lower()[:1] or character for character in text)


def words_of(query: str) -> list[str]:
    return re.findall(r"\w+", folded(query))


def places(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """Where something begins as one of these words."""
    if not words:
        return []
    pattern = rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})"
    return [found.span() for found in re.finditer(pattern, folded(text))]


def lit(content: Content, words: Sequence[str], *, now: bool) -> Content:
    """`now`: in what the search stands at."""
    for begin, end in places(content.plain, words):
        content = content.stylize("bold on $found-now" if now else "on $found", begin, end)
    return content
