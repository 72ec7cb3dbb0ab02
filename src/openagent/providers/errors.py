"""What vendors say when they refuse, translated to the typed errors of `plugins.provider`.

Every vendor wraps its errors differently, but all of them are an object with a message and a word for the kind of
error; the status and that word decide which of our errors it becomes.
"""

import math
import re
import time
from collections.abc import Mapping
from typing import Any, cast

import msgspec
from msgspec import Struct

from openagent.plugins.provider import (
    AuthenticationFailed,
    ContextTooLong,
    ModelNotFound,
    ProviderError,
    ProviderOverloaded,
    ProviderTimeout,
    QuotaExhausted,
    RateLimited,
    RequestRejected,
)

LONG_WAIT_S = 600.0
"""A provider that asks for more patience than this is not busy: the quota is used up."""
_QUOTED_LIMIT = 300

_SECRET = re.compile(r"\b(sk-|AIza|gh[pousr]_|github_pat_|eyJ|Bearer\s+)[\w.*\-]{6,}")
_CONTEXT_WORDS = re.compile(
    r"prompt is too long|maximum context length|context.{0,10}(length|window)|exceeds? the maximum number of tokens"
    r"|input token count|too many (input )?tokens|exceed_context_size",
    re.IGNORECASE,
)
_QUOTA_WORDS = re.compile(
    r"credit balance|insufficient.{0,3}quota|exceeded your current quota|billing|per.?day|usage limit|spend.{0,5}limit",
    re.IGNORECASE,
)
_RATE_WORDS = re.compile(r"PerMinute|PerSecond|per min")
"""Google words a busy minute and a used-up day alike; only the quota's id tells them apart."""

_STATUS_OF_KIND = {
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "model_not_found": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "billing_error": 402,
    "api_error": 500,
    "server_error": 500,
    "overloaded_error": 529,
    "timeout_error": 504,
    "invalid_request_error": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "RESOURCE_EXHAUSTED": 429,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
    "INVALID_ARGUMENT": 400,
}
"""For errors that arrive inside a stream, after a status of 200."""


class Who(Struct, frozen=True):
    """Whom an error message is about."""

    name: str
    """The provider as configured."""
    base_url: str
    key_variable: str = ""
    auth: str = "key"
    model: str = ""

    @property
    def credential_hint(self) -> str:
        if self.auth == "oauth":
            return f"Log in again with `openagent auth login {self.name}`."
        variable = f"Set {self.key_variable} to a valid key, or run" if self.key_variable else "Run"
        return f"{variable} `openagent auth add {self.name}`."


class _Said(Struct):
    message: str = ""
    kinds: tuple[str, ...] = ()
    retry_delay: float | None = None

    def mentions(self, pattern: re.Pattern[str]) -> bool:
        return any(map(pattern.search, (self.message, *self.kinds)))


