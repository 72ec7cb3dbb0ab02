"""Tokens and money."""

from typing import Literal

from msgspec import Struct

from openagent.protocol.op import ReadingOp
from openagent.protocol.routes import GET


class Usage(Struct, frozen=True, omit_defaults=True):
    """Tokens of one model request, or a sum of several."""

    input_tokens: int = 0
    """Everything sent, tokens read from and written to a prompt cache included."""
    output_tokens: int = 0
    """Everything received, reasoning included."""
    cached_tokens: int = 0
    """The part of the input that was read from the provider's prompt cache."""
    cache_write_tokens: int = 0
    """The part of the input that was written to the provider's prompt cache."""
    reasoning_tokens: int = 0
    """The part of the output that was reasoning."""
    estimated: bool = False
    """The provider reported nothing, so these were counted locally."""

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            estimated=self.estimated or other.estimated,
        )


class SessionUsage(Struct, frozen=True, omit_defaults=True):
    """What a session has used so far."""

    tokens: Usage = Usage()
    """Of all requests."""
    cost_usd: float = 0.0
    """What they cost, in dollars."""
    requests: int = 0
    """How many requests there were."""
    context_tokens: int = 0
    """Size of the last request's prompt and answer: what the next request starts from."""
    context_window: int = 0
    """The model's window; 0 when it is not known."""
    unpriced: int = 0
    """Requests that `cost_usd` leaves out, because their model's price is not known."""


GroupBy = Literal["model", "session", "day", "activity"]


class UsageRow(Struct, frozen=True, omit_defaults=True):
    """One line of the sums."""

    key: str
    """The model, session, day or activity."""
    requests: int
    """How many requests there were."""
    usage: Usage
    """Tokens they used."""
    cost_usd: float
    """What they cost, in dollars."""
    unpriced: int = 0
    """Requests that `cost_usd` leaves out, because their model's price is not known."""
    cached_percent: float = 0.0
    """How much of the input was read from a prompt cache."""
    latency_ms: float = 0.0
    """Half of the answers were complete in this time. 0 when no answer of a stored session is among them."""
    slow_latency_ms: float = 0.0
    """95 of 100 answers were complete in this time."""


class UsageReport(Struct, frozen=True):
    """What was used, summed up."""

    by: GroupBy
    """What was summed up by."""
    rows: list[UsageRow]
    """One for each model, session, day or activity."""
    total: UsageRow
    """All of it."""


class FailureRow(Struct, frozen=True, omit_defaults=True):
    """Errors of one kind on one day."""

    day: str
    """The day, as 2026-01-31."""
    code: str
    """The kind of error."""
    failed: int = 0
    """Errors that ended something."""
    retried: int = 0
    """Errors after which the request was sent again."""


class FailureReport(Struct, frozen=True):
    """What went wrong."""

    rows: list[FailureRow]
    """One for each day and kind of error."""


class UsageFailures(
    ReadingOp[FailureReport], tag="usage.failures", needs="read", reach="whole", routes=GET("/api/usage/failures")
):
    """What went wrong, by day and kind of error."""

    since: float = 0.0
    """Only what came at this time or later, in seconds since 1970."""
    until: float | None = None
    """Only what came before this time, in seconds since 1970; null: until now."""


class UsageAsk(ReadingOp[UsageReport], tag="usage.report", needs="read", reach="whole", routes=GET("/api/usage")):
    """Tokens and money, summed up."""

    by: GroupBy = "model"
    """What to sum up by."""
    since: float = 0.0
    """Only what came at this time or later, in seconds since 1970."""
    until: float | None = None
    """Only what came before this time, in seconds since 1970; null: until now."""
