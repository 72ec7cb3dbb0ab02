"""The ways in. Thin: decode, hand the op to the daemon, encode."""
