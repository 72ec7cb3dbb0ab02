"""What other agents left on this machine: read where it lies, brought here as sessions, and counted."""
