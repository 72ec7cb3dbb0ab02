"""Trust, rules and the audit trail: asking for them and how clients see them."""

from typing import Any, Literal

from msgspec import Struct

from openagent.protocol.op import Done, Op, ReadingOp
from openagent.protocol.routes import DELETE, GET, POST, Paging
from openagent.protocol.sessions import Mode, Risk


class TrustEntry(Struct, frozen=True, omit_defaults=True):
    """A folder whose own settings, rules, MCP servers and hooks count."""

    folder: str
    at: float
    current: bool = True
    """False: something in it has changed since, so that it is not trusted until that is said again."""
    files: list[str] = []
    """What of it steers agents."""


class TrustEntries(Struct, frozen=True):
    folders: list[TrustEntry]


class Ruling(Struct, frozen=True, omit_defaults=True):
    """What was decided about a command, or about one simple command of it."""

    command: str
    decision: Literal["allow", "ask", "deny"]
    risk: Risk
    reason: str
    rule: str


class PolicyExplanation(Struct, frozen=True, omit_defaults=True):
    mode: Mode
    ruling: Ruling
    steps: list[Ruling]
    notices: list[str] = []
    """What is wrong with the rules, or left out of them."""


class RuleExample(Struct, frozen=True):
    rule: str
    command: str
    expected: bool
    """The rule should meet it."""
    met: bool


class PolicyTested(Struct, frozen=True, omit_defaults=True):
    checked: int
    failures: list[RuleExample] = []
    files: list[str] = []
    """The rule files there are."""
    notices: list[str] = []


class AuditRow(Struct, frozen=True):
    id: int
    at: float
    session: str
    """Empty for what belongs to no session."""
    kind: str
    """decision, command, file_written, call; for what people and programs change, the topic of the op: session, auth,
    tokens, mcp, …"""
    subject: str
    detail: dict[str, Any] = {}
    """Among others who had it done (`by` the client, `actor` the owner or a token), `from` where, by which `op`."""


class AuditPage(Struct, frozen=True, omit_defaults=True):
    """Newest first."""

    entries: list[AuditRow]
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


class TrustShow(ReadingOp[TrustEntries], tag="trust.list", needs="admin", reach="whole", routes=GET("/api/trust")):
    """The trusted folders."""


class PolicyExplain(
    ReadingOp[PolicyExplanation], tag="policy.explain", needs="read", reach="open", routes=POST("/api/policy/explain")
):
    """What would be decided about a command, and why. Nothing is run."""

    command: str
    cwd: str = ""
    mode: Mode | None = None
    """The configured one when left out."""
    tool: str = "shell"


class PolicyTest(
    ReadingOp[PolicyTested], tag="policy.test", needs="read", reach="open", waits=True, routes=POST("/api/policy/test")
):
    """Whether all rules, built in and own, do what their examples say."""

    cwd: str = ""


class AuditAsk(
    ReadingOp[AuditPage],
    tag="audit.list",
    needs="admin",
    reach="whole unless named",
    routes=GET("/api/audit", paging=Paging("entries", ("before",))),
):
    """What was decided, run and written, newest first."""

    session: str = ""
    kind: str = ""
    tool: str = ""
    since: float = 0.0
    limit: int = 100
    before: int | None = None
    """The cursor: only entries with a smaller id."""
