"""What waits for the person: permissions and questions, always right above the input."""

from collections.abc import Sequence

from textual.containers import Vertical
from textual.widget import Widget

from openagent.protocol.sessions import PermissionAsk, Question
from openagent.tui.permission import PermissionPanel
from openagent.tui.question import QuestionPanel


class Asks(Vertical):
    DEFAULT_CSS = """
    Asks { height: auto; max-height: 90vh; }
    """

    async def begin(self, permissions: Sequence[PermissionAsk], questions: Sequence[Question]) -> None:
        await self.remove_children()
        await self.mount_all([*map(PermissionPanel, permissions), *map(QuestionPanel, questions)])
        self._count()

    async def add(self, ask: PermissionAsk | Question) -> None:
        await self.mount(PermissionPanel(ask) if isinstance(ask, PermissionAsk) else QuestionPanel(ask))
        self._count()

    async def take_away(self, id_: str) -> None:
        for panel in self.children:
            if _id_of(panel) == id_:
                await panel.remove()
        self._count()

    def _count(self) -> None:
        panels = [panel for panel in self.children if isinstance(panel, PermissionPanel)]
        for place, panel in enumerate(panels, 1):
            panel.counted(place, len(panels))

    @property
    def permission(self) -> PermissionPanel | None:
        """The one that waits longest."""
        return next((panel for panel in self.children if isinstance(panel, PermissionPanel)), None)

    @property
    def question(self) -> QuestionPanel | None:
        return next((panel for panel in self.children if isinstance(panel, QuestionPanel)), None)


def _id_of(panel: Widget) -> str:
    match panel:
        case PermissionPanel():
            return panel.ask.id
        case QuestionPanel():
            return panel.question.id
        case _:
            return ""
