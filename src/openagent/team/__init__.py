"""Many daemons as one: turns as jobs that any worker may take, ops and live events between gateways and workers."""
