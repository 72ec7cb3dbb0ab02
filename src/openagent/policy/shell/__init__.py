"""Reading bash: text to syntax, syntax to the simple commands that would run."""
