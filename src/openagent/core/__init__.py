"""The heart: sessions, turns, and what the model is shown. It resists features."""
