"""opencode: one SQLite file, `~/.local/share/opencode/opencode.db`, with a row for each session, message and part."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from openagent.history import diffs
from openagent.history.copies import Copies
from openagent.history.dates import seconds
from openagent.history.foreign_tools import call
from openagent.history.ids import session_id
from openagent.history.models import full_name
from openagent.history.readers.loose import Fields, as_count, as_dict, as_dicts, as_text, fields
from openagent.history.readers.tables import in_database, listed
from openagent.history.reading import (
    Answer,
    Head,
    Item,
    Look,
    Prompt,
    Request,
    Result,
    Source,
    Unreadable,
)
from openagent.protocol.display import NO_DISPLAY, AgentRun, Display
from openagent.protocol.messages import ImagePart, Part, TextPart, ThinkingPart, ToolResultPart
from openagent.protocol.origin import ForeignAgent
from openagent.protocol.usage import Usage

_SESSIONS = "SELECT id, time_updated, time_updated FROM session ORDER BY time_created, id"
_ONE = "SELECT directory, title, parent_id, time_created FROM session WHERE id = ?"
_MESSAGES = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
_PARTS = "SELECT data FROM part WHERE message_id = ? ORDER BY id"


class OpencodeReader:
    agent: ForeignAgent = "opencode"

    def places(self, look: Look) -> list[Path]:
        data = Path(look.env.get("XDG_DATA_HOME") or look.home / ".local" / "share") / "opencode"
        if given := look.env.get("OPENCODE_DB"):
            return [path] if (path := Path(given)).is_file() else []
        return sorted(data.glob("opencode*.db"))

    def find(self, place: Path, copies: Copies) -> Iterator[Source]:
        yield from listed(self.agent, place, copies, _SESSIONS)

    def count(self, source: Source, copies: Copies) -> Iterator[Request]:
        with in_database(source, copies) as database:
            project = _session(database, source)[0]
            for id_, data in database.execute(_MESSAGES, (source.part,)):
                if (request := _request(id_, fields(data), project)) is not None:
                    yield request

    def read(self, source: Source, copies: Copies, position: int = 0) -> Iterator[Item]:
        with in_database(source, copies) as database:
            project, title, parent, created = _session(database, source)
            name = "" if title.startswith("New session - ") else title
            yield Head(source.part, project, seconds(created), name, parent or "", source.version)
            for id_, data in database.execute(_MESSAGES, (source.part,)).fetchall():
                parts = [fields(part) for (part,) in database.execute(_PARTS, (id_,))]
                yield from _said(id_, fields(data), parts, project)


def _session(database: sqlite3.Connection, source: Source) -> tuple[str, str, str | None, int]:
    found = database.execute(_ONE, (source.part,)).fetchone()
    if found is None:
        raise Unreadable("is gone")
    return found


def _said(id_: str, message: Fields, parts: list[Fields], project: str) -> Iterator[Item]:
    time = as_dict(message.get("time"))
    at = seconds(time.get("created"))
    if message.get("role") == "user":
        said = [part for each in parts if not each.get("synthetic") and (part := _user_part(each)) is not None]
        if said:
            yield Prompt(said, at)
        return
    answer: list[Part] = []
    results: list[Result] = []
    for each in parts:
        match each.get("type"):
            case "text" if as_text(each.get("text")):
                answer.append(TextPart(each["text"]))
            case "reasoning" if as_text(each.get("text")):
                answer.append(ThinkingPart(each["text"]))
            case "tool":
                state = as_dict(each.get("state"))
                call_id = as_text(each.get("callID")) or as_text(each.get("id"))
                answer.append(call("opencode", call_id, as_text(each.get("tool")) or "?", state.get("input", {})))
                if (result := _result(call_id, state)) is not None:
                    results.append(Result(result, seconds(as_dict(state.get("time")).get("end")) or at))
            case _:
                pass
    request = _request(id_, message, project)
    failed = as_text(as_dict(message.get("error")).get("name"))
    stop = "cancelled" if failed == "MessageAbortedError" else "error" if failed else "end"
    if answer or request:
        model = full_name(as_text(message.get("modelID")), as_text(message.get("providerID")))
        yield Answer(answer, at, model, request, stop)
    yield from results


def _user_part(part: Fields) -> Part | None:
    match part.get("type"):
        case "text" if as_text(part.get("text")).strip():
            return TextPart(part["text"])
        case "file":
            kind, _, data = as_text(part.get("url")).partition(";base64,")
            if data and kind.startswith("data:image/"):
                return ImagePart(kind.removeprefix("data:"), data)
            return TextPart(f"@{name}") if (name := as_text(part.get("filename"))) else None
        case _:
            return None


def _request(id_: str, message: Fields, project: str) -> Request | None:
    tokens = as_dict(message.get("tokens"))
    if message.get("role") != "assistant" or not tokens:
        return None
    cache, time = as_dict(tokens.get("cache")), as_dict(message.get("time"))
    cached, written = as_count(cache.get("read")), as_count(cache.get("write"))
    thought = as_count(tokens.get("reasoning"))
    usage = Usage(
        input_tokens=as_count(tokens.get("input")) + cached + written,
        output_tokens=as_count(tokens.get("output")) + thought,
        cached_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=thought,
    )
    if not usage.input_tokens and not usage.output_tokens:
        return None
    model = full_name(as_text(message.get("modelID")), as_text(message.get("providerID")))
    cost = message.get("cost")
    # A fork copies messages under new ids, with the times of then.
    key = f"{time.get('created')}:{time.get('completed')}:{usage.input_tokens}:{usage.output_tokens}"
    own = float(cost) if isinstance(cost, int | float) and cost > 0 else None
    key = key if time.get("completed") else id_
    return Request(key, seconds(time.get("created")), model, usage, project, cost_usd=own)


def _result(call_id: str, state: Fields) -> ToolResultPart | None:
    status = state.get("status")
    if status == "completed":
        display = _display(as_dict(state.get("metadata")), as_dict(state.get("input")))
        images = [
            ImagePart(kind.removeprefix("data:"), data)
            for each in as_dicts(state.get("attachments"))
            for kind, _, data in [as_text(each.get("url")).partition(";base64,")]
            if data and kind.startswith("data:image/")
        ]
        return ToolResultPart(call_id, "", as_text(state.get("output")), images=images, display=display)
    if status == "error":
        return ToolResultPart(call_id, "", as_text(state.get("error")), is_error=True)
    return None


def _display(kept: Fields, given: Fields) -> Display:
    path = as_text(kept.get("filepath")) or as_text(given.get("filePath"))
    if diff := as_text(kept.get("diff")):
        lines = diff.splitlines(keepends=True)
        begin = next((number for number, line in enumerate(lines) if line.startswith("--- ")), 0)
        return diffs.shown(path, "".join(lines[begin:]))
    if kept.get("exists") is False and isinstance(content := given.get("content"), str):
        return diffs.created(path, content)
    if isinstance(code := kept.get("exit"), int):
        return Display(exit_code=code)
    if child := as_text(kept.get("sessionId")) or as_text(kept.get("sessionID")):
        return Display(agents=[AgentRun(session=session_id("opencode", child), reason="done")])
    return Display(path=path) if path else NO_DISPLAY
