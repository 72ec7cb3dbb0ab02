import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import pytest
from authlib.oauth2.rfc7636 import create_s256_code_challenge  # pyright: ignore[reportUnknownVariableType]

from openagent.plugins.provider import AuthenticationFailed, ConnectionFailed
from openagent.protocol.errors import OpenAgentError
from openagent.providers import oauth
from openagent.providers.oauth import (
    BrowserLogin,
    Login,
    LoginExpired,
    LoginFailed,
    OAuthCredentials,
    OAuthSettings,
    Tokens,
)

from .authorization_server import AuthorizationServer

pytestmark = pytest.mark.anyio

PASTED = "https://example.com/after-login"


def settings_for(server: AuthorizationServer, **authorize_params: str) -> OAuthSettings:
    return OAuthSettings(
        provider="anthropic",
        client_id=server.client_id,
        client_secret=server.client_secret,
        authorize_url=f"{server.url}/authorize",
        token_url=f"{server.url}/token",
        revoke_url=f"{server.url}/revoke",
        scopes=("chat", "models"),
        authorize_params=authorize_params,
    )


@pytest.fixture
async def server(anyio_backend: str) -> AsyncIterator[AuthorizationServer]:
    async with AuthorizationServer() as server:
        yield server


@asynccontextmanager
async def a_browser(*, follow: bool = False) -> AsyncGenerator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(follow_redirects=follow, trust_env=False) as browser:
        yield browser


async def redirect_of(login: Login) -> str:
    """What the browser's address line shows after the person said yes."""
    async with a_browser() as browser:
        return (await browser.get(login.url)).headers["location"]


async def log_in(server: AuthorizationServer) -> Tokens:
    login = Login.start(settings_for(server), PASTED)
    return await login.exchange(login.code_from(await redirect_of(login)), clock=lambda: 1000.0)


class Held:
    """Credentials with what they saved and whom they told."""

    def __init__(self, server: AuthorizationServer, tokens: Tokens, now: float = 1000.0) -> None:
        self.now = now
        self.saved: list[Tokens] = []
        self.told: list[tuple[str, str]] = []
        self.credentials = OAuthCredentials(
            settings_for(server),
            tokens,
            save=self.save,
            on_login_required=lambda provider, reason: self.told.append((provider, reason)),
            clock=lambda: self.now,
        )

    async def save(self, tokens: Tokens) -> None:
        self.saved.append(tokens)


def refreshes(server: AuthorizationServer) -> int:
    return sum(fields["grant_type"] == "refresh_token" for fields in server.token_requests)


async def test_the_authorization_url_carries_state_and_a_challenge_made_from_the_verifier(
    server: AuthorizationServer,
) -> None:
    settings = settings_for(server, access_type="offline")
    login, other = Login.start(settings, PASTED), Login.start(settings, PASTED)
    fields = {name: values[0] for name, values in parse_qs(urlsplit(login.url).query).items()}
    assert fields == {
        "response_type": "code",
        "client_id": "openagent-test",
        "redirect_uri": PASTED,
        "scope": "chat models",
        "state": login.state,
        "code_challenge": create_s256_code_challenge(login.verifier),
        "code_challenge_method": "S256",
        "access_type": "offline",
    }
    assert login.verifier not in login.url
    assert login.state != other.state
    assert login.verifier != other.verifier


@pytest.mark.parametrize("form", ["url", "code#state", "query", "code"])
async def test_a_pasted_answer_logs_in(server: AuthorizationServer, form: str) -> None:
    login = Login.start(settings_for(server), PASTED)
    redirect = await redirect_of(login)
    query = {name: values[0] for name, values in parse_qs(urlsplit(redirect).query).items()}
    pasted = {"url": redirect, "code#state": f"{query['code']}#{query['state']}", "query": urlsplit(redirect).query}
    pasted["code"] = query["code"]
    tokens = await login.exchange(login.code_from(f"  {pasted[form]}\n"), clock=lambda: 1000.0)
    assert tokens.access in server.access_tokens
    assert tokens.refresh in server.refresh_tokens
    assert (tokens.expires_at, tokens.scopes) == (4600.0, ("chat", "models"))


