"""Session manager, event bus and lifecycle: what keeps sessions alive and clients in step."""
