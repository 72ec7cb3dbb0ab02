"""search_code: finds code by words and by meaning, in an index that is brought up to date first."""

from typing import Annotated

from openagent.plugins.index import Index
from openagent.plugins.tool import FunctionTool, ToolContext, ToolOutcome, tool
from openagent.protocol.display import Display
from openagent.protocol.index import CodeHit

MAX_HITS = 20
_MAX_LINES = 30
_MAX_TEXT = 16_000


def search_code_tool(index: Index) -> FunctionTool:
    @tool(
        effect="read",
        kind="search",
        words=("search the code for", "searching the code for", "searched the code for"),
        summary="query",
    )
    async def search_code(
        context: ToolContext,
        query: Annotated[str, "A question, a description or a name."],
        count: Annotated[int, "At most 20."] = 5,
    ) -> ToolOutcome:
        """Find functions, classes and sections of this workspace by what they do or are called, best first."""
        await index.build(context.workspace, lambda stage, done, total: context.output("progress", f"{stage}: {done}"))
        hits = await index.search(context.workspace, query, min(max(count, 1), MAX_HITS))
        await index.shown(context.workspace, context.session, context.call_id, query, hits)
        text = "\n\n".join(_shown(hit) for hit in hits)
        if len(text) > _MAX_TEXT:
            text = text[:_MAX_TEXT] + "\n[cut: ask for fewer]"
        return ToolOutcome(text or "Nothing was found.", display=Display(summary=f"{len(hits)} places"))

    return search_code


def _shown(hit: CodeHit) -> str:
    lines = hit.text.splitlines()
    more = [f"[{len(lines) - _MAX_LINES} more lines]"] if len(lines) > _MAX_LINES else []
    title = f"{hit.path}:{hit.start_line}-{hit.end_line}" + (f"  {hit.symbol}" if hit.symbol else "")
    return "\n".join([title, *lines[:_MAX_LINES], *more])
