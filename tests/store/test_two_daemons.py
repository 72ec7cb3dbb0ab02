"""Two daemons with homes of their own on one store: neither disturbs the other's turns."""

from pathlib import Path

import pytest

from devtools.simulator import Simulator
from openagent.client import Client
from openagent.protocol.conversation import MessageSend
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import TextDelta, TurnCompleted
from openagent.protocol.op import Op
from openagent.protocol.sessions import SessionDelete, SessionGet, SessionList
from tests.interaction.doing import ask, messages_of
from tests.interaction.house import house_over, new_session, until

pytestmark = pytest.mark.anyio

STALLED = [{"chunks": ["so far ", "so good"], "fault": {"name": "stall", "after": 1}}, {"text": "again"}]


async def refusal(client: Client, op: type[Op], **fields: object) -> str:
    with pytest.raises(OpenAgentError) as refused:
        await ask(client, op, **fields)
    assert refused.value.info.code == "conflict"
    return refused.value.info.message


async def test_a_second_daemon_on_one_store_disturbs_no_turn(database_url: str, tmp_path: Path) -> None:
    config = f'[store]\nurl = "{database_url}"\n'
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    async with Simulator(STALLED) as sim, house_over(first, sim, config=config) as one:
        mine = await one.client()
        session = await new_session(one, mine)
        attachment = await mine.attach(session)
        await mine.send(session, "go")
        await until(attachment, lambda event: isinstance(event, TextDelta))

        async with house_over(second, sim, config=config) as two:
            theirs = await two.client()
            listed = await ask(theirs, SessionList)
            assert [info.status for info in listed.sessions if info.id == session] == ["thinking"]
            named = str(first / "home")
            for op in (SessionGet, SessionDelete):
                assert named in await refusal(theirs, op, session=session)
            assert named in await refusal(theirs, MessageSend, session=session, text="mine!")

            sim.release()
            ended = (await until(attachment, lambda event: isinstance(event, TurnCompleted)))[-1]
            assert isinstance(ended, TurnCompleted)
            assert (ended.reason, ended.text) == ("done", "so far so good")
            assert [message.role for message in await messages_of(mine, session)] == ["user", "assistant"]
            await mine.close()
            await theirs.close()
