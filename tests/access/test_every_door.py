"""Whatever door a person comes by, what is another's is not there: every address, query, event and stream."""

import asyncio
import contextlib
import itertools
import json
import sqlite3
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast
from urllib.parse import quote

import httpx2
import msgspec
import pytest
from graphql import GraphQLSchema, get_named_type, is_leaf_type, is_object_type, is_required_argument
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as ws_connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from openagent.client import Attachment, Client, connect
from openagent.daemon import still_welcome
from openagent.daemon.daemon import Daemon
from openagent.gateway.authentication import Gate
from openagent.gateway.graphql.schema import QUERIES, build
from openagent.gateway.guesses import Guesses
from openagent.gateway.rest.app import rows
from openagent.gateway.rest.asking import Asking
from openagent.gateway.rest.endpoint import Custom, Endpoint
from openagent.gateway.socketio.server import SocketServer
from openagent.protocol import events as e
from openagent.protocol import op_subjects
from openagent.protocol.conversation import AsksList
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.people import PeopleAdd, SessionJoin, SessionShare, TeamsCreate, TeamsUpdate
from openagent.protocol.search import MessagesSearch
from openagent.protocol.tasks import TasksList
from openagent.protocol.terminals import TerminalOpen
from openagent.protocol.tokens import TokensCreate
from openagent.protocol.version import PROTOCOL_VERSION

from ..interaction.doing import ask, turn
from ..interaction.house import MODEL, House, house, until
from ..rest.calling import Rest, rest
from ..rest.test_socketio import Socket, socket
from .test_matrix import ANN, BOB, REFUSED, SECRET, Foreign, furnished_people, least, own

pytestmark = pytest.mark.anyio
HELLO = json.dumps({"op": "hello", "id": "h", "protocol": PROTOCOL_VERSION, "interactive": True})


class Asked(NamedTuple):
    """A request to an address of its own handler, and how it is answered."""

    body: dict[str, Any] | None = None
    refused: bool = True
    headers: dict[str, str] = {}


STREAM = {"Accept": "text/event-stream"}
DECIDED: dict[tuple[str, str], list[Asked]] = {
    ("POST", "/api/login"): [],  # of nobody yet
    ("POST", "/api/logout"): [],  # of the one who asks alone
    ("GET", "/api/me"): [Asked(refused=False)],
    ("GET", "/api/v1/tui/connect"): [Asked(refused=False)],
    ("GET", "/api/sign-in"): [Asked(refused=False)],
    ("GET", "/api/sign-in/start"): [],  # of nobody yet, and so those that follow
    ("GET", "/api/sign-in/callback"): [],
    ("POST", "/api/device/code"): [],
    ("POST", "/api/device/token"): [],
    ("POST", "/api/sign-in/password"): [],
    ("POST", "/api/invitation"): [],
    ("POST", "/api/invitation/password"): [],
    ("POST", "/api/password"): [],  # of the one who asks alone
    ("GET", "/api/device"): [],  # a code that nobody else was shown
    ("POST", "/api/device"): [],
    ("GET", "/api/openapi.json"): [Asked(refused=False)],
    ("POST", "/api/agents/{id}/message"): [Asked({"text": "go"}), Asked({"text": "go"}, headers=STREAM)],
    ("GET", "/api/agents/{id}/events"): [Asked(), Asked(headers=STREAM)],
    ("GET", "/api/events"): [],  # heard in a test of its own
    ("GET", "/api/agents/{id}/settings"): [Asked()],
    ("PATCH", "/api/agents/{id}/settings"): [Asked({"max_steps": 1}, headers={"If-Match": "*"})],
    ("GET", "/api/mcp/servers/{name}"): [],  # the installation's
    ("POST", "/api/workspaces/{id}/backup"): [Asked({"archive": "/tmp/x.tar.gz"})],
    ("GET", "/api/config/system-prompts"): [Asked(refused=False)],
    ("POST", "/api/config/system-prompts"): [Asked({"name": "x", "prompt": "x"})],
    ("GET", "/api/metrics/openai-usage"): [Asked()],
    ("POST", "/api/agents/{id}/shell"): [Asked({"command": "pwd"})],
    ("GET", "/api/agents/{id}/shell/{run}"): [Asked()],
    ("GET", "/api/asks"): [Asked(refused=False)],
    ("POST", "/api/asks/{ask}"): [Asked({"decision": "allow"})],
    ("GET", "/api/agents/{id}/export"): [Asked()],
    ("GET", "/api/agents/{id}/backup"): [Asked()],
    ("GET", "/api/workspaces/{id}/backup"): [Asked()],
    ("GET", "/metrics"): [Asked()],
}
SAID: dict[str, dict[str, Any]] = {
    "agent:connect": {},
    "agent:message": {"message": "go"},
    "agent:interrupt": {},
    "tool:approve": {"toolCallId": "x", "approved": True},
    "metrics:subscribe": {"interval": 500},
}
"""What Socket.IO clients can say."""


