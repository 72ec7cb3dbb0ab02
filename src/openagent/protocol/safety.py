"""Trust, rules and the audit trail: asking for them and how clients see them."""

from typing import Any, Literal

from msgspec import Struct

from openagent.protocol.op import Done, Op, ReadingOp
from openagent.protocol.routes import DELETE, GET, POST, Paging
from openagent.protocol.sessions import Mode, Risk


class TrustEntry(Struct, frozen=True, omit_defaults=True):
    """A folder whose own settings, rules, MCP servers and hooks count."""

    folder: str
    """The folder."""
    at: float
    """When it was trusted, in seconds since 1970."""
    current: bool = True
    """False: something in it has changed since, so that it is not trusted until that is said again."""
    files: list[str] = []
    """What of it steers agents."""


class TrustEntries(Struct, frozen=True):
    """The trusted folders."""

    folders: list[TrustEntry]
    """Each trusted folder."""


class Ruling(Struct, frozen=True, omit_defaults=True):
    """What was decided about a command, or about one simple command of it."""

    command: str
    """What it is about."""
    decision: Literal["allow", "ask", "deny"]
    """What was decided."""
    risk: Risk
    """How much could go wrong."""
    reason: str
    """Why it was decided so."""
    rule: str
    """The rule that decided."""


class PolicyExplanation(Struct, frozen=True, omit_defaults=True):
    """What would be decided, and why."""

    mode: Mode
    """The mode it was decided in."""
    ruling: Ruling
    """What was decided about the whole."""
    steps: list[Ruling]
    """What was decided about each simple command of it."""
    notices: list[str] = []
    """What is wrong with the rules, or left out of them."""


class RuleExample(Struct, frozen=True):
    """An example of a rule that turns out otherwise."""

    rule: str
    """The rule whose example it is."""
    command: str
    """The example."""
    expected: bool
    """The rule should meet it."""
    met: bool
    """The rule does meet it."""


class PolicyTested(Struct, frozen=True, omit_defaults=True):
    """Whether rules do what their examples say."""

    checked: int
    """How many examples there are."""
    failures: list[RuleExample] = []
    """The examples that turn out otherwise."""
    files: list[str] = []
    """The rule files there are."""
    notices: list[str] = []
    """What is wrong with the rules, or left out of them."""


class AuditRow(Struct, frozen=True):
    """Something that was decided, done or changed."""

    id: int
    """Its number, which only grows."""
    at: float
    """When, in seconds since 1970."""
    session: str
    """Empty for what belongs to no session."""
    kind: str
    """decision, command, file_written, call; for what people and programs change, the topic of the op: session, auth,
    tokens, mcp, …"""
    subject: str
    """What it is about: a command, a file, a name."""
    detail: dict[str, Any] = {}
    """Among others who had it done (`by` the client, `actor` the owner or a token), `from` where, by which `op`."""


class AuditPage(Struct, frozen=True, omit_defaults=True):
    """Newest first."""

    entries: list[AuditRow]
    """The newest first."""
    next: int | None = None
    """What to give as `before` for the next page."""

    def following(self) -> dict[str, Any] | None:
        return None if self.next is None else {"before": self.next}


class TrustAdd(Op[TrustEntry], tag="trust.add", needs="admin", tells=True, routes=POST("/api/trust", status=201)):
    """Trust a folder: from now on its own settings and rules count, as they are at this moment."""

    cwd: str
    """The folder, or one below it."""


class TrustRemove(Op[Done], tag="trust.remove", needs="admin", tells=True, routes=DELETE("/api/trust")):
    """Trust a folder no longer."""

    folder: str
    """The folder."""


class TrustDecline(Op[Done], tag="trust.decline", needs="admin", tells=True, routes=POST("/api/trust/decline")):
    """Do not trust a folder, and do not ask about it again until something of it changes."""

    cwd: str
    """The folder, or one below it."""


class TrustShow(ReadingOp[TrustEntries], tag="trust.list", needs="admin", reach="whole", routes=GET("/api/trust")):
    """The trusted folders."""


class PolicyExplain(
    ReadingOp[PolicyExplanation], tag="policy.explain", needs="read", reach="open", routes=POST("/api/policy/explain")
):
    """What would be decided about a call of a tool, and why. Nothing is run."""

    command: str
    """What the tool would be given: a command as one would type it, a file, an address."""
    cwd: str = ""
    """The workspace: a folder on the daemon's machine."""
    mode: Mode | None = None
    """The configured one when left out."""
    tool: str = "shell"
    """The tool that would be called."""
    template: str = ""
    """The template of the agent that would call it; empty: one without."""
    role: Literal["", "admin", "member", "viewer"] = ""
    """The role of the person whose session it would be; empty: nobody's in particular."""


class PolicyTest(
    ReadingOp[PolicyTested], tag="policy.test", needs="read", reach="open", waits=True, routes=POST("/api/policy/test")
):
    """Whether all rules, built in and own, do what their examples say."""

    cwd: str = ""
    """The project whose rules count too."""


class AuditAsk(
    ReadingOp[AuditPage],
    tag="audit.list",
    needs="admin",
    reach="whole unless named",
    routes=GET("/api/audit", paging=Paging("entries", ("before",))),
):
    """What was decided, run and written, newest first."""

    session: str = ""
    """Only of this session; empty: of all."""
    kind: str = ""
    """Only rows of this kind."""
    tool: str = ""
    """Only what is about this tool."""
    since: float = 0.0
    """Only what came at this time or later, in seconds since 1970."""
    limit: int = 100
    """How many rows at most."""
    before: int | None = None
    """The cursor: only entries with a smaller id."""
