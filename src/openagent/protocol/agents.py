"""Sub-agents: sessions that work for another one."""

from msgspec import Struct

from openagent.protocol.errors import ErrorInfo
from openagent.protocol.op import ReadingOp
from openagent.protocol.routes import GET
from openagent.protocol.sessions import SessionInfo, TurnEnd


class AgentInfo(Struct, frozen=True, omit_defaults=True):
    """One session of a tree."""

    session: SessionInfo
    """The session as it stands."""
    depth: int = 0
    """0: the one that works for nobody."""
    running: bool = False
    """A turn of it is running."""
    background: bool = False
    """Its caller does not wait for it."""
    tree_cost_usd: float = 0.0
    """Its own cost and that of all that work for it."""
    tree_unpriced: int = 0
    """Requests that `tree_cost_usd` leaves out, because their model's price is not known."""
    copy: str = ""
    """The copy of the workspace with edits that have not come back: `workspaces.diff` shows, `workspaces.merge` brings
    them back."""
    detail: str = ""
    """What it is doing."""
    ended: TurnEnd | None = None
    """How its last turn ended; None while its first one runs, or before it."""
    error: ErrorInfo | None = None
    """What its last turn failed on, or which cap it met."""
    took_ms: float = 0.0
    """How long its last turn took, in milliseconds; 0 while its first one runs."""


class AgentTree(Struct, frozen=True):
    """Sessions with those that work for them."""

    agents: list[AgentInfo]
    """A caller stands before those that work for it."""


class AgentsList(ReadingOp[AgentTree], tag="agents.list", needs="read", reach="filtered", routes=GET("/api/tree")):
    """Sessions and their sub-agents."""

    session: str = ""
    """Only the tree that this one belongs to. Empty: of all trees, the ones last active."""
    limit: int = 20
    """Trees, at most."""
