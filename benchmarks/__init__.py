"""What OpenAgent costs: measured, and held against the bounds it promises."""
