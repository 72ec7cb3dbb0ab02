"""What finds code in a workspace: by words, by meaning, by name."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct

SearchBy = Literal["fused", "text", "meaning"]
OnProgress = Callable[[str, int, int], None]
"""Stage in words, files (or pieces) done, how many there are (0: not known)."""


class Hit(Struct, frozen=True):
    """A piece of a file: a function, a class, a section, or some lines."""

    path: str
    start_line: int
    end_line: int
    symbol: str
    """`Class.method`; empty for lines outside every definition."""
    kind: str
    language: str
    score: float
    text: str


class SymbolPlace(Struct, frozen=True):
    name: str
    symbol: str
    kind: str
    path: str
    start_line: int
    end_line: int
    signature: str


class ReferencePlace(Struct, frozen=True):
    """Where a name is called or used as a type."""

    name: str
    path: str
    line: int


class Built(Struct, frozen=True):
    files: int
    """In the index now."""
    indexed: int
    """New or changed, so read again."""
    removed: int
    left_out: int
    """Binary, too large, unreadable."""
    seconds: float


class IndexStatus(Struct, frozen=True):
    workspace: str
    built_at: float | None
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


class Index(Protocol):
    def is_built(self, workspace: Path) -> bool:
        """Quick, and right unless the index is a wreck."""
        ...

    async def build(self, workspace: Path, progress: OnProgress | None = None) -> Built:
        """Reads what is new or changed since the last time, and drops what is gone."""
        ...

    async def update(self, workspace: Path, paths: Sequence[str]) -> Built:
        """The same for these files alone."""
        ...

    async def search(self, workspace: Path, query: str, k: int = 10, by: SearchBy = "fused") -> list[Hit]:
        """Best first. Raises OpenAgentError('not_found') when the workspace was never indexed."""
        ...

    async def shown(self, workspace: Path, session: str, call: str, query: str, hits: Sequence[Hit]) -> None:
        """A session was shown these for a question: remembered, to learn from what it does with them."""
        ...

    async def used(self, workspace: Path, session: str, path: str, lines: tuple[int, int] | None = None) -> None:
        """A session opened or changed a file, or these lines of it."""
        ...

    async def answered(self, workspace: Path, session: str, since: float, answer: str) -> None:
        """A turn that began then ended with this answer: what it was shown and names was of use."""
        ...

    async def symbols(self, workspace: Path, name: str, limit: int = 50) -> list[SymbolPlace]:
        """Definitions of a name: `method` or `Class.method`."""
        ...

    async def references(self, workspace: Path, name: str, limit: int = 200) -> list[ReferencePlace]: ...

    async def repository_map(self, workspace: Path, max_tokens: int = 1000) -> str:
        """The files and definitions others use most, in so many tokens at most."""
        ...

    async def status(self, workspace: Path) -> IndexStatus: ...
