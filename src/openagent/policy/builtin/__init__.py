"""What is known about commands: which only read, which are risky, which are never allowed."""
