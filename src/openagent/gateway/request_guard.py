"""What stands before every request: is it meant for us, does it come from one of our own pages, and from whom.

A page of another site can make a browser send requests here, under a name of its own that leads to this machine (DNS
rebinding) or with the browser's cookie. So the Host must be one we answer to, an Origin must be our own, and an unsafe
request on a cookie's strength must name its Origin.
"""

from collections.abc import Callable, Iterable, Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from openagent.daemon.connection import called_from, trace_id
from openagent.gateway.authentication import Gate
from openagent.gateway.crowd import Peer
from openagent.gateway.guesses import Guesses
from openagent.gateway.rest.problems import not_authenticated, problem, too_many_guesses
from openagent.protocol.trace_context import new_trace, read_traceparent

LOGIN = "/api/login"
SIGN_IN = "/api/sign-in"
SIGN_IN_START = "/api/sign-in/start"
SIGN_IN_CALLBACK = "/api/sign-in/callback"
DEVICE_CODE = "/api/device/code"
DEVICE_TOKEN = "/api/device/token"  # noqa: S105 -- an address
PASSWORD = "/api/sign-in/password"  # noqa: S105 -- an address
INVITATION = "/api/invitation"
JOIN = "/api/invitation/password"
WAYS_IN = frozenset(
    (LOGIN, SIGN_IN, SIGN_IN_START, SIGN_IN_CALLBACK, DEVICE_CODE, DEVICE_TOKEN, PASSWORD, INVITATION, JOIN)
)
TRACE = "Trace-Id"
WEBSOCKET = "/ws"
METRICS = "/metrics"
LIVE = "/healthz"
READY = "/readyz"
GRAPHQL = "/graphql"
SOCKET_IO = "/socket.io"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self' blob:",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class Guard:
    def __init__(
        self,
        app: ASGIApp,
        gate: Gate,
        address: tuple[str, int],
        extra_hosts: Iterable[str],
        known: Callable[[Peer, str], None],
        *,
        guesses: Guesses,
    ) -> None:
        """`extra_hosts` are names, with or without a port, under which a proxy offers this daemon."""
        self.app = app
        self._gate = gate
        self._known = known
        self._guesses = guesses
        host = address[0]
        self._extra = {name.lower() for name in extra_hosts}
        self._names = {*LOOPBACK, host.lower()} | {_hostname(name) for name in self._extra}
        self._is_local = host in LOOPBACK

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        # Everything that is logged from here on, the ops it makes and their events carry it, and so does the answer.
        given = read_traceparent(Headers(scope=scope).get("traceparent", ""))
        trace = given.trace if given else new_trace()
        trace_id.set(trace)
        called_from.set(given.traceparent if given else "")
        with_headers = _adding_headers(send, {**_HEADERS, TRACE: trace})
        refusal = await self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, with_headers)
        else:
            await self.app(scope, receive, with_headers)

    async def _refusal(self, scope: Scope) -> ASGIApp | None:
        headers = Headers(scope=scope)
        if not (self._is_own_host(headers.get("host", "")) or _is_probe(scope, headers)):
            return problem(
                421,
                "wrong_host",
                f"This daemon does not answer to the name {headers.get('host', '')!r}.",
                hint="Names beside its own address go into `[web] hosts` of the settings.",
            )
        if not self._is_own_origin(headers):
            return problem(403, "wrong_origin", "The request comes from a page of another origin.")
        if not is_guarded(scope["path"]):
            return None
        secret, by_cookie = _shown(scope, headers)
        caller = await self._gate.authenticate(secret) if secret else None
        host, port = scope.get("client") or ("", 0)
        if caller is None:
            wait = await self._guesses.wrong(host, secret, by_itself=by_cookie) if secret else 0
            return too_many_guesses(wait) if wait else not_authenticated()
        if by_cookie and not _is_safe(scope) and "origin" not in headers:
            return problem(403, "wrong_origin", "An unsafe request with a cookie must say its origin.")
        scope.setdefault("state", {})["caller"] = caller.at(f"{host}:{port}" if host else "")
        if peer := scope.get("client"):
            self._known((str(peer[0]), int(peer[1])), caller.id)
        return None

    def _is_own_host(self, given: str) -> bool:
        """By whatever port: one may be forwarded here. A bare address is nobody's name, so it cannot be rebound."""
        name = _hostname(given)
        return name in self._names or (not self._is_local and _is_address(name))

    def _is_own_origin(self, headers: Headers) -> bool:
        origin = headers.get("origin")
        own = {headers.get("host", "").lower(), *self._extra}
        if origin is not None and origin.lower().partition("://")[2] not in own:
            return False
        # Pages on other ports of this machine count as the same site to a browser, and may not come in either.
        return headers.get("sec-fetch-site", "none") in ("same-origin", "none") or _is_navigation(headers)


def _shown(scope: Scope, headers: Headers) -> tuple[str, bool]:
    """A token, or nothing, and whether a cookie holds it."""
    given = headers.get("authorization")
    if given is None:
        return HTTPConnection(scope).cookies.get(cookie_of(headers), ""), True
    kind, _, secret = given.partition(" ")
    return (secret.strip() if kind.lower() == "bearer" else ""), False


def cookie_of(headers: Headers) -> str:
    """After the port by which the browser came: the daemons of one machine do not take each other's, and the gateways
    behind one address share it, whatever ports they have themselves."""
    try:
        port = urlsplit(f"//{headers.get('host', '')}").port
    except ValueError:
        port = None
    return f"openagent-{port}" if port else "openagent"


def is_guarded(path: str) -> bool:
    """Everything but the app's own files, which tell nothing about anybody, and the ways in themselves."""
    return (
        path in ("/api", METRICS, GRAPHQL) or path.startswith(("/api/", WEBSOCKET, SOCKET_IO))
    ) and path not in WAYS_IN


def _is_probe(scope: Scope, headers: Headers) -> bool:
    """A balancer's, which may speak HTTP/1.0 and name nobody. Browsers always do."""
    return scope["path"] in (LIVE, READY) and "host" not in headers


def _is_safe(scope: Scope) -> bool:
    return scope["type"] == "http" and scope["method"] in _SAFE_METHODS


def _is_navigation(headers: Headers) -> bool:
    """Somebody followed a link to us; what they see is served to their own browser window only."""
    return headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"


def _hostname(netloc: str) -> str:
    try:
        return urlsplit(f"//{netloc}").hostname or ""
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _adding_headers(send: Send, added: Mapping[str, str]) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            headers = MutableHeaders(scope=message)
            for name, value in added.items():
                headers.setdefault(name, value)
            headers.setdefault("Cache-Control", "no-store")
        await send(message)

    return sending