def addresses() -> list[Custom | Endpoint]:
    """Of the app itself, to be asked and not to be answered by."""
    daemon, gate = cast("Daemon", None), cast("Gate", None)
    return cast("list[Custom | Endpoint]", rows(Asking(daemon, gate), gate, Guesses()))


def test_every_address_of_its_own_is_decided_about() -> None:
    known = {(row.method, row.path) for row in addresses() if isinstance(row, Custom)}
    assert known == set(DECIDED), "say in DECIDED what whoever it does not belong to is answered there"


class Looking:
    """Looks for what is another's in all that is answered."""

    def __init__(self, theirs: Foreign) -> None:
        self._hidden = [*theirs.session, *theirs.terminal, *theirs.grant, theirs.folder[0]]
        self._in_the_team = set(theirs.session[1:])

    def __call__(self, where: object, answer: str, given: object = "", *, tasks: bool = False) -> None:
        # A task in the team's folder is the team's, and names the session that works on it.
        known = self._in_the_team if tasks else set[str]()
        found = [each for each in self._hidden if each in answer and each not in str(given) and each not in known]
        assert not found, (where, given, answer)


def naming_at(row: Endpoint, theirs: Foreign, mine: Foreign) -> Iterator[dict[str, Any]]:
    """What the address takes, with something of another's in each of the fields that name something."""
    taken = accepted(row)
    mine_here = {name: value for name, value in own(row.op, mine).items() if name in taken}
    for name in taken:
        if kind := op_subjects.kind_of(row.op, name):
            for value in getattr(theirs, kind):
                yield {**mine_here, name: value}


def accepted(row: Endpoint) -> list[str]:
    given = row.body or row.query
    return [*row.path_fields.values(), *(field.name for field in (msgspec.structs.fields(given) if given else ()))]


async def asked(ann: Rest, row: Endpoint, fields: dict[str, Any]) -> httpx2.Response:
    path, rest_of = row.path, dict(fields)
    for name, field in row.path_fields.items():
        path = path.replace(f"{{{name}}}", quote(str(rest_of.pop(field, "x")), safe=""))
    by_body = row.method in ("POST", "PUT", "PATCH")
    return await ann(row.method, path, rest_of if by_body else None, query=None if by_body else rest_of)


async def every_address(ann: Rest, theirs: Foreign, mine: Foreign, look: Looking) -> int:
    refusals = 0
    for row in addresses():
        if isinstance(row, Custom):
            for each in DECIDED[row.method, row.path]:
                path = row.path.replace("{ask}", "x").replace("{run}", "x")
                named = theirs.copy[0] if "workspaces" in path else theirs.session[0]
                answer = await ann.client.request(
                    row.method, path.replace("{id}", named), json=each.body, headers=each.headers
                )
                assert (answer.status_code in (403, 404)) is each.refused, (row.method, path, answer.text)
                look((row.method, path), answer.text, named)
                refusals += each.refused
            continue
        for fields in naming_at(row, theirs, mine):
            answer = await asked(ann, row, fields)
            assert answer.status_code in (403, 404), (row.method, row.path, fields, answer.text)
            is_there = answer.json()["detail"]
            assert REFUSED.search(is_there) or "There is nothing at" in is_there, (row.path, fields, is_there)
            look((row.method, row.path), answer.text, fields)
            refusals += 1
        if row.method == "GET" and not any(op_subjects.kind_of(row.op, name) for name in row.path_fields.values()):
            needed = {name: value for name, value in least(row.op).items() if name in accepted(row)}
            fields = {**needed, **({"query": SECRET} if row.op is MessagesSearch else {})}
            look((row.method, row.path), (await asked(ann, row, fields)).text, fields, tasks=row.op is TasksList)
    return refusals


