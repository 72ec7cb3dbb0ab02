"""Trust, rules and the audit trail, as clients see them."""

from typing import Any, Literal

from msgspec import Struct

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