@pytest.mark.parametrize("pasted", ["", "code#wrong-state", f"{PASTED}?code=x&state=wrong", f"{PASTED}?code=x"])
async def test_an_answer_without_this_logins_state_is_refused(server: AuthorizationServer, pasted: str) -> None:
    login = Login.start(settings_for(server), PASTED)
    with pytest.raises(LoginFailed, match="does not belong to this login"):
        login.code_from(pasted)


async def test_a_login_that_was_denied_says_so(server: AuthorizationServer) -> None:
    server.denies = "access_denied"
    login = Login.start(settings_for(server), PASTED)
    with pytest.raises(LoginFailed, match="not granted \\(access_denied\\)"):
        login.code_from(await redirect_of(login))


async def test_a_code_is_good_once_and_only_with_its_verifier(server: AuthorizationServer) -> None:
    login, other = (Login.start(settings_for(server), PASTED) for _ in range(2))
    code = login.code_from(await redirect_of(login))
    with pytest.raises(LoginFailed, match="invalid_grant") as caught:
        await other.exchange(code)
    assert "s3cret" not in str(caught.value)
    code = login.code_from(await redirect_of(login))
    await login.exchange(code)
    with pytest.raises(LoginFailed, match="did not accept the login code"):
        await login.exchange(code)


async def test_a_client_with_a_secret_is_recognised() -> None:
    async with AuthorizationServer(client_secret="client-secret-1") as server:
        login = Login.start(settings_for(server), PASTED)
        tokens = await login.exchange(login.code_from(await redirect_of(login)))
        assert tokens.access in server.access_tokens
        assert "client-secret-1" not in login.url + repr(login) + repr(settings_for(server))


async def test_the_browser_comes_back_to_a_loopback_address(server: AuthorizationServer) -> None:
    async with BrowserLogin(settings_for(server)) as loopback, a_browser(follow=True) as browser:
        page = await browser.get(loopback.login.url)
        assert page.status_code == 200
        assert "You are logged in" in page.text
        async with asyncio.timeout(60):
            tokens = await loopback.tokens()
        assert urlsplit(loopback.login.redirect_uri).hostname == "127.0.0.1"
    assert tokens.access in server.access_tokens


async def test_requests_of_others_to_the_loopback_address_change_nothing(server: AuthorizationServer) -> None:
    async with BrowserLogin(settings_for(server)) as loopback, a_browser() as browser:
        callback = loopback.login.redirect_uri
        assert (await browser.get(callback.replace("/callback", "/favicon.ico"))).status_code == 404
        assert (await browser.post(f"{callback}?code=x")).status_code == 404
        for query in ({"code": "evil", "state": "guess"}, {"error": "access_denied", "state": "guess"}, {}):
            assert (await browser.get(f"{callback}?{urlencode(query)}")).status_code == 400
        waiting = asyncio.create_task(loopback.tokens())
        await asyncio.sleep(0)
        assert not waiting.done()
        await browser.get(await redirect_of(loopback.login))
        assert (await waiting).access in server.access_tokens


async def test_a_denied_login_ends_the_wait_at_the_loopback_address(server: AuthorizationServer) -> None:
    server.denies = "access_denied"
    async with BrowserLogin(settings_for(server)) as loopback, a_browser(follow=True) as browser:
        assert (await browser.get(loopback.login.url)).status_code == 400
        with pytest.raises(LoginFailed, match="access_denied"):
            await loopback.tokens()


async def test_a_pasted_answer_ends_the_wait_at_the_loopback_address(server: AuthorizationServer) -> None:
    async with BrowserLogin(settings_for(server)) as loopback:
        await loopback.paste(await redirect_of(loopback.login))
        assert (await loopback.tokens()).access in server.access_tokens
    with pytest.raises(httpx2.ConnectError):
        async with a_browser() as browser:
            await browser.get(loopback.login.redirect_uri)


