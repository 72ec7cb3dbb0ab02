"""One provider's way to its server: a connection pool, exact headers, and errors in our own terms."""

import asyncio
import re
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import Struct

from openagent.dialects.tongue import Tongue, Tongues
from openagent.plugins.provider import (
    Answer,
    AuthenticationFailed,
    CallChunk,
    CertificateRefused,
    ConnectionFailed,
    MalformedAnswer,
    ModelInfo,
    ModelRequest,
    ProviderError,
    ProviderTimeout,
    RequestRejected,
    StreamItem,
)
from openagent.providers.errors import Who, from_response
from openagent.providers.framing import LineProblem, Unsendable
from openagent.providers.http_connections import ConnectTookTooLong, HttpConnections, NotConnected, Stalled
from openagent.providers.sse import EventParser
from openagent.providers.unicode import mend_text
from openagent.providers.wire import NATIVE, AuthKind, WireFormat, WireProfile, headers_for

if TYPE_CHECKING:
    import ssl

    import httpx2

Shape = TypeVar("Shape")
Credential = str | Callable[[], Awaitable[str]]
"""A key, or what to ask for a token that may have been refreshed since the last request."""

CERTIFICATE_HINT = (
    "If a proxy of your company stands between, set SSL_CERT_FILE to the file with its certificate and end the daemon "
    "with `openagent stop`; otherwise check base_url."
)

MAX_EVENT = 16 * 1024 * 1024
"""No event of an answer is longer: pictures and whole answers come in one."""
MAX_ANSWER = 128 * 1024 * 1024
"""No answer is longer, all its events together. The longest that models write is a third of it."""
MAX_LIST = 32 * 1024 * 1024
ONLY_ALIVE = 900.0
"""Seconds in which a server may send signs of life alone: comments, pings, empty pieces. Some models think for long."""
MAX_RAW = 4 * 1024 * 1024
"""How much of an answer is kept as it came."""
MAX_ERROR_BODY = 64 * 1024
_PLAIN_ADDRESS = re.compile(r"(https?)://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?(/.*)?")
_NOT_QUOTED = "!$%&'()*+,/:;=?@[]~"
_LOOPBACK = re.compile(r"http://(127\.\d+\.\d+\.\d+|localhost|\[::1\])(?=[:/]|$)")


class Endpoint(Struct, frozen=True, kw_only=True):
    """Where a provider is and how to introduce ourselves there."""

    name: str
    base_url: str
    credential: Credential = ""
    auth: AuthKind = "key"
    key_variable: str = ""
    """The environment variable people usually keep the key in: for hints."""
    profile: WireProfile = NATIVE
    organization: str = ""
    headers: Sequence[tuple[str, str]] = ()
    needs_key: bool = True
    connect_timeout: float = 10.0
    stall_timeout: float = 300.0
    """How long a server may stay silent, before its answer and within it."""
    tongues: Tongues = Tongues("own")
    """The names under which models there know tools."""
    traced: bool = False
    """Requests carry `traceparent`. It is in no wire profile, and a vendor could tell by it which requests of several
    accounts, or to several vendors, are one person's."""

    def __repr__(self) -> str:
        return f"Endpoint(name={self.name!r}, base_url={self.base_url!r}, auth={self.auth!r})"

    def who(self, model: str = "") -> Who:
        return Who(name=self.name, base_url=self.base_url, key_variable=self.key_variable, auth=self.auth, model=model)


class AnswerReader(Protocol):
    """Reads one streamed answer in one wire format."""

    complete: bool
    """The format's own end mark was seen."""
    idle: int
    """Events that brought nothing: signs of life."""

    def feed(self, event: bytes) -> Sequence[StreamItem]: ...

    def whole(self, body: bytes) -> Sequence[bytes]:
        """An answer that came as one piece of JSON, as the events that it would have been."""
        ...

    def answer(self, raw_request: bytes, raw_response: bytes) -> Answer: ...


