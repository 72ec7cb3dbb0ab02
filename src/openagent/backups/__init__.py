"""Archives of a home: made while everybody works, tried out, taken away in time, and restored."""
