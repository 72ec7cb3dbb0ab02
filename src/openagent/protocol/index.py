"""The code index: asking for it and how clients see it."""

from typing import Literal

from msgspec import Struct

from openagent.protocol.op import Done, Op, ReadingOp
from openagent.protocol.routes import GET, POST

SearchBy = Literal["fused", "text", "meaning"]


class CodeHit(Struct, frozen=True, omit_defaults=True):
    """A piece of a file: a function, a class, a section, or some lines."""

    path: str
    """The file, from the workspace's root."""
    start_line: int
    """Its first line, from 1."""
    end_line: int
    """Its last line."""
    score: float
    """How well it fits; only to be compared with the others."""
    text: str
    """The code."""
    symbol: str = ""
    """`Class.method`; empty for lines outside every definition."""
    kind: str = ""
    """What the symbol is."""
    language: str = ""
    """The file's language."""


class CodeHits(Struct, frozen=True):
    """Code that fits a search."""

    hits: list[CodeHit]
    """The best first."""


class CodeSymbol(Struct, frozen=True, omit_defaults=True):
    """A definition."""

    name: str
    """Its name."""
    symbol: str
    """Its full name, with what it lies in."""
    kind: str
    """What it is."""
    path: str
    """The file, from the workspace's root."""
    start_line: int
    """Its first line, from 1."""
    end_line: int
    """Its last line."""
    signature: str = ""
    """How it is declared."""


class CodeReference(Struct, frozen=True):
    """Where a name is called or used as a type."""

    name: str
    """The name that is used."""
    path: str
    """The file, from the workspace's root."""
    line: int
    """The line, from 1."""


class CodeSymbols(Struct, frozen=True, omit_defaults=True):
    """Where a name is defined and used."""

    definitions: list[CodeSymbol]
    """Where it is defined."""
    references: list[CodeReference] = []
    """Where it is used."""


class MappedSymbol(Struct, frozen=True, omit_defaults=True):
    """A definition that others use."""

    symbol: str
    """Its name."""
    kind: str
    """What it is."""
    start_line: int
    """Its first line, from 1."""
    signature: str = ""
    """How it is declared, shortened."""
    used_in: int = 0
    """In how many files its name is used."""


class MappedFile(Struct, frozen=True):
    """A file of the map."""

    path: str
    """The file, from the workspace's root."""
    symbols: list[MappedSymbol]
    """What it defines, the most used first."""


class CodeMap(Struct, frozen=True, omit_defaults=True):
    """The shape of a workspace's code."""

    text: str
    """The map: files, and what they define."""
    files: list[MappedFile] = []
    """The same, piece by piece."""


class IndexBuilt(Struct, frozen=True):
    """What building an index did."""

    files: int
    """In the index now."""
    indexed: int
    """New or changed, so read again."""
    removed: int
    """Files that are gone."""
    left_out: int
    """Binary, too large, unreadable."""
    seconds: float
    """How long it took."""


class IndexInfo(Struct, frozen=True, omit_defaults=True):
    """How an index is."""

    workspace: str
    """The folder it is of."""
    built_at: float | None = None
    """None: never built."""
    files: int = 0
    """How many files it knows."""
    chunks: int = 0
    """How many pieces of code it knows."""
    symbols: int = 0
    """How many definitions it knows."""
    references: int = 0
    """How many uses of names it knows."""
    embedded: int = 0
    """Chunks that can be found by meaning."""
    left_out: int = 0
    """Files that are binary, too large or unreadable."""
    size_bytes: int = 0
    """How much room it takes, in bytes."""
    model: bool = False
    """The embedding model is set up."""
    shown: int = 0
    """Pieces that sessions were shown, as far as it is remembered."""
    useful: int = 0
    """And opened, changed or named in an answer afterwards."""
    stage: str = ""
    """How far it is, in words, while the embedding model is being set up; empty: it is not."""


class IndexReady(Struct, frozen=True):
    """The embedding model is set up."""

    path: str
    """Where it lies."""
    size_bytes: int
    """How large it is, in bytes."""


class IndexWatch(ReadingOp[Done], tag="index.watch", needs="chat", works_there=True, waits=True):
    """Keep a workspace's index up to date until this connection ends. Each change comes as an event, to it alone."""

    cwd: str
    """The workspace: a folder on the daemon's machine."""


class IndexBuild(
    Op[IndexBuilt], tag="index.build", needs="chat", works_there=True, waits=True, routes=POST("/api/index/build")
):
    """Bring a workspace's index up to date. Its progress comes as events, to this connection alone."""

    cwd: str
    """The workspace: a folder on the daemon's machine."""


class IndexSearch(
    ReadingOp[CodeHits], tag="index.search", needs="read", works_there=True, waits=True, routes=GET("/api/index/search")
):
    """Search code."""

    cwd: str
    """The workspace: a folder on the daemon's machine."""
    query: str
    """What to look for, in words or code."""
    limit: int = 10
    """How many pieces of code at most."""
    by: SearchBy = "fused"
    """By words, by meaning, or both."""


class IndexSymbols(
    ReadingOp[CodeSymbols],
    tag="index.symbols",
    needs="read",
    works_there=True,
    waits=True,
    routes=GET("/api/index/symbols/{name}"),
):
    """Where a name is defined and where it is used."""

    cwd: str
    """The workspace: a folder on the daemon's machine."""
    name: str
    """The name to look for."""
    like: bool = False
    """Definitions whose names have these letters in their order, and no uses."""


class IndexMap(
    ReadingOp[CodeMap], tag="index.map", needs="read", works_there=True, waits=True, routes=GET("/api/index/map")
):
    """What is used most in a workspace, in so many tokens at most."""

    cwd: str
    """The workspace: a folder on the daemon's machine."""
    max_tokens: int = 1000
    """How long the map may be, in tokens."""


class IndexAsk(ReadingOp[IndexInfo], tag="index.status", needs="read", waits=True, routes=GET("/api/index")):
    """How a workspace's index is."""

    cwd: str
    """The workspace: a folder on the daemon's machine."""


class IndexSetup(
    Op[IndexReady], tag="index.setup", needs="admin", reach="whole", waits=True, routes=POST("/api/index/setup")
):
    """Install the model that finds code by meaning. Its progress comes as events, to this connection alone."""
