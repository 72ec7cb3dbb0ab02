"""Vectors in Chroma instead of the index's own file: the extra `chroma`, chosen with `[index] vectors = "chroma"`.

The index's file still knows which pieces have a vector. Numbers of pieces are never used twice, so that a vector whose
piece has gone leads nowhere; it is deleted with the next ones that come.
"""

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openagent.index.embedding import Vectors

_COLLECTION = "pieces"
_DELETED_TOGETHER = 5000


def is_installed() -> bool:
    return find_spec("chromadb") is not None


class ChromaVectors:
    """Opened anew whenever another process has written: Chroma keeps what it read."""

    def __init__(self, directory: Path) -> None:
        chromadb: Any = import_module("chromadb")
        settings: Any = import_module("chromadb.config").Settings(anonymized_telemetry=False)
        shared: Any = import_module("chromadb.api.shared_system_client").SharedSystemClient
        shared.clear_system_cache()
        client: Any = chromadb.PersistentClient(path=str(directory), settings=settings)
        self._pieces: Any = client.get_or_create_collection(
            _COLLECTION, configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )

    def put(self, chunks: Sequence[int], vectors: "Vectors") -> None:
        self._pieces.upsert(ids=[str(chunk) for chunk in chunks], embeddings=vectors.rows)

    def keep_only(self, chunks: set[int]) -> None:
        gone = [each for each in self._pieces.get(include=[])["ids"] if int(each) not in chunks]
        for start in range(0, len(gone), _DELETED_TOGETHER):
            self._pieces.delete(ids=gone[start : start + _DELETED_TOGETHER])

    def nearest(self, query: "Vectors", limit: int) -> list[int]:
        """Chunks, best first."""
        there = self._pieces.count()
        if not there:
            return []
        found = self._pieces.query(query_embeddings=query.rows[:1], n_results=min(limit, there), include=[])
        return [int(each) for each in found["ids"][0]]
