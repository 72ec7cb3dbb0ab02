"""What other agents left, in the words in which every client for a terminal tells it."""

from collections.abc import Sequence

from openagent.protocol.history import FoundHistory


def listed(names: Sequence[str]) -> str:
    """Claude Code, codex and goose."""
    return " and ".join([*filter(None, [", ".join(names[:-1])]), *names[-1:]])


def what_was_found(found: FoundHistory) -> str:
    """214 sessions of Claude Code and codex."""
    sessions = f"{found.sessions:,} session{'' if found.sessions == 1 else 's'}"
    return f"{sessions} of {listed([each.title for each in found.agents])}"
