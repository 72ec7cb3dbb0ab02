"""Who may come in and how far they reach: tokens, browsers that log in, the folders and sessions a caller may touch."""