def everything_of(wrapped: Any, levels: int = 5) -> str:
    """All fields below, but those that send ops of their own."""
    kind = cast("Any", get_named_type(wrapped))
    if is_leaf_type(kind):
        return ""
    told = [
        f"{name}{everything_of(field.type, levels - 1)}"
        for name, field in (kind.fields.items() if is_object_type(kind) else ())
        if not field.extensions.get("asks")
        and not any(map(is_required_argument, field.args.values()))
        and (is_leaf_type(get_named_type(field.type)) or levels)
    ]
    return f" {{ {' '.join(told) or '__typename'} }}"


async def every_query(ann: Rest, theirs: Foreign, look: Looking) -> int:
    schema: GraphQLSchema = build()
    refusals = 0
    assert schema.query_type is not None
    assert set(schema.query_type.fields) == set(QUERIES)
    for name, field in schema.query_type.fields.items():
        op, told = QUERIES[name], everything_of(field.type)
        paths = Endpoint(op, min(op.routes, key=_holes)).path_fields
        kinds = {each: op_subjects.kind_of(op, paths.get(each, each)) for each in field.args}
        needed = {
            each: SECRET if each == "query" else "x" for each in field.args if is_required_argument(field.args[each])
        }
        for argument, kind in kinds.items():
            for value in getattr(theirs, kind) if kind else ():
                answer = await ann("POST", "/graphql", {"query": _query(name, {**needed, argument: value}, told)})
                problems = [each["message"] for each in answer.json().get("errors", ())]
                assert problems, (name, argument, answer.text)
                assert all(map(REFUSED.search, problems)), (name, argument, problems)
                look(name, answer.text, value)
                refusals += 1
        if not any(kinds[each] for each in needed):
            query = _query(name, needed, told)
            answer = await ann("POST", "/graphql", {"query": query})
            assert answer.status_code == 200, (query, answer.text)
            look(name, answer.text, query, tasks=op is TasksList)
    return refusals


def _query(name: str, given: dict[str, str], told: str) -> str:
    arguments = ", ".join(f"{each}: {json.dumps(value)}" for each, value in given.items())
    return f"{{ {name}{f'({arguments})' if arguments else ''}{told} }}"


def _holes(route: Any) -> int:
    return route.path.count("{")


async def every_event(h: House, line: Socket, theirs: Foreign, look: Looking) -> None:
    names = set(SocketServer(h.daemon).sio.handlers["/"]) - {"connect", "disconnect"}
    assert names == set(SAID), "say in SAID what Socket.IO clients say with it"
    for name, session in itertools.product(sorted(names), theirs.session):
        given = {"agentIds": [session]} if name == "metrics:subscribe" else {"agentId": session}
        answer = await line.call(name, **given, **SAID[name])
        assert not answer["ok"], (name, answer)
        assert REFUSED.search(answer["error"]["message"]), (name, answer)
    for name, told in line.heard:
        look(name, json.dumps(told), theirs.session)


