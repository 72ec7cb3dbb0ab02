"""Sessions: making, changing and following them, and how clients see them."""

from typing import Any, Literal, get_args

from msgspec import UNSET, Struct, UnsetType

from openagent.protocol.errors import ErrorInfo
from openagent.protocol.messages import Message, Part, UserPart
from openagent.protocol.op import Done, Op, ReadingOp
from openagent.protocol.origin import Origin
from openagent.protocol.routes import DELETE, GET, PATCH, POST, Paging
from openagent.protocol.scopes import Scope
from openagent.protocol.usage import SessionUsage, Usage

Mode = Literal["plan", "ask", "edits", "auto", "full"]
"""The strictest first."""
MODES: tuple[Mode, ...] = get_args(Mode)


Wall = Literal["read", "write"]
"""Where a command runs: where it can change nothing of the workspace, or where it can."""


Status = Literal["idle", "thinking", "executing_tool", "waiting_approval", "error", "interrupted", "unanswered"]
AT_REST: tuple[Status, ...] = ("idle", "error", "interrupted", "unanswered")
"""Nothing works in the session, and nothing waits for a person: how its last turn ended."""


Risk = Literal["low", "medium", "high"]


TurnEnd = Literal[
    "done", "cancelled", "step_limit", "time_limit", "budget", "loop", "max_tokens", "refused", "error", "interrupted"
]


def status_after(end: TurnEnd) -> Status:
    """What a session is when its turn has ended so."""
    return end if end in ("error", "interrupted") else "idle"


def strictest(*modes: Mode) -> Mode:
    return min(modes, key=MODES.index)


def widest(*modes: Mode) -> Mode:
    return max(modes, key=MODES.index)


class Settings(Struct, frozen=True, omit_defaults=True):
    """What can be changed about a session at any time; it takes effect with the next step."""

    model: str = ""
    """provider/model, or auto."""
    mode: Mode = "ask"
    """Takes effect with the next call."""
    max_steps: int = 200
    """Steps a turn may take."""
    turn_timeout: float | None = None
    """Seconds a turn may take. Takes effect with the next turn."""
    max_output_tokens: int | None = None
    """The most an answer may take, in tokens; null: as the model can."""
    temperature: float | None = None
    """How freely the model answers; null: the provider's own."""
    thinking: Literal["off", "low", "medium", "high"] | None = None
    """How long the model thinks before it answers; null: the provider's own."""
    instructions: str = ""
    """Added to the system prompt."""
    replace_prompt: bool = False
    """The instructions are the whole system prompt. `{cwd}` in them is the workspace."""
    disabled_tools: list[str] = []
    """Tools it does not have, by name."""
    disabled_mcp_servers: list[str] = []
    """By name. Takes effect with the next turn."""
    tools: list[str] | None = None
    """The only tools it has, beside those of `mcp_servers`. None: all."""
    mcp_servers: list[str] | None = None
    """The only MCP servers whose tools it has. None: all, or, with `tools`, those named there."""
    collector: str = ""
    """Empty: the configured one."""
    budget_usd: float | None = None
    """What it may spend, in dollars; null: as configured."""
    budget_tokens: int | None = None
    """What it may use, in tokens; null: as configured."""
    label: str = ""
    """In a team: the only workers it runs on, as its template or its project says. It stays as it was made."""


