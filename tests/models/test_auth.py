"""Keys and logins, from the op to the header on the wire."""

import asyncio
import os
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from devtools.simulator import Simulator
from openagent.client import Client
from openagent.protocol.auth import (
    AuthAdd,
    AuthEntry,
    AuthList,
    AuthLogin,
    AuthLoginFinish,
    AuthRefresh,
    AuthRemove,
    LoginStarted,
)
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.mcp import McpAdd, McpServerEntry

from ..providers_oauth.authorization_server import AuthorizationServer
from .browser import visit
from .place import NO_RETRIES, place, provider, session, turn
from .test_bad_input import AGAIN, oauth

pytestmark = pytest.mark.anyio

KEY = "sk-ant-planted-0123456789abcdef"


async def add(client: Client, name: str, key: str, *, replace: bool = False) -> AuthEntry:
    return await client.request(AuthAdd(id=client.next_id(), name=name, key=key, replace=replace))


async def listed(client: Client) -> dict[tuple[str, str], AuthEntry]:
    entries = (await client.request(AuthList(id=client.next_id()))).entries
    return {(entry.name, entry.source): entry for entry in entries}


async def start_login(client: Client) -> LoginStarted:
    return await client.request(AuthLogin(id=client.next_id(), provider="mine"))


async def finish(client: Client, login: str, answer: str = "") -> AuthEntry:
    return await client.request(AuthLoginFinish(id=client.next_id(), login=login, answer=answer))


async def test_a_stored_key_is_used_counted_replaced_and_forgotten(tmp_path: Path) -> None:
    async with Simulator(AGAIN) as sim:
        config = provider("anthropic", "anthropic", sim)
        async with place(tmp_path, sim, config, **NO_RETRIES) as house, await house.client() as client:
            one = await session(house, client, "anthropic/claude-x")
            assert (await turn(client, one))[0].reason == "error"
            entry = await add(client, "anthropic", KEY)
            assert (entry.kind, entry.use_count) == ("api_key", 0)
            assert (await turn(client, one))[0].reason == "done"
            assert dict(sim.requests[-1].headers)["x-api-key"] == KEY
            used = (await listed(client))["anthropic", "vault"]
            assert used.use_count == 1
            assert used.last_used_at

            with pytest.raises(OpenAgentError) as refused:
                await add(client, "anthropic", "another")
            assert refused.value.info.code == "conflict"
            await add(client, "anthropic", "sk-another-key", replace=True)
            await turn(client, one)
            assert dict(sim.requests[-1].headers)["x-api-key"] == "sk-another-key"

            await client.request(AuthRemove(id=client.next_id(), name="anthropic"))
            assert await listed(client) == {}
            assert (await turn(client, one))[0].reason == "error"


async def test_a_stored_key_makes_its_provider_known_and_survives_a_restart(tmp_path: Path) -> None:
    async with Simulator(AGAIN) as sim:
        async with place(tmp_path, sim, "") as house, await house.client() as client:
            await add(client, "anthropic", KEY)
        async with place(tmp_path, sim, "", ANTHROPIC_BASE_URL=sim.base_url) as house, await house.client() as client:
            one = (await client.create_session(str(house.workspace))).id
            assert (await turn(client, one))[0].reason == "done"
            assert dict(sim.requests[-1].headers)["x-api-key"] == KEY
    assert oct((tmp_path / "home" / "vault.json").stat().st_mode)[-3:] == "600"
    assert KEY.encode() not in (tmp_path / "home" / "vault.json").read_bytes()


async def test_the_config_comes_before_the_vault_and_the_vault_before_the_environment(tmp_path: Path) -> None:
    async with Simulator(AGAIN) as sim:
        config = provider("anthropic", "anthropic", sim) + provider("own", "anthropic", sim, 'api_key = "from-config"')
        env = {"ANTHROPIC_API_KEY": "from-environment"}
        async with place(tmp_path, sim, config, **env) as house, await house.client() as client:
            one = await session(house, client, "anthropic/claude-x")
            await turn(client, one)
            assert dict(sim.requests[-1].headers)["x-api-key"] == "from-environment"
            await add(client, "anthropic", "from-vault")
            await add(client, "own", "never-used")
            await turn(client, one)
            assert dict(sim.requests[-1].headers)["x-api-key"] == "from-vault"
            await turn(client, await session(house, client, "own/claude-x"))
            assert dict(sim.requests[-1].headers)["x-api-key"] == "from-config"
            assert {("anthropic", "vault"), ("anthropic", "environment"), ("own", "config")} <= set(
                await listed(client)
            )


