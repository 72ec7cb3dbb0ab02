"""Finding what was said."""

from msgspec import Struct

from openagent.protocol.messages import Role
from openagent.protocol.op import ReadingOp
from openagent.protocol.routes import GET


class FoundMessage(Struct, frozen=True):
    """A message that holds the words."""

    session: str
    """The session it was said in, by its id."""
    session_name: str
    """That session's name."""
    number: int
    """Its number in the session."""
    role: Role
    """Who said it."""
    created_at: float
    """When it was said, in seconds since 1970."""
    excerpt: str
    """With the words found between U+0002 and U+0003."""


class FoundMessages(Struct, frozen=True, omit_defaults=True):
    """Messages that hold the words."""

    found: list[FoundMessage]
    """The best first."""
    unread: int = 0
    """Messages that are not searched yet: they are being read."""


class MessagesSearch(
    ReadingOp[FoundMessages],
    tag="messages.search",
    needs="read",
    reach="filtered",
    waits=True,
    routes=GET("/api/search"),
):
    """Messages of all sessions, or of one, that hold all of these words; the best first."""

    query: str
    """The words to look for."""
    session: str = ""
    """Only in this session; empty: in all."""
    limit: int = 20
    """How many messages at most."""
