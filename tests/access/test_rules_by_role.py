"""Rules that hold for people of some roles."""

from pathlib import Path

import pytest

from openagent.client import connect
from openagent.protocol.people import PeopleAdd, PeopleUpdate
from openagent.protocol.safety import PolicyExplain
from openagent.protocol.tokens import TokensCreate

from ..interaction.doing import ask, results_of, shell, turn
from ..interaction.house import MODEL, house

pytestmark = pytest.mark.anyio
RULE = '[[rule]]\nname = "hands-off"\ndecision = "deny"\nrole = "member"\ncommand = "touch"\nreason = "Hands off."\n'


async def test_a_rule_for_a_role_holds_in_the_sessions_of_people_with_it_as_it_is_by_then(tmp_path: Path) -> None:
    config = f'[people]\nfolder = "{tmp_path / "people"}"'
    script = {"steps": [shell("touch made"), {"text": "done"}], "loop": True}
    async with house(tmp_path, script, web=True, config=config) as h, await h.client() as owner:
        (h.home / "policy.toml").write_text(RULE)
        ann = await ask(owner, PeopleAdd, email="ann@example.org")
        secret = (await ask(owner, TokensCreate, name="ann", scopes=["chat", "approve"], person=ann.id)).secret
        url = h.daemon.place.web_url.replace("http", "ws") + "/ws"
        made = Path(ann.folder) / "made"
        for role, is_made in (("member", False), ("admin", True)):
            if role != "member":
                await ask(owner, PeopleUpdate, person=ann.id, role=role)
            async with await connect(url=url, token=secret, interactive=True, env={}) as client:
                session = (await client.create_session(ann.folder, model=MODEL, mode="full")).id
                await turn(client, await client.attach(session))
                (result,) = await results_of(client, session)
                assert (result.text == "Denied: Hands off.") is not is_made, result.text
            assert made.exists() is is_made
        own = (await owner.create_session(str(h.workspace), model=MODEL, mode="full")).id
        await turn(owner, await owner.attach(own))
        assert (h.workspace / "made").exists(), "the machine's own user has no role"
        for role, decision in (("member", "deny"), ("viewer", "allow"), ("", "allow")):
            told = await ask(owner, PolicyExplain, command="touch x", mode="full", role=role, cwd=str(h.workspace))
            assert told.ruling.decision == decision
