"""Faults on request: their names, and where a response is to be broken."""

from typing import Any, TypedDict

import msgspec

from devtools.simulator.problems import Kind, Problem

ERRORS: dict[str, tuple[Kind, int | None]] = {
    "bad_request": ("invalid_request", None),
    "401": ("unauthorized", None),
    "unauthorized": ("unauthorized", None),
    "403": ("forbidden", None),
    "forbidden": ("forbidden", None),
    "404": ("not_found", None),
    "not_found": ("not_found", None),
    "429": ("rate_limit", None),
    "rate_limit": ("rate_limit", None),
    "quota": ("quota", None),
    "500": ("server_error", None),
    "server_error": ("server_error", None),
    "503": ("overloaded", 503),
    "529": ("overloaded", 529),
    "overloaded": ("overloaded", None),
    "context_too_long": ("context_too_long", None),
}
"""Faults that answer with an error: the kind of problem, and a status that overrides the vendor's own."""

BREAKS = frozenset({"disconnect", "stall", "garbage", "truncated", "no_end", "stream_error"})
"""Faults that break a response which began well."""

BLUNT = frozenset({"html", "hang", "reset"})
"""Faults that know nothing of the wire format."""


class FaultOptions(TypedDict, total=False):
    """What `fail_next` takes beside a fault's name; see `Fault`."""

    after: int
    retry_after: float | None
    message: str | None
    status: int | None


class Fault(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True, frozen=True):
    name: str
    times: int | None = None
    """How often it strikes; None means always."""
    after: int = 0
    """Content chunks sent before a response breaks."""
    retry_after: float | None = None
    message: str | None = None
    status: int | None = None

    def unusable(self) -> str | None:
        """Why this fault cannot be played, if it cannot."""
        if self.name in ERRORS or self.name in BREAKS or self.name in BLUNT:
            return None
        known = ", ".join(sorted([*ERRORS, *BREAKS, *BLUNT]))
        return f"unknown fault {self.name!r}; known are {known}"

    def problem(self) -> Problem:
        kind, status = ERRORS.get(self.name, ("overloaded", None))
        return Problem(kind, self.message, status=self.status or status, retry_after=self.retry_after)


def parse_fault_header(value: str) -> Fault:
    """`NAME` or `NAME; after=2; retry_after=1`, as in the x-simulate-fault request header."""
    name, *parameters = [piece.strip() for piece in value.split(";")]
    fields: dict[str, Any] = {"name": name}
    for parameter in parameters:
        key, _, text = parameter.partition("=")
        fields[key.strip()] = text.strip()
    try:
        fault = msgspec.convert(fields, Fault, strict=False)
    except msgspec.ValidationError as error:
        raise Problem("invalid_request", f"x-simulate-fault: {error}") from error
    unusable = fault.unusable()
    if unusable:
        raise Problem("invalid_request", f"x-simulate-fault: {unusable}")
    return fault
