"""Always in sight: model, mode, jail, context and spend."""

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

from openagent.client.text import clean
from openagent.protocol.sessions import SessionInfo
from openagent.tui.figures import filled, money, state_of

_STATES = {"idle": "", "thinking": "thinking", "executing_tool": "working", "waiting_approval": "waiting", "error": "!"}


class StatusBar(Horizontal):
    DEFAULT_CSS = """
    StatusBar { height: 1; padding: 0 1; background: $surface; color: $text-muted; }
    StatusBar > .left { width: 1fr; height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    StatusBar > .right { width: auto; height: 1; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._left = Static(markup=False, classes="left")
        self._right = Static(markup=False, classes="right")

    def compose(self) -> ComposeResult:
        yield self._left
        yield self._right

    def keys(self, hints: list[tuple[str, str]]) -> None:
        parts = [Content.assemble((key, "$primary"), f" {what}") for key, what in hints]
        self._right.update(Content("  ").join(parts))

    def show(self, info: SessionInfo, jail: str, *, lost: str = "") -> None:
        if lost:
            self._left.update(Content.styled(f"● {clean(lost)}", "$error"))
            return
        percent = filled(info.usage)
        context = (
            Content.styled("ctx   –", "")
            if percent is None
            else Content.styled(f"ctx {percent:3.0f}%", f"${state_of(percent)}")
        )
        budget = info.settings.budget_usd
        spend = money(info.usage.cost_usd) + (f"/{budget:.2f}" if budget else "")
        mode = Content.styled(info.settings.mode, "$error" if info.settings.mode == "full" else "")
        parts = [
            Content.styled(clean(info.settings.model.rpartition("/")[2]) or "no model", "bold $foreground"),
            mode,
            Content(clean(jail) or "jail –"),
            context,
            Content(f"{spend:<7}"),
        ]
        if state := _STATES.get(info.status, ""):
            parts.append(Content.styled(state, "$warning" if state in ("waiting", "!") else "$primary"))
        self._left.update(Content(" · ").join(parts))