class SettingsChange(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Only what is given changes."""

    model: str | UnsetType = UNSET
    """provider/model, or auto."""
    mode: Mode | UnsetType = UNSET
    """What agents may do unasked; takes effect with the next call."""
    max_steps: int | UnsetType = UNSET
    """Steps a turn may take."""
    turn_timeout: float | None | UnsetType = UNSET
    """Seconds a turn may take; null: no limit."""
    max_output_tokens: int | None | UnsetType = UNSET
    """The most an answer may take, in tokens; null: as the model can."""
    temperature: float | None | UnsetType = UNSET
    """How freely the model answers; null: the provider's own."""
    thinking: Literal["off", "low", "medium", "high"] | None | UnsetType = UNSET
    """How long the model thinks before it answers; null: the provider's own."""
    instructions: str | UnsetType = UNSET
    """Added to the system prompt."""
    replace_prompt: bool | UnsetType = UNSET
    """The instructions are the whole system prompt."""
    disabled_tools: list[str] | UnsetType = UNSET
    """Tools it does not have, by name."""
    disabled_mcp_servers: list[str] | UnsetType = UNSET
    """MCP servers it does not have, by name."""
    tools: list[str] | None | UnsetType = UNSET
    """The only tools it has; null: all."""
    mcp_servers: list[str] | None | UnsetType = UNSET
    """The only MCP servers whose tools it has; null: all."""
    collector: str | UnsetType = UNSET
    """The collector; empty: the configured one."""
    budget_usd: float | None | UnsetType = UNSET
    """What it may spend, in dollars; null: as configured."""
    budget_tokens: int | None | UnsetType = UNSET
    """What it may use, in tokens; null: as configured."""


class DayBudget(Struct, frozen=True, omit_defaults=True):
    """What all sessions together may spend today, and what they have."""

    cap_usd: float | None = None
    """In dollars; null: all they want."""
    spent_usd: float = 0.0
    """What was spent since midnight, in dollars."""
    cap_tokens: int | None = None
    """In tokens; null: all they want."""
    spent_tokens: int = 0
    """What was used since midnight, in tokens."""


class SessionInfo(Struct, frozen=True, omit_defaults=True):
    """A session, without what was said in it."""

    id: str
    """Its id."""
    name: str
    """Its name."""
    cwd: str
    """The workspace: an absolute path on the daemon's machine."""
    created_at: float
    """When it was made, in seconds since 1970."""
    updated_at: float
    """When it was last active, in seconds since 1970."""
    settings: Settings = Settings()
    """What was chosen for it."""
    model: str = ""
    """What answers the next message: the model chosen, the configured one, or that of the first key there is, as
    provider/model, or auto. Empty: nothing is set up."""
    status: Status = "idle"
    """What it is doing."""
    message_count: int = 0
    """How many messages it has."""
    turn_count: int = 0
    """How many turns it has had."""
    queued: int = 0
    """Messages that wait for the running turn to end."""
    held: bool = False
    """They wait until somebody says go on: a person cancelled the turn before them."""
    place: int = 0
    """Its place in the line of those that wait for a turn, 1 being next; 0: it does not wait there. As answers tell
    it; events leave it out."""
    usage: SessionUsage = SessionUsage()
    """What it has used so far."""
    below_usd: float = 0.0
    """What those that work for it have cost, at any depth, in dollars: as answers tell it; events leave it out."""
    below_unpriced: int = 0
    """Requests of theirs that `below_usd` leaves out, because their model's price is not known."""
    cap_usd: float | None = None
    """What it and those that work for it may spend, in dollars: its own setting, or the configured one; null: all they
    want."""
    cap_tokens: int | None = None
    """How many tokens they may use, likewise."""
    today: DayBudget | None = None
    """What all sessions together may spend today; null: all they want."""
    parent: str | None = None
    """The session this one works for."""
    forked_from: str | None = None
    """The session it is a copy of."""
    template: str = ""
    """The template it was made from."""
    archived: bool = False
    """Put away by a person: lists leave it aside until something is said in it again."""
    origin: Origin | None = None
    """Where it came from, when it was begun with another agent."""
    owner: str = ""
    """The id of the person whose it is; empty: of the one who has the machine."""
    team: str = ""
    """The id of the team that it is shared with."""
    seq: int = 0
    """The number of the session's newest durable event."""

    @property
    def is_at_rest(self) -> bool:
        """Nothing works in it, waits for somebody, or waits to be said."""
        return self.status in AT_REST and not self.queued


PlanState = Literal["pending", "active", "done", "dropped"]


class PlanItem(Struct, frozen=True, omit_defaults=True):
    """One thing an agent has set out to do."""

    text: str
    """What is to be done."""
    state: PlanState = "pending"
    """How far it is."""


GrantScope = Literal["once", "session", "always"]


GrantBy = Literal["call", "exact", "prefix", "host", "file", "folder", "tool"]


class PermissionChoice(Struct, frozen=True, omit_defaults=True):
    """One way to allow what is asked for, and what else it would allow."""

    id: str
    """What an answer names. That of the choice that is meant by a scope alone is the scope's own name."""
    scope: GrantScope
    """How long it would hold."""
    by: GrantBy
    """What later calls are known by again: the very words of a command, its first words, a host, …"""
    covers: str
    """In words."""


class PermissionAsk(Struct, frozen=True, omit_defaults=True):
    """A tool call that waits for a person."""

    id: str
    """What an answer names."""
    call_id: str
    """The call that waits."""
    tool: str
    """The tool, by its name."""
    arguments: dict[str, Any]
    """What the tool would be given. Here and below, characters that cannot be seen are written as `<U+200B>`."""
    summary: str
    """The exact command, path or diff that would happen, on one or a few lines."""
    risk: Risk = "medium"
    """How much could go wrong."""
    reason: str = ""
    """Why a person is asked."""
    rule: str = ""
    """The rule that asked."""
    enough_mode: Mode | None = None
    """The narrowest mode in which it runs unasked; none where no mode lets it."""
    child: str = ""
    """The sub-agent that asks, where its caller's clients are asked too. The first answer counts, wherever given."""
    diff: str = ""
    """What the call would change in files as they are now, as a unified diff; empty where it changes none, or does not
    fit them."""
    more_lines: int = 0
    """Lines of the diff that are left out for their length: then the arguments alone say all that would happen."""
    more_files: int = 0
    """Files that those lines are in."""
    choices: list[PermissionChoice] = []
    """The ways to allow it, beginning with `once`, `session` and `always`; denying it is always possible."""
    asked_at: float = 0.0
    """When it was asked, in seconds since 1970: what waits for the answer waits since then."""
    until: float | None = None
    """When it is denied unless somebody answers, in seconds since 1970; null: it waits for as long as it takes."""


class Question(Struct, frozen=True, omit_defaults=True):
    """Something the agent wants to know."""

    id: str
    """What an answer names."""
    text: str
    """What the agent asks."""
    choices: list[str] = []
    """Answers it suggests; others are possible."""
    call_id: str = ""
    """The tool call it belongs to."""
    child: str = ""
    """The sub-agent that asks, where its caller's clients are asked too."""
    unattended: str = ""
    """The answer to give where no one is attached."""


class LapsedAsk(Struct, frozen=True, omit_defaults=True):
    """What nobody answered in time. It was not done, and can be asked again."""

    id: str
    """The request or question, by its id."""
    at: float
    """When it was waited for no longer, in seconds since 1970."""
    permission: PermissionAsk | None = None
    """The call that was not allowed; null: it was a question."""
    question: Question | None = None
    """What the agent wanted to know; null: it was a permission."""

    @property
    def what(self) -> tuple[str, str]:
        """The tool, or nothing, and what it was about."""
        if self.permission is not None:
            return self.permission.tool, self.permission.summary
        return "", self.question.text if self.question is not None else ""


class QueuedMessage(Struct, frozen=True, omit_defaults=True):
    """Accepted and stored, and waiting for the running turn to end."""

    id: str
    """What it is edited, moved and withdrawn by."""
    parts: list[UserPart]
    """What it says."""
    created_at: float
    """When it was made, in seconds since 1970."""
    op_id: str = ""
    """The op that sent it."""


class EndedTurn(Struct, frozen=True, omit_defaults=True):
    """How a turn ended: kept with the session for as long as its messages. A turn on a page that is not among these is
    still running, or ended before ends were kept."""

    turn: int
    """The turn, by its number in the session."""
    reason: TurnEnd
    """How it ended."""
    ended_at: float = 0.0
    """When, in seconds since 1970."""
    duration_ms: float = 0.0
    """How long it took, in milliseconds."""
    steps: int = 0
    """Steps it took."""
    usage: Usage = Usage()
    """Tokens it used."""
    cost_usd: float = 0.0
    """What it cost, in dollars."""
    by: str = ""
    """Who stopped it, when somebody did: the name of a client."""
    error: ErrorInfo | None = None
    """What it failed on, or which cap it met."""


class LiveAnswer(Struct, frozen=True, omit_defaults=True):
    """The answer being streamed right now, as far as it has come."""

    message_number: int
    """The number it will have."""
    parts: list[Part] = []
    """What has come so far."""


class RunningCall(Struct, omit_defaults=True):
    """A call that runs right now, and what it has printed."""

    call_id: str
    """The call, by its id."""
    tool: str
    """The tool, by its name."""
    arguments: dict[str, Any] = {}
    """What the tool is given."""
    summary: str = ""
    """What it does, on one line."""
    started_at: float = 0.0
    """When it began."""
    output: str = ""
    """The end of what it has printed."""
    dropped: int = 0
    """Characters of it that were left out before that."""


class Retrying(Struct, frozen=True, omit_defaults=True):
    """A request that failed and waits to be sent again: what `retry.scheduled` told when it began to wait."""

    provider: str
    """The provider, by its name."""
    attempt: int
    """Which attempt comes next."""
    max_attempts: int
    """How many there are at most."""
    delay_s: float
    """How long it waits, in seconds."""
    error: ErrorInfo
    """Why the last one failed."""
    at: float
    """Since when it waits, in seconds since 1970."""


class Snapshot(Struct, frozen=True, omit_defaults=True):
    """All a client needs to show a session; the live tail starts right after `seq`."""

    info: SessionInfo
    """The session as it stands."""
    seq: int
    """The number of its newest durable event."""
    messages: list[Message] = []
    """The newest page, oldest first."""
    has_more: bool = False
    """There are older messages."""
    turns: list[EndedTurn] = []
    """How the turns of these messages ended, in order."""
    rewound: list[tuple[int, int]] = []
    """Ranges of message numbers that were taken back: still stored, no longer part of the conversation."""
    permissions: list[PermissionAsk] = []
    """Tool calls that wait for a person."""
    questions: list[Question] = []
    """What the agent wants to know."""
    lapsed: list[LapsedAsk] = []
    """What nobody answered in time, and nobody has spoken of since."""
    plan: list[PlanItem] = []
    """What the agent has set out to do."""
    queued: list[QueuedMessage] = []
    """Messages that wait, the next one first."""
    held: bool = False
    """The queued messages wait until somebody says go on."""
    live: LiveAnswer | None = None
    """The answer being streamed; null: none is."""
    running: list[RunningCall] = []
    """Calls that run right now."""
    retrying: Retrying | None = None
    """What the turn waits for before it asks its provider again; null: it does not wait."""
    clients: int = 0
    """How many clients follow it."""


class SessionPage(Struct, frozen=True):
    """Some of the sessions."""

    sessions: list[SessionInfo]
    """The one last active first."""
    next: float | None = None
    """What to give as `before` for the next page; null: there is none."""
    brought: dict[str, int] = {}
    """Sessions of other agents that were left out, by agent: on the first page, when `brought` is false."""

    def following(self) -> dict[str, Any] | None:
        return None if self.next is None else {"before": self.next, "before_id": self.sessions[-1].id}


class Attached(Struct, frozen=True, omit_defaults=True):
    """Either a snapshot, or (`snapshot` is null) the missed events follow this reply."""

    session: str
    """The session's id in full."""
    seq: int
    """The live tail starts after this number."""
    snapshot: Snapshot | None = None
    """The session as it stands; null: the missed events follow."""


def _freedom(settings: SettingsChange) -> frozenset[Scope]:
    """Who may not approve what agents do may not free them from being asked either, nor let them spend more. How far a
    mode does depends on the jail, and is looked at where that is known."""
    caps = settings.budget_usd is not UNSET or settings.budget_tokens is not UNSET
    return frozenset({"approve"}) if caps or settings.mode == "full" else frozenset()


class SessionCreate(
    Op[SessionInfo],
    tag="session.create",
    needs="chat",
    reach="whole unless named",
    works_there=True,
    tells=True,
    names={"session": None},
    routes=POST("/api/agents", status=201),
):
    """Create a session."""

    session: str = ""
    """A client may choose the id, so that it can send further ops without waiting for the reply."""
    name: str = ""
    """What to call it; empty: by its first message."""
    cwd: str = ""
    """The workspace: a folder on the daemon's machine."""
    repository: str = ""
    """In a team: the address of a git repository. The workspace is a clone of it, in a folder of its own below `cwd`,
    which goes with the session from worker to worker."""
    branch: str = ""
    """Of the repository; empty: the one it has checked out itself."""
    parent: str = ""
    """The session this one works for: what it spends counts against that one's budget too."""
    template: str = ""
    """What to start from; `settings` count over what the template says."""
    settings: SettingsChange = SettingsChange()
    """What is to be other than configured."""

    def needed(self) -> frozenset[Scope]:
        return super().needed() | _freedom(self.settings)


class SessionList(
    ReadingOp[SessionPage],
    tag="session.list",
    needs="read",
    reach="filtered",
    routes=GET("/api/agents", paging=Paging("sessions", ("before", "before_id"))),
):
    """List sessions, most recently active first."""

    limit: int = 50
    """How many sessions at most."""
    before: float | None = None
    """Only sessions last active before this time: the cursor for the next page."""
    before_id: str = ""
    """With `before`: also those last active at just that time whose id is smaller."""
    cwd: str = ""
    """Only sessions of this workspace."""
    query: str = ""
    """Only sessions whose name contains this."""
    roots: bool = False
    """Only sessions that work for nobody: no sub-agents."""
    archived: bool | None = None
    """True: only those that were put away; false: all but those; null: all."""
    brought: bool | None = None
    """True: only sessions of other agents that were brought and have not gone on here. False: all but those. Null:
    all."""
    agent: str = ""
    """Only sessions that were begun with this agent, such as `claude`."""


class SessionGet(ReadingOp[SessionInfo], tag="session.get", needs="read", routes=GET("/api/agents/{id=session}")):
    """One session."""

    session: str
    """The session, by its id or the beginning of it."""


class SessionAttach(ReadingOp[Attached], tag="session.attach", needs="read"):
    """Follow a session: a snapshot of it, or what was missed since, and then its events as they happen."""

    session: str
    """The session, by its id or the beginning of it."""
    after: int | None = None
    """The last `seq` this client has seen: send what it missed in place of a snapshot."""
    messages: int = 50
    """How many messages the snapshot holds."""


class SessionDetach(ReadingOp[Done], tag="session.detach", needs="read"):
    """Follow a session no longer."""

    session: str
    """The session, by its id or the beginning of it."""


class SessionUpdate(
    Op[SessionInfo],
    tag="session.update",
    needs="chat",
    tells=True,
    routes=PATCH("/api/agents/{id=session}", "Rename a session or put it away.", left_out=("settings", "template")),
):
    """Rename a session, put it away or change its settings."""

    session: str
    """The session, by its id or the beginning of it."""
    name: str | None = None
    """What to call it; null: as before."""
    archived: bool | None = None
    """Put it away, or take it out again; null: as before."""
    settings: SettingsChange = SettingsChange()
    """What changes; the rest stays."""
    template: str | None = None
    """Take on this template's prompt, model and tools from the next step on; empty: none any more; null: as before.
    Mode and limits stay as they are."""
    expected: str = ""
    """The version of the settings that this changes, as REST tells it; refused when they are others by now."""

    def needed(self) -> frozenset[Scope]:
        return super().needed() | _freedom(self.settings)


class SessionDelete(
    Op[Done], tag="session.delete", needs="chat", tells=True, routes=DELETE("/api/agents/{id=session}")
):
    """Stop a session and forget it."""

    session: str
    """The session, by its id or the beginning of it."""


class SessionFork(
    Op[SessionInfo],
    tag="session.fork",
    needs="chat",
    acts=True,
    works_there=True,
    tells=True,
    routes=POST("/api/agents/{id=session}/fork", status=201),
):
    """Copy a session, so that the copy goes its own way."""

    session: str
    """The session, by its id or the beginning of it."""
    through: int | None = None
    """The last message the fork keeps; all when not given."""
    name: str = ""
    """What to call the fork; empty: like the original."""
    cwd: str = ""
    """The workspace it goes on in: a folder on the daemon's machine; empty: that of the original."""


class ImportedSession(Struct, frozen=True, omit_defaults=True):
    """What became of a conversation that was brought here."""

    info: SessionInfo
    """The session it is here."""
    was_here: bool = False
    """The same conversation had been brought before: this is that session, and nothing was made."""


class SessionImport(
    Op[ImportedSession],
    tag="session.import",
    needs="chat",
    works_there=True,
    tells=True,
    routes=POST("/api/agents/import", status=201),
):
    """Make a session of a conversation that was had elsewhere, all of it or nothing."""

    cwd: str
    """The workspace it goes on in: a folder on the daemon's machine."""
    messages: list[Message]
    """What was said, oldest first, numbered from 1, with the dates of then."""
    origin: str = ""
    """What it is a copy of: the session's id where it was had."""
    name: str = ""
    """What to call it; empty: by its first message."""
    created_at: float = 0.0
    """When it was begun, in seconds since 1970; 0: with its first message."""
    turns: list[EndedTurn] = []
    """How its turns ended, as far as that is known."""
    rewound: list[tuple[int, int]] = []
    """Ranges of message numbers that were taken back."""
    usage: SessionUsage | None = None
    """What it had used; null: the sum of what its messages say."""
    settings: SettingsChange = SettingsChange()
    """What was chosen for it. What cannot be had here, such as a model without a key, is left as configured."""
    again: bool = False
    """Make another session when the same conversation was brought before."""

    def needed(self) -> frozenset[Scope]:
        return super().needed() | _freedom(self.settings)