@asynccontextmanager
async def listening(h: House, secret: str) -> AsyncGenerator[list[AsyncGenerator[str, None]], None]:
    """All that tells of the whole: a WebSocket that follows, and the streams of events and asks."""
    url = h.daemon.place.web_url
    async with AsyncExitStack() as opened:
        headers = {"Authorization": f"Bearer {secret}"}
        line = await opened.enter_async_context(
            ws_connect(url.replace("http", "ws") + "/ws", additional_headers=headers)
        )
        for said in (HELLO, json.dumps({"op": "daemon.follow", "id": "f"})):
            await line.send(said)
            while '"op_id":"' not in str(await line.recv()):
                pass
        http = await opened.enter_async_context(httpx2.AsyncClient(base_url=url, headers=headers, timeout=60))
        streams = [await opened.enter_async_context(http.stream("GET", "/api/events"))]
        yield [_frames(line), *(_lines(each) for each in streams)]


async def _frames(line: ClientConnection) -> AsyncGenerator[str, None]:
    while True:
        yield str(await asyncio.wait_for(line.recv(), 60))


async def _lines(stream: httpx2.Response) -> AsyncGenerator[str, None]:
    async for line in stream.aiter_lines():
        yield line


def client_of(h: House, secret: str) -> Any:
    url = h.daemon.place.web_url.replace("http", "ws") + "/ws"
    return connect(url=url, token=secret, interactive=True, env={})


async def test_no_person_reaches_what_is_another_s_by_any_door(tmp_path: Path) -> None:
    config = f'[people]\nfolder = "{tmp_path / "people"}"'
    async with house(tmp_path, {"steps": [{"text": SECRET}], "loop": True}, web=True, config=config) as h:
        theirs, secrets, _ = await furnished_people(h, {ANN: "violin", BOB: SECRET})
        mine, look = theirs[ANN], Looking(theirs[BOB])
        foreign = theirs[BOB]._replace(folder=theirs[BOB].folder[:1], copy=theirs[BOB].copy[:1])
        async with rest(h, secrets[ANN]) as ann, socket(h, secrets[ANN]) as line:
            assert await every_address(ann, foreign, mine, look) > 100
            assert await every_query(ann, foreign, look) > 15
            await every_event(h, line, foreign, look)
        async with listening(h, secrets[ANN]) as heard, await client_of(h, secrets[BOB]) as bob:
            for session in theirs[BOB].session:
                await turn(bob, await bob.attach(session), "Say it.")
            async with await client_of(h, secrets[ANN]) as ann_herself:
                made = (await ann_herself.create_session(str(Path(mine.folder[0])), model=MODEL, mode="ask")).id
            for each in heard:
                async for told in each:
                    look("live", told)
                    if made in told:
                        break
            for each in heard:
                await each.aclose()


async def two_people(owner: Client) -> dict[str, tuple[str, str]]:
    """The folder and the secret of each; both are in one team."""
    await ask(owner, TeamsCreate, name="core")
    found: dict[str, tuple[str, str]] = {}
    for email in (ANN, BOB):
        person = await ask(owner, PeopleAdd, email=email)
        await ask(owner, TeamsUpdate, team="core", add=[email])
        made = await ask(owner, TokensCreate, name=email, scopes=["chat", "approve"], person=email)
        found[email] = (person.folder, made.secret)
    return found


async def cut_off(attachment: Attachment) -> None:
    """However the client tells it."""
    with contextlib.suppress(OpenAgentError, ConnectionError):
        async with asyncio.timeout(60):
            async for _ in attachment.events():
                pass


WAYS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "link": ({"link": "write"}, {"unlink": True}),
    "team": ({"team": "core"}, {"team": ""}),
}


