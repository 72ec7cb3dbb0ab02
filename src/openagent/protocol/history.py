"""What other agents left on this machine: finding it, bringing it here, and what all of them cost."""

from typing import Literal

from msgspec import Struct

from openagent.protocol.op import Op, ReadingOp
from openagent.protocol.origin import ForeignAgent
from openagent.protocol.routes import GET, POST
from openagent.protocol.usage import UsageRow


class LeftOut(Struct, frozen=True):
    """A file that was not read, or not to its end."""

    agent: ForeignAgent
    """Whose it is."""
    path: str
    """The file."""
    reason: str
    """Why, in words."""


class AgentHistory(Struct, frozen=True, omit_defaults=True):
    """What one agent left."""

    agent: ForeignAgent
    """Which one."""
    title: str
    """What people call it."""
    places: list[str]
    """Where its sessions lie."""
    sessions: int = 0
    """How many there are, as far as their files tell."""
    bytes: int = 0
    """How much there is to read."""
    oldest: float = 0.0
    """When the one that rests longest was last active, in seconds since 1970."""
    newest: float = 0.0
    """When one was last active, in seconds since 1970."""
    fresh: int = 0
    """Sessions that are new, or went on, since they were last imported."""
    brought_at: float = 0.0
    """When something of it was last brought here, in seconds since 1970; 0: never."""


class FoundHistory(Struct, frozen=True):
    """What other agents left on this machine."""

    agents: list[AgentHistory]
    """Those that left something, the one with the most sessions first."""
    sessions: int = 0
    """Of all of them."""
    fresh: int = 0
    """Sessions that an import would bring."""
    left_out: list[LeftOut] = []
    """What could not be read when it was last looked into, and why."""


class ImportedAgent(Struct, frozen=True, omit_defaults=True):
    """What an import brought from one agent."""

    agent: ForeignAgent
    """Which one."""
    title: str
    """What people call it."""
    new: int = 0
    """Sessions that were not here."""
    grown: int = 0
    """Sessions that were here and went on there."""
    apart: int = 0
    """Sessions that went on both here and there: what was said there is another session here."""
    unchanged: int = 0
    """Sessions that had been brought before and are as they were."""
    dropped: int = 0
    """Sessions that were brought once and deleted here: they stay away."""
    messages: int = 0
    """Messages that were stored."""


class ImportedHistory(Struct, frozen=True):
    """What an import brought, or would bring."""

    agents: list[ImportedAgent]
    """One for each agent that left something."""
    left_out: list[LeftOut]
    """What could not be read, and why."""
    messages: int = 0
    """Messages that were stored."""
    seconds: float = 0.0
    """How long it took."""
    dry_run: bool = False
    """Nothing was stored."""


class HistoryFind(
    ReadingOp[FoundHistory], tag="history.find", needs="admin", reach="whole", waits=True, routes=GET("/api/history")
):
    """Which sessions of other agents lie on this machine. Looks at names, sizes and dates of files; reads none."""


class HistoryImport(
    Op[ImportedHistory],
    tag="history.import",
    needs="admin",
    reach="whole",
    waits=True,
    routes=POST("/api/history/import"),
):
    """Bring what other agents left on this machine: each session there becomes one here, searched, opened and continued
    like any other. Reads only what is new since the last time, and changes nothing of theirs. How far it is comes as
    events, to this connection alone."""

    agents: list[ForeignAgent] = []
    """Only of these; empty: of all."""
    since: float = 0.0
    """Only sessions that were active at this time or later, in seconds since 1970."""
    dry_run: bool = False
    """Only say what would be brought."""


AllUsageBy = Literal["agent", "day", "month", "model", "project"]


class AgentDay(Struct, frozen=True):
    """What one agent used on a day, or in a month."""

    agent: str
    """What people call it."""
    key: str
    """The day, or the month."""
    tokens: int
    """Sent and received."""
    cost_usd: float
    """What it cost, in dollars."""


class AllUsage(Struct, frozen=True, omit_defaults=True):
    """What all agents on this machine used, OpenAgent among them."""

    by: AllUsageBy
    """What was summed up by."""
    rows: list[UsageRow]
    """One for each agent, day, month, model or project."""
    total: UsageRow
    """All of it."""
    agents: list[UsageRow]
    """The same by agent, whatever was asked for."""
    parts: list[AgentDay] = []
    """By day or month: how much of each is whose."""
    unread: int = 0
    """Bytes that are still being counted, where that was not waited for."""
    left_out: list[LeftOut] = []
    """What could not be read, and why."""


class UsageAll(
    ReadingOp[AllUsage], tag="usage.all", needs="read", reach="whole", waits=True, routes=GET("/api/usage/all")
):
    """What all agents on this machine cost, by the prices of each day: Claude Code, codex, gemini-cli, opencode, aider
    and goose beside OpenAgent. Files that are new are read first; nothing has to be imported for it."""

    by: AllUsageBy = "agent"
    """What to sum up by."""
    agents: list[str] = []
    """Only of these: `openagent`, or another agent by its name; empty: of all."""
    since: float = 0.0
    """Only what came on this day or later, in seconds since 1970."""
    until: float | None = None
    """Only what came before this day, in seconds since 1970; null: until now."""
    patience: float = 0.0
    """After so many seconds, answer with what is counted by then, and count on; 0: when all is counted."""
