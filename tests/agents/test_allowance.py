"""No sub-agent has more than its caller: tools, servers, mode, and the right to write."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openagent.agents.allowance import within
from openagent.plugins.provider import ToolSchema
from openagent.plugins.tool import FunctionTool, Tool, ToolContext, ToolOutcome, has_tool, tool
from openagent.protocol import events as e
from openagent.protocol.sessions import SessionGet, SessionUpdate, Settings, SettingsChange
from openagent.protocol.templates import Template, TemplatesSave
from openagent.protocol.undo import SessionUndo
from openagent.protocol.workspaces import WorkspacesDiff, WorkspacesList, WorkspacesRemove

from ..interaction.doing import ask, results_of, shell, turn, write
from ..interaction.house import house, new_session, until
from .test_subagents import agents, of, repository, script, talk

NAMES = ("read_file", "shell", "agent", "alpha_look", "alpha_do", "beta_do")
SERVERS = {"alpha_look": "alpha", "alpha_do": "alpha", "beta_do": "beta"}


def named(name: str) -> FunctionTool:
    @tool(effect="read")
    async def made(context: ToolContext) -> ToolOutcome:
        """It does nothing."""
        return ToolOutcome("")

    made.name = name
    made.schema = ToolSchema(name=name, description="", parameters={})
    made.source = f"mcp:{SERVERS[name]}" if name in SERVERS else "built-in"
    return made


KNOWN: list[Tool] = [named(name) for name in NAMES]


def some(names: tuple[str, ...]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(names), unique=True)


limits = st.builds(
    Settings,
    tools=st.none() | some(NAMES),
    mcp_servers=st.none() | some(("alpha", "beta")),
    disabled_tools=some(NAMES),
)


@given(limits, limits)
def test_exactly_what_both_have_is_had(asked: Settings, held: Settings) -> None:
    child = msgspec.structs.replace(asked, **within(asked, held, KNOWN))
    for each in KNOWN:
        assert has_tool(child, each) == (has_tool(asked, each) and has_tool(held, each)), each.name


pytestmark = pytest.mark.anyio


async def settings_of(client: Any, session: str) -> Settings:
    return (await ask(client, SessionGet, session=session)).settings


async def test_a_caller_with_an_allow_list_has_sub_agents_that_only_read_and_share_its_workspace(
    tmp_path: Path,
) -> None:
    plan = script(
        talk("one", write("lines.txt", "one\n"), {"text": "tried"}),
        talk("two", write("lines.txt", "two\n"), {"text": "tried"}),
        talk("begin", agents(("coder", "one"), ("tester", "two")), {"text": "ok"}),
    )
    async with house(tmp_path, plan) as h, await h.client() as client:
        repository(h.workspace)
        before = (h.workspace / "lines.txt").read_text()
        root = await new_session(h, client, tools=["read_file", "agent"])
        _, seen = await turn(client, await client.attach(root), "begin")
        started = of(seen, e.SubagentStarted)
        assert [event.copy for event in started] == ["", ""]
        for event in started:
            assert (await settings_of(client, event.child)).tools == ["read_file", "agent"]
            (refused,) = await results_of(client, event.child)
            assert refused.text.startswith("There is no tool named 'write_file'.")
        assert (h.workspace / "lines.txt").read_text() == before
        (result,) = await results_of(client, root)
        assert result.text.count("It could only read, as this session can.") == 2


async def test_a_limit_of_a_template_holds_two_levels_below(tmp_path: Path) -> None:
    """The session may do all; its `lead` may read and run commands; `lead`'s coder may not write files either."""
    plan = script(
        talk("deepest", write("deep.txt", "deep\n"), {"text": "tried"}),
        talk("middle", agents(("coder", "deepest"), ("picky", "also")), {"text": "middle done"}),
        talk("also", write("also.txt", "x\n"), {"text": "tried"}),
        talk("begin", agents(("lead", "middle")), {"text": "ok"}),
    )
    async with house(tmp_path, plan) as h, await h.client() as client:
        repository(h.workspace)
        lead = Template("lead", prompt="Lead.", tools=["read_file", "grep", "agent"], mode="edits")
        picky = Template("picky", prompt="Work.", tools=["grep", "shell", "write_file"])
        for template in (lead, picky):
            await ask(client, TemplatesSave, template=template)
        root = await new_session(h, client, disabled_tools=["grep"])
        _, seen = await turn(client, await client.attach(root), "begin")
        (middle,) = of(seen, e.SubagentStarted)
        below = of((await turn_events(client, middle.child)), e.SubagentStarted)
        by_template = {event.template: await settings_of(client, event.child) for event in below}
        assert by_template["coder"].tools == ["read_file", "grep", "agent"]
        assert by_template["picky"].tools == ["grep"]
        assert {settings.mode for settings in by_template.values()} == {"edits"}
        assert all(settings.disabled_tools == ["grep"] for settings in by_template.values())
        assert [event.copy for event in (middle, *below)] == ["", "", ""]
        assert not (h.workspace / "deep.txt").exists()
        assert not (h.workspace / "also.txt").exists()
        (told,) = await results_of(client, middle.child)
        assert "It worked without grep, shell, write_file, which this session does not have." in told.text


