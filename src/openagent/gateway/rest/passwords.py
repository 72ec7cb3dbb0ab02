"""Signing in with a password, which a person chooses when they open their invitation."""

from urllib.parse import urlsplit

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from openagent.gateway.authentication import Gate, Invitation, LoggedIn
from openagent.gateway.guesses import Guesses
from openagent.gateway.request_guard import INVITATION, JOIN, LOOPBACK, PASSWORD
from openagent.gateway.rest.asking import json_response
from openagent.gateway.rest.browser import Seldom, Tell
from openagent.gateway.rest.decode import decode_body, read_body
from openagent.gateway.rest.endpoint import Custom
from openagent.gateway.rest.problems import Refused, too_many_guesses
from openagent.gateway.rest.signing_in import host, login_cookie, peer


class PasswordBody(Struct, frozen=True, forbid_unknown_fields=True):
    """A person who signs in."""

    email: str
    """Their address."""
    password: str
    """Their password."""
    after: str = "/"
    """The page to show afterwards."""

    def __repr__(self) -> str:
        return "PasswordBody()"


class Inside(Struct, frozen=True):
    """Signed in."""

    after: str
    """The page to show next."""


class InvitationBody(Struct, frozen=True, forbid_unknown_fields=True):
    """An invitation that was opened."""

    invitation: str
    """The part of the link after the #."""

    def __repr__(self) -> str:
        return "InvitationBody()"


class JoinBody(Struct, frozen=True, forbid_unknown_fields=True):
    """A person who chooses a password."""

    invitation: str
    """The part of the link after the #."""
    password: str
    """At least 12 characters."""

    def __repr__(self) -> str:
        return "JoinBody()"


class ChangeBody(Struct, frozen=True, forbid_unknown_fields=True):
    """A person who changes their password."""

    old: str
    """The current password."""
    new: str
    """The new password: at least 12 characters."""

    def __repr__(self) -> str:
        return "ChangeBody()"


def password_rows(gate: Gate, tell: Tell, guesses: Guesses) -> list[Custom]:
    refused = Seldom(tell)

    async def sign_in(request: Request) -> Response:
        given = decode_body(request, await read_body(request), PasswordBody)
        _check_line(request)
        found = await gate.signing_in()
        _look(guesses, request, given.email)
        done = await found.by_password(given.email, given.password, given.after) if found else None
        if done is None:
            await refused(peer(request))
            raise Refused(401, "unauthorized", "Incorrect address or password.")
        guesses.right(host(request), given.email)
        await tell(done.logged_in.caller.at(peer(request)), "logged in")
        return _come_in(request, done.logged_in, done.after)

    async def look_at(request: Request) -> Response:
        given = decode_body(request, await read_body(request), InvitationBody)
        _check_line(request)
        found = await gate.signing_in()
        invitation = await found.invited(given.invitation) if found else None
        return json_response(invitation) if invitation else await no_such(request, given.invitation)

    async def join(request: Request) -> Response:
        given = decode_body(request, await read_body(request), JoinBody)
        _check_line(request)
        found = await gate.signing_in()
        joined = await found.join(given.invitation, given.password) if found else None
        if joined is None:
            return await no_such(request, given.invitation)
        caller = joined.logged_in.caller.at(peer(request))
        await tell(caller, "joined" if joined.is_new else "reset the password with an invitation")
        return _come_in(request, joined.logged_in, "/")

    async def change(request: Request) -> Response:
        given = decode_body(request, await read_body(request), ChangeBody)
        _check_line(request)
        caller, found = request.state.caller, await gate.signing_in()
        if found is None or not caller.person:
            raise Refused(403, "permission_denied", "This token does not belong to a person, so it has no password.")
        _look(guesses, request, caller.name)
        if not await found.change_password(caller, given.old, given.new):
            raise Refused(422, "invalid_argument", "The current password is incorrect.")
        guesses.right(host(request), caller.name)
        await tell(caller, "changed the password")
        return Response(status_code=204)

    async def no_such(request: Request, secret: str) -> Response:
        if wait := await guesses.wrong(host(request), secret):
            return too_many_guesses(wait)
        raise Refused(
            404,
            "not_found",
            "This link has expired, was already used, or was replaced by a newer one.",
            hint="Ask an admin for a new link.",
        )

    return [
        Custom("POST", PASSWORD, "Sign in with a password.", sign_in, scope=None, body=PasswordBody, result=Inside),
        Custom(
            "POST", INVITATION, "Who an invitation is for.", look_at, scope=None, body=InvitationBody, result=Invitation
        ),
        Custom("POST", JOIN, "Choose a password and sign in.", join, scope=None, body=JoinBody, result=Inside),
        Custom(
            "POST",
            "/api/password",
            "Change your password, which revokes your other sign-ins and tokens.",
            change,
            scope="read",
            body=ChangeBody,
            status=204,
        ),
    ]


def _check_line(request: Request) -> None:
    """A browser says in `Origin` how it loaded the page, even behind a proxy that terminates TLS."""
    place = urlsplit(request.headers.get("origin") or str(request.url))
    if place.scheme != "https" and place.hostname not in LOOPBACK:
        raise Refused(
            403,
            "permission_denied",
            "Passwords are accepted only over https, or on the server itself.",
            hint="Open this server at its https:// address.",
        )


def _look(guesses: Guesses, request: Request, account: str) -> None:
    if wait := guesses.before(host(request), account):
        raise Refused(
            429,
            "rate_limited",
            "Too many incorrect passwords.",
            hint=f"Try again in {wait} seconds.",
            headers={"Retry-After": str(wait)},
        )


def _come_in(request: Request, logged_in: LoggedIn, after: str) -> Response:
    response = json_response(Inside(after))
    response.headers["Set-Cookie"] = login_cookie(logged_in, request)
    return response
