"""The code index: asking for it and how clients see it."""

from typing import Literal

from msgspec import Struct

from openagent.protocol.op import Done, Op, ReadingOp
from openagent.protocol.routes import GET, POST

SearchBy = Literal["fused", "text", "meaning"]


class CodeHit(Struct, frozen=True, omit_defaults=True):
    """A piece of a file: a function, a class, a section, or some lines."""

    path: str
    start_line: int
    end_line: int
    score: float
    text: str
    symbol: str = ""
    """`Class.method`; empty for lines outside every definition."""
    kind: str = ""
    language: str = ""


class CodeHits(Struct, frozen=True):
    hits: list[CodeHit]


class CodeSymbol(Struct, frozen=True, omit_defaults=True):
    name: str
    symbol: str
    kind: str
    path: str
    start_line: int
    end_line: int
    signature: str = ""


class CodeReference(Struct, frozen=True):
    """Where a name is called or used as a type."""

    name: str
    path: str
    line: int


class CodeSymbols(Struct, frozen=True, omit_defaults=True):
    definitions: list[CodeSymbol]
    references: list[CodeReference] = []


class CodeMap(Struct, frozen=True):
    text: str


class IndexBuilt(Struct, frozen=True):
    files: int
    """In the index now."""
    indexed: int
    """New or changed, so read again."""
    removed: int
    left_out: int
    """Binary, too large, unreadable."""
    seconds: float


class IndexInfo(Struct, frozen=True, omit_defaults=True):
    workspace: str
    built_at: float | None = None
    """None: never built."""
    files: int = 0
    chunks: int = 0
    symbols: int = 0
    references: int = 0
    embedded: int = 0
    """Chunks that can be found by meaning."""
    left_out: int = 0
    size_bytes: int = 0
    model: bool = False
    """The embedding model is set up."""
    shown: int = 0
    """Pieces that sessions were shown, as far as it is remembered."""
    useful: int = 0
    """And opened, changed or named in an answer afterwards."""


class IndexReady(Struct, frozen=True):
    """The embedding model is set up."""

    path: str
    size_bytes: int


class IndexWatch(ReadingOp[Done], tag="index.watch", needs="chat", works_there=True, waits=True):
    """Keep a workspace's index up to date until this connection ends. Each change comes as an event, to it alone."""

    cwd: str


class IndexBuild(
    Op[IndexBuilt], tag="index.build", needs="chat", works_there=True, waits=True, routes=POST("/api/index/build")
):
    """Bring a workspace's index up to date. Its progress comes as events, to this connection alone."""

    cwd: str


class IndexSearch(
    ReadingOp[CodeHits], tag="index.search", needs="read", works_there=True, waits=True, routes=GET("/api/index/search")
):
    """Search code."""

    cwd: str
    query: str
    limit: int = 10
    by: SearchBy = "fused"


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
    name: str


class IndexMap(
    ReadingOp[CodeMap], tag="index.map", needs="read", works_there=True, waits=True, routes=GET("/api/index/map")
):
    """What is used most in a workspace, in so many tokens at most."""

    cwd: str
    max_tokens: int = 1000


class IndexAsk(ReadingOp[IndexInfo], tag="index.status", needs="read", waits=True, routes=GET("/api/index")):
    """How a workspace's index is."""

    cwd: str


class IndexSetup(
    Op[IndexReady], tag="index.setup", needs="admin", reach="whole", waits=True, routes=POST("/api/index/setup")
):
    """Install the model that finds code by meaning. Its progress comes as events, to this connection alone."""
