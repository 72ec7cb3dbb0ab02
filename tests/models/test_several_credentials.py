"""Several keys and logins of one provider: which is used, and what goes on where one does not do."""

from pathlib import Path

import pytest

from devtools.simulator import Simulator, ThreadedSimulator
from openagent.client import Client
from openagent.protocol import events as e
from openagent.protocol.auth import AuthAdd, AuthList, AuthLogin, AuthLoginFinish, AuthRefresh, AuthRemove
from openagent.protocol.configuration import ConfigSet
from openagent.protocol.errors import OpenAgentError

from ..cli.machine import Machine
from ..providers_oauth.authorization_server import AuthorizationServer
from .browser import visit
from .place import NO_RETRIES, only, place, provider, session, turn
from .test_auth import add, listed
from .test_bad_input import AGAIN, oauth


def key_sent(sim: Simulator) -> str:
    return dict(sim.requests[-1].headers).get("x-api-key", "")


@pytest.mark.anyio
@pytest.mark.parametrize("fault", ["401", "429"])
async def test_another_key_goes_on_where_one_is_refused_or_used_up(tmp_path: Path, fault: str) -> None:
    async with Simulator(AGAIN) as sim:
        config = provider("anthropic", "anthropic", sim)
        async with place(tmp_path, sim, config, **NO_RETRIES) as house, await house.client() as client:
            await add(client, "anthropic", "key-of-home")
            await add(client, "anthropic@work", "key-of-work")
            one = await session(house, client, "anthropic/claude-x")
            await turn(client, one)
            assert key_sent(sim) == "key-of-home"
            sim.fail_next(fault)
            completed, events = await turn(client, one)
            assert completed.reason == "done"
            assert key_sent(sim) == "key-of-work"
            (told,) = only(events, e.RetryScheduled)
            assert "anthropic@work goes on in place of anthropic." in told.error.message
            await turn(client, one)
            assert key_sent(sim) == "key-of-work", "the other one is set aside"
            entry = (await listed(client))["anthropic", "vault"]
            if fault == "401":
                assert "refused the API key" in entry.dead
                assert entry.mend == "openagent auth add anthropic --replace"
                await add(client, "anthropic", "new-key-of-home", replace=True)
                await turn(client, one)
                assert key_sent(sim) == "new-key-of-home", "and is mended by a new one"
                assert not (await listed(client))["anthropic", "vault"].dead
            else:
                assert not entry.dead


@pytest.mark.anyio
async def test_the_one_that_was_chosen_is_used_first(tmp_path: Path) -> None:
    async with Simulator(AGAIN) as sim:
        config = provider("anthropic", "anthropic", sim)
        async with place(tmp_path, sim, config, **NO_RETRIES) as house, await house.client() as client:
            await add(client, "anthropic", "key-of-home")
            await add(client, "anthropic@work", "key-of-work")
            one = await session(house, client, "anthropic/claude-x")
            await client.request(ConfigSet(id=client.next_id(), key="credentials.anthropic", value="work"))
            await turn(client, one)
            assert key_sent(sim) == "key-of-work"
            await client.request(AuthRemove(id=client.next_id(), name="anthropic@work"))
            await turn(client, one)
            assert key_sent(sim) == "key-of-home"


@pytest.mark.anyio
async def test_a_key_and_a_login_are_both_kept_and_an_ended_login_is_marked(tmp_path: Path) -> None:
    async with (
        AuthorizationServer() as server,
        Simulator(AGAIN) as sim,
        place(tmp_path, sim, oauth(server, sim), **NO_RETRIES) as house,
        await house.client() as client,
    ):
        await add(client, "mine", "a-key-of-mine")
        one = await session(house, client, "mine/claude-x")
        await log_in(client)
        assert {("mine", "vault"), ("mine@login", "vault")} <= set(await listed(client))
        await turn(client, one)
        token = dict(sim.requests[-1].headers)["Authorization"].removeprefix("Bearer ")
        assert token in server.access_tokens, "the provider is set up for a login"
        server.refresh_tokens.clear()
        with pytest.raises(OpenAgentError):
            await client.request(AuthRefresh(id=client.next_id(), provider="mine@login"))
        entry = (await listed(client))["mine@login", "vault"]
        assert (entry.dead, entry.mend) == ("invalid_grant", "openagent auth login mine@login")
        completed, _ = await turn(client, one)
        assert (completed.reason, key_sent(sim)) == ("done", "a-key-of-mine")


async def log_in(client: Client) -> None:
    started = await client.request(AuthLogin(id=client.next_id(), provider="mine"))
    await visit(started.url)
    await client.request(AuthLoginFinish(id=client.next_id(), login=started.login))


@pytest.mark.anyio
async def test_a_key_for_nobody_is_not_stored(tmp_path: Path) -> None:
    async with Simulator(AGAIN) as sim, place(tmp_path, sim, "") as house, await house.client() as client:
        with pytest.raises(OpenAgentError) as refused:
            await client.request(AuthAdd(id=client.next_id(), name="nosuch", key="k-1", test=True))
        assert refused.value.info.message == "There is no provider named 'nosuch'."
        assert not (await client.request(AuthList(id=client.next_id()))).entries


def test_the_command_tries_a_key_before_it_stores_it(tmp_path: Path) -> None:
    with ThreadedSimulator(AGAIN, require_key="sk-ant-right") as sim:
        machine = Machine(tmp_path, sim, {"ANTHROPIC_BASE_URL": sim.base_url})
        wrong = machine.run("auth", "add", "anthropic", given="sk-ant-wrong\n")
        assert wrong.returncode != 0
        assert "refused the key" in wrong.stderr
        right = machine.run("auth", "add", "anthropic@work", given="sk-ant-right\n")
        assert right.stdout == "The key for anthropic@work works and is stored.\n", right.stderr
        nobody = machine.run("auth", "add", "nosuch", given="sk\n")
        assert "There is no provider named 'nosuch'" in nobody.stderr
        assert "With --no-test it is, untried." in nobody.stderr
        assert machine.run("auth", "add", "nosuch", "--no-test", given="sk\n").returncode == 0
        assert machine.run("auth", "use", "anthropic@home").returncode != 0
        used = machine.run("auth", "use", "anthropic@work")
        assert used.stdout == "anthropic uses anthropic@work from the next request on.\n"
        assert machine.run("stop").returncode == 0
