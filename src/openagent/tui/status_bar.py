"""Always in sight: state, model, mode, context and spend; with room to spare, the jail and the branch too."""

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.events import Resize

from openagent.client.text import clean, one_line
from openagent.protocol.sessions import SessionInfo
from openagent.tui.clicks import Hints, clickable, hint
from openagent.tui.figures import filled, money, nearest_cap, spent, state_of

STATES = {
    "idle": ("○", "ready", "$text-muted"),
    "thinking": ("●", "thinking", "$primary"),
    "executing_tool": ("●", "working", "$primary"),
    "waiting_approval": ("◆", "waiting", "$warning"),
    "error": ("●", "failed", "$error"),
    "interrupted": ("■", "interrupted", "$warning"),
    "unanswered": ("◆", "no answer", "$warning"),
}
_OFFLINE = ("●", "offline", "$error")
_WIDEST = len("thinking")
"""The longest of the states that a turn goes through."""
_BETWEEN = " · "
_NARROW = 60
_USUAL_SPEND = len("$0.0000")
"""So that the first dollar does not move what follows."""
_LONGEST_MODEL, _SHORTEST_MODEL = 30, 8


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
        self._info: SessionInfo | None = None
        self._jail = self._branch = ""
        self._offline = False

    def compose(self) -> ComposeResult:
        yield self._left
        yield self._right
        yield Hints(hint("?", "keys", "app.help"), markup=False, classes="help")

    def keys(self, hints: list[tuple[str, str, str]]) -> None:
        """Key, what it does, and the action a click runs."""
        self._right.update(Content("  ").join([hint(*each) for each in hints]))

    def offline(self, offline: bool) -> None:
        self._offline = offline
        self._draw()

    def show(self, info: SessionInfo, jail: str, branch: str) -> None:
        self._info, self._jail, self._branch = info, jail, branch
        self._draw()

    def on_resize(self, _event: Resize) -> None:
        # The parts have their own sizes only when this has been passed on to them.
        self.call_after_refresh(self._draw)

    def _draw(self) -> None:
        if self._info is not None:
            line = self._line(self._info, self._left.size.width or self.screen.size.width)
        elif self._offline:
            line = _state(_OFFLINE)
        else:
            return
        if (shown := line.markup) != self._shown:  # a status that says the same is not drawn again
            self._shown = shown
            self._left.update(line)

    def _line(self, info: SessionInfo, width: int) -> Content:
        """What matters less goes first where there is no room for all."""
        state = _OFFLINE if self._offline else STATES[info.status]
        queued = f"{info.queued} {'held' if info.held else 'queued'}" if info.queued else ""
        kept = [_mode(info), _context(info), _spend(info, 0 if width < _NARROW else _USUAL_SPEND)]
        spare = [
            Content.styled(queued, "$warning" if info.held else ""),
            Content(one_line(self._branch, 24)),
            Content(clean(self._jail) or "jail –"),
        ]
        begin = _state(state)
        taken = begin.cell_length + sum(part.cell_length + len(_BETWEEN) for part in kept)
        room = width - taken
        name = _model(info, min(_LONGEST_MODEL, max(room, _SHORTEST_MODEL)))
        room -= name.cell_length
        for part in spare:
            if part and room >= part.cell_length + len(_BETWEEN):
                room -= part.cell_length + len(_BETWEEN)
                kept.append(part)
        return Content.assemble(begin, Content(_BETWEEN).join([name, *kept]))


def _state(state: tuple[str, str, str]) -> Content:
    """As wide as any other of a turn, so that what follows stays where it is."""
    mark, word, colour = state
    return Content.styled(f"{mark} {word:<{_WIDEST}}  ", colour)


def _model(info: SessionInfo, most: int) -> Content:
    name = one_line(info.model.rpartition("/")[2], most) or "no model"
    return clickable(Content.styled(name, "bold $foreground" if info.model else "bold $warning"), "app.models")


def _mode(info: SessionInfo) -> Content:
    return clickable(Content.styled(info.settings.mode, "$error" if info.settings.mode == "full" else ""), "app.modes")


def _context(info: SessionInfo) -> Content:
    percent = filled(info.usage)
    return Content("ctx   –") if percent is None else Content.styled(f"ctx {percent:3.0f}%", f"${state_of(percent)}")


def _spend(info: SessionInfo, least: int) -> Content:
    usd, unpriced = spent(info)
    cap = nearest_cap(info)
    if cap is None:
        return Content(f"{money(usd, unpriced):<{least}}")
    return Content.styled(f"{cap.text:<{least}}", f"${state_of(cap.percent)}" if cap.percent > 70 else "")
