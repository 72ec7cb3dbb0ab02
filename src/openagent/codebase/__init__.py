"""The code of a workspace, indexed, searched and told to sessions."""
