"""What waits for a person is asked again after kill -9 and after an orderly stop: answered once, its call runs once.

A ledger is kept of every kind of request and question, over OPENAGENT_ASK_ROUNDS restarts of the real program.
"""

import asyncio
import contextlib
import json
import os
import signal
from collections import Counter
from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from devtools.simulator import Simulator
from openagent.client import Attachment, Client, connect
from openagent.protocol import events as e
from openagent.protocol.conversation import AsksList, MessagesPage, PermissionAnswer, QuestionAnswer
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.messages import ToolResultPart
from openagent.protocol.sessions import SessionGet
from tests.agents.test_subagents import agents
from tests.interaction.doing import call
from tests.interaction.loopback import web_server
from tests.jail.conftest import needs_bwrap
from tests.mcp_host.bench import SCRIPTED

from .binary import Binary, binary

pytestmark = [pytest.mark.anyio, needs_bwrap]
ROUNDS = int(os.environ.get("OPENAGENT_ASK_ROUNDS", "2"))
PATIENCE = 60.0
LARGE = 11 << 20
"""Of an ignored file: more than undo keeps."""


def both(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"tool_calls": [made for step in steps for made in step["tool_calls"]]}


def ran(kind: str) -> str:
    return f"echo ran >> {kind}.ran"


@dataclass
class Kind:
    """One way to come to wait for a person."""

    name: str
    mode: str
    calls: dict[str, Any]
    asked: int = 1
    """How often, when nothing comes between."""
    again: int = 1
    """How often after the restart: what ran already is asked about before it runs again, and then asks for itself."""
    runs: int = 1
    """How often its call takes effect, in all."""


BEGUN = ("host", "hidden-host", "servers-question", "agent")
"""Kinds whose call was at work when it was asked about."""


def kinds(port: int, outside: Path) -> list[Kind]:
    def shell(kind: str, **more: Any) -> dict[str, Any]:
        return call("shell", command=ran(kind), **more)

    look = call("read_file", path=str(outside))
    get = f"curl -sS --max-time 60 http://far.test:{port}/x"
    hidden = f'python3 -c \'print("far" + ".test:{port}/x")\' | xargs curl -sS --max-time 60'
    return [
        Kind("command", "ask", shell("command")),
        Kind("file", "ask", call("write_file", path="file.ran", content="ran\n")),
        Kind("several", "ask", both(shell("several"), shell("several")), asked=2, again=2, runs=2),
        Kind("readers", "ask", both(look, look), asked=2, again=2, runs=0),
        Kind("leave", "auto", shell("leave", leave=[f"far.test:{port}"], justification="it says so")),
        Kind("host", "auto", call("shell", command=f"{get} && {ran('host')}")),
        Kind("hidden-host", "auto", call("shell", command=f"{hidden} && {ran('hidden-host')}"), again=2),
        Kind("unsaved", "auto", call("write_file", path="data/large", content="ran\n"), runs=0),
        Kind("question", "full", call("ask_user", question="Which one?"), runs=0),
        Kind("server", "ask", call("echo", text="hello"), runs=0),
        Kind("servers-question", "full", call("ask"), again=2, runs=0),
        Kind("agent", "ask", agents(("coder", "work for agent")), again=2),
    ]


def script(made: list[Kind]) -> dict[str, Any]:
    def talk(heard: str, *steps: dict[str, Any]) -> dict[str, Any]:
        return {"match": {"user": heard}, "steps": [*steps, {"text": "That is done."}] * ROUNDS * 3}

    own = talk("work for agent", call("shell", command=ran("agent")))
    return {"conversations": [own, *(talk(f"begin {kind.name}.", kind.calls) for kind in made)]}


@dataclass
class Line:
    """What the ledger knows of one session."""

    kind: Kind
    attachment: Attachment
    answers: Counter[str] = field(default_factory=Counter[str])
    seen: set[str] = field(default_factory=set[str])


@contextlib.contextmanager
def prepared(tmp_path: Path, sim: Simulator) -> Generator[Binary]:
    with binary(tmp_path, sim.base_url) as program:
        program.env["OPENAGENT_JAIL_KIND"] = "bwrap"
        program.env["OPENAGENT_CONFIG"] = str(program.data / "config.toml")
        program.data.mkdir(exist_ok=True)
        (program.data / "config.toml").write_text('[jail]\nnames = { "far.test" = "127.0.0.1" }\n')
        servers = {"demo": {"command": "python3", "args": [str(SCRIPTED), "good"]}}
        (program.data / "mcpServers.json").write_text(json.dumps({"mcpServers": servers}))
        yield program


def folder_of(program: Binary, kind: Kind) -> Path:
    """Each has its own: what one session does is nobody else's."""
    folder = program.workspace / kind.name
    if not folder.exists():
        (folder / "data").mkdir(parents=True)
        (folder / ".gitignore").write_text("data/\n")
        (folder / "data" / "large").write_text("precious")
        os.truncate(folder / "data" / "large", LARGE)
    return folder


@contextlib.asynccontextmanager
async def person(program: Binary) -> AsyncGenerator[Client]:
    async with await connect(socket=program.socket, interactive=True, auto_start=False, env={}) as client:
        yield client


