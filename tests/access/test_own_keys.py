"""Keys of a person's and a team's own: used for their turns, by nobody else, and shown to nobody."""

from pathlib import Path

import msgspec
import pytest

from openagent.client import Client
from openagent.protocol.auth import AuthList, KeysAdd, KeysList, KeysRemove
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.people import SessionShare, TeamsRemove
from openagent.protocol.safety import AuditAsk

from ..interaction.doing import ask, turn
from ..interaction.house import MODEL, House, house
from .test_every_door import client_of, two_people
from .test_matrix import ANN, BOB

pytestmark = pytest.mark.anyio
OWN, TEAMS, HOUSE = "sk-of-ann-alone-0123456789", "sk-of-the-team-0123456789", "k"


async def used(h: House, client: Client, session: str) -> str:
    """The key that the last request of a turn of the session came with."""
    await turn(client, await client.attach(session), "Go on.")
    told = {name.lower(): value for name, value in h.sim.requests[-1].headers}
    return told["authorization"].removeprefix("Bearer ")


async def test_a_turn_uses_its_owner_s_key_then_the_team_s_then_everybody_s(tmp_path: Path) -> None:
    config = f'[people]\nfolder = "{tmp_path / "people"}"'
    script = {"steps": [{"text": "ok"}], "loop": True}
    async with house(tmp_path, script, web=True, config=config) as h, await h.client() as owner:
        people = await two_people(owner)
        async with await client_of(h, people[ANN][1]) as ann, await client_of(h, people[BOB][1]) as bob:
            hers = (await ann.create_session(people[ANN][0], model=MODEL, mode="ask")).id
            his = (await bob.create_session(people[BOB][0], model=MODEL, mode="ask")).id
            assert await used(h, ann, hers) == HOUSE
            kept = await ask(ann, KeysAdd, name="compatible", key=OWN)
            assert kept.name == "compatible"
            assert (await used(h, ann, hers), await used(h, bob, his)) == (OWN, HOUSE)
            await ask(owner, KeysAdd, name="compatible", key=TEAMS, team="core")
            assert await used(h, bob, his) == HOUSE, "it is shared with no team"
            for client, session in ((ann, hers), (bob, his)):
                await ask(client, SessionShare, session=session, team="core")
            assert (await used(h, ann, hers), await used(h, bob, his)) == (OWN, TEAMS)
            assert await used(h, bob, hers) == OWN, "it is her session, whoever speaks"
            with pytest.raises(OpenAgentError, match="lacks the scope admin"):
                await ask(ann, KeysAdd, name="compatible", key="sk-mine-now-0123456789", team="core", replace=True)
            with pytest.raises(OpenAgentError, match="nobody in particular"):
                await ask(owner, KeysAdd, name="compatible", key=OWN)
            told = [await ask(client, KeysList) for client in (ann, bob)]
            assert [[each.name for each in one.entries] for one in told] == [["compatible"], []]
            trail = await ask(owner, AuditAsk)
            assert [each.subject for each in trail.entries if each.kind == "keys"] == ["add compatible"] * 2
            shown = msgspec.json.encode([*told, trail, await ask(owner, AuthList)]).decode()
            assert OWN not in shown
            assert TEAMS not in shown
            assert "person/" not in shown
            await ask(ann, KeysRemove, name="compatible")
            assert await used(h, ann, hers) == TEAMS
            await ask(owner, KeysRemove, name="compatible", team="core")
            assert await used(h, bob, his) == HOUSE
            await ask(owner, KeysAdd, name="compatible", key=TEAMS, team="core")
            await ask(owner, TeamsRemove, team="core")
        assert b"team/" not in (h.home / "vault.json").read_bytes()
