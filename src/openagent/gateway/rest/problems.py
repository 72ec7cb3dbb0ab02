"""Errors as application/problem+json (RFC 9457)."""

from collections.abc import Mapping
from http import HTTPStatus

import msgspec
from msgspec import Struct
from starlette.responses import Response

from openagent.daemon.connection import trace_id
from openagent.protocol.errors import ErrorCode, ErrorInfo

MEDIA_TYPE = "application/problem+json"

STATUSES: dict[ErrorCode, int] = {
    "bad_frame": 400,
    "bad_op": 422,
    "unknown_op": 404,
    "version_mismatch": 409,
    "unauthorized": 401,
    "not_found": 404,
    "conflict": 409,
    "busy": 409,
    "overloaded": 503,
    "invalid_argument": 422,
    "config_error": 422,
    "slow_client": 429,
    "shutting_down": 503,
    "provider_error": 424,
    "auth_failed": 424,
    "rate_limited": 429,
    "quota_exhausted": 429,
    "workspace_full": 409,
    "workspace_gone": 409,
    "model_not_found": 404,
    "context_too_long": 422,
    "budget_exceeded": 409,
    "tool_error": 422,
    "jail_error": 424,
    "permission_denied": 403,
    "store_error": 503,
    "store_unavailable": 503,
    "internal": 500,
}
"""A provider that fails is 424: this daemon is well, something it depends on is not."""


class Problem(Struct, frozen=True, omit_defaults=True):
    """Why a request was refused (RFC 9457)."""

    type: str
    """urn:openagent:problem: and the code."""
    title: str
    """The status in words."""
    status: int
    """The HTTP status."""
    detail: str
    """What happened and why."""
    code: str
    """For programs."""
    hint: str = ""
    """What to do next."""
    trace: str = ""
    """The id of this request: the header `Trace-Id` has it too, and so has every line about it in the daemon's log."""


class Refused(Exception):
    """Something about the request itself, which no op is there to say."""

    def __init__(
        self, status: int, code: str, detail: str, *, hint: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail, self.hint = status, code, detail, hint
        self.headers = dict(headers or {})

    def response(self) -> Response:
        return problem(self.status, self.code, self.detail, hint=self.hint, headers=self.headers)


def problem(
    status: int,
    code: str,
    detail: str,
    *,
    hint: str = "",
    headers: Mapping[str, str] | None = None,
    trace: str | None = None,
) -> Response:
    """`trace`: of another request than this one; empty: of none."""
    told = trace_id.get() if trace is None else trace
    body = Problem(f"urn:openagent:problem:{code}", HTTPStatus(status).phrase, status, detail, code, hint, told)
    return Response(msgspec.json.encode(body), status, headers, MEDIA_TYPE)


def explain(error: ErrorInfo) -> Response:
    status = STATUSES[error.code]
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    if error.retry_after:
        headers["Retry-After"] = str(error.retry_after)
    return problem(status, error.code, error.message, hint=error.hint, headers=headers)


def too_many_guesses(seconds: int) -> Response:
    return problem(
        429,
        "rate_limited",
        "Too many wrong tokens or codes were tried within a minute.",
        hint=f"Try again in {seconds} seconds. A right one is let in at any time.",
        headers={"Retry-After": str(seconds)},
    )


def not_authenticated() -> Response:
    return problem(
        401,
        "unauthorized",
        "A valid token is required.",
        hint="Send `Authorization: Bearer TOKEN` (`openagent access create`), or log in with `openagent web`.",
        headers={"WWW-Authenticate": 'Bearer realm="openagent"'},
    )