class HttpProvider(ABC):
    """What all wire formats share. An adapter says where to post, what, and how to read the answer."""

    wire_format: WireFormat
    scripted = False
    text_tools = False
    """The format has tools that take plain text."""
    vendor_tools = False
    """The format has tools that the vendor defines."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.name = endpoint.name
        self.endpoint = endpoint
        self._client: httpx2.AsyncClient | None = None
        self._line: HttpConnections | None = None
        self._line_sought = False
        self._base_path = ""
        self._base_url = endpoint.base_url.rstrip("/")
        self._host = _host_of(self._base_url, endpoint)
        self._tongues: dict[str, Tongue] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.endpoint!r})"

    @abstractmethod
    def path(self, request: ModelRequest) -> str: ...

    @abstractmethod
    def encode(self, request: ModelRequest) -> bytes: ...

    @abstractmethod
    def reader(self, who: Who) -> AnswerReader: ...

    def tongue(self, model: str) -> Tongue:
        if model not in self._tongues:
            wire = {"text_tools": self.text_tools, "vendor_tools": self.vendor_tools}
            self._tongues[model] = self.endpoint.tongues.of(model, **wire)
        return self._tongues[model]

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        who = self.endpoint.who(request.model)
        tongue = self.tongue(request.model)
        body = self.encode(tongue.request(request))
        reader = self.reader(who)
        received: list[bytes] = []
        trace = request.traceparent if self.endpoint.traced else ""
        async with self._asked(self.path(request), body, request.model, who, trace=trace) as chunks:
            parser = EventParser()
            kept = size = idle = 0
            heard_at = time.monotonic()
            async for chunk in chunks:
                if kept < MAX_RAW:
                    kept += len(chunk)
                    received.append(chunk)
                for event in parser.feed(chunk):
                    size += len(event)
                    for item in _read_event(reader, event, who):
                        yield tongue.announced(item, request.tools) if type(item) is CallChunk else item
                    if reader.idle == idle:
                        heard_at = time.monotonic()
                    idle = reader.idle
                if time.monotonic() - heard_at > max(ONLY_ALIVE, self.endpoint.stall_timeout):
                    raise _without_words(who, time.monotonic() - heard_at)
                if parser.held > MAX_EVENT or size > MAX_ANSWER:
                    raise _without_end(who, "an event" if parser.held > MAX_EVENT else "an answer")
            for event in parser.end():
                for item in _read_event(reader, event, who):
                    yield item
            if not reader.complete and kept < MAX_RAW and _is_json(received):
                for event in _as_events(reader, b"".join(received)):
                    for item in _read_event(reader, event, who):
                        yield item
        if not reader.complete:
            raise _incomplete(who, b"".join(received[:1]))
        yield tongue.heard(reader.answer(body, b"".join(received)), request.tools)

    @abstractmethod
    async def models(self) -> list[ModelInfo]: ...

    async def close(self) -> None:
        if self._line is not None:
            await self._line.close()
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    async def get(self, path: str, shape: type[Shape], *, asked: bytes | None = None, beside_v1: bool = False) -> Shape:
        """A small answer, whole. `asked` is posted; `beside_v1` asks a server in its own way, not in OpenAI's."""
        who = self.endpoint.who()
        async with self._asked(path, asked, "", who, beside_v1=beside_v1) as chunks:
            body = await _bounded(chunks, MAX_LIST)
        try:
            return msgspec.json.decode(body, type=shape)
        except (msgspec.DecodeError, UnicodeDecodeError) as problem:
            raise MalformedAnswer(
                f"{who.name} at {who.base_url} does not list its models as its format promises: {problem}.",
                hint=f"Check base_url of {who.name}.",
            ) from None

    async def credential(self) -> str:
        credential = self.endpoint.credential
        return credential if isinstance(credential, str) else await credential()

    @asynccontextmanager
    async def _asked(
        self, path: str, body: bytes | None, model: str, who: Who, *, trace: str = "", beside_v1: bool = False
    ) -> AsyncGenerator[AsyncIterator[bytes]]:
        """What came back, a piece at a time. Without a body it is a GET."""
        line = self._line if self._line_sought else await self._open_line()
        if line is None:
            base = self._base_url.removesuffix("/v1") if beside_v1 else self._base_url
            async with self._send(base + path, body, model, who, trace) as response:
                yield response.aiter_bytes() if "content-encoding" in response.headers else response.aiter_raw()
            return
        headers = await self._headers(None if body is None else len(body), model, who, trace)
        base = self._base_path.removesuffix("/v1") if beside_v1 else self._base_path
        try:
            async with line.ask(base + quote(path, safe=_NOT_QUOTED), headers, body) as response:
                if response.status >= 300:
                    raise from_response(who, response.status, response.headers, await _bounded(response))
                yield response
        except LineProblem as problem:
            raise _from_transport(who, problem, self.endpoint.stall_timeout) from None

    async def _headers(self, length: int | None, model: str, who: Who, trace: str) -> list[tuple[str, str]]:
        key = await self.credential()
        if not key and self.endpoint.needs_key:
            raise AuthenticationFailed(f"There is no API key for {who.name}.", hint=who.credential_hint)
        return headers_for(
            self.endpoint.profile,
            self.wire_format,
            auth=self.endpoint.auth,
            key=key,
            host=self._host,
            length=length,
            model=model,
            organization=self.endpoint.organization,
            extra=(*self.endpoint.headers, ("traceparent", trace)) if trace else self.endpoint.headers,
        )

    @asynccontextmanager
    async def _send(
        self, url: str, body: bytes | None, model: str, who: Who, trace: str
    ) -> AsyncGenerator["httpx2.Response"]:
        import httpx2

        headers = await self._headers(None if body is None else len(body), model, who, trace)
        timeout = httpx2.Timeout(self.endpoint.stall_timeout, connect=self.endpoint.connect_timeout)
        try:
            request = httpx2.Request(
                "GET" if body is None else "POST",
                url,
                headers=headers,
                content=body,
                extensions={"timeout": timeout.as_dict()},
            )
            client = self._client or await self._open()
            response = await client.send(request, stream=True)
            try:
                if response.status_code >= 300:
                    raise from_response(
                        who, response.status_code, response.headers, await _bounded(response.aiter_bytes())
                    )
                yield response
            finally:
                await response.aclose()
        except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeEncodeError) as problem:
            raise _from_transport(who, problem, self.endpoint.stall_timeout) from None

    async def _open_line(self) -> HttpConnections | None:
        """None where httpx2 is needed: behind a proxy, and for addresses with a user or letters beyond ASCII."""
        match = _PLAIN_ADDRESS.fullmatch(self._base_url)
        if match is not None and (_LOOPBACK.match(self._base_url) or not _is_proxied(match[1])):
            scheme, host, port, prefix = match.groups()
            secure = await asyncio.to_thread(certificates) if scheme == "https" else None
            if not self._line_sought:
                self._base_path = quote(prefix or "", safe=_NOT_QUOTED)
                self._line = HttpConnections(
                    host.strip("[]"),
                    int(port or (443 if secure else 80)),
                    secure,
                    connect_timeout=self.endpoint.connect_timeout,
                    stall_timeout=self.endpoint.stall_timeout,
                )
        self._line_sought = True
        return self._line

    async def _open(self) -> "httpx2.AsyncClient":
        """Loading certificates takes a tenth of a second or more: off the event loop, and only where they are used."""
        secure = self._base_url.startswith("https:")
        verify = await asyncio.to_thread(certificates) if secure else False
        if self._client is None:
            import httpx2

            limits = httpx2.Limits(max_connections=200, max_keepalive_connections=50, keepalive_expiry=120)
            # A server on this machine is not behind a proxy.
            outside = not _LOOPBACK.match(self._base_url)
            self._client = httpx2.AsyncClient(limits=limits, follow_redirects=False, verify=verify, trust_env=outside)
        return self._client


