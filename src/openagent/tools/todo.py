"""todo"""

from typing import Annotated

from openagent.plugins.tool import ToolContext, ToolOutcome, tool
from openagent.protocol.display import Display
from openagent.protocol.sessions import PlanItem


@tool(
    effect="none", kind="think", words=("plan", "planning", "planned"), known_as=("TodoWrite",), keys={"plan": "todos"}
)
async def todo(context: ToolContext, plan: Annotated[list[PlanItem], "All of it, each time."]) -> ToolOutcome:
    """Keep a plan of work that takes several steps, visible to the user. Have one item active at a time."""
    await context.set_plan(plan)
    done = sum(item.state == "done" for item in plan)
    return ToolOutcome(f"Plan: {done} of {len(plan)} done.", display=Display(summary=f"{done}/{len(plan)}"))
