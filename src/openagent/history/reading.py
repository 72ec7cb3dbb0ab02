"""What every reader of another agent's sessions says, whatever they are kept in.

A reader finds sources (a file, or one session of a database), and gives what is in one piece by piece: never a whole
file at once where the format allows it. It changes nothing of what it reads.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from openagent.history.copies import Copies
from openagent.protocol.messages import Part, StopReason, ToolResultPart
from openagent.protocol.origin import ForeignAgent
from openagent.protocol.usage import Usage


class Unreadable(Exception):
    """A source that is left out. The words say why, after its name: `is half written`."""


class StartOver(Exception):
    """What was read from the middle of it cannot be understood without what came before."""


class Source(Struct, frozen=True):
    """A file, or one session of a database."""

    agent: ForeignAgent
    path: str
    size: int
    version: str
    """Another one whenever something in it has changed."""
    modified: float
    """When it was last active, in seconds since 1970."""
    part: str = ""
    """The session's id, in a database."""
    sessions: int = 1
    """How many there are in it, as far as that is known without reading it."""
    problem: str = ""
    """Why it cannot be read, if that is known already."""

    @property
    def name(self) -> str:
        return f"{self.path}#{self.part}" if self.part else self.path


class Request(Struct, frozen=True):
    """One request to a model: what it used, and where."""

    key: str
    """Its identity: the same request in two files, as after a fork, counts once."""
    at: float
    model: str
    """provider/model"""
    usage: Usage
    project: str = ""
    long_cache_tokens: int = 0
    """The part of what was written to a cache that stays for an hour, and costs more."""
    searches: int = 0
    """Searches of the web that the provider made for it."""
    cost_usd: float | None = None
    """What the other agent says that it cost."""
    by_them: bool = False
    """Their cost counts also where a price is known: their tokens are rounded."""


class Head(Struct, frozen=True):
    """A conversation begins: what follows belongs to it."""

    id: str
    """Its id there."""
    cwd: str
    at: float
    name: str = ""
    parent: str = ""
    """The conversation it worked for, by its id there."""
    version: str = ""
    """Another one whenever something in it has changed; empty: the source's own counts."""


class Prompt(Struct, frozen=True):
    """A person said something: a turn begins."""

    parts: list[Part]
    at: float
    position: int = 0
    """From which byte it can be read again; 0: only from the beginning of the source."""


class Note(Struct, frozen=True):
    """What the other agent, and not a person, told the model."""

    text: str
    at: float = 0.0
    position: int = 0


class Answer(Struct, frozen=True):
    """All of one answer of a model, its calls included."""

    parts: list[Part]
    at: float
    model: str = ""
    request: Request | None = None
    stop: StopReason = "end"


class Result(Struct, frozen=True):
    part: ToolResultPart
    at: float


class Renamed(Struct, frozen=True):
    name: str


class TakenBack(Struct, frozen=True):
    """So many of the newest turns that stood until now are no longer part of the conversation."""

    turns: int


class Cancelled(Struct, frozen=True):
    """A person stopped the turn."""


class Summarized(Struct, frozen=True):
    """All before was put away, and this stands for it."""

    text: str


class Remark(Struct, frozen=True):
    """Something of it was left out. The words come after the source's name."""

    reason: str


Item = Head | Prompt | Note | Answer | Result | Renamed | TakenBack | Cancelled | Summarized | Remark


class Look(Struct, frozen=True):
    """Where to look."""

    home: Path
    env: Mapping[str, str]
    folders: Sequence[str] = ()
    """Folders that somebody worked in."""


class Reader(Protocol):
    agent: ForeignAgent

    def places(self, look: Look) -> list[Path]:
        """Where there is something to look at."""
        ...

    def find(self, place: Path, copies: Copies) -> Iterator[Source]: ...

    def count(self, source: Source, copies: Copies) -> Iterator[Request]:
        """Every request in it: quicker than `read`, since nothing else is looked at."""
        ...

    def read(self, source: Source, copies: Copies, position: int = 0) -> Iterator[Item]:
        """From this byte on, where it said before that it can. Raises Unreadable."""
        ...