async def test_a_token_that_is_good_is_given_without_asking_anybody(server: AuthorizationServer) -> None:
    tokens = await log_in(server)
    held = Held(server, tokens)
    assert await held.credentials.authorization() == tokens.access
    assert refreshes(server) == 0


async def test_a_token_about_to_end_is_renewed_saved_and_then_used(server: AuthorizationServer) -> None:
    tokens = await log_in(server)
    held = Held(server, tokens, now=4600.0 - 59)
    renewed = await held.credentials.authorization()
    assert renewed != tokens.access
    assert renewed in server.access_tokens
    assert [saved.access for saved in held.saved] == [renewed]
    assert held.saved[0].refresh != tokens.refresh
    held.now += 3600
    assert await held.credentials.authorization() not in (renewed, tokens.access)
    assert refreshes(server) == 2


async def test_a_server_that_does_not_rotate_keeps_its_refresh_token(server: AuthorizationServer) -> None:
    server.rotating = False
    tokens = await log_in(server)
    held = Held(server, tokens, now=5000.0)
    await held.credentials.authorization()
    assert held.saved[0].refresh == tokens.refresh


async def test_many_callers_at_once_cause_one_refresh(server: AuthorizationServer) -> None:
    held = Held(server, await log_in(server), now=5000.0)
    server.gate.clear()
    server.arrived.clear()
    callers = [asyncio.create_task(held.credentials.authorization()) for _ in range(50)]
    await server.arrived.wait()
    callers[0].cancel()
    with suppress(asyncio.CancelledError):
        await callers[0]
    server.gate.set()
    given = await asyncio.gather(*callers[1:])
    assert len(set(given)) == 1
    assert refreshes(server) == 1
    assert len(held.saved) == 1


async def test_a_refused_refresh_asks_for_a_login_once_and_a_new_login_mends_it(server: AuthorizationServer) -> None:
    held = Held(server, await log_in(server), now=5000.0)
    server.refresh_tokens.clear()
    results = await asyncio.gather(*(held.credentials.authorization() for _ in range(5)), return_exceptions=True)
    with pytest.raises(LoginExpired, match="auth login anthropic") as caught:
        await held.credentials.authorization()
    assert isinstance(caught.value, AuthenticationFailed)
    assert caught.value.info.code == "auth_failed"
    assert all(isinstance(result, LoginExpired) for result in results)
    assert held.told == [("anthropic", "invalid_grant")]
    assert refreshes(server) == 1
    held.now = 1000.0
    anew = await log_in(server)
    held.credentials.replace(anew)
    assert await held.credentials.authorization() == anew.access


async def test_without_a_refresh_token_an_ended_login_asks_for_a_new_one(server: AuthorizationServer) -> None:
    held = Held(server, Tokens(access="old", expires_at=10.0))
    with pytest.raises(LoginExpired, match="no refresh token"):
        await held.credentials.authorization()
    assert held.told == [("anthropic", "there is no refresh token")]


async def test_a_token_without_an_end_is_never_renewed(server: AuthorizationServer) -> None:
    server.expires_in = None
    held = Held(server, await log_in(server), now=1e12)
    assert (await held.credentials.authorization()).startswith("access-")
    assert refreshes(server) == 0


@pytest.mark.parametrize(
    "failure",
    [
        (502, "text/html", b"<html>Bad gateway</html>"),
        (200, "text/html", b"<html>Welcome to the hotel network</html>"),
        (403, "text/html", b"<html>Forbidden by proxy</html>"),
        (429, "application/json", b'{"error": "rate_limited"}'),
        (400, "application/json", b'{"error": {"type": "odd", "message": "s3cret"}}'),
        (400, "application/json", b'{"error": "temporarily_unavailable"}'),
        (200, "application/json", b'{"token_type": "Bearer"}'),
        (200, "application/json", b'["access_token"]'),
    ],
)
async def test_a_server_in_trouble_is_no_reason_to_log_in_again(
    server: AuthorizationServer, failure: tuple[int, str, bytes]
) -> None:
    tokens = await log_in(server)
    held = Held(server, tokens, now=5000.0)
    server.failure = failure
    with pytest.raises(ConnectionFailed) as caught:
        await held.credentials.authorization()
    assert caught.value.info.hint
    assert "s3cret" not in str(caught.value)
    assert held.told == []
    server.failure = None
    assert await held.credentials.authorization() in server.access_tokens


