"""What working on OpenAgent needs and using it does not: none of it is in the wheel."""
