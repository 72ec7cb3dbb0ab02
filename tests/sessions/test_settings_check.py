"""Settings of a session are checked where they come in, with the nearest right name."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from openagent.protocol import events as e
from openagent.protocol.codec import decode_op
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.sessions import SessionUpdate, SettingsChange
from openagent.protocol.templates import Template, TemplatesSave
from tests.interaction.doing import ask, turn
from tests.interaction.house import house, new_session

pytestmark = pytest.mark.anyio

WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"model": "nosuch/x"}, "There is no provider named 'nosuch'.", "Configured are: compatible, demo"),
    ({"model": "antropic/claude-x"}, "There is no provider named 'antropic'.", "Did you mean 'anthropic'?"),
    ({"model": "gpt-5"}, "'gpt-5' does not say whose model it is.", "such as openai/gpt-5"),
    ({"tools": ["grep", "reed_file"]}, "There is no tool named 'reed_file'.", "Did you mean 'read_file'?"),
    ({"disabled_tools": ["shel"]}, "There is no tool named 'shel'.", "Did you mean 'shell'?"),
    ({"tools": ["teleport"]}, "There is no tool named 'teleport'.", "`openagent tools list`"),
    ({"mcp_servers": ["moon"]}, "There is no MCP server named 'moon'.", "There are: none."),
    ({"collector": "hibrid"}, "There is no collector named 'hibrid'.", "Did you mean 'hybrid'?"),
    ({"temperature": 9.0}, "`temperature` must be 0 or more and at most 2, not 9.", "leave it out"),
    ({"budget_usd": -5.0}, "`budget_usd` must be 0 or more", "leave it out"),
    ({"budget_usd": 1e308}, "`budget_usd` must be 0 or more and at most 1,000,000", "leave it out"),
    ({"budget_tokens": 10**20}, "`budget_tokens` must be", "leave it out"),
    ({"max_steps": 0}, "`max_steps` must be 1 or more", "leave it out"),
    ({"turn_timeout": 0.0}, "`turn_timeout` must be more than 0", "leave it out"),
    ({"max_output_tokens": -1}, "`max_output_tokens` must be", "leave it out"),
]


@pytest.mark.parametrize(("settings", "said", "hint"), WRONG, ids=lambda value: str(value)[:40])
async def test_what_cannot_be_meant_is_refused_when_a_session_is_made_and_when_it_is_changed(
    tmp_path: Path, settings: dict[str, Any], said: str, hint: str
) -> None:
    async with house(tmp_path, []) as h, await h.client() as client:
        session = await new_session(h, client)
        with pytest.raises(OpenAgentError) as created:
            await client.create_session(str(h.workspace), **settings)
        with pytest.raises(OpenAgentError) as changed:
            await ask(client, SessionUpdate, session=session, settings=SettingsChange(**settings))
        for refused in (created.value.info, changed.value.info):
            assert refused.code == "invalid_argument"
            assert said in refused.message
            assert hint in refused.hint
        assert (await client.create_session(str(h.workspace), temperature=0.0, budget_usd=0.0, max_steps=1)).id


@pytest.mark.parametrize(
    ("settings", "hint"),
    [
        ({"mode": "fulll"}, "Did you mean 'full'?"),
        ({"thinking": "hihg"}, "Did you mean 'high'?"),
        ({"temprature": 1}, "Did you mean 'temperature'?"),
        ({"mode": "xyz"}, "There are: plan, ask, edits, auto, full."),
    ],
)
def test_words_that_are_none_come_back_with_the_nearest(settings: dict[str, Any], hint: str) -> None:
    frame = msgspec.json.encode({"op": "session.update", "id": "1", "session": "s", "settings": settings})
    with pytest.raises(OpenAgentError) as refused:
        decode_op(frame)
    assert refused.value.info.hint == hint


async def test_a_template_with_a_slip_of_the_pen_is_not_saved(tmp_path: Path) -> None:
    async with house(tmp_path, []) as h, await h.client() as client:
        for template, said in (
            (Template("x", prompt="p", tools=["grep", "reed_file"]), "Did you mean 'read_file'?"),
            (Template("x", prompt="p", budget_usd=1e308), "less than 1,000,000"),
        ):
            with pytest.raises(OpenAgentError) as refused:
                await ask(client, TemplatesSave, template=template)
            assert said in str(refused.value)
        elsewhere = Template("x", prompt="p", tools=["list_directory"])
        assert (await ask(client, TemplatesSave, template=elsewhere)).template == elsewhere


async def test_tools_that_have_gone_are_told_and_a_session_left_without_any_sends_nothing(tmp_path: Path) -> None:
    script = {"steps": [{"text": "Hello."}], "loop": True}
    async with house(tmp_path, script, config='[tools]\noff = ["gerp"]') as h, await h.client() as client:
        session = await new_session(h, client, tools=["grep", "shell"])
        completed, seen = await turn(client, await client.attach(session))
        assert completed.reason == "done"
        assert [event.error.hint for event in seen if isinstance(event, e.ErrorRaised)] == ["Did you mean 'grep'?"]
    async with house(tmp_path, script, config='[tools]\ndisabled = ["grep"]') as h, await h.client() as client:
        completed, seen = await turn(client, await client.attach(session))
        assert completed.reason == "done"
        (told,) = [event.error for event in seen if isinstance(event, e.ErrorRaised)]
        assert told.message == "This session is to have tools that are not here: grep."
    async with house(tmp_path, script, config='[tools]\ndisabled = ["grep", "shell"]') as h, await h.client() as client:
        completed, _ = await turn(client, await client.attach(session))
        assert completed.error is not None
        assert completed.error.message == "This session is to have tools that are not here: grep, shell."
        assert not h.sim.requests
