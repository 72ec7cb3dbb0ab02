"""Where everything is kept. One call, one transaction."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from msgspec import Struct

from openagent.plugins.ledger import Activity
from openagent.plugins.tenant import Tenant
from openagent.protocol.conversation import RawExchange
from openagent.protocol.events import AnyEvent, Event
from openagent.protocol.mcp import McpServerEntry
from openagent.protocol.messages import Message, Part
from openagent.protocol.sessions import EndedTurn, PlanItem, QueuedMessage, SessionInfo
from openagent.protocol.templates import Template
from openagent.protocol.usage import SessionUsage, Usage


class RawAnswer(Struct, frozen=True):
    """The bytes behind one answer, kept compressed and bounded."""

    message_number: int
    request: bytes
    response: bytes


class UsageRecord(Struct, frozen=True):
    message_number: int | None
    model: str
    usage: Usage
    cost_usd: float | None
    activity: Activity = "conversation"
    at: float = 0.0
    latency_ms: float | None = None
    """Of its message, when it is read. It is kept there, not here."""
    owner: str = ""
    """Who has it to pay: the session's owner. What was used outlives the session."""


class UsageTotals(NamedTuple):
    tokens: Usage
    cost_usd: float
    requests: int
    unpriced: int
    """Requests that `cost_usd` leaves out, because their model's price is not known."""


class FailureRecord(Struct, frozen=True):
    session: str
    at: float
    code: str
    was_retried: bool = False


class AuditEntry(Struct, frozen=True):
    kind: str
    """decision, command, file_written, session, …"""
    subject: str
    detail: dict[str, Any] = {}
    at: float = 0.0
    id: int = 0
    """Given by the store when read: the cursor for the next page."""
    session: str = ""
    """Given by the store when read."""


class CollectionRecord(Struct, frozen=True, omit_defaults=True):
    """A change of what the model is shown: what the view leaves out from here on, and what it shows instead."""

    id: int = 0
    hidden: list[tuple[int, int]] = []
    summary: str = ""
    replaced: dict[int, str] = {}
    tokens_freed: int = 0
    at: float = 0.0
    collector: str = ""
    undone: list[int] = []
    """Ids of earlier collections that hold no longer."""
    pinned: list[int] = []
    """Messages that no collector may touch from here on."""
    unpinned: list[int] = []
    undo: str = ""
    """Of a rewind: what takes it back."""


class DraftPiece(Struct, frozen=True, omit_defaults=True):
    """What was streamed of an answer since the piece before. Kept while it streams, should the daemon die."""

    message_number: int
    """The answer's, once it is a message."""
    parts: list[Part] = []
    usage: list[UsageRecord] = []
    """What is to be paid if nothing more comes: for the answer so far, and for attempts before it."""


class FileSeen(Struct, frozen=True, array_like=True):
    """A file as a session's model knows it: see `plugins.files_read`."""

    path: str
    inode: int
    size: int
    modified_ns: int
    digest: bytes


class SeenRecord(Struct, frozen=True):
    """What a message tells the model of files."""

    number: int
    """The message's."""
    files: list[FileSeen]


class BackgroundWork(Struct, frozen=True, omit_defaults=True):
    """Something that a session has at work beside its turn, and that cannot outlive the daemon."""

    id: str
    """What the model, or the caller, knows it by."""
    kind: Literal["agent", "command"]
    what: str
    """The task, or the command."""
    child: str = ""
    """The sub-agent's session, once there is one."""
    template: str = ""
    at: float = 0.0
    for_model: bool = True
    """The model knows of it. A person's own command is none of its business."""


class McpServerRecord(Struct, frozen=True):
    """An MCP server that was added."""

    name: str
    server: McpServerEntry
    """Its `disabled` says nothing here."""
    enabled: bool = True
    updated_at: float = 0.0


class KeptGrant(Struct, frozen=True, omit_defaults=True):
    """What a person allowed in a session for longer than once."""

    id: str
    rule: dict[str, Any]
    """As policy reads it."""
    at: float = 0.0
    by: str = ""
    """The client it was given in."""


class Rows(Struct, kw_only=True):
    """What is stored in one transaction with the events that tell of it."""

    messages: Sequence[Message] = ()
    raw: RawAnswer | None = None
    usage: Sequence[UsageRecord] = ()
    audit: Sequence[AuditEntry] = ()
    queued: Sequence[QueuedMessage] = ()
    unqueued: Sequence[str] = ()
    """Ids of queued messages that became messages, or were withdrawn."""
    inbox: Sequence[QueuedMessage] | None = None
    """All that are queued from here on, in order."""
    plan: Sequence[PlanItem] | None = None
    collection: CollectionRecord | None = None
    seen: SeenRecord | None = None
    ended: Sequence[str] = ()
    """Ids of what goes on no longer."""
    granted: Sequence[KeptGrant] = ()
    revoked: Sequence[str] = ()
    """Ids of grants that hold no longer."""


