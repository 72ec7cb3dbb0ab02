"""The MCP host: servers that offer tools, each supervised, none trusted."""
