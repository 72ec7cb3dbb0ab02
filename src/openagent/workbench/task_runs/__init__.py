"""A task on its way to a merged pull request: `task.run`, `task.follow`, `task.stop`, `tasks.import`."""
