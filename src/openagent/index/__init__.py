"""The code index and its search."""
