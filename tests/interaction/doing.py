"""What tests of rules, trust and undo do again and again."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from openagent.client import Attachment, Client
from openagent.protocol import events as e
from openagent.protocol.conversation import MessagesPage, PermissionAnswer
from openagent.protocol.messages import Message, ToolResultPart
from openagent.protocol.op import Op

from .house import PATIENCE, House, new_session, until

R = TypeVar("R", bound=Struct)


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": arguments}]}


def shell(command: str) -> dict[str, Any]:
    return call("shell", command=command)


def write(path: str, content: str) -> dict[str, Any]:
    return call("write_file", path=path, content=content)


async def ask(client: Client, op: type[Op[R]], /, **fields: Any) -> R:
    return await client.request(op(id=client.next_id(), **fields))


async def turn(client: Client, attachment: Attachment, prompt: str = "go") -> tuple[e.TurnCompleted, list[e.Event]]:
    await client.send(attachment.session, prompt)
    async with asyncio.timeout(PATIENCE):
        return await attachment.until_turn_ends()


async def one_turn(house: House, client: Client, **settings: Any) -> tuple[str, e.TurnCompleted, list[e.Event]]:
    session = await new_session(house, client, **settings)
    completed, seen = await turn(client, await client.attach(session))
    return session, completed, seen


async def asked(attachment: Attachment) -> e.PermissionRequested:
    event = (await until(attachment, lambda event: isinstance(event, e.PermissionRequested)))[-1]
    assert isinstance(event, e.PermissionRequested)
    return event


async def answer(client: Client, asking: e.PermissionRequested, **fields: Any) -> None:
    op = PermissionAnswer(id=client.next_id(), session=asking.session, ask=asking.ask.id, **fields)
    await client.request(op)


async def messages_of(client: Client, session: str) -> list[Message]:
    return (await ask(client, MessagesPage, session=session, limit=1000)).messages


async def results_of(client: Client, session: str) -> list[ToolResultPart]:
    messages = await messages_of(client, session)
    return [part for message in messages for part in message.parts if isinstance(part, ToolResultPart)]


def tree(folder: Path) -> Mapping[str, tuple[int, bytes]]:
    """Every file's mode and content, and every folder's mode, but for what stands in git's folder for an open jail."""
    stand_ins = {folder / ".git" / name for name in ("commondir", "config.worktree")}
    return {
        str(path.relative_to(folder)): (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in sorted(folder.rglob("*"))
        if path not in stand_ins
    }
