"""Messages that wait for a session's running turn to end."""

from msgspec import Struct

from openagent.protocol.messages import UserPart
from openagent.protocol.op import Op, ReadingOp
from openagent.protocol.routes import DELETE, GET, PATCH, POST
from openagent.protocol.sessions import QueuedMessage


class Queue(Struct, frozen=True, omit_defaults=True):
    """What waits to be said."""

    queued: list[QueuedMessage]
    """The next one first."""
    held: bool = False
    """They wait until somebody says go on."""


class QueueShow(ReadingOp[Queue], tag="queue.show", needs="read", routes=GET("/api/agents/{id=session}/queue")):
    """The messages that wait."""

    session: str
    """The session, by its id or the beginning of it."""


class QueueEdit(
    Op[Queue], tag="queue.edit", needs="chat", acts=True, routes=PATCH("/api/agents/{id=session}/queue/{queued}")
):
    """Say a waiting message in other words."""

    session: str
    """The session, by its id or the beginning of it."""
    queued: str
    """Its id."""
    text: str = ""
    """What to say instead."""
    parts: list[UserPart] = []
    """Text and images; `text` is put before them."""


class QueueRemove(
    Op[Queue], tag="queue.remove", needs="chat", routes=DELETE("/api/agents/{id=session}/queue/{queued}")
):
    """Withdraw a waiting message."""

    session: str
    """The session, by its id or the beginning of it."""
    queued: str
    """The message, by its id."""


class QueueMove(
    Op[Queue], tag="queue.move", needs="chat", acts=True, routes=POST("/api/agents/{id=session}/queue/{queued}/move")
):
    """Have a waiting message said earlier or later."""

    session: str
    """The session, by its id or the beginning of it."""
    queued: str
    """The message, by its id."""
    position: int = 1
    """1 is next."""


class QueueResume(
    Op[Queue], tag="queue.resume", needs="chat", acts=True, routes=POST("/api/agents/{id=session}/queue/resume")
):
    """Go on with what waits since a turn was cancelled. The next message does so too, and is said before it."""

    session: str
    """The session, by its id or the beginning of it."""