@cache
def certificates() -> "ssl.SSLContext":
    """Shared by all providers."""
    import httpx2

    context = httpx2.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def _is_proxied(scheme: str) -> bool:
    """Whether that proxy is for this host as well is left to httpx2."""
    from urllib.request import getproxies

    proxies = getproxies()
    return bool(proxies.get(scheme) or proxies.get("all"))


def _host_of(base_url: str, endpoint: Endpoint) -> str:
    match = re.fullmatch(r"(https?)://(?:[^/@]*@)?([^/?#]+)(/[^?#]*)?", base_url)
    if match is None:
        raise RequestRejected(
            f"The base_url of {endpoint.name} is {endpoint.base_url!r}, which is not an http(s) address.",
            hint="Write it like https://host/v1.",
        )
    scheme, host, _ = match.groups()
    return host.removesuffix(":443" if scheme == "https" else ":80")


def _read_event(reader: AnswerReader, event: bytes, who: Who) -> Sequence[StreamItem]:
    """A reader takes nothing in from an event that it cannot decode, so it may be shown it again, mended."""
    try:
        try:
            return reader.feed(event)
        except (msgspec.DecodeError, UnicodeDecodeError):
            if (mended := mend_text(event)) == event:
                raise
            return reader.feed(mended)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise MalformedAnswer(
            f"{who.name} sent something in its answer that is not the JSON its format promises: {problem}.",
            hint="Try again; if it stays, check that base_url points to the right kind of API.",
        ) from None


