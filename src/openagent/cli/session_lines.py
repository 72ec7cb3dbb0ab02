"""Whole sessions as lines of JSON, one thing a line: what it is, what was said, how turns ended, what happened."""

import json
from collections.abc import Iterator
from typing import Any, TextIO

import msgspec

from openagent.cli.command import plain
from openagent.cli.exported import VERSION, Exported, not_ours
from openagent.client import Client
from openagent.protocol.conversation import MessagesPage
from openagent.protocol.daemon import Ping
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import MessageAdded
from openagent.protocol.sessions import EndedTurn, SessionInfo

_PAGE = 200


async def write_lines(client: Client, info: SessionInfo, file: TextIO) -> None:
    """The last line counts what stood before it, so that a file that was cut short is known."""
    _line(file, "session", version=VERSION, session=plain(info))
    messages, rewound, ends = 0, list[tuple[int, int]](), dict[int, EndedTurn]()
    after, has_more = 0, True
    while has_more:
        page = await client.request(MessagesPage(id=client.next_id(), session=info.id, after=after, limit=_PAGE))
        for message in page.messages:
            _line(file, "message", message=msgspec.to_builtins(message))
        messages += len(page.messages)
        after = page.messages[-1].number if page.messages else after
        rewound, has_more = page.rewound, page.has_more
        ends |= {end.turn: end for end in page.turns}
    for end in ends.values():
        _line(file, "turn", turn=msgspec.to_builtins(end))
    if rewound:
        _line(file, "rewound", ranges=rewound)
    events = await _write_events(client, info, file)
    _line(file, "end", messages=messages, turns=len(ends), events=events)


async def _write_events(client: Client, info: SessionInfo, file: TextIO) -> int:
    """Checkpoints by their ids, decisions, changes of settings: all that was kept but for messages, which are there.

    Of a session with more events than the daemon sends at once, none is written, and a line says so."""
    attachment = await client.attach(info.id, after=0)
    await client.request(Ping(id=client.next_id()))  # what was missed has come when this is answered
    await attachment.detach()
    if attachment.snapshot is not None:
        _line(file, "event", event=None, left_out="there are too many to be sent at once")
        return 0
    written = 0
    while not attachment.queue.empty():
        event = attachment.queue.get_nowait()
        if event is not None and type(event).durable and not isinstance(event, MessageAdded):
            _line(file, "event", event=msgspec.to_builtins(event))
            written += 1
    return written


def _line(file: TextIO, kind: str, **more: Any) -> None:
    file.write(json.dumps({"type": kind, **more}) + "\n")


def are_lines(raw: bytes) -> bool:
    return raw.lstrip().startswith((b'{"type": "session"', b'{"type":"session"'))


def read_lines(raw: bytes, name: str) -> Iterator[Exported]:
    """Each session whole, or none of them: a file that was cut short is refused."""
    held: dict[str, Any] = {}
    number = 0
    for number, text in enumerate(raw.splitlines(), 1):
        if not text.strip():
            continue
        line = _decoded(text, number, name)
        match line.get("type"):
            case "session" if not held:
                held = {"version": line.get("version"), "session": line.get("session"), "messages": [], "turns": []}
            case "message" if held:
                held["messages"].append(line.get("message"))
            case "turn" if held:
                held["turns"].append(line.get("turn"))
            case "rewound" if held:
                held["rewound"] = line.get("ranges")
            case "end" if held and (len(held["messages"]), len(held["turns"])) == (
                line.get("messages"),
                line.get("turns"),
            ):
                yield _session(held, name)
                held = {}
            case "event" if held:
                pass  # told of what happened there; here it did not
            case _:
                raise _torn(name, number)
    if held or not number:
        raise _torn(name, number)


def _decoded(text: bytes, number: int, name: str) -> dict[str, Any]:
    try:
        line: Any = json.loads(text)
    except ValueError:
        raise _torn(name, number) from None
    if not isinstance(line, dict):
        raise _torn(name, number)
    return line  # pyright: ignore[reportUnknownVariableType]


def _session(held: dict[str, Any], name: str) -> Exported:
    version = held["version"]
    if isinstance(version, int) and version > VERSION:
        told = f"{name} was written by a newer OpenAgent: version {version}, and this one reads {VERSION}."
        raise OpenAgentError("invalid_argument", told, hint="`openagent update` brings the newest.")
    try:
        return msgspec.convert(held, Exported)
    except msgspec.ValidationError as problem:
        raise not_ours(name, f": {problem}") from None


def _torn(name: str, number: int) -> OpenAgentError:
    told = f"{name} is cut short or changed at line {number}. Nothing of it was imported."
    return OpenAgentError("invalid_argument", told, hint="Export it again.")
