"""A change in a plain terminal, in the colours that the terminal interface has for it; in a pipe, the plain diff."""

from __future__ import annotations

import os
from typing import NamedTuple

from openagent.cli.terminal import columns, use_colour
from openagent.client.diff import cells, laid_out
from openagent.client.terminal_colours import depth, ground_told
from openagent.client.text import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

    from openagent.client.diff import Line, Piece

_WIDEST = 160


class _Palette(NamedTuple):
    """What selects each colour, as in `ESC [ … m`."""

    text: str = ""
    rows: Mapping[str, str] = {}
    words: Mapping[str, str] = {}
    code: Mapping[str, str] = {}
    quiet: str = "2"


_STATES = {"added": "32", "removed": "31"}
_DARK_CODE = {
    "keyword": "38;2;129;140;248",
    "string": "38;2;165;180;252",
    "name": "1",
    "comment": "3;38;2;133;136;144",
    "doc": "3;38;2;133;136;144",
}
_LIGHT_CODE = {
    "keyword": "38;2;79;70;229",
    "string": "38;2;99;102;241",
    "name": "1",
    "comment": "3;38;2;118;124;140",
    "doc": "3;38;2;118;124;140",
}
_PALETTES = {
    ("dark", "truecolor"): _Palette(
        "38;2;213;216;226",
        {"added": "48;2;16;37;27", "removed": "48;2;43;21;27"},
        {"added": "48;2;29;86;56", "removed": "48;2;116;42;56"},
        _DARK_CODE,
        "38;2;107;114;133",
    ),
    ("light", "truecolor"): _Palette(
        "38;2;35;38;47",
        {"added": "48;2;226;245;231", "removed": "48;2;251;231;232"},
        {"added": "48;2;171;227;187", "removed": "48;2;246;185;189"},
        _LIGHT_CODE,
        "38;2;118;124;140",
    ),
    ("dark", "256"): _Palette(
        "38;5;253",
        {"added": "48;5;22", "removed": "48;5;52"},
        {"added": "48;5;28", "removed": "48;5;124"},
        {"keyword": "38;5;147", "string": "38;5;189", "name": "1", "comment": "3;38;5;250", "doc": "3;38;5;250"},
        "38;5;245",
    ),
    ("light", "256"): _Palette(
        "38;5;235",
        {"added": "48;5;194", "removed": "48;5;224"},
        {"added": "48;5;120", "removed": "48;5;217"},
        {"keyword": "38;5;56", "string": "38;5;62", "name": "1", "comment": "3;38;5;241", "doc": "3;38;5;241"},
        "38;5;243",
    ),
}


class Look(NamedTuple):
    """What a terminal can show, and where."""

    colour: bool
    width: int
    ground: str
    depth: str


def look_of(stream: TextIO, ground: str | None = None) -> Look:
    known = ground or ground_told(os.environ) or "dark"
    return Look(use_colour(stream), min(columns(), _WIDEST), known, depth(os.environ))


def painted(patch: str, look: Look, *, path: str = "", headed: bool = True) -> list[str]:
    """Line by line, as wide as the terminal."""
    lines = laid_out(patch, look.width, path=path, headed=headed)
    if not look.colour:
        return ["".join(piece.text for piece in line.pieces).rstrip() for line in lines]
    palette = _PALETTES.get((look.ground, look.depth), _Palette())
    return [_line(line, palette, look.width) for line in lines]


def plain(patch: str) -> str:
    """For a pipe: what other programs can read."""
    return clean(patch).rstrip("\n")


def _line(line: Line, palette: _Palette, width: int) -> str:
    painted = "".join(_sgr(_style(line.kind, piece, palette), piece.text) for piece in line.pieces)
    if row := palette.rows.get(line.kind):
        painted += _sgr(row, " " * max(width - cells("".join(piece.text for piece in line.pieces)), 0))
    return painted


def _sgr(codes: str, text: str) -> str:
    return f"\x1b[{codes}m{text}\x1b[0m" if codes and text else text


def _style(kind: str, piece: Piece, palette: _Palette) -> str:
    if kind == "file":
        return palette.quiet if piece.look == "count" else "1"
    row = palette.rows.get(kind, "")
    if piece.look in ("number", "quiet"):
        return _both(palette.quiet, row)
    state = _STATES.get(kind, "")
    if piece.look == "sign":
        return _both(state, row)
    if state and not row:  # too few colours for tints: the letters themselves are green or red
        return _both(state, "1;4" if piece.changed else "")
    letters = palette.code.get(piece.look, "")
    if not state:
        return letters
    return _both(palette.text, letters, palette.words[kind] if piece.changed else row)


def _both(*codes: str) -> str:
    return ";".join(code for code in codes if code)