class Batch(Rows):
    """Everything one unit of work changes in one session; all of it is stored, or none."""

    session: str
    info: SessionInfo | None = None
    """The session's row as it is after this batch. Its `seq` and counters are stored with it."""
    events: Sequence[Event] = ()
    """Durable ones, numbered."""
    begun: Sequence[BackgroundWork] = ()
    """New, or in the place of those with their ids."""
    drop_draft: bool = False
    """What was kept of an answer while it streamed is no longer needed."""
    again: bool = False
    """It was handed over before, and nobody knows what came of it: nothing is done when the session's `seq` shows that
    it is stored."""
    before: SessionInfo | None = None
    """The row as it was stored before: only what is different now is written. None: all of it."""


class StoredSession(Struct, frozen=True):
    info: SessionInfo
    open_turn: int
    """The turn that was started and not completed; 0 when there is none."""
    plan: list[PlanItem]
    queued: list[QueuedMessage]
    background: list[BackgroundWork] = []
    """What has begun and not ended."""
    grants: list[KeptGrant] = []
    """In the order in which they were given."""
    below: SessionUsage = SessionUsage()
    """What the sessions that work for it, and theirs, have used together."""


class SessionCount(Struct, frozen=True):
    """How much there is in a session."""

    id: str
    messages: int
    brought: int
    """How many of them are another agent's."""
    updated_at: float


class Holder(Struct, frozen=True):
    """A daemon that works on sessions of a store, which others may share."""

    id: str
    """Its own: no two daemons that ever run have the same."""
    host: str
    pid: int
    home: str
    place: str
    """Of all daemons with the same one, at most one lives at a time: the newest."""


class Whereabouts(Struct, frozen=True):
    """Which daemon has a session."""

    session: str
    """Its whole id."""
    holder: str
    """The living daemon that has it; empty: none."""
    info: SessionInfo


