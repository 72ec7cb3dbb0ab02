"""What one turn uses, looked up when it starts: whoever works for the turn finds the same until it ends, however often
they ask and whatever changes in a file or in another terminal meanwhile.

It travels with the turn's task, and so with every task that one starts.
"""

from collections.abc import Generator, Hashable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any


class Frozen:
    def __init__(self, workspace: Path, env: Mapping[str, str]) -> None:
        self.workspace = workspace
        """The one whose settings hold, also where the turn works in a copy of it."""
        self.env = env
        self.found: dict[Hashable, Any] = {}
        self._thawed = False

    def thaw(self) -> None:
        """The turn has ended. What it started and left running looks for itself again."""
        self._thawed = True
        self.found.clear()

    @contextmanager
    def here(self) -> Generator[None]:
        """Holds for what is called from here, and in the tasks that are started from here."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    @staticmethod
    def current() -> "Frozen | None":
        frozen = _current.get()
        return frozen if frozen is not None and not frozen._thawed else None


_current: ContextVar[Frozen | None] = ContextVar("frozen", default=None)
