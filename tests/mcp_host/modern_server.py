"""A server of the 2026 protocol, on the official SDK. It offers more when asked to, and tells so far too often."""

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("modern")


def grown() -> str:
    """Was not there at first."""
    return "I am new."


@server.tool()
async def grow(context: Context) -> str:
    """Offer one tool more."""
    server.add_tool(grown)
    for _ in range(2000):
        await context.notify_tools_changed()
    return "grown"


if __name__ == "__main__":
    server.run()
