"""Which session of ours another agent's becomes."""

from openagent.protocol.ids import session_id_of
from openagent.protocol.origin import ForeignAgent


def session_id(agent: ForeignAgent, theirs: str, copy: int = 0) -> str:
    """Always the same one. `copy`: another, beside one that has gone its own way here."""
    return session_id_of(f"{agent}:{theirs}{f'#{copy}' if copy else ''}".encode())
