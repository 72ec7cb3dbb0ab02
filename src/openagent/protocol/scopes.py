"""What a token may be allowed. Which of it an op takes, the op says itself."""

from collections.abc import Iterable
from typing import Literal

Scope = Literal["read", "chat", "approve", "admin"]

ALL_SCOPES: frozenset[Scope] = frozenset({"read", "chat", "approve", "admin"})
_ALSO: dict[Scope, frozenset[Scope]] = {
    "read": frozenset({"read"}),
    "chat": frozenset({"read", "chat"}),
    "approve": frozenset({"read", "approve"}),
    "admin": ALL_SCOPES,
}


def widened(scopes: Iterable[Scope]) -> frozenset[Scope]:
    """What holding these scopes amounts to: who may chat may read, and admin may everything."""
    return frozenset(allowed for scope in scopes for allowed in _ALSO[scope])
