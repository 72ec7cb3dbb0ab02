"""Always in sight: model, mode, jail, branch, context and spend."""

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content

from openagent.client.text import clean, one_line
from openagent.protocol.sessions import SessionInfo
from openagent.tui.clicks import Hints, clickable, hint
from openagent.tui.figures import filled, money, state_of

_STATES = {"idle": "", "thinking": "thinking", "executing_tool": "working", "waiting_approval": "waiting", "error": "!"}


class StatusBar(Horizontal):
    DEFAULT_CSS = """
    StatusBar { height: 1; padding: 0 1; background: $surface; color: $text-muted; }
    StatusBar > .left { width: 1fr; height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    StatusBar > .right { width: auto; height: 1; }
    StatusBar > .help { width: auto; height: 1; margin: 0 0 0 2; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._left = Hints("connecting …", markup=False, classes="left")
        self._right = Hints(markup=False, classes="right")
        self._shown = ""

    def compose(self) -> ComposeResult:
        yield self._left
        yield self._right
        yield Hints(hint("?", "keys", "app.help"), markup=False, classes="help")

    def keys(self, hints: list[tuple[str, str, str]]) -> None:
        """Key, what it does, and the action a click runs."""
        self._right.update(Content("  ").join([hint(*each) for each in hints]))

    def lost(self, problem: str) -> None:
        self._shown = ""
        text = f"● connection lost, trying again … {one_line(problem, 200)}"
        self._left.update(Content.styled(text, "$error"))

    def show(self, info: SessionInfo, jail: str, branch: str) -> None:
        percent = filled(info.usage)
        context = ("ctx   –", "") if percent is None else (f"ctx {percent:3.0f}%", f"${state_of(percent)}")
        budget = info.settings.budget_usd
        spend = money(info.usage.cost_usd) + (f"/{budget:.2f}" if budget else "")
        model = one_line(info.model.rpartition("/")[2], 30) or "no model"
        parts = [
            clickable(Content.styled(model, "bold $foreground"), "app.models"),
            clickable(
                Content.styled(info.settings.mode, "$error" if info.settings.mode == "full" else ""), "app.modes"
            ),
            Content(clean(jail) or "jail –"),
            *([Content(one_line(branch, 24))] if branch else []),
            Content.styled(*context),
            Content(f"{spend:<7}"),
        ]
        if state := _STATES.get(info.status, ""):
            parts.append(Content.styled(state, "$warning" if state in ("waiting", "!") else "$primary"))
        if info.queued:
            parts.append(Content.styled(f"{info.queued} {'held' if info.held else 'queued'}", "$warning" * info.held))
        line = Content(" · ").join(parts)
        if (shown := f"{line.markup}") != self._shown:  # a status that says the same is not drawn again
            self._shown = shown
            self._left.update(line)
