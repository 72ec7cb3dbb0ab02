"""What a person reads when a provider refuses, and that the session goes on afterwards."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from devtools.simulator import Simulator, ThreadedSimulator
from openagent.protocol import events as e
from openagent.protocol.auth import AuthLogin, AuthLoginFinish
from openagent.protocol.daemon import DaemonFollow
from openagent.protocol.errors import OpenAgentError

from ..providers_oauth.authorization_server import AuthorizationServer
from .browser import visit
from .place import NO_RETRIES, place, provider, session, turn

pytestmark = pytest.mark.anyio

AGAIN: dict[str, Any] = {"steps": [{"text": "Fine."}], "loop": True}


@pytest.mark.parametrize(
    ("fault", "options", "code", "said", "hint"),
    [
        ("401", {}, "auth_failed", "mine refused the API key.", "ANTHROPIC_API_KEY"),
        ("404", {}, "model_not_found", "mine has no model named 'claude-x'", "openagent models list mine"),
        ("context_too_long", {}, "context_too_long", "The conversation is too long for claude-x", "larger window"),
        ("html", {}, "provider_error", "answered 502 with an HTML page instead of JSON", "proxy"),
        ("html", {"status": 403}, "provider_error", "answered 403 with an HTML page", "proxy"),
        ("quota", {}, "quota_exhausted", "The quota at mine is used up", "switch to another provider"),
        ("garbage", {"after": 1}, "provider_error", "is not the JSON its format promises", "Try again"),
        ("hang", {}, "provider_error", "sent nothing for 0.5 seconds", "timeout"),
    ],
)
async def test_a_refusal_is_one_clear_sentence_and_the_next_message_works(
    tmp_path: Path, fault: str, options: Any, code: str, said: str, hint: str
) -> None:
    async with Simulator(AGAIN) as sim:
        config = provider("mine", "anthropic", sim, 'api_key = "k"', "timeout = 0.5")
        async with place(tmp_path, sim, config, **NO_RETRIES) as house, await house.client() as client:
            one = await session(house, client, "mine/claude-x")
            sim.fail_next(fault, times=1, **options)
            completed, _ = await turn(client, one)
            assert completed.reason == "error"
            assert completed.error is not None
            assert completed.error.code == code
            assert said in completed.error.message
            assert hint.lower() in completed.error.hint.lower()
            assert "\n" not in completed.error.message
            assert completed.error.recoverable
            completed, _ = await turn(client, one, "and now?")
            assert (completed.reason, completed.text) == ("done", "Fine.")


async def test_a_provider_nobody_knows_is_named_with_those_there_are(tmp_path: Path) -> None:
    async with Simulator(AGAIN) as sim:
        config = provider("mine", "compatible", sim)
        async with place(tmp_path, sim, config) as house, await house.client() as client:
            with pytest.raises(OpenAgentError) as refused:
                await session(house, client, "nobody/m")
    assert refused.value.info.message == "There is no provider named 'nobody'."
    assert "mine" in refused.value.info.hint


def oauth(server: AuthorizationServer, sim: Simulator | ThreadedSimulator) -> str:
    return provider("mine", "anthropic", sim, 'auth = "oauth"') + (
        f'[providers.mine.oauth]\nclient_id = "{server.client_id}"\nauthorize_url = "{server.url}/authorize"\n'
        f'token_url = "{server.url}/token"\nrevoke_url = "{server.url}/revoke"\nscopes = ["chat"]\n'
    )


async def test_a_login_that_was_never_made_ended_or_was_revoked_is_asked_for_and_then_works(tmp_path: Path) -> None:
    async with AuthorizationServer() as server, Simulator(AGAIN) as sim:
        config = oauth(server, sim)
        async with (
            place(tmp_path, sim, config, **NO_RETRIES) as house,
            await house.client() as client,
            await house.client() as follower,
        ):
            await follower.request(DaemonFollow(id=follower.next_id()))
            one = await session(house, client, "mine/claude-x")

            async def log_in() -> None:
                op = AuthLogin(id=client.next_id(), provider="mine")
                started = await client.request(op)
                await visit(started.url)
                op = AuthLoginFinish(id=client.next_id(), login=started.login)
                assert (await client.request(op)).kind == "oauth"

            completed, _ = await turn(client, one)
            assert completed.error is not None
            assert completed.error.message == "Nobody is logged in to mine."
            assert "openagent auth login mine" in completed.error.hint

            server.expires_in = 0.2  # about to end as soon as it is given
            await log_in()
            completed, _ = await turn(client, one)
            assert completed.reason == "done"
            assert dict(sim.requests[-1].headers)["Authorization"].removeprefix("Bearer ") in server.access_tokens

            sim.fail_next("401")
            completed, _ = await turn(client, one)
            assert completed.error is not None
            assert completed.error.message == "mine refused the login token."

            server.refresh_tokens.clear()
            async with follower.all_events() as heard:
                attachment = await client.attach(one)
                while True:
                    completed, _ = await turn(client, one)
                    if completed.error is not None:
                        break
                assert completed.error.code == "auth_failed"
                assert completed.error.message == "The login to mine has ended (invalid_grant)."
                assert "openagent auth login mine" in completed.error.hint
                async with asyncio.timeout(60):
                    while not isinstance(event := await heard.get(), e.LoginRequired):
                        pass
                assert (event.provider, event.reason) == ("mine", "invalid_grant")
                async with asyncio.timeout(60):
                    async for told in attachment.events():
                        if isinstance(told, e.LoginRequired):
                            assert told.session == one
                            break
            server.expires_in = 3600
            await log_in()
            completed, _ = await turn(client, one)
            assert completed.reason == "done"
