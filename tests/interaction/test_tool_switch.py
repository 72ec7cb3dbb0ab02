"""A tool is switched off for one session or for those to come, and on again."""

from pathlib import Path

import pytest

from openagent.client import Client
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.safety import AuditAsk
from openagent.protocol.sessions import SessionGet
from openagent.protocol.tools import ToolsList, ToolsSwitch

from ..rest.calling import rest
from .doing import ask, call, one_turn
from .house import house, new_session

pytestmark = pytest.mark.anyio


async def disabled(client: Client, session: str) -> list[str]:
    return (await ask(client, SessionGet, session=session)).settings.disabled_tools


async def test_in_a_session_a_tool_goes_and_comes_back(tmp_path: Path) -> None:
    async with house(tmp_path, [call("git", arguments=["status"]), {"text": "ok"}]) as h, await h.client() as client:
        session = await new_session(h, client)
        await ask(client, ToolsSwitch, name="git", on=False, session=session)
        assert await disabled(client, session) == ["git"]
        tools = (await ask(client, ToolsList, session=session)).tools
        assert [tool.name for tool in tools if not tool.enabled] == ["git"]
        await ask(client, ToolsSwitch, name="git", on=True, session=session)
        assert await disabled(client, session) == []


async def test_sessions_that_start_later_are_without_it_until_it_is_switched_on_again(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "ok"}]) as h, await h.client() as client:
        before = await new_session(h, client)
        await ask(client, ToolsSwitch, name="web_fetch", on=False)
        await ask(client, ToolsSwitch, name="shell", on=False)
        after, _, _ = await one_turn(h, client)
        assert (await disabled(client, before), await disabled(client, after)) == ([], ["web_fetch", "shell"])
        offered = {tool["function"]["name"] for tool in h.sim.requests[-1].json()["tools"]}
        assert "read_file" in offered
        assert not {"web_fetch", "shell"} & offered
        await ask(client, ToolsSwitch, name="shell", on=True)
        assert await disabled(client, await new_session(h, client)) == ["web_fetch"]
        assert 'off = ["web_fetch"]' in (h.home / "config.toml").read_text()


async def test_the_list_says_what_new_sessions_have_also_of_what_hands_work_on(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "ok"}], web=True) as h, await h.client() as client:
        listed = {tool.name: tool.enabled for tool in (await ask(client, ToolsList)).tools}
        assert listed["git"]
        assert (listed["agent"], listed["agent_result"]) == (True, True)
        for name in ("git", "agent"):
            await ask(client, ToolsSwitch, name=name, on=False)
        off = [tool.name for tool in (await ask(client, ToolsList)).tools if not tool.enabled]
        assert off == ["git", "agent"]
        told = (await ask(client, AuditAsk, kind="tools")).entries
        assert [row.subject for row in told] == ["switch agent off", "switch git off"]
        async with rest(h) as api:
            told = (await api("GET", "/api/tools")).json()["tools"]
        assert [tool["name"] for tool in told if not tool.get("enabled", True)] == off
        session, _, _ = await one_turn(h, client)
        offered = {tool["function"]["name"] for tool in h.sim.requests[-1].json()["tools"]}
        assert {"git", "agent", "agent_result"} & offered == {"agent_result"}
        await ask(client, ToolsSwitch, name="agent_result", on=False, session=session)
        off = [tool.name for tool in (await ask(client, ToolsList, session=session)).tools if not tool.enabled]
        assert off == ["git", "agent", "agent_result"]
        await ask(client, ToolsSwitch, name="agent", on=True)
        assert await disabled(client, await new_session(h, client)) == ["git"]


async def test_a_tool_that_there_is_not_is_refused(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "ok"}]) as h, await h.client() as client:
        session = await new_session(h, client)
        for where in ("", session):
            with pytest.raises(OpenAgentError, match="no tool 'telepathy'"):
                await ask(client, ToolsSwitch, name="telepathy", on=False, session=where)
