"""What a client sends. Every op carries an id; its Reply or Failed carries the same one back."""

from typing import Any, Literal

from msgspec import Struct

from openagent.protocol.messages import Message, UserPart
from openagent.protocol.sessions import SessionInfo, SettingsChange, Snapshot
from openagent.protocol.usage import SessionUsage


class Op(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="op"):
    id: str


class Hello(Op, frozen=True, kw_only=True, tag="hello"):
    """The first op of a connection."""

    protocol: str
    client: str = ""
    """Who is calling, for people: `cli`, `tui`, `web`, `zed`, …"""
    interactive: bool = False
    """A person can answer permission requests and questions here."""
    env: dict[str, str] = {}
    """Provider settings from the caller's environment. Kept in memory for the sessions it uses, never stored."""


class Ping(Op, frozen=True, kw_only=True, tag="ping"):
    pass


class SessionCreate(Op, frozen=True, kw_only=True, tag="session.create"):
    session: str = ""
    """A client may choose the id, so that it can send further ops without waiting for the reply."""
    name: str = ""
    cwd: str = ""
    settings: SettingsChange = SettingsChange()


class SessionList(Op, frozen=True, kw_only=True, tag="session.list"):
    limit: int = 50
    before: float | None = None
    """Only sessions last active before this time: the cursor for the next page."""
    cwd: str = ""
    """Only sessions of this workspace."""
    query: str = ""
    """Only sessions whose name contains this."""


class SessionGet(Op, frozen=True, kw_only=True, tag="session.get"):
    session: str


class SessionAttach(Op, frozen=True, kw_only=True, tag="session.attach"):
    session: str
    after: int | None = None
    """The last `seq` this client has seen: send what it missed in place of a snapshot."""
    messages: int = 50
    """How many messages the snapshot holds."""


class SessionDetach(Op, frozen=True, kw_only=True, tag="session.detach"):
    session: str


class SessionUpdate(Op, frozen=True, kw_only=True, tag="session.update"):
    session: str
    name: str | None = None
    settings: SettingsChange = SettingsChange()


class SessionDelete(Op, frozen=True, kw_only=True, tag="session.delete"):
    session: str


class SessionFork(Op, frozen=True, kw_only=True, tag="session.fork"):
    session: str
    through: int | None = None
    """The last message the fork keeps; all when not given."""
    name: str = ""


class MessageSend(Op, frozen=True, kw_only=True, tag="message.send"):
    """Accepted and stored when the reply arrives. Runs at once, or after the turn that is running."""

    session: str
    text: str = ""
    parts: list[UserPart] = []
    """Text and images; `text` is put before them."""


class TurnCancel(Op, frozen=True, kw_only=True, tag="turn.cancel"):
    session: str


class MessagesPage(Op, frozen=True, kw_only=True, tag="messages.page"):
    session: str
    before: int | None = None
    """Messages with a smaller number; the newest when not given."""
    after: int | None = None
    limit: int = 50


class MessageRaw(Op, frozen=True, kw_only=True, tag="message.raw"):
    """The request that led to an answer and the response as it came, as far as kept."""

    session: str
    number: int


class PermissionAnswer(Op, frozen=True, kw_only=True, tag="permission.answer"):
    session: str
    ask: str
    decision: Literal["allow", "deny"]
    scope: Literal["once", "session", "always"] = "once"
    reason: str = ""


class QuestionAnswer(Op, frozen=True, kw_only=True, tag="question.answer"):
    session: str
    question: str
    answer: str


class ToolsList(Op, frozen=True, kw_only=True, tag="tools.list"):
    session: str = ""


class ToolRun(Op, frozen=True, kw_only=True, tag="tool.run"):
    """Run a tool as a person would: decided on, shown and audited like a model's call, but no part of the history."""

    session: str
    tool: str
    arguments: dict[str, Any] = {}


class ConfigShow(Op, frozen=True, kw_only=True, tag="config.show"):
    cwd: str = ""


