"""Ops, events, messages and errors as data. No I/O and no logic."""
