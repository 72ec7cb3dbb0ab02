"""`${VARIABLE}` and `${VARIABLE:-default}` inside the strings of a file; `$${` stands for a plain `${`."""

import re
from collections.abc import Mapping

from msgspec import Struct

_REFERENCE = re.compile(r"\$(?P<escaped>\$\{)|\$\{(?P<inside>[^}]*)(?P<end>\}?)")
_INSIDE = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<fallback>:-.*)?", re.DOTALL)


class Expansion(Struct):
    text: str = ""
    variables: list[str] = []
    """The variables it refers to."""
    unset: list[str] = []
    """Those of them that are not set and have no default."""
    malformed: str = ""
    """A reference that cannot be read."""


def expand(text: str, env: Mapping[str, str]) -> Expansion:
    result = Expansion()

    def replace(reference: re.Match[str]) -> str:
        if reference["escaped"]:
            return "${"
        inside = _INSIDE.fullmatch(reference["inside"])
        if not reference["end"] or inside is None:
            result.malformed = result.malformed or reference[0]
            return ""
        name, fallback = inside["name"], inside["fallback"]
        result.variables.append(name)
        value = env.get(name)
        if fallback is not None:
            return value or fallback.removeprefix(":-")
        if value is None:
            result.unset.append(name)
            return ""
        return value

    result.text = _REFERENCE.sub(replace, text)
    return result
