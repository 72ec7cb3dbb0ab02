"""What of a folder of other agents' files a daemon loads: how many of how many, and why the rest is left out."""
