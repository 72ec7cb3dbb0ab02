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
from openagent.protocol.metrics import AgentMetrics
from openagent.protocol.sessions import (
    EndedTurn,
    LapsedAsk,
    LiveAnswer,
    Mode,
    PermissionAsk,
    PlanItem,
    Question,
    QueuedMessage,
    Risk,
    RunningCall,
    SessionInfo,
    Status,
    TurnEnd,
)
from openagent.protocol.telling import Drawn, Line, Silent, Told
from openagent.protocol.usage import SessionUsage, Usage


class Event(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type"):
    durable: ClassVar[bool] = True
    told: ClassVar[Told]
    """How people are told of it. Every event says so itself."""
    session: str = ""
    """The session it belongs to; empty: to none."""
    seq: int = 0
    """Its number in the session, which only grows; of what is live only, the number of the last one that has its
    own."""
    op_id: str = ""
    """The op that caused it."""
    at: float = 0.0
    """When it happened, in seconds since 1970."""


class Reply(Event, frozen=True, kw_only=True, tag="reply"):
    """The answer to one op, sent only to the client that asked. Its shape is what the op's class names."""

    durable: ClassVar[bool] = False
    told: ClassVar[Told] = Drawn("whoever asked shows the answer")
    result: Any = None
    """The op's answer."""


class Failed(Event, frozen=True, kw_only=True, tag="failed"):
    """The refusal of one op, sent only to the client that asked."""

    durable: ClassVar[bool] = False
    told: ClassVar[Told] = Drawn("whoever asked shows the refusal")
    error: ErrorInfo
    """Why it was refused."""


class SessionCreated(Event, frozen=True, kw_only=True, tag="session.created"):
    """A session was made."""

    told: ClassVar[Told] = Drawn("a row in lists of sessions")
    info: SessionInfo
    """The new session."""


class SessionUpdated(Event, frozen=True, kw_only=True, tag="session.updated"):
    """A session's name or settings changed."""

    told: ClassVar[Told] = Drawn("names, modes and lists of sessions change")
    info: SessionInfo
    """The session as it is now."""


class SessionDeleted(Event, frozen=True, kw_only=True, tag="session.deleted"):
    """A session is gone."""

    durable: ClassVar[bool] = False
    told: ClassVar[Told] = (Line("The session was deleted.", "error"),)


class TurnStarted(Event, frozen=True, kw_only=True, tag="turn.started"):
    """A turn began."""

    told: ClassVar[Told] = Drawn("the session is shown as busy")
    turn: int
    """The turn, by its number in the session."""
    model: str = ""
    """The model that is asked."""


class TurnCompleted(Event, frozen=True, kw_only=True, tag="turn.completed"):
    """A turn ended."""

    told: ClassVar[Told] = Drawn("how a turn ended stands below it, in the words of words.py")
    turn: int
    """The turn, by its number in the session."""
    reason: TurnEnd
    """How it ended."""
    text: str = ""
    """The final answer; of a turn that was cut short, what had come of it."""
    steps: int = 0
    """Steps it took."""
    usage: Usage = Usage()
    """Tokens it used."""
    cost_usd: float = 0.0
    """What it cost, in dollars, as far as prices are known."""
    unpriced: int = 0
    """Requests whose price is not known."""
    duration_ms: float = 0.0
    """How long it took, in milliseconds."""
    by: str = ""
    """Who stopped it, when somebody did: the name of a client."""
    error: ErrorInfo | None = None
    """What it failed on, or which cap it met."""

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
    """A session does something else now."""

    told: ClassVar[Told] = Drawn("a mark beside the session")
    status: Status
    """What the session is doing."""
    detail: str = ""
    """More about it, for people."""


class TextDelta(Event, frozen=True, kw_only=True, tag="text.delta"):
    """A piece of the answer that is being streamed."""

    durable: ClassVar[bool] = False
    told: ClassVar[Told] = Drawn("the answer grows")
    message_number: int
    """The answer it belongs to, by its number."""
    text: str
    """What comes next."""


class ThinkingDelta(Event, frozen=True, kw_only=True, tag="thinking.delta"):
    """A piece of what the model thinks."""

    durable: ClassVar[bool] = False
    told: ClassVar[Told] = Drawn("the thought grows")
    message_number: int
    """The answer it belongs to, by its number."""
    text: str
    """What comes next."""


class LiveState(Event, frozen=True, kw_only=True, tag="live.state"):
    """Sent once on re-attach in the middle of an answer: all of it so far. Deltas go on from here."""

    durable: ClassVar[bool] = False
    told: ClassVar[Told] = Drawn("the answer so far")
    live: LiveAnswer
    """The answer as far as it has come."""


class MessageAdded(Event, frozen=True, kw_only=True, tag="message.added"):
    """A message was stored."""

    told: ClassVar[Told] = Drawn("a message of the conversation")
    message: Message
    """The message, as it is stored."""


class MessageQueued(Event, frozen=True, kw_only=True, tag="message.queued"):
    """A message waits for the running turn to end, or for a place among the turns that run at once."""

    told: ClassVar[Told] = (Line("Queued; it is next when this turn has ended.", when="!in_line"),)
    queued: QueuedMessage
    """The message that waits."""
    in_line: bool = False
    """No turn of its session runs: it waits for turns of others."""


class TurnWaiting(Event, frozen=True, kw_only=True, tag="turn.waiting"):
    """As many turns run as may run at once: this session's next one waits, and has come to this place in line."""

    durable: ClassVar[bool] = False
    told: ClassVar[Told] = (
        Line("Waiting for other turns to end: number {place} of {waiting} in line.", when="!limit"),
        Line("{limit}, so this one waits: number {place} of {waiting} in line.", when="limit"),
    )
    place: int
    """1 is next."""
    waiting: int
    """How many stand in line."""
    at_once: int = 0
    """How many turns may run; 0: that was changed meanwhile, and it goes on in a moment."""
    limit: str = ""
    """What a person or team may have at once, where that and not the number of all is what it waits for."""


class SessionPresence(Event, frozen=True, kw_only=True, tag="session.presence"):
    """Of several people with this session one came or left."""

    durable: ClassVar[bool] = False
    told: ClassVar[Told] = (Line("Here now: {who}."),)
    who: str
    """All who are here, by name."""


class QueueChanged(Event, frozen=True, kw_only=True, tag="queue.changed"):
    """The messages that wait are these from here on: one was said, edited, removed or moved, or they are held back."""

    told: ClassVar[Told] = (
        Line(
            "Held back, since the turn before was cancelled: {queued:messages}.",
            "warning",
            hint="They follow the next message, or `openagent sessions queue {session} --resume`.",
            when="held",
        ),
    )
    queued: list[QueuedMessage] = []
    """What waits, the next one first."""
    held: bool = False
    """They wait until somebody says go on."""


class ToolStarted(Event, frozen=True, kw_only=True, tag="tool.started"):
    """A tool call began."""

    told: ClassVar[Told] = Drawn("the call, in the words of its tool")
    call_id: str
    """The call, by its id."""
    tool: str
    """The tool, by its name."""
    arguments: dict[str, Any] = {}
    """What the tool is given."""
    summary: str = ""
    """What it does, on one line."""


class ToolOutput(Event, frozen=True, kw_only=True, tag="tool.output"):
    """A piece of what a running command prints."""

    durable: ClassVar[bool] = False
    told: ClassVar[Told] = Drawn("below the call")
    call_id: str
    """The tool call it belongs to."""
    stream: Literal["stdout", "stderr", "progress"] = "stdout"
    """Where it was printed."""
    text: str
    """What was printed."""


def events_of(running: RunningCall) -> list[ToolStarted | ToolOutput]:
    """What somebody would have been told who had been there when the call began."""
    started = ToolStarted(
        call_id=running.call_id,
        tool=running.tool,
        arguments=running.arguments,
        summary=running.summary,
        at=running.started_at,
    )
    printed = (
        [ToolOutput(call_id=running.call_id, text=running.output, at=running.started_at)] if running.output else []
    )
    return [started, *printed]


class ToolFinished(Event, frozen=True, kw_only=True, tag="tool.finished"):
    """A tool call ended."""

    told: ClassVar[Told] = Drawn("the call, in the words of its tool")
    call_id: str
    """The call, by its id."""
    tool: str
    """The tool, by its name."""
    is_error: bool = False
    """It did not do what was asked."""
    ended: CallEnd = "done"
    """How it ended."""
    reason: str = ""
    """In a few words why it did not end as done."""
    subject: str = ""
    """What the call is about: a command, a path."""
    summary: str = ""
    """What it did, on one line."""
    duration_ms: float = 0.0
    """How long it took, in milliseconds."""
    exit_code: int | None = None
    """What a command returned."""

    def __post_init__(self) -> None:
        if self.is_error and self.ended == "done":  # stored before `ended` was
            force_setattr(self, "ended", "failed")


class PermissionRequested(Event, frozen=True, kw_only=True, tag="permission.requested"):
    """A tool call waits for a person."""

    told: ClassVar[Told] = Drawn("a person is asked")
    ask: PermissionAsk
    """What is asked for."""
    answerable: bool = True
    """A client with a person behind it is attached."""


class PermissionResolved(Event, frozen=True, kw_only=True, tag="permission.resolved"):
    """A person answered, or nobody did in time."""

    told: ClassVar[Told] = Drawn("the question is answered, or gone")
    ask_id: str
    """The request, by its id."""
    decision: Literal["allow", "deny"]
    """Whether it may be done."""
    scope: Literal["once", "session", "always"] = "once"
    """How long that holds."""
    by: str = ""
    """Which client answered, or `timeout`, or `turn ended`, or `restart`: then it is asked again."""
    reason: str = ""
    """What was said about it."""
    covers: str = ""
    """What is allowed from now on, in words, when it was allowed for longer than once."""


class QuestionAsked(Event, frozen=True, kw_only=True, tag="question.asked"):
    """The agent wants to know something."""

    told: ClassVar[Told] = Drawn("a person is asked")
    question: Question
    """What the agent wants to know."""
    answerable: bool = True
    """A client with a person behind it is attached."""


class QuestionAnswered(Event, frozen=True, kw_only=True, tag="question.answered"):
    """The agent was answered."""

    told: ClassVar[Told] = Drawn("the question is answered, or gone")
    question_id: str
    """The question, by its id."""
    answer: str
    """What was said."""
    by: str = ""
    """The client it was said in."""


class AsksLapsed(Event, frozen=True, kw_only=True, tag="asks.lapsed"):
    """What nobody answered in time is something else now."""

    told: ClassVar[Told] = Drawn("the session needs the person, who can have it asked again")
    lapsed: list[LapsedAsk]
    """All of it; empty: it was asked again, or let go."""


class PlanUpdated(Event, frozen=True, kw_only=True, tag="plan.updated"):
    """The agent's plan changed."""

    told: ClassVar[Told] = Drawn("the plan, beside or between the messages")
    plan: list[PlanItem]
    """The whole plan."""


class UsageUpdated(Event, frozen=True, kw_only=True, tag="usage.updated"):
    """A request was paid for."""

    told: ClassVar[Told] = Drawn("in bars and panels")
    usage: SessionUsage
    """Of the whole session."""
    last: Usage = Usage()
    """Of the last request."""
    last_cost_usd: float | None = None
    """None when the model's price is not known."""
    cache_miss: str = ""
    """Why less of the prompt than expected came from the provider's cache."""


class BudgetWarning(Event, frozen=True, kw_only=True, tag="budget.warning"):
    """A budget is nearly spent."""

    told: ClassVar[Told] = (
        Line(
            "{spent:money} of the session's {limit:money} are spent.",
            "warning",
            hint="At the limit it stops: /budget raises it.",
            when="scope!=day",
        ),
        Line(
            "{spent:money} of today's {limit:money} are spent.",
            "warning",
            hint="At the limit every session stops: openagent config set budget.day_usd raises it.",
            when="scope=day",
        ),
    )
    scope: Literal["session", "day", "tree"]
    """The budget of the session, of the day, or of a session and all that work for it."""
    spent: float
    """What was spent."""
    limit: float
    """What may be spent."""
    unit: Literal["usd", "tokens"] = "usd"
    """In dollars, or in tokens."""


class BudgetExceeded(Event, frozen=True, kw_only=True, tag="budget.exceeded"):
    """A budget is spent."""

    told: ClassVar[Told] = (
        Line(
            "The session's budget of {limit:money} does not cover the next request.",
            "error",
            hint="/budget raises it.",
            when="scope!=day",
        ),
        Line(
            "Today's budget of {limit:money} does not cover the next request.",
            "error",
            hint="openagent config set budget.day_usd raises it.",
            when="scope=day",
        ),
    )
    scope: Literal["session", "day", "tree"]
    """The budget of the session, of the day, or of a session and all that work for it."""
    spent: float
    """What was spent."""
    limit: float
    """What may be spent."""
    unit: Literal["usd", "tokens"] = "usd"
    """In dollars, or in tokens."""


class ContextThreshold(Event, frozen=True, kw_only=True, tag="context.threshold"):
    """The context has grown so large that it will be collected."""

    told: ClassVar[Told] = (Line("The context is {percent:percent} full."),)
    used_tokens: int
    """What the context takes of it, in tokens."""
    window: int
    """The model's window, in tokens."""
    percent: float
    """What is used of the window."""
    threshold: float
    """Percent of the window at which it is collected."""


class ContextCollected(Event, frozen=True, kw_only=True, tag="context.collected"):
    """The context was shrunk."""

    told: ClassVar[Told] = (
        Line(
            "Older messages were put away to make room, by {collector}: "
            "{tokens_before:number} → {tokens_after:number} tokens.",
            detail="{summary}",
            when="!note",
        ),
        Line(
            "Older messages were put away to make room, by {collector}: "
            "{tokens_before:number} → {tokens_after:number} tokens.",
            "warning",
            hint="{note}",
            detail="{summary}",
            when="note",
        ),
    )
    collector: str
    """The collector that did it."""
    reason: Literal["threshold", "turn_limit", "manual", "overflow"]
    """Why it was done."""
    hidden: list[tuple[int, int]] = []
    """Ranges of message numbers that the model no longer sees. They stay in the store."""
    summary: str = ""
    """What was written in place of what went."""
    tokens_before: int = 0
    """The context's size before, in tokens."""
    tokens_after: int = 0
    """The context's size after, in tokens."""
    collection: int = 0
    """What `context.restore` calls it."""
    shortened: int = 0
    """Tool results of which the model now sees a pointer."""
    note: str = ""
    """What did not go as meant, such as a summary that could not be made."""


class ContextRestored(Event, frozen=True, kw_only=True, tag="context.restored"):
    """The model sees again what these collections had taken away."""

    told: ClassVar[Told] = (
        Line("The model sees again what was put away: {tokens_before:number} → {tokens_after:number} tokens."),
    )
    collections: list[int]
    """The collections that were taken back, by number."""
    tokens_before: int = 0
    """The context's size before, in tokens."""
    tokens_after: int = 0
    """The context's size after, in tokens."""


class ContextPinned(Event, frozen=True, kw_only=True, tag="context.pinned"):
    """A message was kept from collectors, or no longer is."""

    told: ClassVar[Told] = (
        Line("Message {message_number} is pinned: no collection takes it away.", when="pinned"),
        Line("Message {message_number} is no longer pinned.", when="!pinned"),
    )
    message_number: int
    """The message, by its number in the session."""
    pinned: bool
    """False: no longer."""


class ContextShown(Event, frozen=True, kw_only=True, tag="context.shown"):
    """What takes how much of the window, after a turn and whenever it changed otherwise. `context.show` tells more."""

    durable: ClassVar[bool] = False
    told: ClassVar[Told] = Drawn("in panels")
    used_tokens: int
    """What the context takes of it, in tokens."""
    window: int
    """The model's window, in tokens."""
    sections: list[ContextSection]
    """What takes how much."""


class IntentDetected(Event, frozen=True, kw_only=True, tag="intent.detected"):
    """What the message of this turn seems to be for, and whether anything was made of that."""

    told: ClassVar[Told] = (
        Line(
            "Taken for {intent.type} ({intent.confidence:part})[, tools: {tools:list}].",
            when="used intent.type!=research",
        ),
        Line(
            "Taken for {intent.type} ({intent.confidence:part}), searching for “{intent.query}”"
            "[, tools: {tools:list}].",
            when="used intent.type=research",
        ),
        Line("{note}", when="!used note"),
    )
    intent: Intent | None = None
    """What the person seems to want."""
    used: bool = False
    """It was sure enough: code is searched by its query, and the model is told which tools fit."""
    tools: list[str] = []
    """The tools that fit."""
    note: str = ""
    """Why it was not used."""


class RetryScheduled(Event, frozen=True, kw_only=True, tag="retry.scheduled"):
    """A request failed and is sent again."""

    told: ClassVar[Told] = (
        Line("Retrying in {delay_s:seconds} ({attempt} of {max_attempts}): {error.message}", "warning", when="delay_s"),
        Line("Retrying ({attempt} of {max_attempts}): {error.message}", "warning", when="!delay_s"),
    )
    provider: str
    """The provider, by its name."""
    attempt: int
    """Which attempt comes next."""
    max_attempts: int
    """How many there are at most."""
    delay_s: float
    """In how many seconds."""
    error: ErrorInfo
    """Why the last one failed."""


class ProviderFailedOver(Event, frozen=True, kw_only=True, tag="provider.failed_over"):
    """Another model is asked, because one did not answer."""

    told: ClassVar[Told] = (Line("{to_model} goes on in place of {from_model}:", "warning", hint="{reason}"),)
    from_model: str
    """The model that did not answer."""
    to_model: str
    """The model that is asked instead."""
    reason: str
    """Why it did not answer."""


class ModelRouted(Event, frozen=True, kw_only=True, tag="model.routed"):
    """A model was chosen for the turn."""

    told: ClassVar[Told] = (Line("Answered by {model}:", hint="{reason}"),)
    model: str
    """The model that was chosen."""
    reason: str
    """Why it was chosen."""


class LoginRequired(Event, frozen=True, kw_only=True, tag="login.required"):
    """A provider's login no longer does."""

    told: ClassVar[Told] = (
        Line(
            "The login to {provider} has ended.",
            "warning",
            hint="Log in again: openagent auth login {provider}",
            detail="{reason}",
        ),
    )
    provider: str
    """The provider, by its name."""
    reason: str
    """Why the login no longer does."""


class PullProgress(Event, frozen=True, kw_only=True, tag="models.progress"):
    """An offline model or an extra is being installed; sent to the client that asked for it."""

    durable: ClassVar[bool] = False
    told: ClassVar[Told] = Drawn("a bar, where it was asked for")
    model: str
    """The model or the extra that is installed."""
    stage: str
    """What is being done, in words."""
    done_bytes: int = 0
    """How much of it has come, in bytes."""
    total_bytes: int = 0
    """0: not known."""


class IndexProgress(Event, frozen=True, kw_only=True, tag="index.progress"):
    """A workspace is being indexed or the index's model installed; sent to the client that asked for it."""

    durable: ClassVar[bool] = False
    told: ClassVar[Told] = Drawn("a bar, where it was asked for")
    stage: str
    """What is being done, in words."""
    done: int = 0
    """How much of it is done."""
    total: int = 0
    """0: not known."""


class IndexUpdated(Event, frozen=True, kw_only=True, tag="index.updated"):
    """A watched workspace's index is up to date again; sent to the client that watches."""

    durable: ClassVar[bool] = False
    told: ClassVar[Told] = Drawn("a line, where a workspace is watched")
    files: int
    """In the index now."""
    indexed: int = 0
    """New or changed, so read again."""
    removed: int = 0
    """Files that are gone."""
    left_out: int = 0
    """Files that are binary, too large or unreadable."""
    seconds: float = 0.0
    """How long it took."""


class HistoryProgress(Event, frozen=True, kw_only=True, tag="history.progress"):
    """Sessions of other agents are being read; sent to the client that asked for it."""

    durable: ClassVar[bool] = False
    told: ClassVar[Told] = Drawn("a bar, where it was asked for")
    stage: str
    """What is being done, in words."""
    done: int = 0
    """How many bytes are read."""
    total: int = 0
    """Of how many."""
    messages: int = 0
    """Messages that were stored so far."""


class HistoryImported(Event, frozen=True, kw_only=True, tag="history.imported"):
    """Sessions of other agents were brought here."""

    durable: ClassVar[bool] = False
    told: ClassVar[Told] = Silent("whoever asked is answered; lists of sessions are asked for anew")
    sessions: int
    """How many are new or went on."""
    messages: int = 0
    """How many messages that is."""


class SubagentStarted(Event, frozen=True, kw_only=True, tag="subagent.started"):
    """A sub-agent began."""

    told: ClassVar[Told] = (Line("→ {template} ({child}): {task:line}"),)
    child: str
    """The sub-agent's session."""
    template: str
    """The template it was made from."""
    task: str
    """What it is to do."""
    model: str = ""
    """The model it uses."""
    call_id: str = ""
    """The tool call that started it."""
    background: bool = False
    """Its caller does not wait for it."""
    copy: str = ""
    """The copy of the workspace it works in; empty when it only reads."""


class SubagentProgress(Event, frozen=True, kw_only=True, tag="subagent.progress"):
    """How far a sub-agent is."""

    durable: ClassVar[bool] = False
    told: ClassVar[Told] = Silent("too often for lines; panels of agents show it")
    child: str
    """The sub-agent's session."""
    template: str
    """The template it was made from."""
    status: Status
    """What it is doing."""
    detail: str = ""
    """The call it makes, on one line."""
    steps: int = 0
    """Steps it has taken."""
    cost_usd: float = 0.0
    """What it has cost so far, in dollars."""
    tokens: int = 0
    """Tokens it has used so far."""


class SubagentFinished(Event, frozen=True, kw_only=True, tag="subagent.finished"):
    """A sub-agent ended."""

    told: ClassVar[Told] = (
        Line(
            "← {template} ({child}) is done, {cost_usd:usd}[, {changed:files} merged].",
            when="reason=done",
        ),
        Line(
            "← {template} ({child}) ended: {reason:words}, {cost_usd:usd}[, {changed:files} merged].",
            hint="{error.message}",
            when="reason!=done",
        ),
        Line(
            "{template} left edits that did not come back[: conflicts in {conflicts:list}].",
            "warning",
            hint="Look with `openagent workspaces diff {copy}`.",
            when="copy",
        ),
    )
    child: str
    """The sub-agent's session."""
    reason: TurnEnd
    """How its turn ended."""
    template: str = ""
    """The template it was made from."""
    text: str = ""
    """Its answer, cut at a bound."""
    changed: list[str] = []
    """Files that its caller's workspace took over."""
    conflicts: list[str] = []
    """Files that both changed: the caller's stay as they are, the copy keeps the sub-agent's."""
    copy: str = ""
    """The copy that was kept, because it holds edits that have not come back."""
    error: ErrorInfo | None = None
    """What it failed on."""
    cost_usd: float = 0.0
    """What it cost, in dollars."""
    tokens: int = 0
    """Tokens it used."""
    duration_ms: float = 0.0
    """How long it took, in milliseconds."""


class FlowStarted(Event, frozen=True, kw_only=True, tag="flow.started"):
    """A flow began."""

    told: ClassVar[Told] = (Line("The flow {name} begins: {steps:list}."),)
    name: str
    """The flow's name."""
    file: str
    """The file it stands in."""
    text: str
    """The whole flow, so that it can be gone on with."""
    inputs: dict[str, str] = {}
    """What it was given."""
    steps: list[str] = []
    """Its steps, each on one line."""


class FlowStepped(Event, frozen=True, kw_only=True, tag="flow.step"):
    """A step of a flow changed."""

    told: ClassVar[Told] = (
        Line("▸ {step}", when="state=running !round"),
        Line("{step}, round {round}", when="state=running round"),
        Line("{step} is {state:words}[: {text:line}]", when="state!=running"),
    )
    step: str
    """The step, by its name."""
    state: StepState
    """How far it is."""
    round: int = 0
    """How often its agents have worked."""
    text: str = ""
    """What its agents answered, or why it failed."""
    cost_usd: float = 0.0
    """What it cost, in dollars."""


class FlowFinished(Event, frozen=True, kw_only=True, tag="flow.finished"):
    """A flow ended."""

    told: ClassVar[Told] = (
        Line("The flow is done, {cost_usd:usd}.", when="state=done"),
        Line("The flow is {state:words}, {cost_usd:usd}.", "warning", hint="{error.message}", when="state!=done"),
    )
    state: FlowState
    """How it ended."""
    cost_usd: float = 0.0
    """What it cost, in dollars."""
    tokens: int = 0
    """Tokens used by all its steps."""
    duration_ms: float = 0.0
    """How long it took, in milliseconds."""
    error: ErrorInfo | None = None
    """What it failed on."""


class CheckpointCreated(Event, frozen=True, kw_only=True, tag="checkpoint.created"):
    """The workspace's state was saved."""

    told: ClassVar[Told] = Silent("every turn has one: lists of checkpoints show them")
    checkpoint: str
    """The checkpoint, by its id."""
    turn: int
    """The turn, by its number in the session."""
    files: int = 0
    """How many files it holds."""


class CheckpointRestored(Event, frozen=True, kw_only=True, tag="checkpoint.restored"):
    """The workspace went back to a saved state."""

    told: ClassVar[Told] = (
        Line(
            "Went back to before turn {turn}.",
            "warning",
            hint="The model no longer knows what came since.[ {others:files} that others changed stayed as they are.]",
            when="undo conversation",
        ),
        Line(
            "Undid the changes to files since turn {turn}.",
            "warning",
            hint="[{others:files} that others changed stayed as they are.]",
            when="undo !conversation !reverted",
        ),
        Line("Changes to {reverted} were reverted.", "warning", when="undo reverted"),
        Line("The changes to {reverted} are back.", "warning", when="!undo reverted"),
        Line(
            "The rewind was taken back.",
            "warning",
            hint="[{others:files} that others changed stayed as they are.]",
            when="!undo !reverted",
        ),
    )
    checkpoint: str
    """The checkpoint, by its id."""
    turn: int
    """The turn, by its number in the session."""
    files: bool = True
    """Files went back."""
    conversation: bool = False
    """So did the conversation."""
    rewound: list[tuple[int, int]] = []
    """Ranges of message numbers that were taken back: still stored, no longer part of the conversation."""
    undo: str = ""
    """What brings it back, with `session.redo`."""
    returned: list[tuple[int, int]] = []
    """Ranges of message numbers that are part of the conversation again: a rewind was taken back."""
    others: list[str] = []
    """What others changed since, and was left as it is; the first paths of them."""
    reverted: str = ""
    """The files and folders that all this is about; empty: everything since the turn."""


class McpServerStatus(Event, frozen=True, kw_only=True, tag="mcp.status"):
    """An MCP server came up, or went down."""

    durable: ClassVar[bool] = False
    told: ClassVar[Told] = Drawn("lists of MCP servers")
    server: str
    """The MCP server, by its name."""
    status: Literal["starting", "up", "down", "failed", "disabled"]
    """How it is."""
    detail: str = ""
    """Why, where it is not well."""
    tools: int = 0
    """The tools it offers."""
    warnings: list[str] = []
    """What a person should know about what it offers."""


class McpServerLate(Event, frozen=True, kw_only=True, tag="mcp.late"):
    """An MCP server needs longer to start than a turn waits for it."""

    told: ClassVar[Told] = (
        Line("Waiting for the MCP server {server}, at most {seconds:seconds}.", when="state=awaited"),
        Line(
            "The MCP server {server} is still starting. The turn goes on without it and gets its tools when it is up.",
            "warning",
            when="state=left_out",
        ),
        Line("The MCP server {server} is up, its tools can be used: {tools:number}.", when="state=joined"),
        Line("The MCP server {server} could not be started.", "warning", hint="{detail}", when="state=failed"),
    )
    server: str
    """The MCP server, by its name."""
    state: Literal["awaited", "left_out", "joined", "failed"]
    """The turn waits for it; goes on without it; has its tools from the next step on; will not have them."""
    seconds: float = 0.0
    """How long the turn waits at most."""
    tools: int = 0
    """The tools it offers."""
    detail: str = ""
    """Why it could not be started."""


class TaskUpdated(Event, frozen=True, kw_only=True, tag="task.updated"):
    """A task changed."""

    durable: ClassVar[bool] = False
    told: ClassVar[Told] = Drawn("lists of tasks")
    task: str
    """The task, by its id or the beginning of it."""
    title: str
    """What is to be done."""
    state: str
    """How far it is."""
    owner: str = ""
    """Who does it."""
    cwd: str = ""
    """The workspace it is about."""


class BackgroundStarted(Event, frozen=True, kw_only=True, tag="background.started"):
    """A command runs in the background."""

    told: ClassVar[Told] = (Line("{command_id} goes on in the background: {command:line}"),)
    command_id: str
    """The command, by its id."""
    command: str
    """What runs."""
    call_id: str = ""
    """The tool call that started it."""


class BackgroundFinished(Event, frozen=True, kw_only=True, tag="background.finished"):
    """A command in the background ended."""

    told: ClassVar[Told] = (
        Line("{command_id} was ended in the background; how far it had come is not known.", "warning", when="lost"),
        Line("{command_id} ended in the background[ with exit code {exit_code}].", when="!lost"),
    )
    command_id: str
    """The command, by its id."""
    exit_code: int | None
    """What it returned; null: it was ended."""
    duration_ms: float = 0.0
    """How long it took, in milliseconds."""
    lost: bool = False
    """It ended with the daemon, when its session was put away or got a stricter mode; nobody knows how far it had
    come."""


class ShellReplaced(Event, frozen=True, kw_only=True, tag="shell.replaced"):
    """The mode became stricter: commands find a shell in which no earlier one has defined or started anything."""

    told: ClassVar[Told] = (
        Line(
            "{mode} mode has a new shell: what was defined in the old one and what ran in it is gone.",
            hint="The directory and plain variables are kept.",
        ),
    )
    mode: Mode
    """The stricter one."""


class TerminalOutput(Event, frozen=True, kw_only=True, tag="terminal.output"):
    """To the connections that opened the terminal."""

    durable: ClassVar[bool] = False
    told: ClassVar[Told] = Drawn("in the terminal")
    terminal: str
    """The terminal, by its id."""
    text: str
    """What it printed."""


class TerminalExited(Event, frozen=True, kw_only=True, tag="terminal.exited"):
    """A terminal ended."""

    durable: ClassVar[bool] = False
    told: ClassVar[Told] = Drawn("in the terminal")
    terminal: str
    """The terminal, by its id."""
    exit_code: int | None = None
    """What its shell returned; null: it was ended."""


class Metrics(Event, frozen=True, kw_only=True, tag="metrics"):
    """The daemon's own pulse, sent to clients that follow it or subscribed to it."""

    durable: ClassVar[bool] = False
    told: ClassVar[Told] = Drawn("panels of the machine")
    sessions: int
    """How many sessions there are."""
    running: int
    """How many of them have a turn running."""
    clients: int
    """How many clients are connected."""
    rss_bytes: int
    """The memory the daemon takes, in bytes."""
    cpu_percent: float
    """Of the daemon itself; 100 is one processor."""
    spend_today_usd: float = 0.0
    """What was spent today, in dollars."""
    unpriced_today: int = 0
    """Requests of today that `spend_today_usd` leaves out, because their model's price is not known."""
    tokens_today: int = 0
    """Tokens that were sent and received today."""
    system_cpu_percent: float = 0.0
    """Of the whole machine; 100 is all its processors."""
    system_memory_bytes: int = 0
    """In use on the whole machine."""
    system_memory_total_bytes: int = 0
    """The machine's memory, in bytes."""
    agents: list[AgentMetrics] = []
    """How those do that `metrics.subscribe` named."""


class ErrorRaised(Event, frozen=True, kw_only=True, tag="error"):
    """Something went wrong."""

    told: ClassVar[Told] = (Line("{error.message}", "error", hint="{error.hint}"),)
    error: ErrorInfo
    """What went wrong."""


class ConnectionClosing(Event, frozen=True, kw_only=True, tag="connection.closing"):
    """The last thing a client hears: why the daemon ends the connection."""

    durable: ClassVar[bool] = False
    told: ClassVar[Told] = Drawn("clients say that the connection was lost, and why")
    error: ErrorInfo
    """Why."""


class PermissionNoted(Event, frozen=True, kw_only=True, tag="permission.noted"):
    """A decision that needed nobody: shown so that a person can see why something ran or was refused."""

    told: ClassVar[Told] = Silent("the call's own line says that it was denied, and why")
    call_id: str
    """The tool call it belongs to."""
    tool: str
    """The tool, by its name."""
    decision: Literal["allow", "deny"]
    """What was decided."""
    risk: Risk = "low"
    """How much could go wrong."""
    reason: str = ""
    """Why it was decided so."""
    rule: str = ""
    """The rule that decided."""


class HookRan(Event, frozen=True, kw_only=True, tag="hook.ran"):
    """A command of the person's ran because something happened."""

    told: ClassVar[Told] = (Line("hook {hook} {outcome}[: {detail}]", "warning", when="outcome!=done"),)
    hook: str
    """What happened, in the words of hook files: PreToolUse, Stop, …"""
    command: str
    """What was run."""
    outcome: Literal["done", "blocked", "failed", "timeout"]
    """How it ended."""
    detail: str = ""
    """What came of it, in words."""
    duration_ms: float = 0.0
    """How long it took, in milliseconds."""
    tool: str = ""
    """The tool it was about, where it was about one."""
    call_id: str = ""
    """The tool call it was about."""


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
    | TurnWaiting
    | SessionPresence
    | QueueChanged
    | ToolStarted
    | ToolOutput
    | ToolFinished
    | PermissionRequested
    | PermissionResolved
    | PermissionNoted
    | QuestionAsked
    | QuestionAnswered
    | AsksLapsed
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
    | HistoryProgress
    | HistoryImported
    | SubagentStarted
    | SubagentProgress
    | SubagentFinished
    | FlowStarted
    | FlowStepped
    | FlowFinished
    | CheckpointCreated
    | CheckpointRestored
    | McpServerStatus
    | McpServerLate
    | TaskUpdated
    | BackgroundStarted
    | BackgroundFinished
    | ShellReplaced
    | TerminalOutput
    | TerminalExited
    | Metrics
    | HookRan
    | ErrorRaised
    | ConnectionClosing
)
