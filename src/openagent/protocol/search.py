"""Finding what was said."""

from typing import ClassVar

from msgspec import Struct

from openagent.protocol.messages import Role
from openagent.protocol.op import ReadingOp


class MessagesSearch(ReadingOp, frozen=True, kw_only=True, tag="messages.search"):
    """Messages of all sessions, or of one, that hold all of these words; the best first."""

    waits: ClassVar[bool] = True
    query: str
    session: str = ""
    limit: int = 20


class FoundMessage(Struct, frozen=True):
    session: str
    session_name: str
    number: int
    role: Role
    created_at: float
    excerpt: str
    """With the words found between U+0002 and U+0003."""


class FoundMessages(Struct, frozen=True, omit_defaults=True):
    found: list[FoundMessage]
    unread: int = 0
    """Messages that are not searched yet: they are being read."""
