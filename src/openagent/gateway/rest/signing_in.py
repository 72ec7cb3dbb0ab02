"""How people come in: a browser by way of the provider they log in with, a terminal by a code (RFC 8628)."""

from email.utils import formatdate
from typing import Literal
from urllib.parse import urlencode

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from openagent.daemon.callers import Caller
from openagent.gateway.authentication import Gate, LoggedIn, SigningIn
from openagent.gateway.guesses import Guesses
from openagent.gateway.request_guard import (
    DEVICE_CODE,
    DEVICE_TOKEN,
    SIGN_IN,
    SIGN_IN_CALLBACK,
    SIGN_IN_START,
    cookie_of,
)
from openagent.gateway.rest.asking import json_response
from openagent.gateway.rest.browser import Tell
from openagent.gateway.rest.decode import decode_body, read_body
from openagent.gateway.rest.endpoint import Custom
from openagent.gateway.rest.problems import Refused, too_many_guesses
from openagent.protocol.errors import OpenAgentError

NOBODY = Caller("", "nobody", frozenset())
_GO_ON = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={}"><title>OpenAgent</title>'
"""Not a redirect: what follows one that began at the provider counts as its request, and is sent without our cookie."""


class Offered(Struct, frozen=True):
    """How people log in here."""

    name: str
    """Whom they log in with; empty: nobody logs in."""
    url: str
    """Where a browser goes for it."""
    passwords: bool
    """They may log in with a password, too."""


class StartQuery(Struct, frozen=True):
    """Where to go on."""

    after: str = "/"
    """The page to show afterwards."""


class CallbackQuery(Struct, frozen=True):
    """What the provider sends the browser back with."""

    state: str = ""
    """What the browser was sent with."""
    code: str = ""
    """What the login is fetched with."""
    error: str = ""
    """Why there is none."""


class DeviceBody(Struct, frozen=True):
    """A program that asks to be let in."""

    client: str = "openagent"
    """What it calls itself."""


class DeviceAsked(Struct, frozen=True):
    """What a person is to be shown (RFC 8628)."""

    device_code: str
    """For the program, which asks with it whether it is let in."""
    user_code: str
    """For the person, to compare or to type."""
    verification_uri: str
    """Where they confirm it."""
    verification_uri_complete: str
    """The same with the code in it."""
    expires_in: float
    """Seconds for which both work."""
    interval: float
    """Seconds between two questions."""


class PollBody(Struct, frozen=True):
    """A program that waits to be let in."""

    device_code: str
    """What it was given."""

    def __repr__(self) -> str:
        return "PollBody()"


class Token(Struct, frozen=True):
    """It is let in."""

    access_token: str
    """What to show as `Authorization: Bearer`."""
    expires_in: float
    """Seconds for which it works."""
    name: str
    """Whose it is."""
    token_type: Literal["Bearer"] = "Bearer"  # noqa: S105 -- a kind of token, and none
    """How to show it."""


class NotYet(Struct, frozen=True):
    """It is not let in, or not yet."""

    error: str
    """authorization_pending, slow_down, access_denied or expired_token."""


class WaitingQuery(Struct, frozen=True):
    """Which."""

    code: str
    """What the program shows."""


class WaitingProgram(Struct, frozen=True):
    """A program that asks to be let in as you."""

    client: str
    """What it calls itself."""


class DecideBody(Struct, frozen=True):
    """Whether it is let in."""

    code: str
    """What the program shows."""
    allow: bool
    """Let it in as you."""


