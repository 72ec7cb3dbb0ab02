"""Fakes and contract suites: what a plugin author runs against an implementation."""
