"""Every scope, every op, and what belongs to another folder, session, copy, terminal or task: nothing beyond."""

import asyncio
import itertools
import json
import os
import re
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as ws_connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from openagent.client import Client, connect
from openagent.protocol import events as e
from openagent.protocol import op_subjects
from openagent.protocol.codec import decode_event
from openagent.protocol.daemon import Hello
from openagent.protocol.grants import GrantsList
from openagent.protocol.index import IndexBuild
from openagent.protocol.op import Op
from openagent.protocol.ops import ALL_OPS
from openagent.protocol.people import PeopleAdd, PeopleUpdate, TeamsCreate, TeamsUpdate
from openagent.protocol.scopes import Scope, widened
from openagent.protocol.search import MessagesSearch
from openagent.protocol.sessions import SessionCreate, SessionGet, SessionList
from openagent.protocol.tasks import TaskCreate, TasksList
from openagent.protocol.terminals import TerminalOpen
from openagent.protocol.tokens import TokensCreate, TokensList
from openagent.protocol.tools import ToolRun
from openagent.protocol.version import PROTOCOL_VERSION
from openagent.protocol.workspaces import WorkspacesCreate

from ..interaction.doing import answer, ask, asked, turn
from ..interaction.house import MODEL, House, house

pytestmark = pytest.mark.anyio
SCOPES: list[tuple[Scope, ...]] = [("read",), ("chat",), ("approve",), ("chat", "approve"), ("admin",)]
SECRET = "xylophone"  # in all that is others', and in nothing else
PLAIN = frozenset(
    (
        *(
            "id",
            "after",
            "answer",
            "arguments",
            "ask",
            "before",
            "before_id",
            "below",
            "budget_usd",
            "by",
            "all_agents",
            "back",
            "period",
            "checkpoints",
            "due",
            "choice",
            "client",
        ),
        *(
            "collection",
            "collector",
            "columns",
            "command",
            "conversation",
            "days",
            "decision",
            "detail",
            "drop",
            "dry_run",
        ),
        *("env", "event", "every", "expected", "expires_in", "file", "files", "force", "format", "git_state", "input"),
        *("inputs", "person", "team", "email", "role", "disabled", "limits", "add", "remove", "link", "unlink"),
        *("interactive", "keep", "key", "kind", "limit", "login", "max_bytes", "max_files", "max_tokens", "message"),
        *("messages", "method", "mode", "model", "name", "number", "on", "others", "owner", "parts", "path", "paths"),
        *("position", "protocol", "provider", "query", "question", "queued", "reason", "replace", "roots", "rows"),
        *(
            "device",
            "scope",
            "scopes",
            "server",
            "servers",
            "settings",
            "since",
            "state",
            "template",
            "text",
            "through",
            "title",
        ),
        *(
            "patience",
            "test",
            "token",
            "tool",
            "turn",
            "undo",
            "until",
            "uri",
            "url",
            "base_url",
            "repository",
            "branch",
            "value",
            "version",
        ),
        *("again", "changed", "created_at", "origin", "picture", "rewound", "start", "turns", "usage"),
        *(
            "after",
            "agent",
            "agents",
            "apart",
            "archived",
            "base",
            "brought",
            "body",
            "call",
            "draft",
            "hunks",
            "like",
            "links",
            "settled",
        ),
    )
)
"""Fields that name no folder, session or the like: what they name lies in something that another field names, or is
nobody's in particular."""


REFUSED = re.compile("works below|lacks the scope|can be no workspace")
"""By the walls, and not by chance: what is named is there, and would do for the owner."""


class Foreign(NamedTuple):
    """What belongs to others, by what a field may name."""

    session: list[str]
    folder: list[str]
    copy: list[str]
    terminal: list[str]
    task: list[str]
    grant: list[str]


def test_every_op_says_what_it_is_about() -> None:
    without = [op.tag for op in ALL_OPS if not op_subjects.is_said(op)]
    assert not without, f"Say with `reach` what these ops are about: {without}"


def test_every_field_of_an_op_is_known_to_name_something_or_nothing() -> None:
    unknown = {
        f"{op.tag}.{field.name}"
        for op in ALL_OPS
        for field in msgspec.structs.fields(op)
        if op_subjects.kind_of(op, field.name) is None and field.name not in PLAIN
    } - {"session.create.session"}
    assert not unknown, (
        "Say with `names` or in protocol/op_subjects.py what these fields name, "
        f"or here that they name nothing: {unknown}"
    )


