"""Bash read, not run: text to the pipelines in it, and what their words stand for, as far as that can be known."""

UNKNOWN = "\0"
"""Stands in a text for what cannot be known."""
