"""A terminal in a session's jail, for a person."""

from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from openagent.protocol.op import Op, ReadingOp

Columns = Annotated[int, Meta(ge=1, le=1000)]


class TerminalOpen(Op, frozen=True, kw_only=True, tag="terminal.open"):
    """A new one, or one that is open already: its output goes to this connection too, beginning with what is kept."""

    tells: ClassVar[bool] = True
    waits: ClassVar[bool] = True
    session: str
    terminal: str = ""
    columns: Columns = 80
    rows: Columns = 24


class TerminalInput(ReadingOp, frozen=True, kw_only=True, tag="terminal.input"):
    terminal: str
    text: str

    def __repr__(self) -> str:
        return f"TerminalInput(terminal={self.terminal!r})"


class TerminalResize(ReadingOp, frozen=True, kw_only=True, tag="terminal.resize"):
    terminal: str
    columns: Columns
    rows: Columns


class TerminalClose(Op, frozen=True, kw_only=True, tag="terminal.close"):
    """End what runs in it."""

    terminal: str


class TerminalOpened(Struct, frozen=True, omit_defaults=True):
    terminal: str
    text: str = ""
    """What it printed before, as far as kept."""