class DaemonStatus(Op, frozen=True, kw_only=True, tag="daemon.status"):
    pass


class DaemonFollow(Op, frozen=True, kw_only=True, tag="daemon.follow"):
    """Start or stop receiving the events of the whole daemon: sessions coming and going, status, metrics."""

    on: bool = True


class DaemonStop(Op, frozen=True, kw_only=True, tag="daemon.stop"):
    pass


AnyOp = (
    Hello
    | Ping
    | SessionCreate
    | SessionList
    | SessionGet
    | SessionAttach
    | SessionDetach
    | SessionUpdate
    | SessionDelete
    | SessionFork
    | MessageSend
    | TurnCancel
    | MessagesPage
    | MessageRaw
    | PermissionAnswer
    | QuestionAnswer
    | ToolsList
    | ToolRun
    | ConfigShow
    | DaemonStatus
    | DaemonFollow
    | DaemonStop
)


class Welcome(Struct, frozen=True):
    protocol: str
    version: str
    pid: int


class Done(Struct, frozen=True):
    """Nothing to tell but that it was done."""


class SessionPage(Struct, frozen=True):
    sessions: list[SessionInfo]
    next: float | None = None


class Attached(Struct, frozen=True, omit_defaults=True):
    """Either a snapshot, or (`snapshot` is null) the missed events follow this reply."""

    session: str
    seq: int
    """The live tail starts after this number."""
    snapshot: Snapshot | None = None


class Sent(Struct, frozen=True, omit_defaults=True):
    session: str
    turn: int = 0
    """The turn that was started; 0 when the message waits in the queue."""
    message_number: int = 0
    queued: str = ""


class Cancelled(Struct, frozen=True):
    was_running: bool


class MessagePage(Struct, frozen=True):
    messages: list[Message]
    has_more: bool


class RawExchange(Struct, frozen=True, omit_defaults=True):
    request: str
    response: str
    truncated: bool = False


class ToolInfo(Struct, frozen=True, omit_defaults=True):
    name: str
    description: str
    parameters: dict[str, Any]
    read_only: bool = False
    source: str = "built-in"
    enabled: bool = True


class ToolList(Struct, frozen=True):
    tools: list[ToolInfo]


class ToolRan(Struct, frozen=True, omit_defaults=True):
    text: str
    is_error: bool = False
    display: dict[str, Any] = {}


class ConfigValue(Struct, frozen=True):
    key: str
    value: Any
    source: str
    """default, a file with its line, or an environment variable. Secrets are masked."""


class ConfigList(Struct, frozen=True):
    values: list[ConfigValue]
    files: list[str] = []
    """The files that were looked at and exist."""


class DaemonInfo(Struct, frozen=True, omit_defaults=True):
    pid: int
    version: str
    protocol: str
    socket: str
    web_url: str = ""
    home: str = ""
    started_at: float = 0.0
    uptime_s: float = 0.0
    sessions: int = 0
    running: int = 0
    clients: int = 0
    rss_bytes: int = 0
    usage: SessionUsage = SessionUsage()
    jail: str = ""
    model: str = ""


RESULTS: dict[type[Op], type[Struct]] = {
    Hello: Welcome,
    Ping: Done,
    SessionCreate: SessionInfo,
    SessionList: SessionPage,
    SessionGet: SessionInfo,
    SessionAttach: Attached,
    SessionDetach: Done,
    SessionUpdate: SessionInfo,
    SessionDelete: Done,
    SessionFork: SessionInfo,
    MessageSend: Sent,
    TurnCancel: Cancelled,
    MessagesPage: MessagePage,
    MessageRaw: RawExchange,
    PermissionAnswer: Done,
    QuestionAnswer: Done,
    ToolsList: ToolList,
    ToolRun: ToolRan,
    ConfigShow: ConfigList,
    DaemonStatus: DaemonInfo,
    DaemonFollow: Done,
    DaemonStop: Done,
}
"""The shape of `Reply.result` for each op."""
