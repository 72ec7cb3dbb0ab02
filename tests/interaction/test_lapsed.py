"""What nobody answered in time is not done; it stays under what needs the person, who can have it asked again."""

from pathlib import Path
from typing import Any

import pytest

from openagent.client import Attachment, Client
from openagent.protocol import events as e
from openagent.protocol.conversation import AskAgain, AsksList
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.sessions import SessionGet, SessionList, Status
from openagent.tools import ask_user
from tests.agents.test_subagents import agents

from .doing import answer, ask, asked, call, messages_of, turn, write
from .house import house, new_session
from .test_states_in_words import openagent

pytestmark = pytest.mark.anyio
IMPATIENT = "[limits]\nask_timeout = 0.1\n"
GIVES_UP = {"text": "I could not."}
SCRIPT = [write("a", "x"), GIVES_UP, write("a", "x"), {"text": "It is written."}]


async def status_of(client: Client, session: str) -> Status:
    listed = (await ask(client, SessionList)).sessions
    info = await ask(client, SessionGet, session=session)
    assert [each.status for each in listed if each.id == session] == [info.status]
    return info.status


async def lapsed_in(client: Client, session: str) -> list[str]:
    """As a list of all that waits tells it, and whoever comes to the session."""
    told = await ask(client, AsksList)
    assert told.asks == []
    attachment = await client.attach(session)
    assert attachment.snapshot is not None
    here = [each.what[1] for each in attachment.snapshot.lapsed]
    assert here == [each.permission.summary if each.permission else "" for each in told.lapsed if each.lapsed_at]
    return here


async def again(client: Client, attachment: Attachment) -> e.PermissionRequested:
    await ask(client, AskAgain, session=attachment.session)
    return await asked(attachment)


async def test_an_approval_that_nobody_gave_in_time_can_be_asked_for_again(tmp_path: Path) -> None:
    patient = tmp_path / "workspace"
    async with house(tmp_path, SCRIPT, config=IMPATIENT) as h, await h.client(interactive=True) as client:
        session = await new_session(h, client, mode="ask")
        attachment = await client.attach(session)
        completed, seen = await turn(client, attachment)
        assert (completed.reason, completed.text) == ("done", "I could not.")
        assert [len(event.lapsed) for event in seen if isinstance(event, e.AsksLapsed)] == [1]
        assert await status_of(client, session) == "unanswered"
        assert await lapsed_in(client, session) == ["a"]
        (h.home / "config.toml").write_text((h.home / "config.toml").read_text().replace("= 0.1\n", "= 600.0\n"))
        asking = await again(client, attachment)
        assert (asking.ask.tool, asking.ask.summary) == ("write_file", "a")
        said = [message.text for message in await messages_of(client, session) if message.role == "user"]
        assert "- write a" in said[-1]
        await answer(client, asking, decision="allow")
        completed, _ = await attachment.until_turn_ends()
        assert completed.text == "It is written."
        assert await status_of(client, session) == "idle"
        assert await lapsed_in(client, session) == []
        assert (patient / "a").read_text() == "x"


async def test_it_stays_there_after_a_restart_until_somebody_lets_it_go(tmp_path: Path) -> None:
    async with house(tmp_path, SCRIPT, config=IMPATIENT) as h, await h.client(interactive=True) as client:
        session = await new_session(h, client, mode="ask")
        await turn(client, await client.attach(session))
    async with house(tmp_path, [], config=IMPATIENT) as h, await h.client(interactive=True) as client:
        assert await lapsed_in(client, session) == ["a"]
        assert await status_of(client, session) == "unanswered"
        await ask(client, AskAgain, session=session, drop=True)
        assert await status_of(client, session) == "idle"
        assert await lapsed_in(client, session) == []
        with pytest.raises(OpenAgentError, match="Nothing is left to ask again"):
            await ask(client, AskAgain, session=session)


async def test_whoever_says_something_else_has_answered_it(tmp_path: Path) -> None:
    script = [write("a", "x"), GIVES_UP, {"text": "Well."}]
    async with house(tmp_path, script, config=IMPATIENT) as h, await h.client(interactive=True) as client:
        session = await new_session(h, client, mode="ask")
        attachment = await client.attach(session)
        await turn(client, attachment)
        completed, _ = await turn(client, attachment, "never mind")
        assert completed.text == "Well."
        assert await status_of(client, session) == "idle"


async def test_a_question_that_nobody_answered_in_time_can_be_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ask_user, "PATIENCE", 0.05)
    script = [call("ask_user", question="Which port?"), GIVES_UP, {"text": "Well."}]
    async with house(tmp_path, script) as h, await h.client(interactive=True) as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        _, seen = await turn(client, attachment)
        assert [event.by for event in seen if isinstance(event, e.QuestionAnswered)] == ["timeout"]
        assert await status_of(client, session) == "unanswered"
        await ask(client, AskAgain, session=session)
        await attachment.until_turn_ends()
        said = [message.text for message in await messages_of(client, session) if message.role == "user"]
        assert "- answer: Which port?" in said[-1]


async def test_what_a_sub_agent_asked_is_kept_by_the_session_that_it_works_for(tmp_path: Path) -> None:
    def talk(heard: str, *steps: dict[str, Any]) -> dict[str, Any]:
        return {"match": {"user": heard}, "steps": list(steps)}

    script = {
        "conversations": [
            talk("write it", write("a", "x"), GIVES_UP),
            talk("go", agents(("coder", "write it")), {"text": "Nobody was there."}),
        ]
    }
    async with house(tmp_path, script, config=IMPATIENT) as h, await h.client(interactive=True) as client:
        session = await new_session(h, client, mode="ask")
        await turn(client, await client.attach(session))
        assert await status_of(client, session) == "unanswered"
        (lapsed,) = (await ask(client, AsksList)).lapsed
        assert (lapsed.session, lapsed.permission is not None) == (session, True)


async def test_the_command_line_lists_it_and_lets_it_go(tmp_path: Path) -> None:
    async with house(tmp_path, SCRIPT, config=IMPATIENT) as h, await h.client(interactive=True) as client:
        session = await new_session(h, client, mode="ask")
        await turn(client, await client.attach(session))
        told = await openagent(h, "agents", "waiting")
        assert f"`openagent agents ask-again {session}` has it asked again" in told
        assert "nobody answered" in await openagent(h, "sessions", "list")
        assert await openagent(h, "agents", "ask-again", session, "--drop") == "Let go.\n"
        assert await openagent(h, "agents", "waiting") == "Nothing waits for you.\n"
