"""Copies, checkpoints, diffs and quotas of the files an agent works on."""
