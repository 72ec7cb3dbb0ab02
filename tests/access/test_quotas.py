"""What people and teams may use is held to the token, however many daemons count at once."""

import subprocess
import sys
from pathlib import Path

import pytest

from openagent.client import Attachment, Client, connect
from openagent.plugins.quotas import Quota
from openagent.protocol import events as e
from openagent.protocol.conversation import TurnCancel
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.people import Limits, PeopleAdd, PeopleUpdate, TeamsCreate, TeamsUpdate
from openagent.protocol.tokens import TokensCreate
from openagent.store import open_store
from openagent.store.quotas import SqlQuotas

from ..interaction.doing import ask, turn
from ..interaction.house import MODEL, house, until
from ..interaction.test_turn_line import SCRIPT, came_to, ended
from ..store.conftest import database_url, postgres_server, postgres_url, sqlite_url

__all__ = ["database_url", "postgres_server", "postgres_url", "sqlite_url"]
pytestmark = pytest.mark.anyio
LIMIT, EACH, USED, WORKERS = 9_000, 70, 21, 8
WORKER = f"""
import asyncio, sys
from openagent.plugins.quotas import Quota
from openagent.store import open_store
from openagent.store.quotas import SqlQuotas

async def main():
    store = open_store(sys.argv[1])
    quotas, limits, used = SqlQuotas(store), [Quota("person:a", "a", "2026-01-01", {LIMIT})], 0
    limits.append(Quota("team:t", "t", "2026-01-01", {LIMIT} - 1))
    while await quotas.take(limits, {EACH}, 0):
        used += {USED}
        await quotas.give_back(limits, {EACH} - {USED}, 0)
    print(used)
    await store.close()

asyncio.run(main())
"""


async def test_eight_processes_take_no_token_more_than_there_is(database_url: str) -> None:
    store = open_store(database_url)
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, database_url], stdout=subprocess.PIPE, text=True)
        for _ in range(WORKERS)
    ]
    used = sum(int(worker.communicate(timeout=120)[0]) for worker in workers)
    quotas = SqlQuotas(store)
    person, team = await quotas.used([Quota("person:a", "a", "2026-01-01"), Quota("team:t", "t", "2026-01-01")])
    assert person.tokens == team.tokens == used, "what was counted is what was used"
    assert (person.open, team.open) == (0, 0)
    assert LIMIT - WORKERS * EACH < used < LIMIT
    await store.close()


async def hasten(client: Client, session: str) -> None:
    for _ in range(9):
        await client.send(session, "Hello again.")


async def test_a_person_meets_their_limits_and_nobody_else_does(tmp_path: Path) -> None:
    config = f'[people]\nfolder = "{tmp_path / "people"}"'
    script = {"steps": [{"text": "ok", "usage": {"input": 900, "output": 50}}], "loop": True}
    async with house(tmp_path, script, web=True, config=config) as h, await h.client() as owner:
        url = h.daemon.place.web_url.replace("http", "ws") + "/ws"
        for name in ("ann", "bob"):
            person = await ask(owner, PeopleAdd, email=f"{name}@example.org")
            secret = (await ask(owner, TokensCreate, name=name, scopes=["chat"], person=person.id)).secret
            if name == "ann":
                await ask(owner, PeopleUpdate, person=person.id, limits=Limits(day_tokens=1_000))
            async with await connect(url=url, token=secret, env={}) as client:
                session = (await client.create_session(person.folder, model=MODEL, mode="ask")).id
                events = await turn(client, await client.attach(session), "Hello.")
                ended = next(event for event in events if isinstance(event, e.TurnCompleted))
                assert ended.reason == ("done" if name == "bob" else "budget"), events
                if name == "bob":
                    # Of two minutes one is whole, whenever this runs.
                    await ask(owner, PeopleUpdate, person=person.id, limits=Limits(turns_a_minute=2))
                    with pytest.raises(OpenAgentError, match="in this minute: bob@"):
                        await hasten(client, session)
                    await ask(owner, PeopleUpdate, person=person.id, limits=Limits())
        team = await ask(owner, TeamsCreate, name="core")
        await ask(owner, TeamsUpdate, team="core", add=["bob@example.org"], limits=Limits(turns_a_minute=2))
        async with await connect(url=url, token=secret, env={}) as bob:
            own = (await bob.create_session(person.folder, model=MODEL, mode="ask")).id
            await hasten(bob, own)
            teams = (await bob.create_session(team.folder, model=MODEL, mode="ask")).id
            with pytest.raises(OpenAgentError, match="in this minute: the team core may begin 2"):
                await hasten(bob, teams)


async def test_of_a_person_and_of_a_team_so_many_turns_run_at_once_and_the_others_hear_why_they_wait(
    tmp_path: Path,
) -> None:
    config = f'[people]\nfolder = "{tmp_path / "people"}"'
    async with house(tmp_path, SCRIPT, web=True, config=config) as h, await h.client() as owner:
        url = h.daemon.place.web_url.replace("http", "ws") + "/ws"
        team = await ask(owner, TeamsCreate, name="core")
        secrets: dict[str, str] = {}
        for name in ("ann", "bob"):
            email = f"{name}@example.org"
            await ask(owner, PeopleAdd, email=email)
            await ask(owner, TeamsUpdate, team="core", add=[email])
            secrets[name] = (await ask(owner, TokensCreate, name=name, scopes=["chat"], person=email)).secret
        await ask(owner, PeopleUpdate, person="ann@example.org", limits=Limits(turns_at_once=1))
        async with (
            await connect(url=url, token=secrets["ann"], env={}) as ann,
            await connect(url=url, token=secrets["bob"], env={}) as bob,
        ):

            async def begin(client: Client, text: str) -> tuple[Attachment, int]:
                made = await client.create_session(team.folder, model=MODEL, mode="ask")
                attachment = await client.attach(made.id)
                return attachment, (await client.send(made.id, text)).place

            first, _ = await begin(ann, "slow")
            await until(first, lambda event: isinstance(event, e.TextDelta))
            second, place = await begin(ann, "me too")
            assert place == 1
            assert (await came_to(second, 1)).limit == "ann@example.org may have 1 turn at once"
            others, place = await begin(bob, "past her")
            assert (place, (await ended(others)).reason) == (0, "done")
            await ask(owner, TeamsUpdate, team="core", limits=Limits(turns_at_once=1))
            others, place = await begin(bob, "now the team")
            assert (await came_to(others, place)).limit == "the team core may have 1 turn at once"
            await ask(ann, TurnCancel, session=first.session)
            assert (await ended(second)).text == "You said: me too"
            assert (await ended(others)).text == "You said: now the team"
