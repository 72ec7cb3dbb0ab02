"""The task list an agent keeps, in one line above the input for as long as something on it is to be done."""

from collections.abc import Sequence

from textual.content import Content

from openagent.client.text import one_line
from openagent.protocol.sessions import PlanItem
from openagent.tui.clicks import Hints, clickable

_LONGEST = 60


class PlanLine(Hints):
    DEFAULT_CSS = """
    PlanLine { height: 1; padding: 0 1; display: none; text-wrap: nowrap; text-overflow: ellipsis; color: $text-muted; }
    PlanLine.shown { display: block; }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)

    def show(self, plan: Sequence[PlanItem]) -> None:
        counted = [item for item in plan if item.state != "dropped"]
        done = sum(item.state == "done" for item in counted)
        active = [item for item in counted if item.state == "active"]
        pending = [item for item in counted if item.state == "pending"]
        self.set_class(bool(active or pending), "shown")
        boxes = Content.assemble(("☑" * done, "$success"), ("☐" * (len(counted) - done), "$foreground-muted"))
        now = [Content.styled(f"▸ {one_line(item.text, _LONGEST)}", "$foreground") for item in active[:1]]
        then = [Content(f"then {one_line(item.text, _LONGEST)}") for item in pending[:1]]
        parts = [boxes if len(counted) <= 12 else Content(""), Content(f"{done}/{len(counted)}"), *now, *then]
        line = Content("  ").join([part for part in parts if part])
        self.update(clickable(line, "app.panel('plan')"))
