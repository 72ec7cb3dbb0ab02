"""Characters of a text that nobody sees, or that make it look like another text."""

import re

_SYMBOLS = "©®‼⁉™ℹ←-⇿⌀-➿⤀-⥿⬀-⯿〰〽㊗㊙\U0001f000-\U0001faff"
"""Of which emoji are made."""
_IN_EMOJI = rf"(?:(?<=[{_SYMBOLS}])\ufe0f|(?<=[0-9#*])\ufe0f(?=\u20e3)|(?<=[{_SYMBOLS}\ufe0f])\u200d(?=[{_SYMBOLS}]))"
_BLANK = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000\u3164\uffa0"
"""Looks like a blank, and is a letter to a shell."""
_UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\ud800-\udfff\ue000-\uf8ff\ufe00-\ufe0f\ufeff\ufff0-\ufffc\ufffe\uffff"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U0010ffff"
)
"""Controls but tab and newline, marks of direction, joiners, selectors, tags, fillers, and what no font shows."""
_ANY = re.compile(f"[{_BLANK}{_UNSEEN}]")
_HIDDEN = re.compile(f"(?!{_IN_EMOJI})[{_BLANK}{_UNSEEN}]")
_HIDDEN_IN_LINES = re.compile(f"(?!{_IN_EMOJI}|\r\n)[{_BLANK}{_UNSEEN}]")
_BLANKS = re.compile(f"[{_BLANK}]")
_STAND_IN = "\ufffd"
"""A letter like any other, to a shell and to the reader."""


def hides(text: str) -> bool:
    return bool(_ANY.search(text) and _HIDDEN.search(text))


def standing_in(text: str) -> str:
    """As the first of the readings has it."""
    return _HIDDEN.sub(_STAND_IN, text) if _ANY.search(text) else text


def readings(text: str) -> list[str]:
    """A command as a shell reads it, to which each such character is a letter (NUL it drops), and as a person does."""
    seen = _HIDDEN.sub("", _BLANKS.sub(" ", text))
    return list(dict.fromkeys((standing_in(text), seen, _HIDDEN.sub("", text))))


def shown(text: str, *, lines: bool = False) -> str:
    """For a person who is to judge it: a zero width space as `<U+200B>`. `lines`: these may end in carriage returns."""
    return (_HIDDEN_IN_LINES if lines else _HIDDEN).sub(_named, text) if _ANY.search(text) else text


def _named(found: re.Match[str]) -> str:
    return f"<U+{ord(found[0]):04X}>"
