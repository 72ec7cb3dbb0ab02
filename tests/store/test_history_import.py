"""Sessions of other agents on each kind of store: brought, listed, searched, counted and continued."""

from pathlib import Path

import pytest

from openagent.protocol.history import HistoryFind, HistoryImport, UsageAll
from openagent.protocol.search import MessagesSearch
from openagent.protocol.sessions import SessionFork, SessionList
from tests.history.left import lay
from tests.interaction.doing import ask, messages_of, turn
from tests.interaction.house import MODEL, house

pytestmark = pytest.mark.anyio


async def test_what_other_agents_left_is_at_home_in_every_store(database_url: str, tmp_path: Path) -> None:
    lay(tmp_path)
    config = f'model = "{MODEL}"\n[store]\nurl = "{database_url}"\n'
    script = {"conversations": [{"steps": [{"text": "Gone on with."}], "loop": True}]}
    async with house(tmp_path, script, config=config) as h, await h.client() as client:
        counted = (await ask(client, UsageAll)).total
        assert counted.requests == 23
        brought = await ask(client, HistoryImport)
        assert brought.left_out == []
        assert sum(each.new for each in brought.agents) == 11
        again = await ask(client, HistoryImport)
        assert (again.messages, sum(each.unchanged for each in again.agents)) == (0, 11)
        assert (await ask(client, HistoryFind)).fresh == 0
        assert (await ask(client, UsageAll, by="project")).total == counted

        own = await ask(client, SessionList, brought=False)
        assert (own.sessions, sum(own.brought.values())) == ([], 11)
        assert (await ask(client, SessionList, brought=False, cwd="/nowhere")).brought == {}
        [goose] = (await ask(client, SessionList, brought=True, agent="goose")).sessions
        while (said := await ask(client, MessagesSearch, query="says goose")).unread:
            pass
        assert [hit.session for hit in said.found] == [goose.id]

        fork = await ask(client, SessionFork, session=goose.id, cwd=str(h.workspace))
        await turn(client, await client.attach(fork.id))
        assert [message.role for message in await messages_of(client, fork.id)][-2:] == ["user", "assistant"]
        assert len((await ask(client, SessionList, brought=False)).sessions) == 1
        # One that was rewritten there, and is shorter now, is written anew here.
        file = max((tmp_path / ".claude" / "projects").rglob("*.jsonl"), key=lambda each: each.stat().st_size)
        lines = file.read_text().splitlines(keepends=True)
        file.write_text("".join(lines[: len(lines) // 2]))
        rewritten = await ask(client, HistoryImport, agents=["claude"])
        assert [(each.grown, each.unchanged) for each in rewritten.agents] == [(1, 1)]
