"""Which tools are offered, and what they cost."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from openagent.agents.templates import TEAM_TOOLS
from openagent.core.prompt import system_prompt
from openagent.index.code_index import CodeIndex
from openagent.plugins.recall import Recalled
from openagent.protocol import events as e
from openagent.protocol.conversation import QuestionAnswer
from openagent.protocol.messages import ToolResultPart
from openagent.protocol.sessions import PlanItem, SessionInfo
from openagent.protocol.tools import ToolsList
from openagent.telemetry.counting import exact_tokens
from openagent.tools.ask_user import ask_user
from openagent.tools.registry import built_in_tools
from openagent.tools.todo import todo
from openagent.tools.web_search import JsonSearch
from tests.interaction.house import House, house, new_session, until

from .bench import Bench

pytestmark = pytest.mark.anyio


class NoMemory:
    async def search(self, session: str, query: str, limit: int) -> list[Recalled]:
        return []

    async def read(self, session: str, message: int) -> str:
        return ""


ALWAYS = [
    *("read_file", "write_file", "edit_file", "apply_patch", "list_dir", "glob", "grep"),
    *("shell", "shell_output", "execute_code", "git", "web_fetch", "ask_user", "todo"),
]


def test_the_order_is_stable_and_what_needs_a_service_is_offered_with_it_alone(tmp_path: Path) -> None:
    assert [tool.name for tool in built_in_tools()] == ALWAYS
    with_search = [tool.name for tool in built_in_tools(search=JsonSearch("brave"))]
    assert set(with_search) - set(ALWAYS) == {"web_search"}
    with_index = [tool.name for tool in built_in_tools(index=CodeIndex(tmp_path))]
    assert set(with_index) - set(ALWAYS) == {"search_code"}
    with_memory = [tool.name for tool in built_in_tools(memory=NoMemory())]
    assert set(with_memory) - set(ALWAYS) == {"recall"}


def test_the_fixed_part_of_a_request_stays_small(tmp_path: Path) -> None:
    info = SessionInfo(id="s", name="", cwd="/home/someone/projects/a-project", created_at=0, updated_at=0)
    tools = built_in_tools(search=JsonSearch("brave"), index=CodeIndex(tmp_path), memory=NoMemory())
    fixed = msgspec.json.encode([tool.schema for tool in tools]).decode()
    assert exact_tokens("".join(system_prompt(info).values()) + fixed) <= 2500


def test_schemas_are_plain_and_every_argument_that_needs_it_is_described() -> None:
    for tool in built_in_tools():
        text = msgspec.json.encode(tool.schema.parameters).decode()
        assert "$ref" not in text
        assert tool.schema.description
        assert tool.check({"no_such_argument": 1})


async def test_a_question_reaches_a_person_and_the_plan_is_set_whole(bench: Bench) -> None:
    bench.answer = "the second"
    assert await bench.text(ask_user, question="Which?", choices=["the first", "the second"]) == "the second"
    assert (bench.asked[0].text, bench.asked[0].choices, bench.asked[0].call_id) == (
        *("Which?", ["the first", "the second"], "call"),
    )
    plan = [{"text": "look", "state": "done"}, {"text": "act", "state": "active"}, {"text": "rest"}]
    assert await bench.text(todo, plan=plan) == "Plan: 1 of 3 done."
    assert bench.plan == [PlanItem("look", "done"), PlanItem("act", "active"), PlanItem("rest")]


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": arguments}]}


async def results_of(h: House, **settings: Any) -> list[ToolResultPart]:
    async with await h.client(interactive=True) as client:
        session = await new_session(h, client, **settings)
        attachment = await client.attach(session)
        await client.send(session, "go")
        _, seen = await attachment.until_turn_ends()
    messages = [event.message for event in seen if isinstance(event, e.MessageAdded)]
    return [part for message in messages for part in message.parts if isinstance(part, ToolResultPart)]


def offered(h: House) -> list[str]:
    tools: list[dict[str, dict[str, str]]] = h.sim.requests[-1].json()["tools"]
    return [tool["function"]["name"] for tool in tools]


async def test_a_tool_that_is_switched_off_is_neither_offered_nor_callable(tmp_path: Path) -> None:
    script = [call("shell", command="touch ran"), call("git", subcommand="init"), {"text": "done"}]
    async with house(tmp_path, script, config='[tools]\ndisabled = ["git", "web_fetch"]') as h:
        refused = await results_of(h, disabled_tools=["shell"])
        assert [part.is_error for part in refused] == [True, True]
        assert refused[0].text.startswith("There is no tool named 'shell'. There are: read_file")
        left = [name for name in ALWAYS if name not in ("git", "web_fetch", "shell")]
        assert [name for name in offered(h) if name not in ("search_code", "recall", *TEAM_TOOLS)] == left
        assert not list(h.workspace.iterdir())
        async with await h.client() as client:
            listed = await client.request(ToolsList(id=client.next_id()))
        assert "git" not in [tool.name for tool in listed.tools]


async def test_a_configured_search_service_brings_its_tool(tmp_path: Path) -> None:
    config = '[tools.search]\nkind = "searxng"\nbase_url = "http://127.0.0.1:9"'
    async with house(tmp_path, [{"text": "done"}], config=config) as h:
        await results_of(h)
        assert "web_search" in offered(h)


async def test_plan_mode_lets_git_look_but_not_touch(tmp_path: Path) -> None:
    script = [
        call("git", subcommand="status", args=["--short"]),
        call("git", subcommand="commit", args=["-m", "x"]),
        call("git", subcommand="diff", args=["--output=stolen"]),
        call("write_file", path="a.txt", content="x"),
        call("grep", pattern="x"),
        {"text": "done"},
    ]
    async with house(tmp_path, script) as h:
        looked, committed, written, wrote, searched = await results_of(h, mode="plan")
        assert "not a git repository" in looked.text
        assert all(part.is_error for part in (committed, written))
        assert wrote.text.startswith("Denied: The session is in plan mode")
        assert searched.text == "Nothing matches."
        assert not list(h.workspace.iterdir())


async def test_long_output_is_kept_in_the_sessions_private_directory(tmp_path: Path) -> None:
    async with house(tmp_path, [call("shell", command="seq 1 100000"), {"text": "done"}]) as h:
        (printed,) = await results_of(h)
        name = printed.text.split("read_file output:")[1].split()[0]
        (kept,) = h.home.glob(f"scratch/*/outputs/{name}")
        assert kept.read_text().endswith("100000\n")


async def test_an_answer_to_a_question_becomes_the_result(tmp_path: Path) -> None:
    script = [call("ask_user", question="Tea?", choices=["yes", "no"]), {"text": "{last_result}"}]
    async with house(tmp_path, script) as h, await h.client(interactive=True) as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await client.send(session, "go")
        asked = (await until(attachment, lambda event: isinstance(event, e.QuestionAsked)))[-1]
        assert isinstance(asked, e.QuestionAsked)
        assert asked.question.choices == ["yes", "no"]
        await client.request(
            QuestionAnswer(id=client.next_id(), session=session, question=asked.question.id, answer="yes")
        )
        completed, _ = await attachment.until_turn_ends()
        assert completed.text == "yes"
