"""Errors as data, and the one exception that carries them.

`code` is for programs, `message` says what happened and why, `hint` says what to do next.
"""

from typing import Literal

from msgspec import Struct

ErrorCode = Literal[
    "bad_frame",
    "bad_op",
    "unknown_op",
    "version_mismatch",
    "unauthorized",
    "not_found",
    "conflict",
    "busy",
    "overloaded",
    "invalid_argument",
    "config_error",
    "slow_client",
    "shutting_down",
    "provider_error",
    "auth_failed",
    "rate_limited",
    "quota_exhausted",
    "workspace_full",
    "workspace_gone",
    "model_not_found",
    "context_too_long",
    "budget_exceeded",
    "tool_error",
    "jail_error",
    "permission_denied",
    "store_error",
    "store_unavailable",
    "internal",
]


class ErrorInfo(Struct, frozen=True, omit_defaults=True):
    """What went wrong, for programs and for people."""

    code: ErrorCode
    """For programs."""
    message: str
    """What happened and why."""
    hint: str = ""
    """What to do next."""
    recoverable: bool = True
    """The session or connection is still usable."""
    retry_after: int = 0
    """Seconds after which to try again, where that is known."""


class OpenAgentError(Exception):
    """Raised anywhere in the house; every gateway turns it into an error event."""

    def __init__(
        self, code: ErrorCode, message: str, *, hint: str = "", recoverable: bool = True, retry_after: int = 0
    ) -> None:
        super().__init__(message)
        self.info = ErrorInfo(code=code, message=message, hint=hint, recoverable=recoverable, retry_after=retry_after)

    def __str__(self) -> str:
        return f"{self.info.message} {self.info.hint}".strip()