def least(op: type[Op]) -> dict[str, Any]:
    """The fields an op cannot do without."""
    samples: dict[object, object] = {str: "x", int: 1, float: 1.0, bool: True}
    special = {
        "decision": "allow",
        "scopes": ["read"],
        "server": {"command": "true"},
        "template": {"name": "x"},
        "columns": 1,
        "rows": 1,
        "messages": [{"number": 1, "turn": 1, "role": "user", "parts": [{"type": "text", "text": "x"}]}],
    }
    return {
        field.encode_name: samples.get(field.type, special.get(field.name, {}))
        for field in msgspec.structs.fields(op)
        if field.required and field.name != "id"
    }


def naming(op: type[Op], theirs: Foreign, mine: Foreign) -> Iterator[dict[str, Any]]:
    """The op, naming each thing of others in each of its fields that names one, and in the other fields one's own."""
    for field in msgspec.structs.fields(op):
        if kind := op_subjects.kind_of(op, field.name):
            for value in getattr(theirs, kind):
                yield {**own(op, mine), field.encode_name: value}


def own(op: type[Op], mine: Foreign) -> dict[str, Any]:
    """The op, naming one's own in each of its fields that names something."""
    fields = [(field.encode_name, op_subjects.kind_of(op, field.name)) for field in msgspec.structs.fields(op)]
    named = {name: getattr(mine, kind)[0] for name, kind in fields if kind is not None and getattr(mine, kind)}
    return {**least(op), **named}


class Wire:
    """Ops as any program would send them, one after another."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._numbers = itertools.count()

    async def __call__(self, op: type[Op], fields: dict[str, Any]) -> tuple[e.Reply | e.Failed, str]:
        number = f"m{next(self._numbers)}"
        await self._socket.send(json.dumps({"op": op.tag, "id": number, **fields}))
        while True:
            raw = await asyncio.wait_for(self._socket.recv(), 20)
            event = decode_event(raw)
            if isinstance(event, e.Reply | e.Failed) and event.op_id == number:
                return event, str(raw)


@asynccontextmanager
async def wire(h: House, scopes: tuple[Scope, ...], roots: list[str], person: str = "") -> AsyncGenerator[Wire, None]:
    async with await h.client() as owner:
        name = " ".join((person, *scopes, *roots))
        made = await ask(owner, TokensCreate, name=name, scopes=list(scopes), roots=roots, person=person)
    async with wire_with(h, made.secret) as sent:
        yield sent


@asynccontextmanager
async def wire_with(h: House, secret: str) -> AsyncGenerator[Wire, None]:
    url = h.daemon.place.web_url.replace("http", "ws") + "/ws"
    async with ws_connect(url, additional_headers={"Authorization": f"Bearer {secret}"}) as socket:
        sent = Wire(socket)
        await sent(Hello, {"protocol": PROTOCOL_VERSION, "interactive": True})
        yield sent


async def furnish(h: House, folder: Path, word: str, secret: str = "") -> Foreign:
    """A folder with a session in it, a turn of it, a copy, a terminal, a task and something that is granted: the
    owner's, or that of whoever has the secret."""
    folder.mkdir(exist_ok=True)
    (folder / f"{word}.py").write_text(f"def {word}():\n    return {word!r}\n")
    url = h.daemon.place.web_url.replace("http", "ws") + "/ws"
    come_in = connect(url=url, token=secret, interactive=True, env={}) if secret else h.client(interactive=True)
    async with await come_in as owner, await h.client() as machines_owner:
        made = await owner.create_session(str(folder), model=MODEL, mode="full", name=word)
        await turn(owner, await owner.attach(made.id), f"Say {word}.")
        copy = await ask(machines_owner, WorkspacesCreate, cwd=str(folder), name=f"{word}-copy")
        terminal = await ask(owner, TerminalOpen, session=made.id)
        task = await ask(owner, TaskCreate, title=word, cwd=str(folder), session=made.id)
        await ask(machines_owner, IndexBuild, cwd=str(folder))
        granted = await grant_something(owner, str(folder))
    inside = [str(folder), f"{folder}/", f"{folder}/.", str(folder / f"{word}.py")]
    return Foreign([made.id], inside, [copy.id, copy.name], [terminal.terminal], [task.id], [granted])


async def grant_something(owner: Client, folder: str) -> str:
    careful = (await owner.create_session(folder, model=MODEL, mode="ask", name="careful")).id
    attachment = await owner.attach(careful)
    arguments = {"command": "touch granted"}
    running = asyncio.create_task(ask(owner, ToolRun, session=careful, tool="shell", arguments=arguments))
    await answer(owner, await asked(attachment), decision="allow", scope="session")
    await running
    (grant,) = (await ask(owner, GrantsList, session=careful)).grants
    return grant.id


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts}


