"""One file per wire format: what the real provider refuses, and the words it refuses with."""