async def test_what_is_kept_for_mcp_servers_is_listed_apart(tmp_path: Path) -> None:
    async with Simulator(AGAIN) as sim, place(tmp_path, sim, "") as house, await house.client() as client:
        await add(client, "anthropic", KEY)
        server = McpServerEntry(command="true", env={"TRACKER_TOKEN": "a-secret-of-the-tracker"})
        await client.request(McpAdd(id=client.next_id(), name="tracker", server=server))
        answer = await client.request(AuthList(id=client.next_id()))
        assert [entry.name for entry in answer.entries if entry.source == "vault"] == ["anthropic"]
        assert [(entry.name, entry.kind) for entry in answer.servers] == [("tracker", "api_key")]


@pytest.mark.parametrize("key", ["", "   ", "two words", "ключ", "a\nb"])
async def test_what_cannot_be_a_key_is_not_stored_and_not_repeated(tmp_path: Path, key: str) -> None:
    async with Simulator(AGAIN) as sim, place(tmp_path, sim, "") as house, await house.client() as client:
        with pytest.raises(OpenAgentError) as refused:
            await add(client, "anthropic", key)
        assert refused.value.info.code == "invalid_argument"
        assert not key.strip() or key not in str(refused.value)


async def test_a_vault_that_others_could_read_stops_nobody_who_needs_nothing_from_it(tmp_path: Path) -> None:
    async with Simulator(AGAIN) as sim:
        async with place(tmp_path, sim, "") as house, await house.client() as client:
            await add(client, "anthropic", KEY)
        os.chmod(tmp_path / "home" / "vault.json", 0o644)
        config = provider("mine", "compatible", sim)
        async with place(tmp_path, sim, config) as house, await house.client() as client:
            assert (await turn(client, await session(house, client, "mine/m")))[0].reason == "done"
            with pytest.raises(OpenAgentError) as refused:
                await listed(client)
            assert "chmod 600" in refused.value.info.hint


async def test_a_pasted_code_ends_a_login_and_a_foreign_state_does_not(tmp_path: Path) -> None:
    async with AuthorizationServer() as server, Simulator(AGAIN) as sim:
        config = oauth(server, sim)
        async with place(tmp_path, sim, config) as house, await house.client() as client:
            started = await start_login(client)
            waiting = asyncio.create_task(finish(client, started.login))
            with pytest.raises(OpenAgentError) as refused:
                await finish(client, started.login, "stolen#state-of-another")
            assert "does not belong to this login" in refused.value.info.message
            assert not waiting.done()
            code = granted(server, started.url)
            entry = await finish(client, started.login, code)
            assert await waiting == entry
            assert entry.kind == "oauth"
            assert entry.expires_at
            with pytest.raises(OpenAgentError):
                await finish(client, "never started")


def granted(server: AuthorizationServer, url: str) -> str:
    """What a person would paste who allowed the access in a browser on another machine."""
    fields = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
    status, headers, _ = server._authorize(fields)  # pyright: ignore[reportPrivateUsage]
    assert status == 302
    back = {name: values[0] for name, values in parse_qs(urlsplit(headers["Location"]).query).items()}
    return f"{back['code']}#{back['state']}"


async def test_a_login_is_renewed_in_the_background_once_and_stored(tmp_path: Path) -> None:
    async with AuthorizationServer() as server, Simulator(AGAIN) as sim:
        server.expires_in = 301  # due for renewal in a second
        async with place(tmp_path, sim, oauth(server, sim)) as house, await house.client() as client:
            started = await start_login(client)
            assert "You are logged in" in await visit(started.url)
            await finish(client, started.login)
            server.expires_in = 3600
            server.arrived.clear()
            async with asyncio.timeout(60):
                await server.arrived.wait()
            renewed = await client.request(AuthRefresh(id=client.next_id(), provider="mine"))
            assert renewed.expires_at
            several = [await session(house, client, "mine/claude-x") for _ in range(3)]
            await asyncio.gather(*(turn(client, one) for one in several))
            token = dict(sim.requests[-1].headers)["Authorization"].removeprefix("Bearer ")
            assert token in server.access_tokens
        asked = len(server.token_requests)
        async with place(tmp_path, sim, oauth(server, sim)) as house, await house.client() as client:
            assert (await turn(client, await session(house, client, "mine/claude-x")))[0].reason == "done"
            assert dict(sim.requests[-1].headers)["Authorization"] == f"Bearer {token}"
            assert len(server.token_requests) == asked, "what was renewed was stored"
            await client.request(AuthRemove(id=client.next_id(), name="mine"))
            assert {hint for hint, _ in server.revoked} == {"refresh_token", "access_token"}


async def test_a_login_without_settings_says_what_to_set(tmp_path: Path) -> None:
    async with Simulator(AGAIN) as sim, place(tmp_path, sim, "") as house, await house.client() as client:
        with pytest.raises(OpenAgentError) as refused:
            await start_login(client)
        assert refused.value.info.code == "config_error"
        assert "[providers.mine.oauth]" in refused.value.info.hint