async def test_no_token_reaches_beyond_its_folders_by_any_op(tmp_path: Path) -> None:
    async with house(tmp_path, {"steps": [{"text": f"{SECRET}"}], "loop": True}, web=True) as h:
        mine_at, theirs_at = tmp_path / "mine", tmp_path / "theirs"
        theirs = await furnish(h, theirs_at, SECRET)
        mine = await furnish(h, mine_at, "violin")
        (mine_at / "link").symlink_to(theirs_at)
        (tmp_path / ".ssh").mkdir()
        beside = [str(mine_at / "link"), str(mine_at / ".." / "theirs"), f"{mine_at}x", str(tmp_path), "/", "/etc"]
        kept = [str(h.home), str(h.home / "copies"), str(tmp_path / ".ssh"), f"/proc/{os.getpid()}/root{theirs_at}"]
        theirs = theirs._replace(folder=[*theirs.folder, *beside, *kept])
        before = tree(theirs_at)
        async with await h.client() as owner:
            sessions = {each.id for each in (await ask(owner, SessionList)).sessions}
        refusals = 0
        for scopes in SCOPES:
            async with wire(h, scopes, [str(mine_at)]) as send:
                for op in ALL_OPS:
                    for fields in naming(op, theirs, mine):
                        reply, _ = await send(op, fields)
                        assert isinstance(reply, e.Failed), (scopes, op.tag, fields, reply)
                        assert REFUSED.search(reply.error.message), (scopes, op.tag, fields, reply.error)
                        refusals += 1
                    if op_subjects.otherwise(op) == "whole" and not any(naming(op, theirs, mine)):
                        reply, _ = await send(op, least(op))
                        assert isinstance(reply, e.Failed), (scopes, op.tag, reply)
        assert refusals > 1000
        async with await h.client() as owner:
            assert {each.id for each in (await ask(owner, SessionList)).sessions} == sessions
            assert (await owner.request(SessionGet(id=owner.next_id(), session=theirs.session[0]))).turn_count == 1
            assert len((await ask(owner, TokensList)).tokens) == len(SCOPES)
        assert tree(theirs_at) == before


async def test_what_names_nothing_tells_a_token_of_its_own_folders_alone(tmp_path: Path) -> None:
    async with house(tmp_path, {"steps": [{"text": "ok"}], "loop": True}, web=True) as h:
        theirs = await furnish(h, tmp_path / "theirs", SECRET)
        await furnish(h, tmp_path / "mine", "violin")
        hidden = [SECRET, str(tmp_path / "theirs"), *theirs.session, *theirs.copy, *theirs.terminal, *theirs.task]
        for scopes in SCOPES:
            async with wire(h, scopes, [str(tmp_path / "mine")]) as send:
                for op in ALL_OPS:
                    if any(
                        op_subjects.kind_of(op, field.name) for field in msgspec.structs.fields(op) if field.required
                    ):
                        continue
                    fields = {**least(op), **({"query": SECRET} if op is MessagesSearch else {})}
                    _, raw = await send(op, fields)
                    if op is not MessagesSearch or '"error"' not in raw:
                        found = [word for word in hidden if word in raw and word not in json.dumps(fields)]
                        assert not found, (scopes, op.tag, raw)


async def furnished_people(h: House, words: dict[str, str]) -> tuple[dict[str, Foreign], dict[str, str], Path]:
    """A person for each address, with things of their own in their folder; all are in one team, in whose folder each
    has a session too. What belongs to each, their secrets, and the team's folder."""
    secrets: dict[str, str] = {}
    theirs: dict[str, Foreign] = {}
    async with await h.client() as owner:
        team = await ask(owner, TeamsCreate, name="core")
        folders: dict[str, str] = {}
        for email in words:
            folders[email] = (await ask(owner, PeopleAdd, email=email)).folder
            await ask(owner, TeamsUpdate, team="core", add=[email])
            made = await ask(owner, TokensCreate, name=email, scopes=["chat", "approve"], person=email)
            secrets[email] = made.secret
    for email, word in words.items():
        own_things = await furnish(h, Path(folders[email]), word, secrets[email])
        among_others = await furnish(h, Path(team.folder), f"{word}_shared", secrets[email])
        # The team's folder, its tasks and copies are everybody's in it; sessions there are private all the same.
        theirs[email] = own_things._replace(
            session=[*own_things.session, *among_others.session],
            terminal=[*own_things.terminal, *among_others.terminal],
            grant=[*own_things.grant, *among_others.grant],
        )
    return theirs, secrets, Path(team.folder)


ANN, BOB = "ann@example.org", "bob@example.org"


