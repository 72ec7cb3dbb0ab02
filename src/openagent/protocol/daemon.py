"""The daemon itself: how a client comes in, and how the daemon is."""

from msgspec import Struct

from openagent.protocol.op import Done, Op, ReadingOp
from openagent.protocol.routes import GET, POST
from openagent.protocol.usage import SessionUsage


class Welcome(Struct, frozen=True):
    protocol: str
    version: str
    pid: int


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
    queued: int = 0
    """Messages that wait for a turn to end, in all sessions."""
    clients: int = 0
    rss_bytes: int = 0
    usage: SessionUsage = SessionUsage()
    """Of all sessions."""
    jail: str = ""
    jail_problem: str = ""
    """Why no command could run in it; told about a jail that something outside this program makes."""
    model: str = ""


class Hello(ReadingOp[Welcome], tag="hello", needs="read", reach="open"):
    """The first op of a connection: who is calling, and in which version of the protocol."""

    protocol: str
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


class DaemonFollow(ReadingOp[Done], tag="daemon.follow", needs="read", reach="filtered"):
    """Start or stop receiving the events of the whole daemon: sessions coming and going, status, metrics."""

    on: bool = True


class DaemonStop(Op[Done], tag="daemon.stop", needs="admin", reach="whole", tells=True, routes=POST("/api/stop")):
    """End the daemon; running turns are saved."""
