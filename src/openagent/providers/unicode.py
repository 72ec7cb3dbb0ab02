"""Text that is almost Unicode. Servers cut their answers between the two halves of a character, and JSON has room for
such halves; nobody else has."""

import re

_ESCAPES = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}(?P<low>\\u[dD][c-fC-F][0-9a-fA-F]{2})?|(?P<lone>u[dD][c-fC-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_UNKNOWN = rb"\ufffd"


def mend_text(json: bytes) -> bytes:
    """The same JSON with every half character and every broken sequence replaced by U+FFFD."""
    try:
        json.decode()
    except UnicodeDecodeError:
        json = json.decode("utf-8", "replace").encode()
    return _ESCAPES.sub(_mend, json)


def _mend(match: re.Match[bytes]) -> bytes:
    escape = match[0]
    is_high = len(escape) == len(rb"\ud800") and match["lone"] is None
    return _UNKNOWN if match["lone"] or is_high else escape
