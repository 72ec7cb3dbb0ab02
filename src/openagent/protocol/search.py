"""Finding what was said."""

from msgspec import Struct

from openagent.protocol.messages import Role
from openagent.protocol.op import ReadingOp
from openagent.protocol.routes import GET


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
    session: str = ""
    limit: int = 20
