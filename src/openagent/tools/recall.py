"""recall: searches and reads back what was taken out of the context."""

from typing import Annotated

from openagent.plugins.recall import Memory
from openagent.plugins.tool import FunctionTool, ToolContext, ToolOutcome, tool
from openagent.protocol.display import Display

MAX_FOUND = 10
PAGE = 16_000


def recall_tool(memory: Memory) -> FunctionTool:
    @tool(
        effect="none",
        kind="search",
        words=("recall", "recalling", "recalled"),
        summary=lambda given: str(given.get("query") or f"message {given.get('message', '')}"),
    )
    async def recall(
        context: ToolContext,
        query: Annotated[str, "Words to search for."] = "",
        message: Annotated[int, "A message to read whole."] = 0,
        start: Annotated[int, "Character to read on from."] = 0,
    ) -> ToolOutcome:
        """Search or read earlier messages of this session that are left out above."""
        if message:
            text = await memory.read(context.session, message)
            rest = len(text) - start - PAGE
            more = f"\n[{rest} more characters: recall(message={message}, start={start + PAGE})]" if rest > 0 else ""
            page = text[start : start + PAGE] + more
            return ToolOutcome(page or "(empty)", display=Display(summary=f"message {message}"))
        if not query.strip():
            return ToolOutcome("Give a query, or the number of a message.", is_error=True)
        found = await memory.search(context.session, query, MAX_FOUND)
        lines = [f"message {each.message} (turn {each.turn}, {each.about}): {each.excerpt}" for each in found]
        text = "\n\n".join(lines) or "Nothing that was left out matches. What you still see is not searched."
        return ToolOutcome(text, display=Display(summary=f"{len(found)} messages"))

    return recall