async def test_a_token_with_seconds_left_is_used_when_the_server_cannot_be_reached(server: AuthorizationServer) -> None:
    tokens = await log_in(server)
    held = Held(server, tokens, now=4600.0 - 30)
    await server.__aexit__(None, None, None)
    assert await held.credentials.authorization() == tokens.access
    held.now = 4600.0
    with pytest.raises(ConnectionFailed, match="cannot be reached"):
        await held.credentials.authorization()


async def test_a_renewed_token_is_used_even_when_it_cannot_be_stored(
    server: AuthorizationServer, caplog: pytest.LogCaptureFixture
) -> None:
    async def full_disk(tokens: Tokens) -> None:
        raise OpenAgentError("store_error", "The disk is full.")

    told: list[str] = []
    tokens = await log_in(server)
    credentials = OAuthCredentials(
        settings_for(server),
        tokens,
        save=full_disk,
        on_login_required=lambda provider, _: told.append(provider),
        clock=lambda: 5000.0,
    )
    assert await credentials.authorization() in server.access_tokens
    assert "could not be stored: The disk is full." in caplog.text


async def test_the_background_job_renews_before_anybody_has_to_wait(server: AuthorizationServer) -> None:
    held = Held(server, await log_in(server), now=4600.0 - 299)
    job = asyncio.create_task(held.credentials.keep_fresh())
    async with asyncio.timeout(60):
        while not held.saved:
            await asyncio.sleep(0.001)
    assert await held.credentials.authorization() == held.saved[0].access
    assert refreshes(server) == 1
    job.cancel()
    with suppress(asyncio.CancelledError):
        await job


async def test_the_background_job_survives_trouble_and_a_refused_refresh(
    server: AuthorizationServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oauth, "RETRY_FIRST", 0.001)
    held = Held(server, await log_in(server), now=5000.0)
    server.failure = (503, "text/plain", b"")
    job = asyncio.create_task(held.credentials.keep_fresh())
    async with asyncio.timeout(60):
        while refreshes(server) < 3:
            server.arrived.clear()
            await server.arrived.wait()
        server.refresh_tokens.clear()
        server.failure = None
        while not held.told:
            await asyncio.sleep(0.001)
        refused = refreshes(server)
        held.credentials.replace(Tokens("access-x", (await log_in(server)).refresh, expires_at=5100.0))
        while not held.saved:
            await asyncio.sleep(0.001)
    assert refreshes(server) == refused + 1
    assert held.told == [("anthropic", "invalid_grant")]
    assert not job.done()
    job.cancel()
    with suppress(asyncio.CancelledError):
        await job


async def test_revoking_ends_the_login_on_both_sides(server: AuthorizationServer) -> None:
    tokens = await log_in(server)
    held = Held(server, tokens)
    await held.credentials.revoke()
    assert server.revoked == [("refresh_token", tokens.refresh), ("access_token", tokens.access)]
    assert not server.access_tokens
    with pytest.raises(LoginExpired, match="logged out"):
        await held.credentials.authorization()
    assert held.told == []


async def test_tokens_never_show_in_a_repr(server: AuthorizationServer) -> None:
    tokens = Tokens(access="access-value", refresh="refresh-value")
    assert "value" not in repr(tokens) + str(tokens)
    login = Login.start(settings_for(server), PASTED)
    assert login.verifier not in repr(login)


def test_an_endpoint_without_https_is_refused() -> None:
    with pytest.raises(OpenAgentError, match="not an https address") as caught:
        OAuthSettings(provider="x", client_id="c", authorize_url="https://x.example/a", token_url="http://x.example/t")
    assert caught.value.info.code == "config_error"
