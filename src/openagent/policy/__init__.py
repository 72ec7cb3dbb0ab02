"""Rules and risk to a decision. Pure functions over data."""
