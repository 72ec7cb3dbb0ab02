"""The repository of a session's workspace, for a person: `git.*`."""
