"""Files under names, where every daemon of a team reaches them: in a folder they share, or in a bucket."""

from pathlib import Path
from typing import Protocol


class Blobs(Protocol):
    """Everything here blocks. A name is there whole or not at all; names are parts joined by `/`."""

    def read(self, name: str) -> bytes | None:
        """None: there is none."""
        ...

    def write(self, name: str, data: bytes) -> None: ...

    def put(self, name: str, file: Path) -> None: ...

    def fetch(self, name: str, to: Path) -> None:
        """Raises OpenAgentError('not_found')."""
        ...

    def remove(self, name: str) -> None:
        """Also what is not there."""
        ...

    def names(self, folder: str) -> list[str]:
        """Of all that lies below."""
        ...
