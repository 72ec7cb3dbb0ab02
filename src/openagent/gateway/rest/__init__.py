"""REST: every op at an address of its own, and a turn as server-sent events."""
