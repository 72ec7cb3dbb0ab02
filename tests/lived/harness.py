"""A daemon with everything switched on, and a line to it that remembers what went over it."""

import json
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from devtools.simulator import Simulator
from openagent.client import Client, connect
from openagent.client.transport import Transport, UnixTransport, WebSocketTransport
from openagent.core.runtime import Runtime
from openagent.protocol.codec import decode_event
from openagent.protocol.events import Failed, MessageAdded, Reply
from openagent.protocol.messages import ToolResultPart
from openagent.tools.web_fetch import web_fetch_tool

from ..interaction.house import House, house_over
from ..mcp_host.bench import SCRIPTED, scripted
from ..tools.site import Page, Site, site

WIRES = {"chat": "compatible", "responses": "openai", "anthropic": "anthropic", "gemini": "gemini"}
RECORDINGS = Path(__file__).parent / "recordings"
TILL = "# prices\ndef total(items):\n    return sum(items)\n"
DOT = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360000000000200"
    "01e221bc330000000049454e44ae426082"
)
RULES = "# Rules\n\nPrices are rounded.\n"
FLOW = 'description = "One step"\n[[step]]\nname = "only"\ntemplate = "coder"\ntask = "Do the one step."\n'


UNENDING = {"index.watch"}
"""Answered by events only: they go on until the client leaves."""


class _Head(msgspec.Struct):
    op: str
    id: str


class Met:
    """What has been met by a real exchange: ops that were answered, ops that were refused, events, and calls."""

    def __init__(self) -> None:
        self.ops: set[str] = set()
        self.refused: dict[str, str] = {}
        self.events: set[str] = set()
        self.tools: set[str] = set()
        """Called by a model in a turn, with a result that is no error."""
        self.offered: set[str] = set()
        """Built-in tools that there are."""


class RememberingLine:
    """A transport around another."""

    def __init__(self, line: Transport, met: Met) -> None:
        self._line = line
        self._met = met
        self._sent: dict[str, str] = {}

    async def send(self, body: bytes) -> None:
        head = msgspec.json.decode(body, type=_Head)
        self._sent[head.id] = head.op
        await self._line.send(body)

    async def receive(self) -> bytes | None:
        body = await self._line.receive()
        if body is not None:
            self._heard(body)
        return body

    def _heard(self, body: bytes) -> None:
        event = decode_event(body)
        self._met.events.add(str(event.__struct_config__.tag))
        if op := self._sent.get(event.op_id):
            if isinstance(event, Failed):
                self._met.refused[op] = event.error.message
            elif isinstance(event, Reply) or op in UNENDING:
                self._met.ops.add(op)
        if isinstance(event, MessageAdded):
            results = [part for part in event.message.parts if isinstance(part, ToolResultPart)]
            self._met.tools |= {result.name for result in results if not result.is_error}

    async def close(self) -> None:
        await self._line.close()


async def client_of(h: House, met: Met, *, interactive: bool = True) -> Client:
    return await line_to(h.daemon.place.socket, met, interactive=interactive)


async def line_to(socket: str, met: Met, *, interactive: bool = True) -> Client:
    line = RememberingLine(await UnixTransport.open(socket), met)
    return await connect(transport=line, name="lived", interactive=interactive, env={})


async def web_client_of(h: House, met: Met, secret: str = "") -> Client:
    """The owner's, or that of whoever has the secret."""
    url = h.daemon.place.web_url.replace("http", "ws") + "/ws"
    line = RememberingLine(await WebSocketTransport.open(url, secret or (h.home / "token").read_text()), met)
    return await connect(transport=line, name="lived", env={})


async def runtime_of(h: House) -> Runtime:
    """To put something in that no setting installs."""
    return (await h.daemon._manager()).runtime  # pyright: ignore[reportPrivateUsage]


def providers(sim: Simulator) -> str:
    """The one for chat is the house's own."""
    rest = [("openai", "/v1"), ("anthropic", ""), ("gemini", "")]
    return "".join(
        f'[providers.{kind}]\nkind = "{kind}"\nbase_url = "{sim.base_url}{ending}"\napi_key = "k"\n'
        + ('api = "responses"\n' if kind == "openai" else "")
        for kind, ending in rest
    )


def furnish(root: Path) -> None:
    """A workspace, and a person with hooks and an MCP server."""
    furnish_workspace(root / "workspace")
    home = root / "home"
    home.mkdir(exist_ok=True)
    (home / "hooks.json").write_text(json.dumps({"hooks": _hooks()}))
    (home / "mcpServers.json").write_text(json.dumps({"mcpServers": {"shop": scripted("library")}}))


def furnish_workspace(workspace: Path) -> None:
    """A small repository with rules, a skill, a command and a flow."""
    files = {
        "till.py": TILL,
        "AGENTS.md": RULES,
        "notes/AGENTS.md": "Notes are short.\n",
        ".openagent/skills/rounding/SKILL.md": "---\nname: rounding\ndescription: How to round\n---\nEven.\n",
        ".openagent/commands/hail.md": "Say hello to $ARGUMENTS.\n",
        ".openagent/flows/once.toml": FLOW,
        SCRIPTED.name: SCRIPTED.read_text(),
    }
    for name, text in files.items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(text)
    (workspace / "dot.png").write_bytes(DOT)
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    for command in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=workspace, check=True)


def _hooks() -> dict[str, Any]:
    events = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop"]
    events += ["SubagentStop", "Notification", "PreCompact", "PermissionRequest"]
    return {event: [{"hooks": [{"type": "command", "command": "cat > /dev/null"}]}] for event in events}


@asynccontextmanager
async def furnished(
    root: Path, sim: Simulator, *, config: str = "", web: bool = False
) -> AsyncGenerator[tuple[House, Site], None]:
    """Everything switched on; pages of the web are on loopback."""
    furnish(root)
    pages = {
        "/rounding": Page(b"<p>Half to even.</p>", "text/html"),
        "/search": Page(b'{"results": [{"title": "Rounding", "url": "http://x.example"}]}', "application/json"),
    }
    async with site(pages) as served:
        searching = f'[tools.search]\nkind = "searxng"\nbase_url = "http://127.0.0.1:{served.port}"\n'
        async with house_over(root, sim, config=f"{config}\n{searching}{providers(sim)}", web=web) as h:
            runtime = await runtime_of(h)
            fetching = web_fetch_tool(reachable=["127.0.0.0/8"])
            runtime.tools = [fetching if tool.name == fetching.name else tool for tool in runtime.tools]
            yield h, served
