"""What people work with beside the conversation: files, terminals, copies of workspaces, tasks."""
