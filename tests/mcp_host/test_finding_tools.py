"""Calling a tool on whichever server has it."""

import asyncio
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from openagent.plugins.tool import ToolContext
from openagent.protocol.errors import OpenAgentError
from openagent.tools.mcp.definitions import ServerDefinition
from openagent.tools.mcp.host import MCPHost

from .bench import SCRIPTED

pytestmark = pytest.mark.anyio


@dataclass
class Caller:
    scratch: Path
    session: str = "s"
    call_id: str = "c"


async def start(definition: ServerDefinition, workspace: Path) -> asyncio.subprocess.Process:
    pipe = subprocess.PIPE
    argv = (definition.command, *definition.args)
    return await asyncio.create_subprocess_exec(*argv, cwd=workspace, stdin=pipe, stdout=pipe, stderr=pipe)


async def nothing(*_: Any) -> Any:
    return None


def definition(name: str, manner: str) -> ServerDefinition:
    return ServerDefinition(name=name, transport="stdio", command=sys.executable, args=[str(SCRIPTED), manner])


async def test_a_tool_is_called_by_its_servers_name_for_it_unless_several_have_it(tmp_path: Path) -> None:
    host = MCPHost(
        start, reserved=["where"], on_change=lambda workspace, server: None, sample=nothing, authorize=nothing
    )
    caller = cast(ToolContext, Caller(tmp_path))
    one = {"one": definition("one", "good")}
    try:
        names = {tool.name for tool in await host.tools(tmp_path, one, "s")}
        assert "one__where" in names
        assert "where" not in names
        assert str(tmp_path) in (await host.call_tool_auto(tmp_path, "where", {}, caller)).text
        assert str(tmp_path) in (await host.call_tool_auto(tmp_path, "one__where", {}, caller)).text
        await host.tools(tmp_path, {**one, "two": definition("two", "good")}, "s")
        with pytest.raises(OpenAgentError, match="Several MCP servers offer 'echo'") as several:
            await host.call_tool_auto(tmp_path, "echo", {"text": "x"}, caller)
        assert several.value.info.hint == "Say which: one__echo, two__echo."
        assert (await host.call_tool_auto(tmp_path, "two__echo", {"text": "x"}, caller)).text == "x"
        with pytest.raises(OpenAgentError, match="No MCP server offers 'fly' here"):
            await host.call_tool_auto(tmp_path, "fly", {}, caller)
    finally:
        await host.close()
