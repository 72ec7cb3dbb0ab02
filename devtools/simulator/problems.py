"""What can go wrong with a request, before any vendor gives it a shape.

A `Problem` says what happened; each wire format turns it into its own status, headers and body.
"""

from typing import Literal

Kind = Literal[
    "invalid_request",
    "unauthorized",
    "forbidden",
    "not_found",
    "method_not_allowed",
    "too_large",
    "rate_limit",
    "quota",
    "server_error",
    "overloaded",
    "context_too_long",
]


class Problem(Exception):
    """A request is refused; raised anywhere between the wire and the script."""

    def __init__(
        self,
        kind: Kind,
        message: str | None = None,
        *,
        param: str | None = None,
        code: str | None = None,
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message or kind)
        self.kind: Kind = kind
        self.message = message
        """None: the vendor's usual words for this kind."""
        self.param = param
        """OpenAI names the offending parameter beside the message."""
        self.code = code
        self.status = status
        """Overrides the vendor's usual status for this kind."""
        self.retry_after = retry_after


def refuse(message: str, *, param: str | None = None, code: str | None = None) -> Problem:
    """The 400 that a vendor's validation gives."""
    return Problem("invalid_request", message, param=param, code=code)
