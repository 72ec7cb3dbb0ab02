"""Where an agent's commands run: bubblewrap, a container, the bare host, and the persistent shell all share."""
