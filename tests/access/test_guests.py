"""Whoever opened a session by a link has the conversation and its changes, and nothing else of its workspace."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from openagent.gateway.graphql.schema import QUERIES, build
from openagent.gateway.rest.endpoint import Custom
from openagent.gateway.socketio.server import SocketServer
from openagent.protocol import events as e
from openagent.protocol import op_subjects
from openagent.protocol.files import FilesRead
from openagent.protocol.op import Op
from openagent.protocol.ops import ALL_OPS
from openagent.protocol.people import PeopleAdd, SessionJoin, SessionShare
from openagent.protocol.review import Review, ReviewShow
from openagent.protocol.terminals import TerminalOpen
from openagent.protocol.tokens import TokensCreate
from openagent.protocol.undo import Changes, SessionChanges

from ..interaction.doing import ask, call, turn
from ..interaction.house import MODEL, House, house
from ..rest.calling import rest
from ..rest.test_socketio import socket
from .test_every_door import SAID, accepted, addresses, asked, client_of
from .test_matrix import ANN, BOB, least, wire_with

pytestmark = pytest.mark.anyio
SECRET = "xylophone-5517"  # in files of the workspace, and nowhere in the conversation
READABLE = {
    *("session.get", "session.attach", "session.detach", "session.access", "session.changes", "review.show"),
    *("messages.page", "messages.search", "queue.show", "asks.list", "agents.list", "flow.show"),
}
"""All that a link to read opens. Whoever adds an op decides here whether it is part of a conversation."""
READABLE_ADDRESSES = {
    ("GET", "/api/agents/{id}/events"),
    ("GET", "/api/agents/{id}/settings"),
    ("GET", "/api/agents/{id}/export"),
}
"""Of those that are more than an op."""
UNSHARED = ("session.delete", "session.fork", "session.share", "session.create", "grants.list", "task.create")
"""Of what an owner may do to a session: not even a link to work in it lets anybody do this."""
STEPS = [call("shell", command="sed -i s/one/two/ plain.txt .env"), {"text": "Done."}]


class Shared(NamedTuple):
    house: House
    session: str
    terminal: str
    guest: str
    """The secret of whoever opened it by the link."""
    owner: str


@asynccontextmanager
async def shared(tmp_path: Path, link: str) -> AsyncGenerator[Shared, None]:
    """A session of Bob's with a turn and a terminal; Ann has opened it by a link."""
    config = f'[people]\nfolder = "{tmp_path / "people"}"'
    script = {"steps": STEPS, "loop": True}
    async with house(tmp_path, script, web=True, config=config) as h, await h.client() as owner:
        folder, secrets = "", dict[str, str]()
        for email in (ANN, BOB):
            folder = (await ask(owner, PeopleAdd, email=email)).folder
            made = await ask(owner, TokensCreate, name=email, scopes=["chat", "approve"], person=email)
            secrets[email] = made.secret
        for name in (".env", "notes.txt"):
            (Path(folder) / name).write_text(f"KEY={SECRET}\nMODE=one\n")
        (Path(folder) / "plain.txt").write_text("one\n")
        async with await client_of(h, secrets[BOB]) as bob:
            session = (await bob.create_session(folder, model=MODEL, mode="full", name="shown")).id
            attachment = await bob.attach(session)
            await turn(bob, attachment)
            terminal = (await ask(bob, TerminalOpen, session=session)).terminal
            invitation = await ask(bob, SessionShare, session=session, link=link)
            async with await client_of(h, secrets[ANN]) as ann:
                await ask(ann, SessionJoin, link=invitation.link)
            (Path(folder) / "notes.txt").write_text(f"KEY={SECRET}\nA person's own note\n")
            yield Shared(h, session, terminal, secrets[ANN], secrets[BOB])


def naming(op: type[Op], given: Shared) -> dict[str, Any] | None:
    """The op about the shared session; None: it cannot be about one."""
    theirs = {"session": given.session, "terminal": given.terminal}
    kinds = {name: op_subjects.kind_of(op, name) for name in op.__struct_fields__}
    named = {name: theirs[kind] for name, kind in kinds.items() if kind in theirs}
    return {**least(op), **named} if named else None


async def test_a_link_to_read_opens_no_op_but_those_of_the_conversation(tmp_path: Path) -> None:
    async with shared(tmp_path, "read") as given, wire_with(given.house, given.guest) as send:
        refusals = 0
        for op in ALL_OPS:
            if (fields := naming(op, given)) is None:
                continue
            reply, raw = await send(op, fields)
            assert SECRET not in raw, (op.tag, raw)
            if op.tag in READABLE:
                denied = isinstance(reply, e.Failed) and reply.error.code in ("permission_denied", "not_found")
                assert not denied or op.tag == "flow.show", (op.tag, raw)
                continue
            assert isinstance(reply, e.Failed), (op.tag, raw)
            assert reply.error.code in ("permission_denied", "not_found"), (op.tag, raw)
            refusals += 1
        assert refusals > 30


