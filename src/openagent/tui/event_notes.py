"""Events that are lines between the messages."""

from openagent.protocol import events as e
from openagent.protocol.telling import said

KINDS = {"plain": "", "warning": "warning", "error": "error"}


def notes_for(event: e.AnyEvent) -> list[tuple[str, str]]:
    """The words and their kind (empty, warning, error)."""
    return [(each.whole, KINDS[each.tone]) for each in said(event.told, event)]
