"""An editor: the official SDK's client, driving the real program."""

import asyncio
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from socket import socketpair
from typing import Any, Protocol, cast

import acp
from acp import schema as s

from openagent.acp import serve

from .binary import Binary

PATIENCE = 60.0
Update = Any
Answer = Callable[[s.ToolCallUpdate], Awaitable[str]]
"""Which option a person chooses for a call; empty when the person turns away."""


async def reject(call: s.ToolCallUpdate) -> str:
    return "reject"


class Place(Protocol):
    """A daemon and its workspace."""

    workspace: Path


class Editor:
    def __init__(self, answer: Answer = reject) -> None:
        self.answer = answer
        self.updates: list[tuple[str, Update]] = []
        self.asked: list[tuple[Any, list[s.PermissionOption]]] = []
        self.buffers: dict[str, str] = {}
        self.read: list[str] = []
        self.form_answer: dict[str, Any] | None = None
        self.forms: list[str] = []
        self._news = asyncio.Event()
        self.agent: Any = None
        self.process: Any = None

    async def session_update(self, session_id: str, update: Update, **kwargs: Any) -> None:
        self.updates.append((session_id, update))
        self._news.set()

    async def request_permission(
        self, session_id: str, tool_call: s.ToolCallUpdate, options: list[s.PermissionOption], **kwargs: Any
    ) -> s.RequestPermissionResponse:
        self.asked.append((tool_call, options))
        self._news.set()
        chosen = await self.answer(tool_call)
        if not chosen:
            return s.RequestPermissionResponse(outcome=s.DeniedOutcome(outcome="cancelled"))
        return s.RequestPermissionResponse(outcome=s.AllowedOutcome(outcome="selected", option_id=chosen))

    async def read_text_file(
        self, session_id: str, path: str, line: int | None = None, limit: int | None = None, **kwargs: Any
    ) -> s.ReadTextFileResponse:
        self.read.append(path)
        if path not in self.buffers:
            raise acp.RequestError.resource_not_found(path)
        return s.ReadTextFileResponse(content=self.buffers[path])

    async def create_elicitation(self, message: str, mode: Any, **kwargs: Any) -> s.CreateElicitationResponse:
        self.forms.append(message)
        return s.AcceptElicitationResponse(action="accept", content=self.form_answer)

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """What an editor does not know it passes over."""

    def on_connect(self, conn: Any) -> None:
        self.agent = conn

    # What a test looks at

    def of(self, kind: str) -> list[Update]:
        return [update for _, update in self.updates if update.session_update == kind]

    def said(self, kind: str = "agent_message_chunk") -> str:
        return "".join(update.content.text for update in self.of(kind) if update.content.type == "text")

    async def until(self, seen: Callable[[], Any]) -> Any:
        async with asyncio.timeout(PATIENCE):
            while not (found := seen()):
                self._news.clear()
                await self._news.wait()
            return found


async def open_session(editor: Editor, place: Place) -> str:
    return (await editor.agent.new_session(cwd=str(place.workspace), mcp_servers=[])).session_id


async def ask(editor: Editor, session: str, text: str) -> str:
    return (await editor.agent.prompt(session_id=session, prompt=[acp.text_block(text)])).stop_reason


def states(editor: Editor, call_id: str) -> list[str]:
    updates = [*editor.of("tool_call"), *editor.of("tool_call_update")]
    return [update.status for update in updates if update.tool_call_id == call_id and update.status]


@asynccontextmanager
async def editing(
    program: Binary, editor: Editor | None = None, *, capabilities: s.ClientCapabilities | None = None
) -> AsyncGenerator[Editor, None]:
    editor = editor or Editor()
    arguments = (sys.executable, "-m", "openagent", "acp")
    async with acp.spawn_agent_process(cast(Any, editor), *arguments, env=program.env, cwd=program.workspace) as (
        agent,
        process,
    ):
        editor.agent, editor.process = agent, process
        await _meet(editor, capabilities)
        yield editor


async def _meet(editor: Editor, capabilities: s.ClientCapabilities | None) -> None:
    async with asyncio.timeout(PATIENCE):
        info = s.Implementation(name="test editor", version="1")
        await editor.agent.initialize(acp.PROTOCOL_VERSION, client_capabilities=capabilities, client_info=info)


@asynccontextmanager
async def editing_in(
    place: Place, editor: Editor | None = None, *, capabilities: s.ClientCapabilities | None = None
) -> AsyncGenerator[Editor, None]:
    """The same with the gateway in the test's own process, which finds its daemon by OPENAGENT_HOME."""
    editor = editor or Editor()
    ours, theirs = socketpair()
    reader, writer = await asyncio.open_connection(sock=theirs)
    serving = asyncio.create_task(serve(_lines(reader), writer.write))
    own_reader, own_writer = await asyncio.open_connection(sock=ours, limit=1 << 24)
    editor.agent = acp.connect_to_agent(cast(Any, editor), own_writer, own_reader, use_unstable_protocol=True)
    try:
        await _meet(editor, capabilities)
        yield editor
    finally:
        own_writer.close()
        await serving
        writer.close()
        await editor.agent.close()


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes | None]:
    while line := await reader.readline():
        yield line