class Store(Protocol):
    async def register(self, holder: Holder, *, lease_s: float) -> float:
        """From here on this store works for one of several daemons, which lives for so long after each `renew`. Returns
        when a session was last active, or 0."""
        ...

    async def renew(self) -> bool:
        """False: it comes too late, and others may have taken its sessions meanwhile."""
        ...

    async def resign(self) -> None:
        """Whatever this daemon has is free for others."""
        ...

    async def take(self, session: str) -> StoredSession:
        """The session as `session` tells it, kept from other daemons until it is given back. Raises 'conflict', saying
        which one has it. A beginning of an id takes nothing."""
        ...

    async def give_back(self, session: str) -> None: ...

    async def kept(self) -> list[str]:
        """The sessions this daemon has."""
        ...

    async def whereabouts(self, session: str) -> Whereabouts:
        """As `session`, for one that another daemon may have. Raises 'not_found'."""
        ...

    async def living(self) -> list[str]:
        """The daemons that gave a sign of life in time."""
        ...

    async def create_session(self, info: SessionInfo, events: Sequence[Event]) -> None:
        """Raises OpenAgentError('conflict') when the id is taken."""
        ...

    async def session(self, session: str) -> StoredSession:
        """Raises OpenAgentError('not_found'). An unambiguous beginning of an id of at least 6 characters will do."""
        ...

    async def sessions(
        self,
        *,
        limit: int,
        before: float | None = None,
        before_id: str = "",
        cwd: str = "",
        query: str = "",
        roots: bool = False,
        archived: bool | None = None,
        brought: bool | None = None,
        agent: str = "",
        within: Tenant | None = None,
    ) -> list[SessionInfo]:
        """Most recently active first; of those active at the same time, the greater id first. What was at work with no
        living daemon is told as interrupted. `roots`: only those
        that work for no other; `archived`: only those put away, or all but those; `brought`: those of other agents that
        have not gone on here, or all but those; `agent`: those begun with it; `within`: only those
        of this tenant."""
        ...

    async def brought(self, cwd: str = "", within: Tenant | None = None) -> dict[str, int]:
        """How many sessions of other agents there are that have not gone on here, by agent: neither sub-agents nor what
        was put away."""
        ...

    async def descendants(self, session: str) -> list[SessionInfo]:
        """The sessions that work for it, and those that work for them, oldest first."""
        ...

    async def used_below(self, sessions: Sequence[str]) -> dict[str, SessionUsage]:
        """What those that work for each of them have used, at any depth; left out where nobody does."""
        ...

    async def count_sessions(self) -> int: ...

    async def session_counts(self, *, within: Tenant | None = None) -> list[SessionCount]:
        """Of all of them, at a fraction of what `sessions` costs; the one last active last."""
        ...

    async def session_names(self, ids: Sequence[str]) -> dict[str, str]:
        """Without those that there are no more."""
        ...

    async def unfinished_sessions(self) -> list[str]:
        """Ids of sessions with a turn that was started and not completed, and that no living daemon has."""
        ...

    async def waiting_sessions(self) -> list[str]:
        """Ids of sessions with queued messages that are not held back, and that no living daemon has."""
        ...

    async def count_queued(self) -> int:
        """Messages that wait, in all sessions."""
        ...

    async def delete_session(self, session: str) -> None: ...

    async def fork_session(self, source: str, fork: SessionInfo, through: int | None, events: Sequence[Event]) -> None:
        """Copies the messages up to `through` and what belongs to them, not the events."""
        ...

    async def import_session(self, batch: Batch, *, paid_as: Sequence[str]) -> None:
        """A new session with all that the batch says of it, stored whole or not at all. Its usage is left out when
        that of one of these sessions is known: it is the same money. Raises 'conflict' when the id is taken."""
        ...

    async def commit(self, batch: Batch) -> None:
        """A TurnCompleted among its events is also kept as the turn's end.

        Raises OpenAgentError('conflict') when another daemon has the session, and OpenAgentError('store_unavailable')
        when nothing can be stored right now, within a few seconds. So does everything else here that writes."""
        ...

    def hand_over(self, batch: Batch, told: Callable[[Exception | None], None]) -> None:
        """`commit` for one who wants to hear of it at once: `told` is called on the event loop with what `commit` would
        raise, or None, in the very turn in which it is known."""
        ...

    async def turns(self, session: str, *, first: int, last: int) -> list[EndedTurn]:
        """How the turns from one number to another ended, in order."""
        ...

    async def turns_ended(self, *, since: float, until: float) -> list[tuple[str, EndedTurn]]:
        """How the turns of all sessions ended in a stretch of time, with their sessions, in the order of their ends."""
        ...

    async def last_ends(self, sessions: Sequence[str]) -> dict[str, EndedTurn]:
        """How the last turn that has ended did so, of each of these sessions that has one."""
        ...

    async def keep_draft(self, session: str, piece: DraftPiece, *, anew: bool = False) -> None:
        """`anew`: what was kept before is dropped."""
        ...

    async def draft(self, session: str) -> list[DraftPiece]:
        """What is kept of an answer that was streaming, in order."""
        ...

    async def messages(
        self, session: str, *, limit: int, before: int | None = None, after: int | None = None
    ) -> list[Message]:
        """Oldest first. Without `after`, the newest that fit."""
        ...

    async def recent_messages(
        self, session: str, *, token_budget: int, without: Sequence[tuple[int, int]] = ()
    ) -> list[Message]:
        """The newest messages, oldest first, whose stored size estimates sum up to at most the budget, and the newest
        one in any case: what a view starts from without reading a long session whole. Those `without` are neither
        counted nor read."""
        ...

    async def search_messages(
        self, session: str, terms: Sequence[str], *, within: Sequence[tuple[int, int]], limit: int
    ) -> list[Message]:
        """Those with a number in one of the ranges that contain the most of the terms first, then the newest. Case
        does not matter."""
        ...

    async def turn_start(self, session: str, turn: int) -> int | None:
        """The number of a turn's first message."""
        ...

    async def collections(self, session: str) -> list[CollectionRecord]: ...

    async def files_seen(self, session: str) -> list[SeenRecord]:
        """In the order of their messages."""
        ...

    async def raw(self, session: str, number: int) -> RawExchange: ...

    async def events(self, session: str, *, after: int, limit: int) -> list[AnyEvent]:
        """Durable events with a greater seq, in order, messages included."""
        ...

    async def messages_of(self, session: str, op_id: str) -> list[AnyEvent]:
        """The events that tell of a message which came with this op."""
        ...

    async def usage_totals(self, *, since: float = 0.0) -> UsageTotals:
        """Of all sessions since a time."""
        ...

    async def usage_rows(self, *, since: float = 0.0, until: float | None = None) -> list[tuple[str, UsageRecord]]:
        """Every request that was paid for in a stretch of time, with its session, oldest first."""
        ...

    async def failures(self, *, since: float = 0.0, until: float | None = None) -> list[FailureRecord]:
        """What went wrong in the sessions that there are, oldest first."""
        ...

    async def audit(
        self,
        session: str | None = None,
        *,
        kind: str = "",
        since: float = 0.0,
        limit: int = 100,
        before: int | None = None,
    ) -> list[AuditEntry]:
        """Newest first."""
        ...

    async def grants(self) -> list[tuple[str, KeptGrant]]:
        """What is allowed in sessions, with the session's id, in the order in which it was allowed."""
        ...

    async def mcp_servers(self) -> list[McpServerRecord]:
        """By name."""
        ...

    async def put_mcp_server(self, record: McpServerRecord) -> None:
        """New, or in the place of the one with its name."""
        ...

    async def remove_mcp_server(self, name: str) -> bool:
        """False when there is none of this name."""
        ...

    async def templates(self) -> list[Template]:
        """By name."""
        ...

    async def save_template(self, template: Template, *, replace: bool) -> None:
        """Raises OpenAgentError('conflict') when there is one of this name and it is not to be replaced."""
        ...

    async def remove_template(self, name: str) -> None:
        """Raises OpenAgentError('not_found')."""
        ...

    async def close(self) -> None: ...
