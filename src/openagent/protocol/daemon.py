"""The daemon itself: how a client comes in, and how the daemon is."""

from msgspec import Struct

from openagent.protocol.op import Done, Op, ReadingOp
from openagent.protocol.routes import GET, POST
from openagent.protocol.sessions import DayBudget, Mode
from openagent.protocol.usage import SessionUsage


class Welcome(Struct, frozen=True):
    """The daemon's first answer."""

    protocol: str
    """The protocol's version that the daemon speaks."""
    version: str
    """The daemon's version."""
    pid: int
    """The daemon's process."""


class DaemonInfo(Struct, frozen=True, omit_defaults=True):
    """How the daemon is."""

    pid: int
    """The daemon's process."""
    version: str
    """The daemon's version."""
    protocol: str
    """The protocol's version."""
    socket: str
    """The socket of this machine it listens on."""
    web_url: str = ""
    """Where the web app is; empty: it is not served."""
    home: str = ""
    """The folder it keeps everything in."""
    started_at: float = 0.0
    """When it started, in seconds since 1970."""
    uptime_s: float = 0.0
    """For how many seconds it has been running."""
    sessions: int = 0
    """How many sessions there are, of those that whoever asks may see."""
    running: int = 0
    """How many of them have a turn running."""
    queued: int = 0
    """Messages that wait for a turn to end, in all sessions."""
    waiting: int = 0
    """Sessions in line for a turn."""
    at_once: int | None = None
    """How many turns may run at once; null: as many as come."""
    clients: int = 0
    """How many clients are connected."""
    rss_bytes: int = 0
    """The memory it takes, in bytes."""
    usage: SessionUsage = SessionUsage()
    """Of all sessions; left out for who sees only some."""
    jail: str = ""
    """The jail that commands run in."""
    jail_problem: str = ""
    """Why no command could run in it; told about a jail that something outside this program makes."""
    model: str = ""
    """What answers a session that chooses no model: the configured one, or that of the first key there is. Empty:
    nothing is set up."""
    mode: Mode = "ask"
    """The mode that a session starts in."""
    cap_usd: float | None = None
    """What a session may spend that sets no limit of its own, in dollars; None: what it wants."""
    today: DayBudget | None = None
    """What all sessions may spend today, and have; None: what they want."""


class Hello(ReadingOp[Welcome], tag="hello", needs="read", reach="open"):
    """The first op of a connection: who is calling, and in which version of the protocol."""

    protocol: str
    """The protocol's version that the client speaks."""
    client: str = ""
    """Who is calling, for people: `cli`, `tui`, `web`, `zed`, …"""
    interactive: bool = False
    """A person can answer permission requests and questions here."""
    env: dict[str, str] = {}
    """Provider settings from the caller's environment. Kept in memory for the sessions it uses, never stored."""

    def __repr__(self) -> str:
        return f"Hello(client={self.client!r})"


class Ping(ReadingOp[Done], tag="ping", needs="read", reach="open"):
    """Answered at once: the daemon is there."""


class DaemonStatus(ReadingOp[DaemonInfo], tag="daemon.status", needs="read", reach="open", routes=GET("/api/status")):
    """How the daemon is."""

    cwd: str = ""
    """The workspace whose settings say which model and mode a session starts with; empty: none."""


class DaemonFollow(ReadingOp[Done], tag="daemon.follow", needs="read", reach="filtered"):
    """Start or stop receiving the events of the whole daemon: sessions coming and going, status, metrics."""

    on: bool = True
    """False: stop."""


class DaemonStop(Op[Done], tag="daemon.stop", needs="admin", reach="whole", tells=True, routes=POST("/api/stop")):
    """End the daemon; running turns are saved."""
