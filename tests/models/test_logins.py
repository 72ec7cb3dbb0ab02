"""Logging in the ways providers want it: a registered redirect, a page that shows a code, a code for a device."""

import asyncio
import socket
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from devtools.simulator import Simulator, ThreadedSimulator
from openagent.client import Client
from openagent.protocol.auth import AuthEntry, AuthList, AuthLogin, AuthLoginFinish, LoginClient, LoginStarted
from openagent.protocol.errors import OpenAgentError

from ..cli.machine import PATIENCE, Machine
from ..providers_oauth.authorization_server import AuthorizationServer
from .browser import visit
from .place import NO_RETRIES, place, provider, session, turn
from .test_auth import granted
from .test_bad_input import AGAIN, oauth

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def waiting_for(
    tmp_path: Path, *more: str, **op: Any
) -> AsyncGenerator[tuple[AuthorizationServer, Client, LoginStarted], None]:
    """A login to `mine` that has begun."""
    async with AuthorizationServer() as server, Simulator(AGAIN) as sim:
        lines = "".join(f"{line}\n" for line in more).replace("SERVER", server.url)
        config = oauth(server, sim) + lines
        async with place(tmp_path, sim, config, **NO_RETRIES) as house, await house.client() as client:
            started = await client.request(AuthLogin(id=client.next_id(), provider="mine", **op))
            yield server, client, started


async def finished(client: Client, started: LoginStarted, answer: str = "") -> AuthEntry:
    return await client.request(AuthLoginFinish(id=client.next_id(), login=started.login, answer=answer))


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
async def test_the_browser_comes_back_to_the_address_that_was_registered(tmp_path: Path, name: str) -> None:
    registered = f"http://{name}:{free_port()}/auth/done"
    async with waiting_for(tmp_path, f'redirect_uri = "{registered}"') as (server, client, started):
        server.redirects = {registered}
        assert "You are logged in" in await visit(started.url)
        assert (await finished(client, started)).kind == "oauth"
        assert server.token_requests[-1]["redirect_uri"] == registered


async def test_a_registered_port_that_somebody_else_has_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OpenAgentError) as refused:
            async with waiting_for(tmp_path, f'redirect_uri = "http://127.0.0.1:{port}/done"'):
                pass
    assert f"comes back to port {port} of this machine" in refused.value.info.message
    assert "redirect_uri" in refused.value.info.hint


async def test_a_code_that_a_page_shows_is_pasted_alone_and_a_wrong_one_ends_nothing(tmp_path: Path) -> None:
    page = "https://provider.example/shows/the/code"
    async with waiting_for(tmp_path, f'redirect_uri = "{page}"') as (server, client, started):
        assert started.pasted
        with pytest.raises(OpenAgentError) as refused:
            await finished(client, started, "mistyped")
        assert "did not accept the login code (invalid_grant)" in refused.value.info.message
        code = granted(server, started.url).partition("#")[0]
        assert (await finished(client, started, code)).kind == "oauth"
        assert server.token_requests[-1]["redirect_uri"] == page


async def test_a_device_logs_in_by_a_code_once_somebody_said_yes(tmp_path: Path) -> None:
    async with waiting_for(tmp_path, 'device_url = "SERVER/device"', device=True) as (server, client, started):
        assert (started.code, started.url) == ("WDJB-MJHT", f"{server.url}/activate")
        with pytest.raises(OpenAgentError, match="takes nothing that is pasted"):
            await finished(client, started, "WDJB-MJHT")
        async with asyncio.timeout(PATIENCE * 3):
            await server.polled.wait()
        server.devices = dict.fromkeys(server.devices, "granted")
        assert (await finished(client, started)).kind == "oauth"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("access_denied", "The login to mine was not granted (access_denied)."),
        ("expired_token", "The code for the login to mine has ended before somebody used it."),
    ],
)
async def test_a_devices_login_that_comes_to_nothing_says_why(tmp_path: Path, answer: str, words: str) -> None:
    async with waiting_for(tmp_path, 'device_url = "SERVER/device"', device=True) as (server, client, started):
        server.devices = dict.fromkeys(server.devices, answer)
        with pytest.raises(OpenAgentError) as refused:
            await finished(client, started)
        assert refused.value.info.message == words


