"""Who answers: the interface of a model provider, and the errors it may raise.

A provider translates `ModelRequest` to its wire format and yields chunks as they arrive, then one `Answer`.
Vendor errors are translated at the adapter; nothing above it knows a vendor.

    ProviderError                 the request failed; `retryable` says whether trying again may help
    ├── ConnectionFailed          no connection, or it broke off                        retryable
    ├── CertificateRefused        who answers cannot show that it is the provider
    ├── ProviderTimeout           nothing arrived for too long                          retryable
    ├── MalformedAnswer           what arrived is not what the format promises          retryable
    ├── EmptyAnswer               a complete answer that says nothing                   retryable, once
    ├── RateLimited               429; `retry_after` when the provider said             retryable
    ├── ProviderOverloaded        500, 502, 503, 529                                    retryable
    ├── QuotaExhausted            the plan is used up until `resets_at`
    ├── AuthenticationFailed      401, 403: key or token refused
    ├── ModelNotFound             404: no such model there
    ├── ContextTooLong            the prompt does not fit
    └── RequestRejected           any other 4xx: the request is at fault
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from openagent.protocol.errors import ErrorCode, ErrorInfo, OpenAgentError
from openagent.protocol.messages import Message, Part, StopReason
from openagent.protocol.usage import Usage


class ToolSchema(Struct, frozen=True):
    name: str
    description: str
    parameters: dict[str, Any]


class ModelRequest(Struct, frozen=True):
    model: str
    """The model's name at this provider, without the provider's."""
    system: str
    messages: Sequence[Message]
    tools: Sequence[ToolSchema] = ()
    max_output_tokens: int | None = None
    temperature: float | None = None
    thinking: str | None = None
    """off, low, medium, high; None leaves it to the provider."""
    session: str = ""
    """For providers that route requests of one conversation to one cache."""
    traceparent: str = ""
    """The trace it is part of, for providers that may know."""


class TextChunk(Struct, frozen=True):
    text: str


class ThinkingChunk(Struct, frozen=True):
    text: str


class CallChunk(Struct, frozen=True):
    """A tool call is being written; its arguments come with the Answer."""

    id: str
    name: str


class Answer(Struct, frozen=True):
    """The whole answer: always the last thing a stream yields."""

    parts: list[Part]
    stop_reason: StopReason
    usage: Usage
    model: str
    raw_request: bytes = b""
    raw_response: bytes = b""


class RetryNotice(Struct, frozen=True):
    """The attempt failed and is made again after a delay. Chunks it yielded are void: discard them."""

    provider: str
    attempt: int
    """The one that failed, from 1."""
    max_attempts: int
    delay_s: float
    error: ErrorInfo
    asked: bool = True
    """False: the provider was in too bad a state to be asked at all."""
    usage: Usage | None = None
    """What the failed attempt was billed with, where the provider said so."""
    now: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    """Set it to end the delay."""


class FailoverNotice(Struct, frozen=True):
    """The request goes to another model. Chunks yielded before are void: discard them."""

    from_model: str
    """provider/model."""
    to_model: str
    reason: str


class RoutedNotice(Struct, frozen=True):
    """Which model `auto` chose for this step, before its first chunk."""

    model: str
    """provider/model."""
    reason: str


Notice = RetryNotice | FailoverNotice | RoutedNotice
StreamItem = TextChunk | ThinkingChunk | CallChunk | Answer | Notice


class ModelInfo(Struct, frozen=True):
    name: str
    context_window: int = 0
    """Tokens; 0: not known."""
    max_output_tokens: int = 0
    tools: bool | None = None
    """Whether it can call tools; None: not known."""
    images: bool | None = None
    """Whether it can be shown pictures; None: not known."""


class Provider(Protocol):
    name: str
    """As configured: the part before the slash."""
    scripted: bool
    """True for the demo: nothing it says comes from a model."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """Close the generator to cancel: the connection closes at once."""
        ...

    async def models(self) -> list[ModelInfo]: ...

    async def close(self) -> None: ...


class ProviderError(OpenAgentError):
    code: ErrorCode = "provider_error"
    retryable = False

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        retry_after: float | None = None,
        resets_at: float | None = None,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(self.code, message, hint=hint)
        self.retry_after = retry_after
        self.resets_at = resets_at
        self.usage = usage
        """What the provider bills for all the same."""


class ConnectionFailed(ProviderError):
    retryable = True


class CertificateRefused(ProviderError):
    pass


class ProviderTimeout(ProviderError):
    retryable = True


class MalformedAnswer(ProviderError):
    retryable = True


class EmptyAnswer(ProviderError):
    retryable = True


class RateLimited(ProviderError):
    code = "rate_limited"
    retryable = True


class ProviderOverloaded(ProviderError):
    retryable = True


class QuotaExhausted(ProviderError):
    code = "quota_exhausted"


class AuthenticationFailed(ProviderError):
    code = "auth_failed"
    said = ""
    """The provider's own words."""


class ModelNotFound(ProviderError):
    code = "model_not_found"


class ContextTooLong(ProviderError):
    code = "context_too_long"


class RequestRejected(ProviderError):
    pass