def signing_in_rows(gate: Gate, tell: Tell, guesses: Guesses) -> list[Custom]:
    async def service() -> SigningIn:
        found = await gate.signing_in()
        if found is None:
            raise Refused(
                404, "not_found", "Nobody logs in here.", hint="`openagent people add ADDRESS` lets somebody in."
            )
        return found

    async def offered(request: Request) -> Response:
        found = await gate.signing_in()
        after = urlencode({"after": request.query_params.get("after", "/")})
        name, passwords = (found.offered(), await found.has_passwords()) if found else ("", False)
        return json_response(Offered(name, f"{SIGN_IN_START}?{after}", passwords))

    async def start(request: Request) -> Response:
        found = await service()
        if not found.offered():
            return RedirectResponse(f"/login?{urlencode({'after': request.query_params.get('after', '/')})}", 303)
        try:
            started = await found.start(_origin(request), request.query_params.get("after", "/"))
        except OpenAgentError as problem:
            return await _back(request, tell, problem)
        leaving = RedirectResponse(started.url, 303)
        leaving.headers["Set-Cookie"] = (
            f"{_state_cookie(request)}={started.state}; Path={SIGN_IN_CALLBACK}; HttpOnly; SameSite=Lax; Max-Age=600"
            f"{_secure(request)}"
        )
        return leaving

    async def finish(request: Request) -> Response:
        given = {name: value for name, value in request.query_params.items() if name in ("state", "code", "error")}
        try:
            done = await (await service()).finish(request.cookies.get(_state_cookie(request), ""), given)
        except OpenAgentError as problem:
            if wait := await guesses.wrong(host(request), given.get("state", "")):
                return too_many_guesses(wait)
            return await _back(request, tell, problem)
        await tell(done.logged_in.caller.at(peer(request)), "logged in")
        come_in = Response(_GO_ON.format(done.after.replace('"', "%22")), media_type="text/html")
        come_in.headers["Set-Cookie"] = login_cookie(done.logged_in, request)
        return come_in

    async def device(request: Request) -> Response:
        given = decode_body(request, await read_body(request), DeviceBody)
        code = await (await service()).device(_origin(request), given.client)
        return json_response(DeviceAsked(*code))

    async def poll(request: Request) -> Response:
        given = decode_body(request, await read_body(request), PollBody)
        answer = await (await service()).poll(given.device_code)
        if answer == "expired_token" and (wait := await guesses.wrong(host(request), given.device_code)):
            return too_many_guesses(wait)
        if isinstance(answer, str):
            refusal = json_response(NotYet(answer))
            refusal.status_code = 400
            return refusal
        await tell(answer.caller.at(peer(request)), "logged in")
        return json_response(Token(answer.secret, answer.expires_in, answer.caller.name))

    async def waiting(request: Request) -> Response:
        found = await (await service()).waiting(request.state.caller, request.query_params.get("code", ""))
        return json_response(WaitingProgram(found.client))

    async def decide(request: Request) -> Response:
        given = decode_body(request, await read_body(request), DecideBody)
        await (await service()).decide(request.state.caller, given.code, given.allow)
        await tell(request.state.caller, "let a terminal in" if given.allow else "let no terminal in")
        return Response(status_code=204)

    return [
        Custom("GET", SIGN_IN, "How people log in here.", offered, scope=None, query=StartQuery, result=Offered),
        Custom("GET", SIGN_IN_START, "Go and log in.", start, scope=None, query=StartQuery, status=303),
        Custom(
            "GET",
            SIGN_IN_CALLBACK,
            "Come back from logging in.",
            finish,
            scope=None,
            query=CallbackQuery,
            media="text/html",
            also=(303,),
        ),
        Custom(
            "POST",
            DEVICE_CODE,
            "Ask to be let in, as a program without a browser.",
            device,
            scope=None,
            body=DeviceBody,
            result=DeviceAsked,
        ),
        Custom(
            "POST",
            DEVICE_TOKEN,
            "Whether the program is let in by now.",
            poll,
            scope=None,
            body=PollBody,
            result=Token,
            refusals=(400,),
        ),
        Custom(
            "GET",
            "/api/device",
            "Which program shows this code.",
            waiting,
            scope="read",
            query=WaitingQuery,
            result=WaitingProgram,
        ),
        Custom(
            "POST",
            "/api/device",
            "Let that program in as you, or not.",
            decide,
            scope="read",
            body=DecideBody,
            status=204,
        ),
    ]


async def _back(request: Request, tell: Tell, problem: OpenAgentError) -> Response:
    """To the page it began at, which says that it did not work; why stands in the audit trail."""
    await tell(NOBODY.at(peer(request)), f"login refused: {problem.info.message}"[:300])
    kind = "unreachable" if problem.info.code == "provider_error" else "refused"
    return RedirectResponse(f"/login?problem={kind}", 303)


def _state_cookie(request: Request) -> str:
    return f"{cookie_of(request.headers)}-sign-in"


def login_cookie(logged_in: LoggedIn, request: Request) -> str:
    expires = formatdate(logged_in.expires_at, usegmt=True)
    named = f"{cookie_of(request.headers)}={logged_in.secret}"
    return f"{named}; Path=/; HttpOnly; SameSite=Strict; Expires={expires}{_secure(request)}"


def _origin(request: Request) -> str:
    return f"{request.url.scheme}://{request.headers['host']}"


def peer(request: Request) -> str:
    host, port = request.client or ("", 0)
    return f"{host}:{port}"


def host(request: Request) -> str:
    return request.client.host if request.client else ""


def _secure(request: Request) -> str:
    return "; Secure" if request.url.scheme == "https" else ""