async def test_a_provider_without_a_login_by_code_says_so(tmp_path: Path) -> None:
    with pytest.raises(OpenAgentError) as refused:
        async with waiting_for(tmp_path, device=True):
            pass
    assert "offers no login by a code" in refused.value.info.message
    assert "device_url" in refused.value.info.hint


async def test_templates_need_nothing_but_a_client_id(tmp_path: Path) -> None:
    async with Simulator(AGAIN) as sim, place(tmp_path, sim, "") as house, await house.client() as client:
        offered = (await client.request(AuthList(id=client.next_id()))).templates
        assert {each.name for each in offered} == {"google", "microsoft", "github", "huggingface"}
        for each in offered:
            known = LoginClient(client_id="mine-alone", template=each.name)
            op = AuthLogin(id=client.next_id(), provider=each.provider, client=known)
            started = await client.request(op)
            assert started.url.startswith("https://")
            assert "client_id=mine-alone" in started.url


@pytest.mark.parametrize(
    ("client", "words"),
    [
        (LoginClient(client_id=" ", template="google"), "There is no client id."),
        (LoginClient(client_id="x", template="gogle"), "'gogle' is neither a template nor an address"),
        (LoginClient(client_id="x"), "The config does not say how to log in to office."),
        (LoginClient(client_id="x", issuer="https://127.0.0.1:1"), "where do its models answer?"),
        (LoginClient(client_id="x", issuer="http://far.example", base_url="https://a/v1"), "is not an https address"),
    ],
)
async def test_what_is_missing_of_a_client_is_said(tmp_path: Path, client: LoginClient, words: str) -> None:
    async with Simulator(AGAIN) as sim, place(tmp_path, sim, "") as house, await house.client() as line:
        with pytest.raises(OpenAgentError) as refused:
            await line.request(AuthLogin(id=line.next_id(), provider="office", client=client))
    assert words in refused.value.info.message
    assert refused.value.info.hint


async def test_an_issuer_and_a_client_id_are_enough_and_are_kept_once_somebody_is_logged_in(tmp_path: Path) -> None:
    async with (
        AuthorizationServer(client_secret="secret-of-the-client") as server,
        Simulator(AGAIN) as sim,
        place(tmp_path, sim, "", **NO_RETRIES) as house,
        await house.client() as client,
    ):
        known = LoginClient(
            client_id=server.client_id,
            client_secret="secret-of-the-client",
            issuer=server.url,
            base_url=f"{sim.base_url}/v1",
        )
        op = AuthLogin(id=client.next_id(), provider="office", client=known)
        started = await client.request(op)
        config = tmp_path / "home" / "config.toml"
        assert "office" not in config.read_text()
        await visit(started.url)
        await finished(client, started)
        assert (await turn(client, await session(house, client, "office/m")))[0].reason == "done"
        token = dict(sim.requests[-1].headers)["Authorization"].removeprefix("Bearer ")
        assert token in server.access_tokens
        assert "secret-of-the-client" not in config.read_text()
        again = await client.request(AuthLogin(id=client.next_id(), provider="office"))
        await visit(again.url)
        assert (await finished(client, again)).kind == "oauth", "the vault knows the client's secret"


async def test_the_command_shows_the_code_for_a_device_and_waits(tmp_path: Path) -> None:
    async with AuthorizationServer() as server:
        with ThreadedSimulator(AGAIN) as sim:
            config = tmp_path / "config.toml"
            config.write_text(provider("mine", "anthropic", sim))
            machine = Machine(tmp_path, sim, {"OPENAGENT_CONFIG": str(config)})
            asked = ("--issuer", server.url, "--client-id", server.client_id, "--device")
            process = machine.start("auth", "login", "mine", *asked, stdin=subprocess.DEVNULL)
            try:
                async with asyncio.timeout(PATIENCE * 3):
                    await server.polled.wait()
                server.devices = dict.fromkeys(server.devices, "granted")
                out, told = await asyncio.to_thread(process.communicate, None, PATIENCE * 3)
            finally:
                process.kill()
            assert (process.returncode, out) == (0, b"You are logged in to mine.\n"), told
            assert b"Enter there: WDJB-MJHT" in told
            assert await asyncio.to_thread(lambda: machine.run("stop").returncode) == 0
