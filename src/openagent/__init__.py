"""OpenAgent: a team of coding agents on your own machine."""

__version__ = "0.1.0"
