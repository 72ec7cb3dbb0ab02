"""More sessions than stay in memory, and everybody wants one: each is there once, or on its way."""

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openagent.client import Client
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import TurnCompleted
from openagent.protocol.sessions import (
    SessionDelete,
    SessionDetach,
    SessionGet,
    SessionUpdate,
    SettingsChange,
)

from .doing import ask, messages_of
from .house import PATIENCE, house, new_session, until

SESSIONS = 5
ECHO = {"steps": [{"text": "You said: {last_user}"}], "loop": True}
KINDS = st.sampled_from(["get", "beginning", "page", "update", "attach", "send"])


def few_in_memory(count: int) -> str:
    return f"[store]\nidle_sessions = {count}\n"


async def perform(client: Client, session: str, kind: str) -> None:
    match kind:
        case "get":
            assert (await ask(client, SessionGet, session=session)).id == session
        case "beginning":
            assert (await ask(client, SessionGet, session=session[:30])).id == session
        case "page":
            await messages_of(client, session)
        case "update":
            change = SettingsChange(max_steps=77)
            info = await ask(client, SessionUpdate, session=session, settings=change)
            assert info.settings.max_steps == 77
        case "attach":
            await client.attach(session)
            await ask(client, SessionDetach, session=session)
        case _:
            await client.send(session, "well?")


@given(st.lists(st.tuples(st.integers(0, SESSIONS - 1), KINDS), min_size=8, max_size=30), st.integers(0, 2))
@settings(max_examples=8, deadline=None)
def test_ops_at_once_on_more_sessions_than_stay_in_memory_all_succeed(work: list[tuple[int, str]], kept: int) -> None:
    async def scene(folder: Path) -> None:
        async with house(folder, ECHO, config=few_in_memory(kept)) as h:
            clients = [await h.client() for _ in range(4)]
            try:
                sessions = [await new_session(h, clients[0]) for _ in range(SESSIONS)]
                await asyncio.gather(
                    *(perform(clients[n % 4], sessions[which], kind) for n, (which, kind) in enumerate(work)),
                )
                for which, session in enumerate(sessions):
                    attachment = await clients[0].attach(session)
                    await clients[0].send(session, "the last one")
                    await until(attachment, lambda event: isinstance(event, TurnCompleted) and "last" in event.text)
                    said = [message.role for message in await messages_of(clients[0], session)]
                    sent = sum(kind == "send" for number, kind in work if number == which)
                    assert said == ["user", "assistant"] * (sent + 1)
            finally:
                for client in clients:
                    await client.close()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(scene(Path(folder)))


@pytest.mark.anyio
async def test_whoever_asks_for_a_session_while_it_is_deleted_is_told_that_it_is_gone(tmp_path: Path) -> None:
    async with house(tmp_path, ECHO, config=few_in_memory(0)) as h:
        clients = [await h.client() for _ in range(6)]
        session = await new_session(h, clients[0])

        async def get(client: Client) -> str:
            try:
                return (await ask(client, SessionGet, session=session)).id
            except OpenAgentError as problem:
                return problem.info.code

        heard: list[str] = []
        try:
            async with asyncio.timeout(PATIENCE):
                deleting = asyncio.create_task(ask(clients[0], SessionDelete, session=session))
                while not deleting.done():
                    heard += await asyncio.gather(*map(get, clients[1:]))
                await deleting
                assert set(await asyncio.gather(*map(get, clients))) == {"not_found"}
            assert set(heard) <= {session, "not_found"}
        finally:
            for client in clients:
                await client.close()