async def test_no_person_reaches_what_is_another_s_by_any_op(tmp_path: Path) -> None:
    config = f'[people]\nfolder = "{tmp_path / "people"}"'
    async with house(tmp_path, {"steps": [{"text": SECRET}], "loop": True}, web=True, config=config) as h:
        theirs, secrets, team = await furnished_people(h, {ANN: "violin", BOB: SECRET})
        before = tree(tmp_path / "people")
        refusals = 0
        async with wire_with(h, secrets[ANN]) as send:
            for op in ALL_OPS:
                for fields in naming(op, theirs[BOB], theirs[ANN]):
                    reply, _ = await send(op, fields)
                    assert isinstance(reply, e.Failed), (op.tag, fields, reply)
                    assert REFUSED.search(reply.error.message), (op.tag, fields, reply.error)
                    refusals += 1
                if op_subjects.otherwise(op) == "whole" and not any(naming(op, theirs[BOB], theirs[ANN])):
                    reply, _ = await send(op, least(op))
                    assert isinstance(reply, e.Failed), (op.tag, reply)
            hidden = [*theirs[BOB].session, *theirs[BOB].terminal, *theirs[BOB].grant, *theirs[BOB].folder[:1]]
            for op in ALL_OPS:
                if any(op_subjects.kind_of(op, field.name) for field in msgspec.structs.fields(op) if field.required):
                    continue
                for named in ({}, {"cwd": str(team)} if "cwd" in op.__struct_fields__ else {}):
                    fields = {**least(op), **({"query": SECRET} if op is MessagesSearch else {}), **named}
                    _, raw = await send(op, fields)
                    # A task in the team's folder is the team's, and names the session that works on it.
                    seen = set(theirs[BOB].session[1:]) if op is TasksList else set[str]()
                    assert not [word for word in hidden if word in raw and word not in seen], (op.tag, raw)
        assert refusals > 300
        assert tree(tmp_path / "people") == before


async def test_who_is_let_in_no_longer_is_cut_off_and_a_role_counts_at_once(tmp_path: Path) -> None:
    config = f'[people]\nfolder = "{tmp_path / "people"}"'
    async with house(tmp_path, [{"text": "ok"}], web=True, config=config) as h, await h.client() as owner:
        person = await ask(owner, PeopleAdd, email=ANN)
        secret = (await ask(owner, TokensCreate, name="ann", scopes=["chat", "approve"], person=ANN)).secret
        for change, refused in (({"role": "viewer"}, "lacks the scope chat"), ({"disabled": True}, "")):
            url = h.daemon.place.web_url.replace("http", "ws") + "/ws"
            async with ws_connect(url, additional_headers={"Authorization": f"Bearer {secret}"}) as socket:
                await ask(owner, PeopleUpdate, person=ANN, **change)
                closing = decode_event(await asyncio.wait_for(socket.recv(), 60))
                with pytest.raises(ConnectionClosed):
                    await asyncio.wait_for(socket.recv(), 60)
            assert isinstance(closing, e.ConnectionClosing)
            assert closing.error.code == "unauthorized"
            if refused:
                async with wire_with(h, secret) as send:
                    reply, raw = await send(SessionCreate, {"cwd": person.folder})
                    assert isinstance(reply, e.Failed), raw
                    assert refused in reply.error.message
        async with wire(h, ("admin",), [str(tmp_path / "people")]) as send:
            reply, raw = await send(TokensCreate, {"name": "more", "scopes": ["read"], "person": ANN})
            assert isinstance(reply, e.Failed), f"a person's folders are more than its own: {raw}"
        with pytest.raises(InvalidStatus, match="401"):
            async with ws_connect(url, additional_headers={"Authorization": f"Bearer {secret}"}):
                pass


LEFT_OUT = ("session.delete", "terminal.close", "task.delete", "workspaces.remove", "files.write", "index.watch")
"""They would take away what the others name, are judged by rules, or go on until the connection ends."""


async def test_within_its_folders_a_token_does_what_its_scopes_allow(tmp_path: Path) -> None:
    async with house(tmp_path, {"steps": [{"text": "ok"}], "loop": True}, web=True) as h:
        mine = await furnish(h, tmp_path / "mine", "violin")
        for scopes in SCOPES:
            async with wire(h, scopes, [str(tmp_path / "mine")]) as send:
                for op in ALL_OPS:
                    tag = op.tag
                    if op_subjects.is_whole(op) or tag in LEFT_OUT:
                        continue
                    fields = own(op, mine)
                    reply, raw = await send(op, fields)
                    wanted = msgspec.convert({"op": tag, "id": "x", **fields}, op).needed()
                    # The session is in the mode full: to have something done there takes who could allow it.
                    frees = (op.acts and tag != "session.fork") or "parent" in fields
                    allowed = wanted | ({"approve"} if frees else set()) <= widened(scopes)
                    refused = isinstance(reply, e.Failed) and reply.error.code == "permission_denied"
                    assert refused is not allowed, (scopes, tag, raw)
