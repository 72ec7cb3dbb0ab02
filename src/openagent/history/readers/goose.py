"""goose: `~/.local/share/goose/sessions/sessions.db`; before 1.10 a file of JSON lines for each session beside it.

It keeps what a session used as sums, so a session counts as one request, on the day it was last active.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from openagent.history.copies import Copies
from openagent.history.dates import seconds
from openagent.history.files import beneath, source
from openagent.history.foreign_tools import call
from openagent.history.json_lines import Lines
from openagent.history.models import full_name
from openagent.history.readers.loose import Fields, as_count, as_dict, as_dicts, as_text, fields, texts
from openagent.history.readers.tables import in_database, listed
from openagent.history.reading import (
    Answer,
    Head,
    Item,
    Look,
    Prompt,
    Remark,
    Request,
    Result,
    Source,
    Unreadable,
)
from openagent.protocol.messages import ImagePart, Part, TextPart, ThinkingPart, ToolResultPart
from openagent.protocol.origin import ForeignAgent
from openagent.protocol.usage import Usage

_DATABASE = "sessions.db"
_SESSIONS = (
    "SELECT id, updated_at || ':' || COALESCE(accumulated_total_tokens, 0), updated_at "
    "FROM sessions ORDER BY created_at, id"
)
_ONE = "SELECT * FROM sessions WHERE id = ?"
_MESSAGES = (
    "SELECT role, content_json, created_timestamp FROM messages WHERE session_id = ? ORDER BY created_timestamp, id"
)


class GooseReader:
    agent: ForeignAgent = "goose"

    def places(self, look: Look) -> list[Path]:
        if root := look.env.get("GOOSE_PATH_ROOT"):
            data = [Path(root) / "data"]
        else:
            data = [Path(look.env.get("XDG_DATA_HOME") or look.home / ".local" / "share") / "goose"]
            data.append(look.home / "Library" / "Application Support" / "Block" / "goose")
        return [place for each in data if (place := each / "sessions").is_dir()]

    def find(self, place: Path, copies: Copies) -> Iterator[Source]:
        known: set[str] = set()
        if (place / _DATABASE).is_file():
            for found in listed(self.agent, place / _DATABASE, copies, _SESSIONS):
                known.add(found.part)
                yield found
        for entry in beneath(place, (".jsonl",), deepest=0):
            is_there_too = Path(entry.path).stem in known
            if not is_there_too and (old := source(self.agent, entry.path)):
                yield old

    def count(self, source: Source, copies: Copies) -> Iterator[Request]:
        if not source.part:
            request = _request(source, next(_lines(source, Lines(source.path))))
        else:
            with in_database(source, copies) as database:
                cursor = database.execute(_ONE, (source.part,))
                request = _request(source, _row(cursor.description, cursor.fetchone()))
        if request is not None:
            yield request

    def read(self, source: Source, copies: Copies, position: int = 0) -> Iterator[Item]:
        if source.part:
            with in_database(source, copies) as database:
                cursor = database.execute(_ONE, (source.part,))
                about = _row(cursor.description, cursor.fetchone())
                rows = database.execute(_MESSAGES, (source.part,))
                yield from _conversation(source, about, ((role, _decoded(content), at) for role, content, at in rows))
            return
        lines = Lines(source.path)
        records = _lines(source, lines)
        about = next(records)
        said = ((each.get("role"), each.get("content"), each.get("created")) for each in records)
        yield from _conversation(source, about, said)
        if remark := lines.remark():
            yield Remark(remark)


def _decoded(content: str) -> Any:
    return fields(f'{{"content": {content}}}').get("content")


def _conversation(source: Source, about: Fields, messages: Iterable[tuple[Any, Any, Any]]) -> Iterator[Item]:
    request = _request(source, about)
    name = as_text(about.get("name")) or as_text(about.get("description"))
    begun = seconds(about.get("created_at")) or source.modified
    yield Head(_id(source), as_text(about.get("working_dir")), begun, name, version=source.version)
    held: Answer | None = None
    results: list[Result] = []
    for role, content, created in messages:
        at = seconds(created)
        if role == "assistant":
            if held is not None:
                yield held
                yield from results
            held, results = Answer(_answer(content), at, request.model if request else _model(about)), []
            continue
        answered = [Result(result, at) for each in as_dicts(content) if (result := _result(each)) is not None]
        results += answered
        said = _said(content)
        if said and not answered:
            if held is not None:
                yield held
                yield from results
            held, results = None, []
            yield Prompt(said, at)
    if held is not None:  # the newest answer carries what the session used
        yield Answer(held.parts, held.at, held.model, request)
        yield from results


def _lines(source: Source, lines: Lines) -> Iterator[Fields]:
    first = True
    for line in lines:
        record = fields(line)
        if first and "working_dir" not in record:
            raise Unreadable("is no session of goose, or of a version that is not known")
        first = False
        if record:
            yield record
        else:
            lines.damaged += 1
    if first:
        raise Unreadable("is empty")


def _row(columns: Any, row: Any) -> Fields:
    if row is None:
        raise Unreadable("is gone")
    return {column[0]: value for column, value in zip(columns, row, strict=True)}


def _id(source: Source) -> str:
    return source.part or Path(source.path).stem


def _model(about: Fields) -> str:
    model = as_text(fields(about.get("model_config_json")).get("model_name"))
    return full_name(model, as_text(about.get("provider_name"))) if model else ""


def _request(source: Source, about: Fields) -> Request | None:
    sent = as_count(about.get("accumulated_input_tokens")) or as_count(about.get("input_tokens"))
    received = as_count(about.get("accumulated_output_tokens")) or as_count(about.get("output_tokens"))
    if not sent and not received:
        sent = as_count(about.get("accumulated_total_tokens")) or as_count(about.get("total_tokens"))
    if not sent and not received:
        return None
    at = seconds(about.get("updated_at")) or source.modified
    usage = Usage(input_tokens=sent, output_tokens=received)
    return Request(_id(source), at, _model(about) or "unknown/unknown", usage, as_text(about.get("working_dir")))


def _answer(content: Any) -> list[Part]:
    parts: list[Part] = []
    for each in as_dicts(content):
        match each.get("type"):
            case "text" if as_text(each.get("text")):
                parts.append(TextPart(each["text"]))
            case "thinking" | "reasoning":
                thought = as_text(each.get("thinking")) or as_text(each.get("text"))
                parts += [ThinkingPart(thought)] if thought else []
            case "toolRequest" | "frontendToolRequest":
                made = as_dict(as_dict(each.get("toolCall")).get("value"))
                name = as_text(made.get("name")) or "?"
                parts.append(call("goose", as_text(each.get("id")), name, made.get("arguments") or {}))
            case _:
                pass
    return parts


def _said(content: Any) -> list[Part]:
    said = texts([each for each in as_dicts(content) if each.get("type") == "text"])
    return [*(TextPart(text) for text in said), *_images(content)]


def _images(content: Any) -> list[ImagePart]:
    return [
        ImagePart(as_text(each.get("mimeType")) or "image/png", each["data"])
        for each in as_dicts(content)
        if each.get("type") == "image" and as_text(each.get("data"))
    ]


def _result(block: Fields) -> ToolResultPart | None:
    if block.get("type") != "toolResponse":
        return None
    told = as_dict(block.get("toolResult"))
    id_ = as_text(block.get("id"))
    if told.get("status") == "error":
        return ToolResultPart(id_, "", as_text(told.get("error")), is_error=True)
    value = told.get("value")
    content = as_dict(value).get("content") if isinstance(value, dict) else value
    failed = bool(as_dict(value).get("isError"))
    return ToolResultPart(id_, "", "\n".join(texts(content)), is_error=failed, images=_images(content))
