"""Sub-agents, templates and flows: sessions that work for other sessions."""
