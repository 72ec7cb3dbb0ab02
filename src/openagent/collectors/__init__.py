"""Strategies that shrink a context that has grown too large."""
