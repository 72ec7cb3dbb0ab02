"""What people do to a session beside talking: its queue, settings and tools, and finding what was said."""
