"""What a server's tools are called here."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from openagent.tools.mcp.definitions import ServerDefinition
from openagent.tools.mcp.host import MCPHost

from .bench import SCRIPTED

pytestmark = pytest.mark.anyio


async def start(definition: ServerDefinition, workspace: Path) -> asyncio.subprocess.Process:
    pipe = subprocess.PIPE
    argv = (definition.command, *definition.args)
    return await asyncio.create_subprocess_exec(*argv, cwd=workspace, stdin=pipe, stdout=pipe, stderr=pipe)


async def nothing(*_: Any) -> Any:
    return None


def definition(name: str, manner: str) -> ServerDefinition:
    return ServerDefinition(name=name, transport="stdio", command=sys.executable, args=[str(SCRIPTED), manner])


async def test_a_name_that_is_taken_gets_its_servers_name_before_it(tmp_path: Path) -> None:
    host = MCPHost(
        start, reserved=["where"], on_change=lambda workspace, server: None, sample=nothing, authorize=nothing
    )
    try:
        names = {tool.name for tool in await host.tools(tmp_path, {"one": definition("one", "good")}, "s")}
        assert "one__where" in names
        assert "where" not in names
    finally:
        await host.close()
