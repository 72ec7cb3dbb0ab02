"""What finds code in a workspace: by words, by meaning, by name."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from openagent.protocol.index import CodeHit, CodeReference, CodeSymbol, IndexBuilt, IndexInfo, SearchBy

OnProgress = Callable[[str, int, int], None]
"""Stage in words, files (or pieces) done, how many there are (0: not known)."""


class Index(Protocol):
    def is_built(self, workspace: Path) -> bool:
        """Quick, and right unless the index is a wreck."""
        ...

    async def build(self, workspace: Path, progress: OnProgress | None = None) -> IndexBuilt:
        """Reads what is new or changed since the last time, and drops what is gone."""
        ...

    async def update(self, workspace: Path, paths: Sequence[str]) -> IndexBuilt:
        """The same for these files alone."""
        ...

    async def search(self, workspace: Path, query: str, k: int = 10, by: SearchBy = "fused") -> list[CodeHit]:
        """Best first. Raises OpenAgentError('not_found') when the workspace was never indexed."""
        ...

    async def shown(self, workspace: Path, session: str, call: str, query: str, hits: Sequence[CodeHit]) -> None:
        """A session was shown these for a question: remembered, to learn from what it does with them."""
        ...

    async def used(self, workspace: Path, session: str, path: str, lines: tuple[int, int] | None = None) -> None:
        """A session opened or changed a file, or these lines of it."""
        ...

    async def answered(self, workspace: Path, session: str, since: float, answer: str) -> None:
        """A turn that began then ended with this answer: what it was shown and names was of use."""
        ...

    async def symbols(self, workspace: Path, name: str, limit: int = 50) -> list[CodeSymbol]:
        """Definitions of a name: `method` or `Class.method`."""
        ...

    async def references(self, workspace: Path, name: str, limit: int = 200) -> list[CodeReference]: ...

    async def repository_map(self, workspace: Path, max_tokens: int = 1000) -> str:
        """The files and definitions others use most, in so many tokens at most."""
        ...

    async def status(self, workspace: Path) -> IndexInfo: ...
