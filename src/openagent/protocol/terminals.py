"""A terminal in a session's jail, for a person."""

from typing import Annotated

from msgspec import Meta, Struct

from openagent.protocol.op import Done, Op, ReadingOp

Columns = Annotated[int, Meta(ge=1, le=1000)]


class TerminalOpened(Struct, frozen=True, omit_defaults=True):
    """A terminal that is open."""

    terminal: str
    """The terminal, by its id."""
    text: str = ""
    """What it printed before, as far as kept."""


class TerminalOpen(Op[TerminalOpened], tag="terminal.open", needs="chat", acts=True, waits=True, tells=True):
    """Open a terminal. One that is open already sends its output to this connection too, beginning with what is
    kept."""

    session: str
    """The session in whose jail it is."""
    terminal: str = ""
    """One that is open already; empty: a new one."""
    columns: Columns = 80
    """How wide it is, in characters."""
    rows: Columns = 24
    """How high it is, in lines."""


class TerminalInput(ReadingOp[Done], tag="terminal.input", needs="chat", acts=True):
    """Type into a terminal."""

    terminal: str
    """The terminal, by its id."""
    text: str
    """What is typed, control characters included."""

    def __repr__(self) -> str:
        return f"TerminalInput(terminal={self.terminal!r})"


class TerminalResize(ReadingOp[Done], tag="terminal.resize", needs="chat"):
    """Tell a terminal its new size."""

    terminal: str
    """The terminal, by its id."""
    columns: Columns
    """How wide it is, in characters."""
    rows: Columns
    """How high it is, in lines."""


class TerminalClose(Op[Done], tag="terminal.close", needs="chat"):
    """Close a terminal, and end what runs in it."""

    terminal: str
    """The terminal, by its id."""
