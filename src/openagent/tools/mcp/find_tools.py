"""find_tools: where the schemas of all tools would crowd the context, the model looks for those it needs."""

from collections.abc import Collection, Mapping
from typing import Annotated

import msgspec

from openagent.plugins.tool import Tool, ToolContext, ToolOutcome, tool
from openagent.plugins.word_search import best_matches
from openagent.tools.mcp.resources import resource_tools
from openagent.tools.mcp.server import McpServer
from openagent.tools.mcp.tool import McpTool

FOUND = 8
"""Tools shown for one query."""


class Shelf:
    """The tools of one workspace, and which of them each session has asked for."""

    def __init__(self) -> None:
        self.tools: Mapping[str, McpTool] = {}
        self._tokens: dict[str, int] = {}
        self._tokens_of_session: dict[str, int] = {}
        self._shown: dict[str, set[str]] = {}
        self._left_out: dict[str, frozenset[str]] = {}
        self.servers: Mapping[str, McpServer] = {}
        self.resource_tools = resource_tools(self.servers_of)
        self.find = find_tools_tool(self)

    def fill(self, servers: Mapping[str, McpServer], tools: Mapping[str, McpTool]) -> None:
        self.servers = servers
        self.tools = tools
        self._tokens = {name: len(msgspec.json.encode(each.schema)) // 4 for name, each in tools.items()}
        self._tokens_of_session.clear()

    def of(self, session: str, without: Collection[str]) -> list[Tool]:
        """What a session may call, which leaves some servers out."""
        self._left_out[session] = frozenset(f"mcp:{name}" for name in without)
        self._tokens_of_session.pop(session, None)
        tools = self.of_session(session)
        has_resources = any(server.offer.resources for server in self.servers_of(session).values())
        return [*tools, *([self.find] if tools else []), *(self.resource_tools if has_resources else [])]

    def servers_of(self, session: str) -> dict[str, McpServer]:
        left_out = self._left_out.get(session, frozenset())
        return {name: server for name, server in self.servers.items() if f"mcp:{name}" not in left_out}

    def of_session(self, session: str) -> list[McpTool]:
        left_out = self._left_out.get(session, frozenset())
        return [each for each in self.tools.values() if each.source not in left_out]

    def offers(self, session: str, offered: Tool, most_tokens: float) -> bool:
        if session not in self._tokens_of_session:
            self._tokens_of_session[session] = sum(self._tokens[each.name] for each in self.of_session(session))
        crowded = self._tokens_of_session[session] > most_tokens
        if offered is self.find:
            return crowded
        return not crowded or offered.name in self._shown.get(session, ())

    def show(self, session: str, query: str) -> list[McpTool]:
        tools = {each.name: each for each in self.of_session(session)}
        described = {name: each.schema.description for name, each in tools.items()}
        found = [tools[name] for name in best_matches(query, described, FOUND)]
        self._shown.setdefault(session, set()).update(each.name for each in found)
        return found


def find_tools_tool(shelf: Shelf) -> Tool:
    @tool(
        effect="none",
        kind="search",
        words=("look for tools:", "looking for tools:", "looked for tools:"),
        summary="query",
    )
    async def find_tools(
        context: ToolContext, query: Annotated[str, "A few words about what the tool should do."]
    ) -> ToolOutcome:
        """Find more tools, of MCP servers. Those that are found can be called from the next step on."""
        if found := shelf.show(context.session, query):
            return ToolOutcome("\n".join(f"{each.name}: {each.schema.description}" for each in found))
        servers = ", ".join(sorted({each.source.removeprefix("mcp:") for each in shelf.of_session(context.session)}))
        return ToolOutcome(f"No tool fits these words. There are tools of: {servers}.", is_error=True)

    return find_tools