async def begin(client: Client, program: Binary, kind: Kind) -> Line:
    """Up to where it waits for a person."""
    folder, off = str(folder_of(program, kind)), [] if kind.name.startswith("server") else ["demo"]
    settings: dict[str, Any] = {"model": "compatible/scripted", "mode": kind.mode, "disabled_mcp_servers": off}
    info = await client.create_session(folder, **settings)
    line = Line(kind, await client.attach(info.id))
    await client.send(info.id, f"begin {kind.name}.")
    asked = 0
    async with asyncio.timeout(PATIENCE):
        async for event in line.attachment.events():
            assert not isinstance(event, e.TurnCompleted), (kind.name, event)
            asked += isinstance(event, e.PermissionRequested | e.QuestionAsked)
            if asked == (1 if kind.name == "several" else kind.asked):
                break
    return line


async def stop(program: Binary, how: signal.Signals) -> None:
    daemon = program.daemons.pop()
    daemon.send_signal(how)
    await asyncio.to_thread(daemon.wait)


async def answer(client: Client, line: Line, asked: e.PermissionRequested | e.QuestionAsked) -> None:
    """Once it is taken; the second time it is refused."""
    session, name = line.attachment.session, _id_of(asked)
    if name in line.seen:  # in the snapshot, and told as well
        return
    line.seen.add(name)

    async def once() -> None:
        if isinstance(asked, e.PermissionRequested):
            op = PermissionAnswer(id=client.next_id(), session=session, ask=name, decision="allow")
        else:
            op = QuestionAnswer(id=client.next_id(), session=session, question=name, answer="red")
        await client.request(op)

    if isinstance(asked, e.PermissionRequested) and "middle of its run" in asked.ask.reason:
        line.answers["begun"] += 1  # the risk has the reason shown, and the answer is for this call alone
        assert (asked.ask.risk, [each.scope for each in asked.ask.choices]) == ("high", ["once"])
    await once()
    line.answers["taken"] += 1
    with pytest.raises(OpenAgentError) as refused:
        await once()
    assert refused.value.info.code == "conflict", line.kind.name
    line.answers["refused"] += 1


def _id_of(asked: e.PermissionRequested | e.QuestionAsked) -> str:
    return asked.ask.id if isinstance(asked, e.PermissionRequested) else asked.question.id


async def finish(client: Client, line: Line) -> None:
    """Whoever comes after the restart is asked, and answers until the turn has ended."""
    line.attachment = attachment = await client.attach(line.attachment.session)
    assert attachment.snapshot is not None
    for ask in attachment.snapshot.permissions:
        await answer(client, line, e.PermissionRequested(ask=ask))
    for question in attachment.snapshot.questions:
        await answer(client, line, e.QuestionAsked(question=question))
    if not (attachment.snapshot.turns and not line_runs(attachment)):
        async for event in attachment.events():
            if isinstance(event, e.PermissionRequested | e.QuestionAsked):
                await answer(client, line, event)
            elif isinstance(event, e.TurnCompleted):
                break
    await check(client, line)


def line_runs(attachment: Attachment) -> bool:
    assert attachment.snapshot is not None
    return attachment.snapshot.info.status not in ("idle", "error", "interrupted")


async def check(client: Client, line: Line) -> None:
    kind, session = line.kind, line.attachment.session
    page = await client.request(MessagesPage(id=client.next_id(), session=session))
    (end,) = page.turns
    assert (kind.name, end.reason, page.messages[-1].text) == (kind.name, "done", "That is done.")
    results = [part for message in page.messages for part in message.parts if isinstance(part, ToolResultPart)]
    made = [made.id for message in page.messages for made in message.tool_calls]
    assert sorted(result.call_id for result in results) == sorted(made), kind.name
    assert {result.ended for result in results} == {"done"}, (kind.name, results)
    expected = Counter(taken=kind.again, refused=kind.again, begun=int(kind.name in BEGUN))
    assert line.answers == expected, (kind.name, line.answers)
    assert (await client.request(SessionGet(id=client.next_id(), session=session))).status == "idle"


@pytest.mark.timeout(3600)
async def test_every_kind_of_request_is_asked_again_and_its_call_runs_once(tmp_path: Path) -> None:
    figures: Counter[str] = Counter()
    outside = tmp_path / "other" / "outside.txt"
    outside.parent.mkdir()
    outside.write_text("outside")
    async with web_server() as far:
        made = kinds(far.port, outside)
        async with Simulator(script(made)) as sim:
            with prepared(tmp_path / "home", sim) as program:
                await asyncio.to_thread(program.serve)
                for number in range(ROUNDS):
                    how = signal.SIGTERM if number % 2 else signal.SIGKILL
                    async with person(program) as client:
                        lines = await asyncio.gather(*(begin(client, program, kind) for kind in made))
                        await stop(program, how)
                    await asyncio.to_thread(program.serve)
                    async with person(program) as client, asyncio.timeout(PATIENCE * 2):
                        await asyncio.gather(*(finish(client, line) for line in lines))
                        assert (await client.request(AsksList(id=client.next_id()))).asks == []
                    for line in lines:
                        figures["asked again"] += line.answers["taken"]
                        figures["refused a second time"] += line.answers["refused"]
                        file = folder_of(program, line.kind) / f"{line.kind.name}.ran"
                        count = file.read_text().count("ran") if file.exists() else 0
                        assert (how.name, line.kind.name, count) == (how.name, line.kind.name, line.kind.runs)
                        figures["ran"] += count
                        file.unlink(missing_ok=True)
                    figures[how.name] += 1
    print(f"\n{len(made)} kinds, {ROUNDS} rounds: {dict(figures)}")  # noqa: T201 -- what it was run for
