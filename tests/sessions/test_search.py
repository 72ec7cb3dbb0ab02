"""Finding what was said, in any session, as soon as it was said."""

from pathlib import Path

import pytest

from openagent.client import Client
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.search import FoundMessages, MessagesSearch
from openagent.protocol.sessions import SessionDelete

from ..interaction.house import House, house, new_session

pytestmark = pytest.mark.anyio


async def search(client: Client, query: str, session: str = "") -> FoundMessages:
    while True:
        op = MessagesSearch(id=client.next_id(), query=query, session=session)
        found = await client.request(op)
        if not found.unread:
            return found


async def say(h: House, client: Client, text: str) -> str:
    session = await new_session(h, client)
    attachment = await client.attach(session)
    await client.send(session, text)
    await attachment.until_turn_ends()
    return session


async def test_words_are_found_in_every_session_and_in_one(tmp_path: Path) -> None:
    steps = {"loop": True, "steps": [{"text": "The Kühlschrank is cold."}]}
    async with house(tmp_path, steps) as h, await h.client() as client:
        apples = await say(h, client, "where are the apples")
        pears = await say(h, client, "where are the pears")
        found = (await search(client, "apples")).found
        assert [(each.session, each.role, each.number) for each in found] == [(apples, "user", 1)]
        assert "\x02apples\x03" in found[0].excerpt
        assert found[0].session_name == "where are the apples"
        assert {each.session for each in (await search(client, "where the")).found} == {apples, pears}
        assert {each.session for each in (await search(client, "where", pears)).found} == {pears}
        assert len((await search(client, "kuhlschra")).found) == 2
        assert (await search(client, "apples pears")).found == []


async def test_what_a_tool_was_given_is_found_as_words(tmp_path: Path) -> None:
    plan = [{"text": "pick the quinces", "state": "done"}, {"text": "boil them"}]
    steps = [{"tool_calls": [{"name": "todo", "arguments": {"plan": plan}}]}, {"text": "Done."}]
    async with house(tmp_path, steps) as h, await h.client() as client:
        await say(h, client, "make jam")
        excerpt = (await search(client, "quinces")).found[-1].excerpt
        assert "pick the \x02quinces\x03" in excerpt
        assert not set("{}[]'") & set(excerpt)


@pytest.mark.parametrize("query", ['"', "*", "NEAR(", "a OR", "-x", "text:y", "'; DROP TABLE texts", "\x00a", "🍐"])
async def test_a_query_is_words_and_never_syntax(tmp_path: Path, query: str) -> None:
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client:
        await say(h, client, "nothing of the kind")
        assert (await search(client, query)).found == []


async def test_an_empty_query_is_refused_and_a_deleted_session_is_not_found(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client:
        session = await say(h, client, "remember the apples")
        with pytest.raises(OpenAgentError, match="nothing to search"):
            await search(client, "  ")
        assert len((await search(client, "apples")).found) == 1
        await client.request(SessionDelete(id=client.next_id(), session=session))
        assert (await search(client, "apples")).found == []


async def test_a_damaged_index_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "search.db").write_bytes(b"not a database" * 1000)
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client:
        await say(h, client, "remember the apples")
        assert len((await search(client, "apples")).found) == 1