async def turn_events(client: Any, session: str) -> list[e.Event]:
    attachment = await client.attach(session, after=0)
    return await until(attachment, lambda event: isinstance(event, e.TurnCompleted))


async def test_what_is_merged_is_undone_with_the_turn_of_the_caller(tmp_path: Path) -> None:
    plan = script(
        talk("job", write("made.txt", "made\n"), {"text": "done"}),
        talk("begin", agents(("coder", "job")), {"text": "ok"}),
    )
    async with house(tmp_path, plan) as h, await h.client() as client:
        repository(h.workspace)
        root = await new_session(h, client, tools=["agent", "write_file"])
        await turn(client, await client.attach(root), "begin")
        assert (h.workspace / "made.txt").exists()
        await ask(client, SessionUndo, session=root, turn=1, conversation=True)
        assert not (h.workspace / "made.txt").exists()


@pytest.mark.parametrize("less", [{"mode": "plan"}, {"tools": ["agent", "read_file"]}])
async def test_a_caller_that_may_not_write_any_more_gets_nothing_merged(tmp_path: Path, less: dict[str, Any]) -> None:
    """It loses the right after the sub-agent's edit, before the sub-agent's end."""
    plan = script(
        talk("job", write("made.txt", "made\n"), shell("until [ -e go ]; do sleep 0.02; done"), {"text": "done"}),
        talk("begin", agents(("coder", "job")), {"text": "ok"}),
    )
    async with house(tmp_path, plan) as h, await h.client() as client:
        root = await new_session(h, client)
        attachment = await client.attach(root)
        await client.send(root, "begin")
        (*_, started) = await until(attachment, lambda event: isinstance(event, e.SubagentStarted))
        assert isinstance(started, e.SubagentStarted)
        child = await client.attach(started.child, after=0)
        await until(child, lambda event: isinstance(event, e.ToolStarted) and event.tool == "shell")
        await ask(client, SessionUpdate, session=root, settings=SettingsChange(**less))
        (Path((await ask(client, SessionGet, session=started.child)).cwd) / "go").touch()
        await until(attachment, lambda event: isinstance(event, e.TurnCompleted))
        assert not (h.workspace / "made.txt").exists()
        (result,) = await results_of(client, root)
        assert "Its edits were not merged: this session may not write any more." in result.text
        (copy,) = (await ask(client, WorkspacesList)).copies
        assert f"openagent workspaces merge {copy.id}" in result.text
        changes = await ask(client, WorkspacesDiff, copy=copy.id)
        assert [change.path for change in changes.files] == ["go", "made.txt"]
        await ask(client, WorkspacesRemove, copy=copy.id, force=True)


async def test_a_tool_taken_from_a_caller_at_work_is_taken_from_its_sub_agents(tmp_path: Path) -> None:
    plan = script(
        talk("job", {"text": "never", "fault": "stall"}), talk("begin", agents(("coder", "job")), {"text": "ok"})
    )
    async with house(tmp_path, plan) as h, await h.client() as client:
        root = await new_session(h, client)
        attachment = await client.attach(root)
        await client.send(root, "begin")
        (*_, started) = await until(attachment, lambda event: isinstance(event, e.SubagentStarted))
        assert isinstance(started, e.SubagentStarted)
        child = await client.attach(started.child, after=0)
        less = SettingsChange(disabled_tools=["shell"])
        await ask(client, SessionUpdate, session=root, settings=less)
        (*_, updated) = await until(child, lambda event: isinstance(event, e.SessionUpdated))
        assert isinstance(updated, e.SessionUpdated)
        assert updated.info.settings.disabled_tools == ["shell"]
        assert await client.cancel(root)
