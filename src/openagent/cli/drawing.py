"""How answers look on a terminal: drawn as `openagent run` draws them, by the part of the program that can."""

import sys
from typing import TYPE_CHECKING

import click

from openagent.cli.terminal import columns, use_colour

if TYPE_CHECKING:
    from openagent.cli.run import Draw, Written


def drawing() -> "Draw | None":
    """None in a pipe, without colours, or in a program that has no part for it: Markdown stays as it was written."""
    context = click.get_current_context(silent=True)
    return context.obj if context and use_colour(sys.stdout) else None


def begun(draw: "Draw | None") -> "Written | None":
    return draw(columns()) if draw else None


def drawn(text: str, draw: "Draw | None") -> str:
    """All of a text that has ended."""
    written = begun(draw)
    return text if written is None else (written.feed(text) + written.flush()).rstrip("\n")