@pytest.mark.parametrize("way", WAYS)
async def test_a_guest_hears_who_is_there_until_it_is_shared_with_them_no_longer(tmp_path: Path, way: str) -> None:
    config = f'[people]\nfolder = "{tmp_path / "people"}"'
    async with house(tmp_path, [{"text": "ok"}], web=True, config=config) as h, await h.client() as owner:
        people = await two_people(owner)
        async with await client_of(h, people[BOB][1]) as bob:
            session = (await bob.create_session(people[BOB][0], model=MODEL, mode="ask")).id
            mine = await bob.attach(session)
            open_it, close_it = WAYS[way]
            shared = await ask(bob, SessionShare, session=session, **open_it)
            async with await client_of(h, people[ANN][1]) as ann, await client_of(h, people[ANN][1]) as beside:
                if way == "link":
                    await ask(ann, SessionJoin, link=shared.link)
                guest = await ann.attach(session)
                for attachment in (mine, guest):
                    told = await until(attachment, lambda event: isinstance(event, e.SessionPresence))
                    assert isinstance(told[-1], e.SessionPresence)
                    assert told[-1].who == f"{ANN}, {BOB}"
                assert (await ask(ann, AsksList, session=session)).asks == []
                with pytest.raises(OpenAgentError, match=r"Only who a session belongs to|lets you work in it"):
                    await ask(ann, SessionShare, session=session, link="read")
                with pytest.raises(OpenAgentError):  # in the mode ask, by one who may approve
                    await ask(beside, TerminalOpen, session="none", columns=80, rows=24)
                terminal = await ask(beside, TerminalOpen, session=session, columns=80, rows=24)
                assert terminal.terminal
                async with rest(h, people[ANN][1]) as reading:
                    async with reading.client.stream("GET", f"/api/agents/{session}/events") as stream:
                        await ask(bob, SessionShare, session=session, **close_it)
                        await cut_off(guest)
                        async with asyncio.timeout(60):
                            async for _ in stream.aiter_lines():
                                pass
                    gone = await reading("GET", f"/api/agents/{session}")
                    assert gone.status_code == 404, gone.text
            told = await until(mine, lambda event: isinstance(event, e.SessionPresence) and ANN not in event.who)
            assert told
            await turn(bob, mine, "Alone again.")


async def test_a_login_that_was_taken_away_elsewhere_or_has_ended_is_cut_off_at_every_door(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(still_welcome, "LOOK_AGAIN", 0.05)
    config = f'[people]\nfolder = "{tmp_path / "people"}"'
    async with house(tmp_path, [{"text": "ok"}], web=True, config=config) as h, await h.client() as owner:
        await ask(owner, PeopleAdd, email=ANN)

        async def token(name: str, seconds: float | None = None) -> str:
            made = await ask(owner, TokensCreate, name=name, scopes=["chat"], person=ANN, expires_in=seconds)
            return made.secret

        async with listening(h, taken := await token("taken")) as heard, socket(h, taken) as line:
            with contextlib.closing(sqlite3.connect(h.home / "openagent.db", timeout=60)) as database, database:
                database.execute("DELETE FROM access_tokens WHERE name = 'taken'")
            await asyncio.wait_for(line.gone.wait(), 60)
            for each in heard:
                await to_its_end(each)
        for seconds in (2, 8, 32):  # long enough to come in, whatever else the machine does
            try:
                async with listening(h, await token(f"for {seconds}", seconds)) as heard:
                    for each in heard:
                        await to_its_end(each)
                    break
            except (InvalidStatus, httpx2.HTTPError, ConnectionClosed):
                continue
        else:
            raise AssertionError("nobody came in")


async def test_an_admin_with_a_token_for_one_folder_downloads_it(tmp_path: Path) -> None:
    config = f'[people]\nfolder = "{tmp_path / "people"}"'
    async with house(tmp_path, [{"text": "ok"}], web=True, config=config) as h, await h.client() as owner:
        await ask(owner, PeopleAdd, email=ANN, role="admin")
        roots = [str(h.workspace)]
        made = await ask(owner, TokensCreate, name="a", scopes=["chat", "admin"], person=ANN, roots=roots)
        async with rest(h, made.secret) as ann:
            session = await ann.agent(mode="ask")
            got = await ann("GET", f"/api/agents/{session}/backup")
            assert (got.status_code, got.content[:2]) == (200, b"\x1f\x8b"), got.text[:200]


async def to_its_end(heard: AsyncGenerator[str, None]) -> None:
    """A WebSocket's by a close, a stream's without more."""
    with contextlib.suppress(ConnectionClosed):
        async with asyncio.timeout(60):
            async for _ in heard:
                pass
