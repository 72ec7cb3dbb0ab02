"""Words of code and of questions about it."""

import re

_CAMEL = re.compile(r"[A-Za-z]+[a-z][A-Z][A-Za-z]*|[A-Z]{2,}[a-z]+[A-Za-z]*")
_HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_WORD = re.compile(r"\w+")
_MAX_TERMS = 32
_EMPTY = frozenset(
    (
        *("a", "an", "and", "are", "as", "at", "be", "by", "can", "do", "does", "for", "from", "how", "i", "if", "in"),
        *("into", "is", "it", "its", "me", "of", "on", "or", "that", "the", "their", "then", "there", "this", "to"),
        *("was", "what", "when", "where", "which", "who", "why", "will", "with", "you"),
    )
)
"""They are everywhere, and say nothing about code."""


def searchable(text: str) -> str:
    """The text, and the parts of its camelCase names."""
    names = {name for name in _CAMEL.findall(text) if len(name) < 80}
    return f"{text}\n{' '.join(part for name in sorted(names) for part in _HUMPS.findall(name))}" if names else text


def terms(query: str) -> list[str]:
    """The words of a question that say something, and the parts of its camelCase names."""
    found: dict[str, None] = {}
    for word in _WORD.findall(query):
        for part in (word, *(_HUMPS.findall(word) if _CAMEL.fullmatch(word) else ())):
            if len(part) > 1 and part.lower() not in _EMPTY:
                found[part.lower()] = None
    return list(found)[:_MAX_TERMS]


def match_expression(query: str) -> str:
    """For FTS5: any of the words. Empty when there is none. Quoted, so that nothing in it is an operator."""
    return " OR ".join(f'"{term}"' for term in terms(query))
