"""JSON as editors write it: with `//` and `/* */` comments, and a comma after the last item."""

import re

_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(\s*[}\]])', re.DOTALL)


def plain_json(text: str) -> str:
    """The same as JSON. What stands in strings stays as it is, and what is no JSON at all is left to the decoder."""
    bare = _TOKEN.sub(lambda found: found[0] if found[0].startswith('"') else " ", text.removeprefix("\ufeff"))
    return _LAST_COMMA.sub(lambda found: found[1] or found[2], bare)