def from_response(who: Who, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
    if status < 400:
        return _elsewhere(who, status, headers.get("location", ""))
    content_type = headers.get("content-type", "")
    if content_type.startswith("text/html") or body.lstrip()[:1] == b"<":
        return _from_page(who, status)
    said = _read(body)
    return _classify(who, status, said, _retry_after(headers) or said.retry_delay)


def from_stream(who: Who, error: bytes | msgspec.Raw) -> ProviderError:
    """An error object that came in the middle of an answer."""
    said = _read(bytes(error))
    status = next((_STATUS_OF_KIND[kind] for kind in said.kinds if kind in _STATUS_OF_KIND), 500)
    return _classify(who, status, said, said.retry_delay)


def _elsewhere(who: Who, status: int, location: str) -> ProviderError:
    return RequestRejected(
        f"{who.name} at {who.base_url} answered {status} and points to {location or 'nowhere'}.",
        hint="The key is not sent there unasked: set base_url to where the API really is.",
    )


def _from_page(who: Who, status: int) -> ProviderError:
    message = f"{who.name} at {who.base_url} answered {status} with an HTML page instead of JSON."
    hint = "A proxy or gateway in between is likely at fault: check base_url and the proxy settings."
    if status in (408, 504):
        return ProviderTimeout(message, hint=hint)
    if status >= 500:
        return ProviderOverloaded(message, hint=hint)
    return RequestRejected(message, hint=hint)


def _classify(who: Who, status: int, said: _Said, retry_after: float | None) -> ProviderError:
    quoted = quote(said.message)
    if status in (401, 403) or "API_KEY_INVALID" in said.kinds:
        return _not_allowed(who, status, quoted)
    if status >= 500 or status == 408:
        return _their_fault(who, status, quoted, retry_after)
    if status in (402, 429) or (status == 400 and said.mentions(_QUOTA_WORDS)):
        return _too_much(who, status, said, quoted, retry_after)
    if status == 413 or (status in (400, 422) and said.mentions(_CONTEXT_WORDS)):
        return ContextTooLong(
            f"The conversation is too long for {who.model or 'the model'}: {quoted}",
            hint="Collect the context, or switch to a model with a larger window.",
        )
    if status == 404 or "model_not_found" in said.kinds:
        return _not_found(who, said, quoted)
    return RequestRejected(
        f"{who.name} rejected the request with status {status}: {quoted}",
        hint="Check the model's name and settings.",
    )


def _not_allowed(who: Who, status: int, quoted: str) -> AuthenticationFailed:
    what = "login token" if who.auth == "oauth" else "API key"
    if status == 403:
        message = f"{who.name} does not allow this request for the {what}: {quoted}"
    else:
        message = f"{who.name} refused the {what}."
    problem = AuthenticationFailed(message, hint=who.credential_hint)
    problem.said = quoted
    return problem


def _their_fault(who: Who, status: int, quoted: str, retry_after: float | None) -> ProviderError:
    if status in (408, 504):
        return ProviderTimeout(f"{who.name} took too long: {quoted}", hint="Try again.", retry_after=retry_after)
    return ProviderOverloaded(
        f"{who.name} failed with status {status}: {quoted}",
        hint="This is the provider's fault; try again, or add a fallback model.",
        retry_after=retry_after,
    )


def _too_much(who: Who, status: int, said: _Said, quoted: str, retry_after: float | None) -> ProviderError:
    busy = status == 429 and (said.mentions(_RATE_WORDS) or not said.mentions(_QUOTA_WORDS))
    if busy and (retry_after is None or retry_after <= LONG_WAIT_S):
        return RateLimited(
            f"{who.name} limits the rate of requests: {quoted}",
            hint="Wait a little, or add a fallback model.",
            retry_after=retry_after,
        )
    return QuotaExhausted(
        f"The quota at {who.name} is used up: {quoted}",
        hint="Wait for it to reset, add credit, or switch to another provider.",
        retry_after=retry_after,
        resets_at=None if retry_after is None else time.time() + retry_after,
    )


def _not_found(who: Who, said: _Said, quoted: str) -> ProviderError:
    if not who.model or not (said.kinds or said.message):
        return RequestRejected(
            f"{who.name} at {who.base_url} answered 404: {quoted}", hint=f"Check base_url of {who.name}."
        )
    return ModelNotFound(
        f"{who.name} has no model named {who.model!r}: {quoted}",
        hint=f"`openagent models list {who.name}` shows what it has.",
    )


def quote(message: str) -> str:
    """A vendor's own words: one line, bounded, and without anything that looks like a key."""
    line = _SECRET.sub("[secret]", " ".join(message.split())) or "it gave no reason"
    line = line if len(line) <= _QUOTED_LIMIT else line[:_QUOTED_LIMIT].rstrip() + "…"
    return line if line.endswith((".", "!", "?", "…")) else f"{line}."


def _read(body: bytes) -> _Said:
    try:
        data: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _Said(message=body[:_QUOTED_LIMIT].decode("utf-8", "replace"))
    if isinstance(data, list) and data:
        data = cast("list[Any]", data)[0]
    if not isinstance(data, dict):
        return _Said(message=str(cast("object", data)))
    known = cast("dict[str, Any]", data)
    error: Any = known.get("error", known)
    if not isinstance(error, dict):
        return _Said(message=str(error), kinds=_words(known))
    inner = cast("dict[str, Any]", error)
    message = inner.get("message") or known.get("message") or inner.get("detail") or ""
    said = _Said(message=str(message), kinds=_words(inner))
    for detail in inner.get("details") or ():
        if isinstance(detail, dict):
            _read_google_detail(said, cast("dict[str, Any]", detail))
    return said


def _words(error: Mapping[str, Any]) -> tuple[str, ...]:
    words = (error.get("type"), error.get("code"), error.get("status"))
    return tuple(word for word in words if isinstance(word, str) and word != "error")


def _read_google_detail(said: _Said, detail: Mapping[str, Any]) -> None:
    if isinstance(reason := detail.get("reason"), str):
        said.kinds = (*said.kinds, reason)
    if isinstance(delay := detail.get("retryDelay"), str) and delay.endswith("s"):
        said.retry_delay = _number(delay[:-1])
    violations = cast("list[dict[str, Any]]", detail.get("violations") or [])
    said.kinds = (*said.kinds, *(str(violation.get("quotaId", "")) for violation in violations))


def _retry_after(headers: Mapping[str, str]) -> float | None:
    if milliseconds := headers.get("retry-after-ms"):
        number = _number(milliseconds)
        return None if number is None else number / 1000
    if value := headers.get("retry-after"):
        number = _number(value)
        return number if number is not None else _seconds_until(value)
    return None


def _seconds_until(date: str) -> float | None:
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None
