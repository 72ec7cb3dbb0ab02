"""How a browser logs in and out, and who is asking."""

import time
from collections import deque
from collections.abc import Awaitable, Callable
from email.utils import formatdate

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from openagent import __version__
from openagent.daemon.callers import Caller
from openagent.gateway.authentication import Gate
from openagent.gateway.guesses import Guesses
from openagent.gateway.request_guard import LOGIN, WEBSOCKET, cookie_of
from openagent.gateway.rest.asking import json_response
from openagent.gateway.rest.decode import decode_body, read_body
from openagent.gateway.rest.endpoint import Custom
from openagent.gateway.rest.problems import Refused, not_authenticated, too_many_guesses
from openagent.protocol.scopes import Scope
from openagent.protocol.version import PROTOCOL_VERSION

Tell = Callable[[Caller, str], Awaitable[None]]
_NOBODY = Caller("", "nobody", frozenset())
_REFUSALS_KEPT = 10
"""In a minute: whoever guesses without end must not fill the disk with it."""


class Seldom:
    """Tells the audit trail of logins that were refused, but not of all when there are many."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._told = deque([float("-inf")] * _REFUSALS_KEPT, _REFUSALS_KEPT)

    async def __call__(self, peer: str) -> None:
        if (now := time.monotonic()) - self._told[0] > 60:
            self._told.append(now)
            await self._tell(_NOBODY.at(peer), "login refused")


class LoginBody(Struct, frozen=True, forbid_unknown_fields=True):
    """A browser's one-time code."""

    code: str
    """What stands behind the # of the address that `openagent web` prints."""

    def __repr__(self) -> str:
        return "LoginBody()"


class Me(Struct, frozen=True, omit_defaults=True):
    """Who is asking."""

    name: str
    """Who is asking."""
    scopes: list[Scope]
    """What they may do."""
    roots: list[str] = []
    """The folders they work below; `/`: all."""
    expires_at: float | None = None
    """When the login or token ends, in seconds since 1970; null: not by itself."""


class Connect(Struct, frozen=True):
    """What a client needs to go on over the WebSocket."""

    websocket: str
    """Where the WebSocket is."""
    protocol: str
    """The protocol's version."""
    version: str
    """The daemon's version."""
    name: str
    """Who is asking."""
    scopes: list[Scope]
    """What they may do."""


def browser_rows(gate: Gate, tell: Tell, guesses: Guesses) -> list[Custom]:
    """`tell`: what the audit trail is to know of whom."""
    refused = Seldom(tell)

    async def log_in(request: Request) -> Response:
        if "origin" in request.headers and request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
            raise Refused(403, "wrong_origin", "The request comes from a page of another origin.")
        given = decode_body(request, await read_body(request), LoginBody)
        logged_in = await gate.log_in(given.code)
        host, port = request.client or ("", 0)
        if logged_in is None:
            await refused(f"{host}:{port}")
            wait = await guesses.wrong(host, given.code)
            return too_many_guesses(wait) if wait else not_authenticated()
        await tell(logged_in.caller.at(f"{host}:{port}"), "logged in")
        response = json_response(_me(logged_in.caller))
        response.headers["Set-Cookie"] = (
            f"{cookie_of(request.headers)}={logged_in.secret}; Path=/; HttpOnly; SameSite=Strict; "
            f"Expires={formatdate(logged_in.expires_at, usegmt=True)}{_secure(request)}"
        )
        return response

    async def log_out(request: Request) -> Response:
        await gate.log_out(request.state.caller)
        await tell(request.state.caller, "logged out")
        gone = f"{cookie_of(request.headers)}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"
        return Response(status_code=204, headers={"Set-Cookie": gone})

    async def me(request: Request) -> Response:
        return json_response(_me(request.state.caller))

    async def connect(request: Request) -> Response:
        caller: Caller = request.state.caller
        kind = "wss" if request.url.scheme == "https" else "ws"
        url = f"{kind}://{request.headers['host']}{WEBSOCKET}"
        return json_response(Connect(url, PROTOCOL_VERSION, __version__, caller.name, sorted(caller.scopes)))

    return [
        Custom("POST", LOGIN, "Log a browser in with a one-time code.", log_in, scope=None, body=LoginBody, result=Me),
        Custom("POST", "/api/logout", "End this browser's login.", log_out, scope="read", status=204),
        Custom("GET", "/api/me", "Who is asking, and what they may do.", me, scope="read", result=Me),
        Custom("GET", "/api/v1/tui/connect", "Where a terminal client goes on.", connect, scope="read", result=Connect),
    ]


def _me(caller: Caller) -> Me:
    return Me(caller.name, sorted(caller.scopes), list(caller.roots), caller.expires_at)


def _secure(request: Request) -> str:
    return "; Secure" if request.url.scheme == "https" else ""
