"""OAuth 2.0 with PKCE (S256): logging in, keeping the token fresh, logging out.

Client id, endpoints and scopes are configuration; there are no defaults. A login is answered by the browser on a
loopback address, or by a person who pastes what the browser showed. A state that comes along is checked; a code alone
is bound to this login by its verifier.

    AuthenticationFailed
    ├── LoginFailed       this attempt to log in came to nothing
    └── LoginExpired      the refresh was refused: a person has to log in again
"""

import asyncio
import logging
import os
import re
import time
from collections.abc import Awaitable, Callable, Container, Sequence
from contextlib import suppress
from hmac import compare_digest
from secrets import token_urlsafe
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct

from openagent.plugins.provider import AuthenticationFailed, CertificateRefused, ConnectionFailed
from openagent.protocol.errors import OpenAgentError
from openagent.providers.http import CERTIFICATE_HINT

if TYPE_CHECKING:
    import httpx2

EARLY = 60.0
"""Seconds before its end at which a caller no longer gets a token without a refresh."""
AHEAD = 300.0
"""Seconds before its end at which the background job renews a token, so that callers need not wait."""
RETRY_FIRST, RETRY_LONGEST = 5.0, 300.0
_HTTP_TIMEOUT = 30.0
_HEAD_LIMIT = 16 * 1024
_HEAD_TIMEOUT = 10.0
ANY_PORT = "http://127.0.0.1/callback"
"""Where the browser comes back to when the provider wants no certain address."""
_LOOPBACK = {"127.0.0.1": ("127.0.0.1",), "::1": ("::1",), "localhost": ("127.0.0.1", "::1")}
_ERROR_CODE = re.compile(r"[a-z_]{1,40}")
"""Only the short code is ever shown: in descriptions servers have been seen to repeat what they were sent."""
_PASSING = frozenset({"temporarily_unavailable", "server_error", "slow_down"})

_log = logging.getLogger(__name__)


class LoginFailed(AuthenticationFailed):
    pass


class LoginExpired(AuthenticationFailed):
    pass


class OAuthSettings(Struct, frozen=True, kw_only=True):
    provider: str
    client_id: str
    authorize_url: str
    token_url: str
    revoke_url: str = ""
    device_url: str = ""
    redirect_uri: str = ""
    """As it was registered. Of this machine: listened at, on any port if it names none. Elsewhere: a page that shows a
    code. Empty: any port of this machine."""
    scopes: tuple[str, ...] = ()
    client_secret: str = ""
    """For clients that were issued one. Public clients have none: PKCE protects them."""
    authorize_params: dict[str, str] = {}
    """Whatever else a provider wants in the URL, such as `access_type=offline`."""

    def __post_init__(self) -> None:
        for url in (self.authorize_url, self.token_url, self.revoke_url, self.device_url):
            check_address(url, self.provider)

    def __repr__(self) -> str:
        return f"OAuthSettings(provider={self.provider!r}, client_id={self.client_id!r})"


def check_address(url: str, provider: str) -> None:
    parts = urlsplit(url)
    if url and parts.scheme != "https" and parts.hostname not in _LOOPBACK:
        raise OpenAgentError(
            "config_error",
            f"The OAuth endpoint {url} of {provider} is not an https address.",
            hint="Tokens are only sent over https, or to this machine.",
        )


class Tokens(Struct, frozen=True):
    access: str
    refresh: str = ""
    expires_at: float | None = None
    scopes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Tokens(expires_at={self.expires_at}, scopes={self.scopes})"


