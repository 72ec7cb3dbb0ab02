"""ask_user"""

from typing import Annotated
from uuid import uuid4

from openagent.plugins.tool import ToolContext, ToolOutcome, tool
from openagent.protocol.display import Display
from openagent.protocol.sessions import Question

PATIENCE = 3600.0
"""Seconds an answer is waited for."""
UNATTENDED = "No one is attached. Decide, and say what you assumed."


@tool(
    effect="none",
    kind="ask",
    words=("ask", "asking", "asked"),
    summary="question",
    known_as=("AskUserQuestion",),
)
async def ask_user(
    context: ToolContext,
    question: str,
    choices: Annotated[list[str], "Likely answers; others stay possible."] = [],  # noqa: B006
) -> ToolOutcome:
    """Ask the user, when only they can know and a wrong guess would cost much."""
    asked = Question(
        id=uuid4().hex[:12], text=question, choices=choices, call_id=context.call_id, unattended=UNATTENDED
    )
    try:
        answer = await context.ask(asked, patience=PATIENCE)
    except TimeoutError:
        return ToolOutcome("Nobody answered. Choose the most sensible reading yourself, and say so.", is_error=True)
    return ToolOutcome(answer, display=Display(summary=answer[:80]))
