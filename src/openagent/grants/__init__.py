"""What a person allowed: how wide, for how long, and what of the jail it opens."""