class Login(Struct, frozen=True):
    """One attempt to log in, from its URL to the exchange of its code."""

    settings: OAuthSettings
    url: str
    redirect_uri: str
    state: str
    verifier: str

    def __repr__(self) -> str:
        return f"Login(provider={self.settings.provider!r})"

    @classmethod
    def start(cls, settings: OAuthSettings, redirect_uri: str) -> "Login":
        state, verifier = token_urlsafe(32), token_urlsafe(48)
        url = _authorization_url(settings, redirect_uri, state, verifier)
        return cls(settings, url, redirect_uri, state, verifier)

    def code_from(self, answer: str) -> str:
        """`answer` is what came back: the whole redirect address, `code#state`, or the code that a page shows."""
        answer = answer.strip()
        if any(f"{name}=" in answer for name in ("code", "state", "error")):
            fields = parse_qs(urlsplit(answer).query or answer)
            code, state, error = (fields.get(name, [""])[0] for name in ("code", "state", "error"))
        else:
            code, mark, state = answer.partition("#")
            # No other login's code passes the exchange: it was not asked for with this one's challenge.
            error, state = "", state if mark or not code else self.state
        if not compare_digest(state.encode(), self.state.encode()):
            raise LoginFailed(
                f"What came back does not belong to this login to {self.settings.provider}.",
                hint="Paste the code, or the whole address the browser ended at, or start the login again.",
            )
        if error or not code:
            raise refused(self.settings.provider, error)
        return code

    async def exchange(self, code: str, *, clock: Callable[[], float] = time.time) -> Tokens:
        """A code is good for one exchange."""

        async def ask(client: Any) -> Any:
            return await client.fetch_token(
                self.settings.token_url, grant_type="authorization_code", code=code, code_verifier=self.verifier
            )

        answer = await ask_server(self.settings, ask, redirect_uri=self.redirect_uri)
        if isinstance(answer, str):
            raise LoginFailed(
                f"{self.settings.provider} did not accept the login code ({answer}).", hint="Start the login again."
            )
        return tokens_of(answer, clock(), scopes=self.settings.scopes)


class BrowserLogin:
    """A login in a browser, for as long as it is entered. Where the redirect is to this machine, a tiny server waits
    for it there."""

    login: Login
    code = ""
    """Nobody has to type one there."""
    expires_at = float("inf")

    def __init__(self, settings: OAuthSettings, *, learn: Callable[[str], None] = lambda code: None) -> None:
        """`learn` is told the code: it must not be shown to anybody."""
        self._settings = settings
        self._learn = learn
        self._servers: list[asyncio.Server] = []
        self._answered: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._pasted: asyncio.Future[Tokens] = asyncio.get_running_loop().create_future()

    async def __aenter__(self) -> Self:
        wanted = self._settings.redirect_uri or ANY_PORT
        parts = urlsplit(wanted)
        self._path = parts.path or "/"
        self.comes_back = parts.scheme == "http" and parts.hostname in _LOOPBACK
        if self.comes_back:
            port = await self._listen(_LOOPBACK[parts.hostname or ""], parts.port or 0)
            name = f"[{parts.hostname}]" if parts.hostname == "::1" else parts.hostname
            wanted = parts._replace(netloc=f"{name}:{port}").geturl()
        self.login = Login.start(self._settings, wanted)
        self.url = self.login.url
        return self

    async def _listen(self, addresses: Sequence[str], port: int) -> int:
        """The port. A machine without IPv6 is no problem while the first address does."""
        first, *others = addresses
        try:
            self._servers.append(await asyncio.start_server(self._serve, first, port, limit=_HEAD_LIMIT))
        except OSError as problem:
            raise LoginFailed(
                f"The login to {self._settings.provider} comes back to port {port} of this machine, which cannot be "
                f"used: {os.strerror(problem.errno or 0)}.",
                hint="End what uses that port, or register another redirect_uri with the provider.",
            ) from None
        port = self._servers[0].sockets[0].getsockname()[1]
        for other in others:
            with suppress(OSError):
                self._servers.append(await asyncio.start_server(self._serve, other, port, limit=_HEAD_LIMIT))
        return port

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in self._servers:
            server.close()
        for future in (self._answered, self._pasted):
            if future.done() and not future.cancelled():
                future.exception()
            else:
                future.cancel()

    async def tokens(self) -> Tokens:
        """Waits for the browser, or for what is pasted. Raises LoginFailed when the person said no."""
        await asyncio.wait([self._answered, self._pasted], return_when=asyncio.FIRST_COMPLETED)
        if self._pasted.done():
            return self._pasted.result()
        return await self._exchange(self._answered.result())

    async def paste(self, answer: str) -> None:
        """For a browser that cannot come back: ends the wait just the same. What is refused ends nothing."""
        tokens = await self._exchange(self.login.code_from(answer))
        if not self._pasted.done():
            self._pasted.set_result(tokens)

    async def _exchange(self, code: str) -> Tokens:
        self._learn(code)
        return await self.login.exchange(code)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_HEAD_TIMEOUT):
                head = await reader.readuntil(b"\r\n\r\n")
                status, text = self._answer(head.split(b"\r\n", 1)[0].decode("latin-1").split(" "))
                body = f"<!doctype html><meta charset=utf-8><title>OpenAgent</title><p>{text}</p>".encode()
                writer.write(
                    f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
                    "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n".encode()
                    + body
                )
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            _log.debug("login callback connection closed early")
        finally:
            writer.close()

    def _answer(self, request_line: list[str]) -> tuple[str, str]:
        """A request without this login's state is answered and otherwise ignored: any page can send one."""
        if len(request_line) != 3 or request_line[0] != "GET" or urlsplit(request_line[1]).path != self._path:
            return "404 Not Found", "There is nothing here."
        no_login = "400 Bad Request", "This did not log you in. Go back to OpenAgent and start the login again."
        state = parse_qs(urlsplit(request_line[1]).query).get("state", [""])[0]
        if not compare_digest(state.encode(), self.login.state.encode()):
            return no_login
        try:
            code = self.login.code_from(request_line[1])
        except LoginFailed as problem:
            if not self._answered.done():
                self._answered.set_exception(problem)
            return no_login
        if not self._answered.done():
            self._answered.set_result(code)
        return "200 OK", "You are logged in. You can close this window and go back to OpenAgent."


