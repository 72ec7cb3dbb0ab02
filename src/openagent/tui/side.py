"""The panels at the right: tokens, plan, tools, agents."""

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from openagent.client.text import clean, one_line
from openagent.protocol.context import ContextSection
from openagent.protocol.sessions import PlanItem, SessionInfo
from openagent.protocol.tools import ToolInfo
from openagent.tui.agents import Agents
from openagent.tui.clicks import Hints, hint
from openagent.tui.figures import filled, money, nearest_cap, spent, state_of, tokens

_MARKS = {"pending": "·", "active": "▸", "done": "✓", "dropped": "–"}
_STYLES = {"pending": "$foreground-muted", "active": "$primary", "done": "$success", "dropped": "$foreground-muted"}
WIDTH, GAUGE = 34, 14
SECTIONS = 2
"""Of the context, the largest."""


def gauge(percent: float) -> Content:
    full = round(GAUGE * min(percent, 100) / 100)
    return Content.assemble(
        ("█" * full, f"${state_of(percent)}"), ("░" * (GAUGE - full), "$foreground-muted"), f" {percent:3.0f}%"
    )


class SidePanel(VerticalScroll):
    DEFAULT_CSS = """
    SidePanel { width: 34; padding: 0 1 0 0; display: none; scrollbar-size-vertical: 1; scrollbar-gutter: stable; }
    SidePanel.shown { display: block; }
    SidePanel > Vertical { height: auto; border: round $panel; border-title-color: $text-muted; padding: 0 1; }
    SidePanel > Vertical.hidden { display: none; }
    SidePanel Static { height: auto; }
    SidePanel > #tools Static, SidePanel > #agents Static { text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self) -> None:
        super().__init__(can_focus=False)
        self._tokens = Static(markup=False)
        self._plan = Static(markup=False)
        self._tools = Static(markup=False)
        self._agents = Hints(markup=False)
        self._usage = self._sections = Content("")
        self._statics = {"Tokens": self._tokens, "Plan": self._plan, "Tools": self._tools, "Agents": self._agents}
        self.show_plan([])

    def compose(self) -> ComposeResult:
        for title, static in self._statics.items():
            box = Vertical(static, id=title.lower(), classes="" if title == "Tokens" else "hidden")
            box.border_title = title
            yield box

    def toggle(self, name: str) -> bool:
        """Returns whether it is shown now."""
        box = self.query_one(f"#{name}")
        box.toggle_class("hidden")
        anything = any(not child.has_class("hidden") for child in self.children if child.id != "tokens")
        self.set_class(anything, "shown")
        return not box.has_class("hidden")

    def shows(self, name: str) -> bool:
        return not self.query_one(f"#{name}").has_class("hidden")

    def show_usage(self, info: SessionInfo) -> None:
        usage = info.usage
        percent = filled(usage)
        used = usage.tokens
        cached = f" {100 * used.cached_tokens // used.input_tokens}% cached" if used.input_tokens else ""
        size = tokens(usage.context_tokens)
        cap = nearest_cap(info)
        cost = cap.text.replace("/", " of ") if cap else money(*spent(info))
        self._usage = Content("\n").join(
            [
                Content.assemble(gauge(percent), f" {size}") if percent is not None else Content(f"context {size}"),
                Content(f"in {tokens(used.input_tokens)}{cached} · out {tokens(used.output_tokens)}"),
                Content.styled(cost, f"${state_of(cap.percent)}" if cap else ""),
            ]
        )
        self._show_tokens()

    def show_context(self, sections: Sequence[ContextSection]) -> None:
        """What takes most of the window; `/context` shows all of it."""
        largest = sorted(sections, key=lambda section: -section.tokens)[:SECTIONS]
        told = " · ".join(f"{clean(section.name)} {tokens(section.tokens)}" for section in largest if section.tokens)
        self._sections = Content.styled(one_line(told, WIDTH - 4), "$foreground-muted") if told else Content("")
        self._show_tokens()

    def _show_tokens(self) -> None:
        self._tokens.update(Content("\n").join([part for part in (self._usage, self._sections) if part]))

    def show_plan(self, plan: Sequence[PlanItem]) -> None:
        if not plan:
            self._plan.update(Content.styled("No plan yet. Ask the agent to make one.", "$foreground-muted"))
            return
        lines = [Content.styled(f"{_MARKS[item.state]} {clean(item.text)}", _STYLES[item.state]) for item in plan]
        self._plan.update(Content("\n").join(lines))

    def show_tools(self, tools: Sequence[ToolInfo]) -> None:
        lines = [
            Content.assemble(
                (("✓ " if tool.enabled else "– "), "$success" if tool.enabled else "$foreground-muted"),
                clean(tool.name),
                (f" {one_line(tool.description, 60)}", "$foreground-muted"),
            )
            for tool in tools
        ]
        self._tools.update(Content("\n").join(lines))

    def show_agents(self, agents: Agents, chosen: str = "") -> None:
        lines = [
            Content.assemble(
                "  " * depth,
                ("● " if agent.working else "✓ ", "$primary" if agent.working else "$success"),
                hint(one_line(agent.name, 14), "", f"app.open_agent('{agent.session}')"),
                (" ◂" if agent.session == chosen else "", "$primary"),
                (f" {tokens(agent.tokens)} {money(agent.cost_usd, agent.unpriced)} ", "$foreground-muted"),
                ("" if agent.working else clean(agent.state), "$foreground-muted"),
            )
            for depth, agent in agents.everyone()
        ]
        empty = Content.styled("No other agent works for this session.", "$foreground-muted")
        self._agents.update(Content("\n").join(lines) if lines else empty)
