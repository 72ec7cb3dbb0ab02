"""A person who is removed is out at once, and what is theirs stays theirs."""

from pathlib import Path

import pytest

from openagent.daemon import still_welcome
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.people import (
    PeopleAdd,
    PeopleList,
    PeopleMe,
    PeopleRemove,
    PeopleUpdate,
    SessionAccess,
    SessionShare,
    TeamsList,
)
from openagent.protocol.safety import AuditAsk
from openagent.protocol.sessions import SessionList
from openagent.protocol.tokens import TokensList
from tests.interaction.doing import ask
from tests.interaction.house import MODEL, house
from tests.rest.calling import rest

from .test_every_door import ANN, BOB, client_of, listening, to_its_end, two_people

pytestmark = pytest.mark.anyio


async def test_a_removed_person_is_out_at_once_and_what_is_theirs_keeps_their_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(still_welcome, "LOOK_AGAIN", 3600.0)
    config = f'[people]\nfolder = "{tmp_path / "people"}"'
    async with house(tmp_path, [], web=True, config=config) as h, await h.client() as owner:
        people = await two_people(owner)
        folder, secret = people[ANN]
        async with await client_of(h, secret) as ann:
            session = (await ann.create_session(folder, model=MODEL, mode="ask")).id
            await ask(ann, SessionShare, session=session, team="core")
            me = (await ask(ann, PeopleMe)).person
        assert me is not None
        async with listening(h, secret) as heard:
            await ask(owner, PeopleRemove, person=ANN)
            for each in heard:
                await to_its_end(each)
        async with rest(h, secret) as gone:
            assert (await gone("GET", "/api/me")).status_code == 401
        assert [each.email for each in (await ask(owner, PeopleList)).people] == [BOB]
        assert [each.name for each in (await ask(owner, TokensList)).tokens] == [BOB]
        assert (await ask(owner, TeamsList)).teams[0].members == [BOB]
        with pytest.raises(OpenAgentError, match="nobody"):
            await ask(owner, PeopleUpdate, person=me.id, disabled=False)

        again = await ask(owner, PeopleAdd, email=ANN)
        assert again.id != me.id
        assert again.folder != folder
        assert Path(folder).is_dir()
        (kept,) = (await ask(owner, SessionList)).sessions
        assert (kept.id, kept.owner) == (session, me.id)
        assert [each.email for each in (await ask(owner, PeopleMe)).known if each.id == me.id] == [ANN]
        async with await client_of(h, people[BOB][1]) as bob:
            assert me.id in [each.id for each in (await ask(bob, PeopleMe)).known], "whose session the team has"
            told = await ask(bob, SessionAccess, session=session)
            assert told.owner is not None
            assert (told.owner.id, [each.email for each in told.members]) == (me.id, [BOB])
        trail = [each.subject for each in (await ask(owner, AuditAsk)).entries if each.kind == "people"]
        assert trail.count(f"add {ANN}") == 2
        assert f"remove {ANN}" in trail


@pytest.mark.parametrize("address", ["ann", "\x1b[31mred@x.y", "<b>@x.y", "../../etc@x.y", "a b@x.y"])
async def test_an_address_that_could_be_none_is_refused(tmp_path: Path, address: str) -> None:
    config = f'[people]\nfolder = "{tmp_path / "people"}"'
    async with house(tmp_path, [], config=config) as h, await h.client() as owner:
        with pytest.raises(OpenAgentError, match="not an e-mail address"):
            await ask(owner, PeopleAdd, email=address)


async def test_the_only_admin_stays_one(tmp_path: Path) -> None:
    config = f'[people]\nfolder = "{tmp_path / "people"}"'
    async with house(tmp_path, [], config=config) as h, await h.client() as owner:
        for email in (ANN, BOB):
            await ask(owner, PeopleAdd, email=email, role="admin")
        await ask(owner, PeopleUpdate, person=BOB, disabled=True)
        with pytest.raises(OpenAgentError, match="only admin"):
            await ask(owner, PeopleRemove, person=ANN)
        for away in ({"role": "member"}, {"disabled": True}):
            with pytest.raises(OpenAgentError, match="only admin"):
                await ask(owner, PeopleUpdate, person=ANN, **away)
        await ask(owner, PeopleUpdate, person=BOB, role="member")
        await ask(owner, PeopleRemove, person=BOB)
        await ask(owner, PeopleAdd, email=BOB, role="admin")
        await ask(owner, PeopleRemove, person=ANN)
        assert [each.email for each in (await ask(owner, PeopleList)).people] == [BOB]