class OAuthCredentials:
    """One provider's tokens. Many callers at once cause one refresh."""

    def __init__(
        self,
        settings: OAuthSettings,
        tokens: Tokens,
        *,
        save: Callable[[Tokens], Awaitable[None]],
        on_login_required: Callable[[str, str], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`save` keeps renewed tokens; `on_login_required` is told the provider and the reason, once per login."""
        self._settings = settings
        self._save = save
        self._on_login_required = on_login_required
        self._clock = clock
        self._refreshing: asyncio.Task[None] | None = None
        self._renewed = asyncio.Event()
        self.replace(tokens)

    def replace(self, tokens: Tokens) -> None:
        """After a new login."""
        self._tokens = tokens
        self._ended = ""
        self._early, self._ahead = EARLY, AHEAD
        self._renewed.set()

    @property
    def ended(self) -> str:
        """Why a person has to log in again; empty: nobody has to."""
        if not self._ended and not self._tokens.refresh and self._left() <= 0:
            return "there is no refresh token"
        return self._ended

    async def authorization(self) -> str:
        if self._ended:
            raise self._expired()
        if self._left() > self._early:
            return self._tokens.access
        try:
            await self.refresh()
        except ConnectionFailed:
            if self._left() <= 0:
                raise
        return self._tokens.access

    async def refresh(self) -> None:
        """Joins a refresh that is under way. A caller that gives up does not stop it for the others."""
        if self._refreshing is None:
            self._refreshing = asyncio.create_task(self._refresh())
            self._refreshing.add_done_callback(self._refresh_ended)
        await asyncio.shield(self._refreshing)

    async def keep_fresh(self) -> None:
        """The background job: renews the token before it ends, until it is cancelled."""
        retry = RETRY_FIRST
        pause = self._until_due()
        while True:
            self._renewed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._renewed.wait()
                retry, pause = RETRY_FIRST, self._until_due()
                continue
            try:
                await self.refresh()
                retry, pause = RETRY_FIRST, self._until_due()
            except LoginExpired:
                pause = None
            except ConnectionFailed as problem:
                _log.warning("login to %s could not be renewed, retrying: %s", self._settings.provider, problem)
                retry, pause = min(retry * 2, RETRY_LONGEST), retry

    async def revoke(self) -> None:
        """Logs out at the provider, as far as it offers that, and here."""
        if self._refreshing:
            await asyncio.wait([self._refreshing])
        tokens, url = self._tokens, self._settings.revoke_url
        self._ended = "logged out"

        async def ask(client: Any) -> Any:
            for hint, token in (("refresh_token", tokens.refresh), ("access_token", tokens.access)):
                if token:
                    response = await client.revoke_token(url, token=token, token_type_hint=hint)
                    response.raise_for_status()
            return {}

        if url:
            await ask_server(self._settings, ask)

    def _left(self) -> float:
        return float("inf") if self._tokens.expires_at is None else self._tokens.expires_at - self._clock()

    def _until_due(self) -> float | None:
        """None when there is nothing to renew."""
        if self._ended or not self._tokens.refresh or self._tokens.expires_at is None:
            return None
        return max(0.0, self._left() - self._ahead)

    async def _refresh(self) -> None:
        before = self._tokens
        if not before.refresh:
            raise self._require_login("there is no refresh token")

        async def ask(client: Any) -> Any:
            return await client.refresh_token(self._settings.token_url, refresh_token=before.refresh)

        answer = await ask_server(self._settings, ask)
        if self._tokens is not before:
            return  # Somebody logged in anew meanwhile.
        if isinstance(answer, str):
            raise self._require_login(answer)
        self.replace(tokens_of(answer, self._clock(), refresh=before.refresh, scopes=before.scopes))
        # A token that lives for seconds only would otherwise always be about to end.
        self._early, self._ahead = min(EARLY, self._left() / 10), min(AHEAD, self._left() / 2)
        try:
            await self._save(self._tokens)
        except (OSError, OpenAgentError) as problem:
            _log.error("renewed login to %s could not be stored: %s", self._settings.provider, problem)

    def _refresh_ended(self, task: asyncio.Task[None]) -> None:
        self._refreshing = None
        if not task.cancelled():
            task.exception()

    def _require_login(self, reason: str) -> LoginExpired:
        self._ended = reason
        self._on_login_required(self._settings.provider, reason)
        return self._expired()

    def _expired(self) -> LoginExpired:
        provider = self._settings.provider
        return LoginExpired(
            f"The login to {provider} has ended ({self._ended}).",
            hint=f"Log in again with `openagent auth login {provider}`.",
        )


def _authorization_url(settings: OAuthSettings, redirect_uri: str, state: str, verifier: str) -> str:
    from authlib.oauth2.client import OAuth2Client

    scope = list(settings.scopes) or None
    client: Any = OAuth2Client(None, settings.client_id, scope=scope, code_challenge_method="S256")
    url, _ = client.create_authorization_url(
        settings.authorize_url,
        state=state,
        code_verifier=verifier,
        redirect_uri=redirect_uri,
        **settings.authorize_params,
    )
    return url


def _client(settings: OAuthSettings, **options: Any) -> Any:
    from authlib.integrations.httpx_client import AsyncOAuth2Client

    return AsyncOAuth2Client(
        client_id=settings.client_id,
        client_secret=settings.client_secret or None,
        scope=list(settings.scopes) or None,
        timeout=_HTTP_TIMEOUT,
        event_hooks={"response": [_raise_when_overloaded]},
        **options,
    )


async def ask_server(
    settings: OAuthSettings,
    ask: Callable[[Any], Awaitable[Any]],
    *,
    passing: Container[str] = _PASSING,
    **options: Any,
) -> dict[str, Any] | str:
    """The endpoint's answer, or the code with which it refused. Codes in `passing` mean that it may answer later."""
    import httpx2

    server = f"The login server of {settings.provider}"
    # Loading authlib and the certificates takes long enough to be felt by every session.
    unopened = await asyncio.to_thread(_client, settings, **options)
    try:
        async with unopened as client:
            return dict(await ask(client))
    except unopened.oauth_error_class as refusal:
        code = str(refusal.error)
        if _ERROR_CODE.fullmatch(code) and code not in passing:
            return code
        problem = f"{server} is not ready to answer."
    except httpx2.HTTPStatusError as error:
        problem = f"{server} answered {error.response.status_code}."
    except httpx2.HTTPError as error:
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            raise CertificateRefused(
                f"The certificate of the login server of {settings.provider} cannot be verified.", hint=CERTIFICATE_HINT
            ) from None
        problem = f"{server} cannot be reached ({type(error).__name__})."
    except ValueError:
        problem = f"{server} gave an answer that is not OAuth."
    raise ConnectionFailed(problem, hint="Try again later, and check the OAuth endpoints in the config.")


async def _raise_when_overloaded(response: "httpx2.Response") -> None:
    if response.status_code in (408, 429):
        response.raise_for_status()


def tokens_of(answer: dict[str, Any], now: float, *, scopes: tuple[str, ...], refresh: str = "") -> Tokens:
    access, scope, lifetime = answer.get("access_token"), answer.get("scope"), _lifetime(answer.get("expires_in"))
    if not isinstance(access, str) or not access:
        raise ConnectionFailed(
            "The login server's answer holds no access token.", hint="Check the OAuth endpoints in the config."
        )
    renewed = answer.get("refresh_token")
    return Tokens(
        access=access,
        refresh=renewed if isinstance(renewed, str) and renewed else refresh,
        expires_at=None if lifetime is None else now + lifetime,
        scopes=tuple(scope.split()) if isinstance(scope, str) else scopes,
    )


def _lifetime(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def refused(provider: str, error: str) -> LoginFailed:
    shown = error if _ERROR_CODE.fullmatch(error) else "no reason given"
    return LoginFailed(
        f"The login to {provider} was not granted ({shown}).", hint="Start the login again and allow the access."
    )
