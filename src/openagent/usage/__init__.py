"""What was used, what it cost and how agents perform."""
