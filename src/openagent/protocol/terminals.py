"""A terminal in a session's jail, for a person."""

from typing import Annotated

from msgspec import Meta, Struct

from openagent.protocol.op import Done, Op, ReadingOp

Columns = Annotated[int, Meta(ge=1, le=1000)]


class TerminalOpened(Struct, frozen=True, omit_defaults=True):
    terminal: str
    text: str = ""
    """What it printed before, as far as kept."""


class TerminalOpen(Op[TerminalOpened], tag="terminal.open", needs="chat", acts=True, waits=True, tells=True):
    """Open a terminal. One that is open already sends its output to this connection too, beginning with what is
    kept."""

    session: str
    terminal: str = ""
    columns: Columns = 80
    rows: Columns = 24


class TerminalInput(ReadingOp[Done], tag="terminal.input", needs="chat", acts=True):
    """Type into a terminal."""

    terminal: str
    text: str

    def __repr__(self) -> str:
        return f"TerminalInput(terminal={self.terminal!r})"


class TerminalResize(ReadingOp[Done], tag="terminal.resize", needs="chat"):
    """Tell a terminal its new size."""

    terminal: str
    columns: Columns
    rows: Columns


class TerminalClose(Op[Done], tag="terminal.close", needs="chat"):
    """Close a terminal, and end what runs in it."""

    terminal: str
