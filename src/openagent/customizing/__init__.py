"""What people and projects add in files: rules, skills, slash commands, hooks."""
