"""What is said in a session: sending, stopping, reading, and answering what an agent asks."""

from typing import Any, Literal

from msgspec import Struct

from openagent.protocol.messages import Message, UserPart
from openagent.protocol.op import Done, Op, ReadingOp
from openagent.protocol.routes import GET, POST, Paging
from openagent.protocol.scopes import Scope
from openagent.protocol.sessions import EndedTurn, GrantScope, PermissionAsk, Question


class Sent(Struct, frozen=True, omit_defaults=True):
    """What became of a message that was sent."""

    session: str
    """The session, by its id or the beginning of it."""
    turn: int = 0
    """The turn that was started; 0 when the message waits in the queue."""
    message_number: int = 0
    """The number of the message; 0 when it waits."""
    queued: str = ""
    """The id under which it waits; empty: it runs."""
    place: int = 0
    """Its session's place in the line for a turn, 1 being next; 0: it runs, or waits for its own session's turn."""


class Cancelled(Struct, frozen=True):
    """Whether there was anything to stop."""

    was_running: bool
    """A turn was running, and was stopped."""


class MessagePage(Struct, frozen=True, omit_defaults=True):
    """Some of a session's messages."""

    messages: list[Message]
    """The messages, oldest first."""
    has_more: bool
    """There are more in the direction that was asked for."""
    rewound: list[tuple[int, int]] = []
    """Ranges of message numbers that were taken back: still stored, no longer part of the conversation."""
    turns: list[EndedTurn] = []
    """How the turns of these messages ended, in order."""

    def following(self) -> dict[str, Any] | None:
        return {"before": self.messages[0].number} if self.has_more else None


class PendingAsk(Struct, frozen=True, omit_defaults=True):
    """What waits for a person: a permission, or the answer to a question."""

    id: str
    """What an answer names."""
    session: str
    """The session whose agent waits."""
    name: str
    """That session's name."""
    cwd: str
    """The folder it works in."""
    at: float
    """Since when it waits, in seconds since 1970."""
    permission: PermissionAsk | None = None
    """The tool call that waits; null: it is a question."""
    question: Question | None = None
    """What the agent wants to know; null: it is a permission."""
    lapsed_at: float | None = None
    """When it was waited for no longer, in seconds since 1970: nobody answered in time. Null: it waits."""


class PendingAsks(Struct, frozen=True, omit_defaults=True):
    """What waits for a person."""

    asks: list[PendingAsk]
    """The longest waiting first."""
    lapsed: list[PendingAsk] = []
    """What nobody answered in time. `ask.again` has it asked again."""


class RawExchange(Struct, frozen=True, omit_defaults=True):
    """What went to a provider and what came back."""

    request: str
    """What was sent to the provider."""
    response: str
    """What came back."""
    truncated: bool = False
    """Something was cut, because it was too long to keep."""


class MessageSend(Op[Sent], tag="message.send", needs="chat", acts=True, tells=True):
    """Send a message. It is accepted and stored when the reply arrives, and runs at once or after the running turn."""

    session: str
    """The session, by its id or the beginning of it."""
    text: str = ""
    """What to say."""
    parts: list[UserPart] = []
    """Text and images; `text` is put before them."""
    again: bool = False
    """It may have come before, under the same id, and the answer was lost: then it is not said twice. Only for ids that
    are never given twice."""


class TurnCancel(Op[Cancelled], tag="turn.cancel", needs="chat", routes=POST("/api/agents/{id=session}/cancel")):
    """Stop the running turn, and what people run in the session themselves; or one of their calls alone."""

    session: str
    """The session, by its id or the beginning of it."""
    call: str = ""
    """A person's call, by the id it was started with: it alone is stopped."""


class TurnRetry(
    Op[Sent], tag="turn.retry", needs="chat", acts=True, tells=True, routes=POST("/api/agents/{id=session}/retry")
):
    """Retry now. A turn that waits for its provider sends its request at once; a newest turn that failed or was cut
    short continues where it stopped, with no message said and no call made a second time."""

    session: str
    """The session, by its id or the beginning of it."""


class MessagesPage(
    ReadingOp[MessagePage],
    tag="messages.page",
    needs="read",
    routes=GET(
        "/api/agents/{id=session}/messages",
        left_out=("after",),
        paging=Paging("messages", ("before",), beside=("turns", "rewound")),
    ),
):
    """What was said, newest page first, each page oldest first."""

    session: str
    """The session, by its id or the beginning of it."""
    before: int | None = None
    """Messages with a smaller number; the newest when not given."""
    after: int | None = None
    """Messages with a larger number."""
    limit: int = 50
    """How many messages at most."""


class MessageRaw(
    ReadingOp[RawExchange],
    tag="message.raw",
    needs="read",
    routes=GET("/api/agents/{id=session}/messages/{number}/raw"),
):
    """The request that led to an answer and the response as it came, as far as kept."""

    session: str
    """The session, by its id or the beginning of it."""
    number: int
    """The answer, by its number."""


class AsksList(
    ReadingOp[PendingAsks],
    tag="asks.list",
    needs="read",
    reach="filtered",
    routes=GET("/api/agents/{id=session}/asks", "What an agent waits for a person to say."),
):
    """What agents wait for a person to say, the longest waiting first."""

    session: str = ""
    """Only what this session waits for; empty: all of them."""


class AskAgain(
    Op[Sent], tag="ask.again", needs="chat", acts=True, tells=True, routes=POST("/api/agents/{id=session}/ask-again")
):
    """Have the agent ask again for what nobody answered in time, or let it go."""

    session: str
    """The session, by its id or the beginning of it."""
    drop: bool = False
    """Let it go: nothing is asked, and the session waits for nobody any more."""


class PermissionAnswer(
    Op[Done], tag="permission.answer", needs="approve", routes=POST("/api/agents/{id=session}/approve-tool")
):
    """Allow or deny a waiting tool call."""

    session: str
    """The session, by its id or the beginning of it."""
    ask: str
    """The request, by its id."""
    decision: Literal["allow", "deny"]
    """Whether it may be done."""
    scope: GrantScope = "once"
    """How long that holds."""
    reason: str = ""
    """Why, for the agent to read."""
    choice: str = ""
    """Which of the request's choices with this scope is meant, by its id; left out: the scope's own."""

    def needed(self) -> frozenset[Scope]:
        more: tuple[Scope, ...] = ("admin",) if self.scope == "always" else ()
        return super().needed().union(more)


class QuestionAnswer(
    Op[Done], tag="question.answer", needs="chat", acts=True, routes=POST("/api/agents/{id=session}/answer")
):
    """Answer what an agent asked."""

    session: str
    """The session, by its id or the beginning of it."""
    question: str
    """The question, by its id."""
    answer: str
    """What to tell the agent."""
