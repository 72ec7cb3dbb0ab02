"""Where a value came from."""

from msgspec import Struct

KeyPath = tuple[str | int, ...]
"""Table names and keys from the top; numbers for the items of a list."""


class Source(Struct, frozen=True):
    """A line of a file, an environment variable, or (both empty) the defaults."""

    file: str = ""
    line: int = 0
    variable: str = ""

    def __str__(self) -> str:
        if self.file:
            return f"{self.file}:{self.line}"
        return f"${self.variable}" if self.variable else "default"


DEFAULT = Source()


def dotted(path: KeyPath) -> str:
    """As one would write it in the file: `prices."openai/gpt-5".input`, `auto.rules[0].use`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
            continue
        plain = part.replace("-", "").replace("_", "")
        name = part if plain.isascii() and plain.isalnum() else '"' + part.replace('"', '\\"') + '"'
        text += f".{name}" if text else name
    return text
