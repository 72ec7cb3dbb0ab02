"""Tasks, and the file that lists them."""