def _is_json(received: Sequence[bytes]) -> bool:
    return b"".join(received[:1]).lstrip()[:1] in (b"{", b"[")


def _as_events(reader: AnswerReader, body: bytes) -> Sequence[bytes]:
    """None, where it is no answer."""
    try:
        return reader.whole(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ()


def _without_words(who: Who, seconds: float) -> ProviderTimeout:
    return ProviderTimeout(
        f"{who.name} sent nothing but signs of life for {seconds:.0f} seconds.",
        hint="Try again, or raise the provider's timeout.",
    )


def _incomplete(who: Who, beginning: bytes) -> ProviderError:
    if beginning.lstrip()[:1] in (b"<", b"{", b"["):
        kind = "a web page" if beginning.lstrip()[:1] == b"<" else "plain JSON"
        return MalformedAnswer(
            f"{who.name} at {who.base_url} answered with {kind} instead of a stream of events.",
            hint="Check that base_url points to the right kind of API, and that no proxy is in between.",
        )
    return ConnectionFailed(f"{who.name} ended its answer before it was complete.", hint="Try again.")


def _without_end(who: Who, what: str) -> MalformedAnswer:
    limit = MAX_EVENT if what == "an event" else MAX_ANSWER
    return MalformedAnswer(
        f"{who.name} sent {what} without an end: more than {limit // 1024 // 1024} MB.",
        hint="Try again; if it stays, check that base_url points to the right kind of API.",
    )


async def _bounded(chunks: AsyncIterator[bytes], limit: int = MAX_ERROR_BODY) -> bytes:
    body = bytearray()
    async for chunk in chunks:
        body += chunk
        if len(body) > limit:
            break
    return bytes(body)


def _reason(who: Who, problem: BaseException) -> str:
    """In words, also where the error has none: some are told by their type alone."""
    said = str(problem).rstrip(".")
    if who.base_url.startswith("https:") and ("WRONG_VERSION_NUMBER" in said or not said):
        return f"it does not answer with TLS, which https needs{f' ({said})' if said else ''}"
    return said or type(problem.__cause__ or problem.__context__ or problem).__name__


def _doubt(said: str) -> str:
    """OpenSSL's reason, without what only its makers read."""
    return said.partition("verify failed: ")[2].partition(" (_ssl")[0].rstrip(".") or "it is not trusted here"


def _from_transport(who: Who, problem: Any, stall_timeout: float) -> ProviderError:
    import httpx2

    match problem:
        case ConnectTookTooLong() | httpx2.ConnectTimeout():
            return ProviderTimeout(
                f"No connection to {who.name} at {who.base_url} came about in time.",
                hint="Check the network, the proxy settings and base_url.",
            )
        case Stalled() | httpx2.TimeoutException():
            return ProviderTimeout(
                f"{who.name} sent nothing for {stall_timeout:g} seconds.",
                hint="Try again, or raise the provider's timeout.",
            )
        case NotConnected() | httpx2.ConnectError() if "CERTIFICATE_VERIFY_FAILED" in str(problem):
            return CertificateRefused(
                f"The certificate of {who.name} at {who.base_url} cannot be verified: {_doubt(str(problem))}.",
                hint=CERTIFICATE_HINT,
            )
        case NotConnected() | httpx2.ConnectError() | httpx2.ProxyError():
            return ConnectionFailed(
                f"Could not connect to {who.name} at {who.base_url}: {_reason(who, problem)}.",
                hint="Check the network, the proxy settings and base_url.",
            )
        case Unsendable() | httpx2.LocalProtocolError() | UnicodeEncodeError():
            return RequestRejected(
                f"The request to {who.name} cannot be sent: a header holds characters that HTTP does not allow.",
                hint=f"Check the key and headers of {who.name} for line breaks and special characters.",
            )
        case httpx2.InvalidURL() | httpx2.UnsupportedProtocol():
            return RequestRejected(
                f"The address {who.base_url!r} of {who.name} cannot be used.", hint="Write it like https://host/v1."
            )
        case _:
            return ConnectionFailed(
                f"{who.name} closed the connection before its answer was complete.", hint="Try again."
            )
