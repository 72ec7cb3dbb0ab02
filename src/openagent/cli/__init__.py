"""The command line: a client for people. It never imports the daemon."""