async def test_a_link_to_read_opens_no_address_and_no_query_but_those_of_the_conversation(tmp_path: Path) -> None:
    async with shared(tmp_path, "read") as given, rest(given.house, given.guest) as ann:
        refusals = 0
        for row in addresses():
            if isinstance(row, Custom):
                if "/agents/{id}" not in row.path or row.path.endswith("/events"):  # a stream is heard elsewhere
                    continue
                path = row.path.replace("{id}", given.session).replace("{run}", "x")
                answer = await ann(row.method, path, {"text": "go", "command": "true"} if row.body else None)
                is_open = (row.method, row.path) in READABLE_ADDRESSES
                assert (answer.status_code == 200) is is_open, (row.path, answer.text)
            elif fields := naming(row.op, given):
                fields = {name: value for name, value in fields.items() if name in accepted(row)}
                answer = await asked(ann, row, fields)
                is_open = row.op.tag in READABLE or not any(op_subjects.kind_of(row.op, name) for name in fields)
                assert is_open or answer.status_code in (403, 404), (row.path, answer.text)
            else:
                continue
            assert SECRET not in answer.text, (row.path, answer.text)
            refusals += not is_open
        assert refusals > 30
        for path in (".env", "notes.txt"):
            content = await ann("GET", f"/api/agents/{given.session}/files/content", query={"path": path})
            assert (content.status_code, content.json()["code"]) == (403, "permission_denied"), content.text
        schema = build()
        assert schema.query_type is not None
        for name, op in QUERIES.items():
            if op.tag in READABLE or naming(op, given) is None:
                continue
            for argument in {"id", "session"} & set(schema.query_type.fields[name].args):
                query = f'{{ {name}({argument}: "{given.session}") {{ __typename }} }}'
                problems = (await ann("POST", "/graphql", {"query": query})).json()["errors"]
                assert problems[0]["extensions"]["code"] == "permission_denied", (name, problems)


async def test_a_link_to_read_lets_nobody_say_anything_over_socket_io(tmp_path: Path) -> None:
    async with shared(tmp_path, "read") as given, socket(given.house, given.guest) as line:
        assert set(SocketServer(given.house.daemon).sio.handlers["/"]) - {"connect", "disconnect"} == set(SAID)
        for name in SAID.keys() - {"metrics:subscribe"}:
            answer = await line.call(name, agentId=given.session, **SAID[name])
            assert answer["ok"] is (name == "agent:connect"), (name, answer)
            assert SECRET not in json.dumps(answer)


async def test_a_guest_sees_what_the_session_changed_without_what_secret_files_hold(tmp_path: Path) -> None:
    async with shared(tmp_path, "read") as given:
        async with await client_of(given.house, given.guest) as ann:
            seen: Changes = await ask(ann, SessionChanges, session=given.session)
            shown: Review = await ask(ann, ReviewShow, session=given.session)
        async with await client_of(given.house, given.owner) as bob:
            own: Changes = await ask(bob, SessionChanges, session=given.session)
            reviewed: Review = await ask(bob, ReviewShow, session=given.session)
    patches = {each.path: each.patch for each in seen.files}
    assert {each.file.path: each.file.patch for each in shown.files} == patches
    assert patches.keys() == {".env", "plain.txt"}
    assert patches[".env"] == ""
    assert "+two" in patches["plain.txt"]
    assert not shown.others
    assert all(each.patch for each in own.files)
    assert [each.path for others in reviewed.others for each in others.files] == ["notes.txt"]


async def test_a_link_to_work_opens_the_workspace_and_leaves_the_session_its_owner_s(tmp_path: Path) -> None:
    async with shared(tmp_path, "write") as given, wire_with(given.house, given.guest) as send:
        for op in ALL_OPS:
            if op.tag in UNSHARED:
                reply, raw = await send(op, {**least(op), **(naming(op, given) or {})})
                assert isinstance(reply, e.Failed), raw
                assert reply.error.code == "permission_denied", (op.tag, raw)
        reply, raw = await send(FilesRead, {"session": given.session, "path": "notes.txt"})
        assert isinstance(reply, e.Reply), raw
        assert SECRET in raw
        async with await client_of(given.house, given.guest) as ann:
            async with asyncio.timeout(60):
                await turn(ann, await ann.attach(given.session))
