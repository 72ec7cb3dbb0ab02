"""What a person has at hand beside the conversation: files, terminals, finding what was said, and figures."""

from collections.abc import Sequence
from pathlib import Path

from openagent.daemon.bus import EventBus
from openagent.daemon.daemon import Handler
from openagent.daemon.manager import SessionManager
from openagent.safety.service import Safety
from openagent.sessions.search import SearchService
from openagent.usage.metrics import MetricsService
from openagent.workbench.files import FileService
from openagent.workbench.terminals import TerminalService


class Desk:
    def __init__(
        self, manager: SessionManager, bus: EventBus, home: Path, safety: Safety, hidden: Sequence[Path]
    ) -> None:
        self._files = FileService(manager, safety, hidden, copies=home / "copies")
        self._terminals = TerminalService(manager, bus)
        self._search = SearchService(manager.runtime.store, home)
        self._metrics = MetricsService(manager.runtime.store)

    def handlers(self) -> list[Handler]:
        return [
            *self._files.handlers(),
            *self._terminals.handlers(),
            *self._search.handlers(),
            *self._metrics.handlers(),
        ]

    def session_of_terminal(self, terminal: str) -> str:
        """Empty when there is no such terminal."""
        return self._terminals.session_of(terminal)

    async def close(self) -> None:
        await self._terminals.close()
        await self._search.close()
