"""Messages that wait for a session's running turn to end."""

from msgspec import Struct

from openagent.protocol.messages import UserPart
from openagent.protocol.op import Op, ReadingOp
from openagent.protocol.sessions import QueuedMessage


class QueueShow(ReadingOp, frozen=True, kw_only=True, tag="queue.show"):
    session: str


class QueueEdit(Op, frozen=True, kw_only=True, tag="queue.edit"):
    """Say it in other words."""

    session: str
    queued: str
    """Its id."""
    text: str = ""
    parts: list[UserPart] = []
    """Text and images; `text` is put before them."""


class QueueRemove(Op, frozen=True, kw_only=True, tag="queue.remove"):
    session: str
    queued: str


class QueueMove(Op, frozen=True, kw_only=True, tag="queue.move"):
    session: str
    queued: str
    position: int = 1
    """1 is next."""


class QueueResume(Op, frozen=True, kw_only=True, tag="queue.resume"):
    """Go on with what is held back since a turn was cancelled. So does the next message, which is said before it."""

    session: str


class Queue(Struct, frozen=True, omit_defaults=True):
    queued: list[QueuedMessage]
    """The next one first."""
    held: bool = False
    """They wait until somebody says go on."""
