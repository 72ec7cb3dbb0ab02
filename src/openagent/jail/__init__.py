"""Where an agent's commands run: bubblewrap, the bare host, and the persistent shell both share."""
