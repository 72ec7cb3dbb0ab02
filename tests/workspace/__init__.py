"""Copies, checkpoints, diffs and quotas."""
