"""What the daemon sends.

An event of a session carries the session's id and a `seq`. Durable events are numbered one by one and
can be replayed from the store. Deltas (TextDelta, ThinkingDelta, ToolOutput) are live only: they carry the
number of the durable event they follow, so `after=seq` is always the right thing to ask for on re-attach.
`op_id` names the op that caused the event.
"""

from typing import Any, ClassVar, Literal

from msgspec import Struct
from msgspec.structs import force_setattr

from openagent.protocol.context import ContextSection
from openagent.protocol.errors import ErrorInfo
from openagent.protocol.flows import FlowState, StepState
from openagent.protocol.intent import Intent
from openagent.protocol.messages import CallEnd, Message
from openagent.protocol.sessions import (
    EndedTurn,
    LiveAnswer,
    PermissionAsk,
    PlanItem,
    Question,
    QueuedMessage,
    Risk,
    SessionInfo,
    Status,
    TurnEnd,
)
from openagent.protocol.usage import SessionUsage, Usage


class Event(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type"):
    durable: ClassVar[bool] = True
    session: str = ""
    seq: int = 0
    op_id: str = ""
    at: float = 0.0


class Reply(Event, frozen=True, kw_only=True, tag="reply"):
    """The answer to one op, sent only to the client that asked. Its shape is what the op's class names."""

    durable: ClassVar[bool] = False
    result: Any = None


class Failed(Event, frozen=True, kw_only=True, tag="failed"):
    """The refusal of one op, sent only to the client that asked."""

    durable: ClassVar[bool] = False
    error: ErrorInfo


class SessionCreated(Event, frozen=True, kw_only=True, tag="session.created"):
    info: SessionInfo


class SessionUpdated(Event, frozen=True, kw_only=True, tag="session.updated"):
    info: SessionInfo


class SessionDeleted(Event, frozen=True, kw_only=True, tag="session.deleted"):
    durable: ClassVar[bool] = False


class TurnStarted(Event, frozen=True, kw_only=True, tag="turn.started"):
    turn: int
    model: str = ""


class TurnCompleted(Event, frozen=True, kw_only=True, tag="turn.completed"):
    turn: int
    reason: TurnEnd
    text: str = ""
    """The final answer."""
    steps: int = 0
    usage: Usage = Usage()
    cost_usd: float = 0.0
    duration_ms: float = 0.0
    by: str = ""
    """Who stopped it, when somebody did: the name of a client."""
    error: ErrorInfo | None = None

    @property
    def ended(self) -> EndedTurn:
        """What is kept of it."""
        return EndedTurn(
            turn=self.turn,
            reason=self.reason,
            ended_at=self.at,
            duration_ms=self.duration_ms,
            steps=self.steps,
            usage=self.usage,
            cost_usd=self.cost_usd,
            by=self.by,
            error=self.error,
        )


class StatusChanged(Event, frozen=True, kw_only=True, tag="status"):
    status: Status
    detail: str = ""


class TextDelta(Event, frozen=True, kw_only=True, tag="text.delta"):
    durable: ClassVar[bool] = False
    message_number: int
    text: str


class ThinkingDelta(Event, frozen=True, kw_only=True, tag="thinking.delta"):
    durable: ClassVar[bool] = False
    message_number: int
    text: str


class LiveState(Event, frozen=True, kw_only=True, tag="live.state"):
    """Sent once on re-attach in the middle of an answer: all of it so far. Deltas go on from here."""

    durable: ClassVar[bool] = False
    live: LiveAnswer


class MessageAdded(Event, frozen=True, kw_only=True, tag="message.added"):
    message: Message


class MessageQueued(Event, frozen=True, kw_only=True, tag="message.queued"):
    queued: QueuedMessage


class QueueChanged(Event, frozen=True, kw_only=True, tag="queue.changed"):
    """The messages that wait are these from here on: one was said, edited, removed or moved, or they are held back."""

    queued: list[QueuedMessage] = []
    held: bool = False


class ToolStarted(Event, frozen=True, kw_only=True, tag="tool.started"):
    call_id: str
    tool: str
    arguments: dict[str, Any] = {}
    summary: str = ""


class ToolOutput(Event, frozen=True, kw_only=True, tag="tool.output"):
    durable: ClassVar[bool] = False
    call_id: str
    stream: Literal["stdout", "stderr", "progress"] = "stdout"
    text: str


class ToolFinished(Event, frozen=True, kw_only=True, tag="tool.finished"):
    call_id: str
    tool: str
    is_error: bool = False
    ended: CallEnd = "done"
    reason: str = ""
    """In a few words why it did not end as done."""
    subject: str = ""
    """What the call is about: a command, a path."""
    summary: str = ""
    duration_ms: float = 0.0
    exit_code: int | None = None

    def __post_init__(self) -> None:
        if self.is_error and self.ended == "done":  # stored before `ended` was
            force_setattr(self, "ended", "failed")


class PermissionRequested(Event, frozen=True, kw_only=True, tag="permission.requested"):
    ask: PermissionAsk
    answerable: bool = True
    """A client with a person behind it is attached."""


class PermissionResolved(Event, frozen=True, kw_only=True, tag="permission.resolved"):
    ask_id: str
    decision: Literal["allow", "deny"]
    scope: Literal["once", "session", "always"] = "once"
    by: str = ""
    """Which client answered, or `timeout`, or `turn ended`."""
    reason: str = ""
    covers: str = ""
    """What is allowed from now on, in words, when it was allowed for longer than once."""


class QuestionAsked(Event, frozen=True, kw_only=True, tag="question.asked"):
    question: Question


class QuestionAnswered(Event, frozen=True, kw_only=True, tag="question.answered"):
    question_id: str
    answer: str
    by: str = ""


class PlanUpdated(Event, frozen=True, kw_only=True, tag="plan.updated"):
    plan: list[PlanItem]


class UsageUpdated(Event, frozen=True, kw_only=True, tag="usage.updated"):
    usage: SessionUsage
    last: Usage = Usage()
    last_cost_usd: float | None = None
    """None when the model's price is not known."""
    cache_miss: str = ""
    """Why less of the prompt than expected came from the provider's cache."""


class BudgetWarning(Event, frozen=True, kw_only=True, tag="budget.warning"):
    scope: Literal["session", "day", "tree"]
    spent: float
    limit: float
    unit: Literal["usd", "tokens"] = "usd"


class BudgetExceeded(Event, frozen=True, kw_only=True, tag="budget.exceeded"):
    scope: Literal["session", "day", "tree"]
    spent: float
    limit: float
    unit: Literal["usd", "tokens"] = "usd"


class ContextThreshold(Event, frozen=True, kw_only=True, tag="context.threshold"):
    used_tokens: int
    window: int
    percent: float
    threshold: float


class ContextCollected(Event, frozen=True, kw_only=True, tag="context.collected"):
    collector: str
    reason: Literal["threshold", "turn_limit", "manual", "overflow"]
    hidden: list[tuple[int, int]] = []
    """Ranges of message numbers that the model no longer sees. They stay in the store."""
    summary: str = ""
    tokens_before: int = 0
    tokens_after: int = 0
    collection: int = 0
    """What `context.restore` calls it."""
    shortened: int = 0
    """Tool results of which the model now sees a pointer."""
    note: str = ""
    """What did not go as meant, such as a summary that could not be made."""


class ContextRestored(Event, frozen=True, kw_only=True, tag="context.restored"):
    """The model sees again what these collections had taken away."""

    collections: list[int]
    tokens_before: int = 0
    tokens_after: int = 0


class ContextPinned(Event, frozen=True, kw_only=True, tag="context.pinned"):
    message_number: int
    pinned: bool


class ContextShown(Event, frozen=True, kw_only=True, tag="context.shown"):
    """What takes how much of the window, after a turn and whenever it changed otherwise. `context.show` tells more."""

    durable: ClassVar[bool] = False
    used_tokens: int
    window: int
    sections: list[ContextSection]


class IntentDetected(Event, frozen=True, kw_only=True, tag="intent.detected"):
    """What the message of this turn seems to be for, and whether anything was made of that."""

    intent: Intent | None = None
    used: bool = False
    """It was sure enough: code is searched by its query, and the model is told which tools fit."""
    tools: list[str] = []
    note: str = ""
    """Why it was not used."""


class RetryScheduled(Event, frozen=True, kw_only=True, tag="retry.scheduled"):
    provider: str
    attempt: int
    max_attempts: int
    delay_s: float
    error: ErrorInfo


class ProviderFailedOver(Event, frozen=True, kw_only=True, tag="provider.failed_over"):
    from_model: str
    to_model: str
    reason: str


class ModelRouted(Event, frozen=True, kw_only=True, tag="model.routed"):
    model: str
    reason: str


class LoginRequired(Event, frozen=True, kw_only=True, tag="login.required"):
    provider: str
    reason: str


class PullProgress(Event, frozen=True, kw_only=True, tag="models.progress"):
    """An offline model is being installed; sent to the client that asked for it."""

    durable: ClassVar[bool] = False
    model: str
    stage: str
    """What is being done, in words."""
    done_bytes: int = 0
    total_bytes: int = 0
    """0: not known."""


class IndexProgress(Event, frozen=True, kw_only=True, tag="index.progress"):
    """A workspace is being indexed or the index's model installed; sent to the client that asked for it."""

    durable: ClassVar[bool] = False
    stage: str
    """What is being done, in words."""
    done: int = 0
    total: int = 0
    """0: not known."""


class IndexUpdated(Event, frozen=True, kw_only=True, tag="index.updated"):
    """A watched workspace's index is up to date again; sent to the client that watches."""

    durable: ClassVar[bool] = False
    files: int
    """In the index now."""
    indexed: int = 0
    """New or changed, so read again."""
    removed: int = 0
    left_out: int = 0
    seconds: float = 0.0


class SubagentStarted(Event, frozen=True, kw_only=True, tag="subagent.started"):
    child: str
    template: str
    task: str
    model: str = ""
    call_id: str = ""
    background: bool = False
    copy: str = ""
    """The copy of the workspace it works in; empty when it only reads."""


class SubagentProgress(Event, frozen=True, kw_only=True, tag="subagent.progress"):
    durable: ClassVar[bool] = False
    child: str
    template: str
    status: Status
    detail: str = ""
    """The call it makes, on one line."""
    steps: int = 0
    cost_usd: float = 0.0
    tokens: int = 0


class SubagentFinished(Event, frozen=True, kw_only=True, tag="subagent.finished"):
    child: str
    reason: TurnEnd
    template: str = ""
    text: str = ""
    """Its answer, cut at a bound."""
    changed: list[str] = []
    """Files that its caller's workspace took over."""
    conflicts: list[str] = []
    """Files that both changed: the caller's stay as they are, the copy keeps the sub-agent's."""
    copy: str = ""
    """The copy that was kept, because it holds edits that have not come back."""
    error: ErrorInfo | None = None
    cost_usd: float = 0.0
    tokens: int = 0
    duration_ms: float = 0.0


class FlowStarted(Event, frozen=True, kw_only=True, tag="flow.started"):
    name: str
    file: str
    text: str
    """The whole flow, so that it can be gone on with."""
    inputs: dict[str, str] = {}
    steps: list[str] = []


class FlowStepped(Event, frozen=True, kw_only=True, tag="flow.step"):
    step: str
    state: StepState
    round: int = 0
    text: str = ""
    """What its agents answered, or why it failed."""
    cost_usd: float = 0.0


class FlowFinished(Event, frozen=True, kw_only=True, tag="flow.finished"):
    state: FlowState
    cost_usd: float = 0.0
    tokens: int = 0
    duration_ms: float = 0.0
    error: ErrorInfo | None = None


class CheckpointCreated(Event, frozen=True, kw_only=True, tag="checkpoint.created"):
    checkpoint: str
    turn: int
    files: int = 0


class CheckpointRestored(Event, frozen=True, kw_only=True, tag="checkpoint.restored"):
    checkpoint: str
    turn: int
    files: bool = True
    conversation: bool = False
    rewound: list[tuple[int, int]] = []
    """Ranges of message numbers that were taken back: still stored, no longer part of the conversation."""
    undo: str = ""
    """What takes the rewind back, with `session.unrewind`."""
    returned: list[tuple[int, int]] = []
    """Ranges of message numbers that are part of the conversation again: a rewind was taken back."""
    others: list[str] = []
    """What others changed since, and was left as it is; the first paths of them."""


class McpServerStatus(Event, frozen=True, kw_only=True, tag="mcp.status"):
    durable: ClassVar[bool] = False
    server: str
    status: Literal["starting", "up", "down", "failed", "disabled"]
    detail: str = ""
    tools: int = 0
    warnings: list[str] = []
    """What a person should know about what it offers."""


class TaskUpdated(Event, frozen=True, kw_only=True, tag="task.updated"):
    durable: ClassVar[bool] = False
    task: str
    title: str
    state: str
    owner: str = ""
    cwd: str = ""
    """The workspace it is about."""


class BackgroundStarted(Event, frozen=True, kw_only=True, tag="background.started"):
    command_id: str
    command: str
    call_id: str = ""


class BackgroundFinished(Event, frozen=True, kw_only=True, tag="background.finished"):
    command_id: str
    exit_code: int | None
    duration_ms: float = 0.0
    lost: bool = False
    """It ended with the daemon, when its session was put away or went to plan; nobody knows how far it had come."""


class TerminalOutput(Event, frozen=True, kw_only=True, tag="terminal.output"):
    """To the connections that opened the terminal."""

    durable: ClassVar[bool] = False
    terminal: str
    text: str


class TerminalExited(Event, frozen=True, kw_only=True, tag="terminal.exited"):
    durable: ClassVar[bool] = False
    terminal: str
    exit_code: int | None = None


class Metrics(Event, frozen=True, kw_only=True, tag="metrics"):
    """The daemon's own pulse, sent to clients that follow it."""

    durable: ClassVar[bool] = False
    sessions: int
    running: int
    clients: int
    rss_bytes: int
    cpu_percent: float
    """Of the daemon itself; 100 is one processor."""
    spend_today_usd: float = 0.0
    system_cpu_percent: float = 0.0
    """Of the whole machine; 100 is all its processors."""
    system_memory_bytes: int = 0
    """In use on the whole machine."""
    system_memory_total_bytes: int = 0


class ErrorRaised(Event, frozen=True, kw_only=True, tag="error"):
    error: ErrorInfo


class ConnectionClosing(Event, frozen=True, kw_only=True, tag="connection.closing"):
    """The last thing a client hears: why the daemon ends the connection."""

    durable: ClassVar[bool] = False
    error: ErrorInfo


class PermissionNoted(Event, frozen=True, kw_only=True, tag="permission.noted"):
    """A decision that needed nobody: shown so that a person can see why something ran or was refused."""

    call_id: str
    tool: str
    decision: Literal["allow", "deny"]
    risk: Risk = "low"
    reason: str = ""
    rule: str = ""


class HookRan(Event, frozen=True, kw_only=True, tag="hook.ran"):
    """A command of the person's ran because something happened."""

    hook: str
    """What happened, in the words of hook files: PreToolUse, Stop, …"""
    command: str
    outcome: Literal["done", "blocked", "failed", "timeout"]
    detail: str = ""
    duration_ms: float = 0.0
    tool: str = ""
    call_id: str = ""


AnyEvent = (
    Reply
    | Failed
    | SessionCreated
    | SessionUpdated
    | SessionDeleted
    | TurnStarted
    | TurnCompleted
    | StatusChanged
    | TextDelta
    | ThinkingDelta
    | LiveState
    | MessageAdded
    | MessageQueued
    | QueueChanged
    | ToolStarted
    | ToolOutput
    | ToolFinished
    | PermissionRequested
    | PermissionResolved
    | PermissionNoted
    | QuestionAsked
    | QuestionAnswered
    | PlanUpdated
    | UsageUpdated
    | BudgetWarning
    | BudgetExceeded
    | ContextThreshold
    | ContextCollected
    | ContextRestored
    | ContextPinned
    | ContextShown
    | IntentDetected
    | RetryScheduled
    | ProviderFailedOver
    | ModelRouted
    | LoginRequired
    | PullProgress
    | IndexProgress
    | IndexUpdated
    | SubagentStarted
    | SubagentProgress
    | SubagentFinished
    | FlowStarted
    | FlowStepped
    | FlowFinished
    | CheckpointCreated
    | CheckpointRestored
    | McpServerStatus
    | TaskUpdated
    | BackgroundStarted
    | BackgroundFinished
    | TerminalOutput
    | TerminalExited
    | Metrics
    | HookRan
    | ErrorRaised
    | ConnectionClosing
)
