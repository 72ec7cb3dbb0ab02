"""The terminal interface: a client for people."""
