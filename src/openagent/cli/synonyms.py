"""Names that commands had once: they go on working, and no help and no completion shows them."""

from copy import copy

import click


def silently(command: click.Command) -> click.Command:
    """The same command, to be added once more under a name that nobody is told."""
    hidden = copy(command)
    hidden.hidden = True
    return hidden
