"""Reports: what a day, a week or a month came to, to be read and passed on."""

from typing import Literal

from msgspec import Struct

from openagent.protocol.op import Op, ReadingOp
from openagent.protocol.routes import GET, POST
from openagent.protocol.usage import UsageRow

ReportPeriod = Literal["day", "week", "month"]
ReportFormat = Literal["md", "html", "json"]


class ReportTurns(Struct, frozen=True, omit_defaults=True):
    """How turns went."""

    ended: int = 0
    """Turns that ended in this time."""
    done: int = 0
    """Those that came to an answer."""
    cancelled: int = 0
    """Those that somebody stopped."""
    failed: int = 0
    """The others."""
    median_ms: float = 0.0
    """Half of them took no longer, in milliseconds."""
    slow_ms: float = 0.0
    """95 of 100 took no longer, in milliseconds."""
    total_ms: float = 0.0
    """All of them together, in milliseconds."""


class ReportFailure(Struct, frozen=True, omit_defaults=True):
    """What went wrong for one reason."""

    cause: str
    """The kind of error, or the limit that was met."""
    turns: int = 0
    """Turns that ended with it."""
    retried: int = 0
    """Requests that were sent again after it."""


class Report(Struct, frozen=True, omit_defaults=True):
    """What a stretch of time came to."""

    period: ReportPeriod
    """How long it is."""
    since: float
    """Its beginning, in seconds since 1970."""
    until: float
    """Its end, or now."""
    total: UsageRow
    """Tokens and money."""
    projected_month_usd: float
    """What the current calendar month will have cost: the one figure that every client shows."""
    parts: list[UsageRow]
    """By hour of a day, or by day, without a gap."""
    turns: ReportTurns
    """How turns went."""
    failures: list[ReportFailure]
    """What went wrong, the most frequent first."""
    tasks_done: list[str]
    """Titles of the tasks that were done."""
    by_model: list[UsageRow]
    """By model."""
    by_template: list[UsageRow]
    """By template of the session that used it."""
    by_project: list[UsageRow]
    """By folder of the session that a person began."""
    by_person: list[UsageRow]
    """By who sent the message: the owner, or a token's name."""
    sessions: int = 0
    """Sessions that used something."""
    unpriced_month: int = 0
    """Requests of this month that the projection leaves out, because their model's price is not known."""
    other_agents: list[UsageRow] | None = None
    """What other agents on this machine used, which is in none of the other figures; null: not looked at."""


class WrittenReport(Struct, frozen=True):
    """A report, as figures and as text."""

    report: Report
    """The figures."""
    text: str
    """In the format that was asked for; empty for json."""


class ReportSent(Struct, frozen=True):
    """Where a report went."""

    places: list[str]
    """A file, an address, a webhook."""


class ReportShow(
    ReadingOp[WrittenReport], tag="report.show", needs="read", reach="whole", waits=True, routes=GET("/api/report")
):
    """What a day, a week or a month came to: tokens, money, durations, tasks, failures."""

    period: ReportPeriod = "week"
    """A calendar day, week from Monday, or month."""
    format: ReportFormat = "md"
    """How it is written."""
    back: int = 0
    """0: the one that goes on; 1: the one before it, which is over; and so on."""
    all_agents: bool = False
    """Also what other agents on this machine used, apart from the rest."""


class ReportSend(
    Op[ReportSent], tag="report.send", needs="admin", reach="whole", waits=True, routes=POST("/api/report/send")
):
    """Send the report of the last day, week or month that is over to where the settings say."""

    period: ReportPeriod = "week"
    """Which one."""
