"""MCP servers in sessions: which there are, their logins and secrets."""
