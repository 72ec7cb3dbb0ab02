"""Commands that installed plugins add. Looked for only when no built-in command is meant."""

from importlib.metadata import EntryPoint, entry_points

import click

_GROUP = "openagent.commands"


def plugin_commands() -> dict[str, str]:
    """Name to package."""
    return {entry.name: entry.dist.name if entry.dist else entry.module for entry in _entries()}


def plugin_command(name: str) -> click.Command | None:
    entry = next((entry for entry in _entries() if entry.name == name), None)
    if entry is None:
        return None
    try:
        loaded = entry.load()
    except (Exception, SystemExit) as problem:  # the plugin boundary
        why = f"{type(problem).__name__}: {problem}"
        raise click.ClickException(f"The plugin command {name} ({entry.value}) cannot be loaded: {why}") from None
    if not isinstance(loaded, click.Command):
        raise click.ClickException(f"The plugin command {name} ({entry.value}) is no click command.")
    return loaded


def _entries() -> list[EntryPoint]:
    return sorted(entry_points(group=_GROUP), key=lambda entry: entry.name)
