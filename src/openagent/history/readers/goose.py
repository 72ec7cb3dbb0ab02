"""goose: `~/.local/share/goose/sessions/sessions.db`; before 1.10 a file of JSON lines for each session beside it.

Newer versions write down every request. Older ones keep sums: what these alone tell counts as one request, on the day
the session was last active.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from openagent.history import diffs
from openagent.history.copies import Copies
from openagent.history.dates import seconds
from openagent.history.files import beneath, source
from openagent.history.foreign_tools import call
from openagent.history.ids import session_id
from openagent.history.json_lines import Lines
from openagent.history.models import full_name
from openagent.history.readers.loose import Fields, as_count, as_dict, as_dicts, as_text, fields, texts
from openagent.history.readers.tables import in_database, listed
from openagent.history.reading import (
    Answer,
    Head,
    Item,
    Look,
    Note,
    Prompt,
    Remark,
    Request,
    Result,
    Source,
    Unreadable,
)
from openagent.protocol.display import NO_DISPLAY, AgentRun, Display
from openagent.protocol.messages import ImagePart, Part, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from openagent.protocol.origin import ForeignAgent
from openagent.protocol.usage import Usage

_DATABASE = "sessions.db"
_SESSIONS = (
    "SELECT id, updated_at || ':' || COALESCE(accumulated_total_tokens, 0), updated_at "
    "FROM sessions ORDER BY created_at, id"
)
_ONE = "SELECT * FROM sessions WHERE id = ?"
_MESSAGES = "SELECT * FROM messages WHERE session_id = ? ORDER BY created_timestamp, id"
_LEDGER = "SELECT * FROM usage_ledger WHERE session_id = ? ORDER BY id"


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
            yield from _Requests(source, next(_lines(source, Lines(source.path))), []).all
        else:
            with in_database(source, copies) as database:
                yield from _requests(source, database).all

    def read(self, source: Source, copies: Copies, position: int = 0) -> Iterator[Item]:
        if source.part:
            with in_database(source, copies) as database:
                rows = database.execute(_MESSAGES, (source.part,))
                said = (_said_in(_row(rows.description, row)) for row in rows)
                yield from _conversation(source, _requests(source, database), said)
            return
        lines = Lines(source.path)
        records = _lines(source, lines)
        requests = _Requests(source, next(records), [])
        said = (_Said(each.get("role"), each.get("content"), each.get("created"), {}) for each in records)
        yield from _conversation(source, requests, said)
        if remark := lines.remark():
            yield Remark(remark)


class _Said(NamedTuple):
    role: Any
    content: Any
    at: Any
    about: Fields

    @property
    def is_hidden(self) -> bool:
        """What goose itself tells the model, and shows nobody."""
        return self.about.get("userVisible") is False

    @property
    def goes_on(self) -> bool:
        """An answer stands in several rows, and the first of them says what it used."""
        return "inference" in self.about and "usage" not in self.about


def _said_in(row: Fields) -> _Said:
    about = fields(row.get("metadata_json") or "{}")
    return _Said(row.get("role"), _decoded(as_text(row.get("content_json"))), row.get("created_timestamp"), about)


class _Requests:
    """What a session used: request by request where these are written down, and the rest in one."""

    def __init__(self, source: Source, about: Fields, ledger: list[Fields]) -> None:
        self.about = about
        self.model = _model(about)
        self._source = source
        self.single = [request for row in ledger if (request := self._written_down(row)) is not None]
        self.rest = self._rest()

    @property
    def all(self) -> list[Request]:
        return [*self.single, *([self.rest] if self.rest else [])]

    def _written_down(self, row: Fields) -> Request | None:
        usage = _usage(row, "")
        if usage is None:
            return None
        name = as_text(row.get("model"))
        model = full_name(name, as_text(self.about.get("provider_name"))) if name else self.model
        key, at = f"{_id(self._source)}:{row.get('id')}", seconds(row.get("created_timestamp"))
        return self._request(key, at, model, usage, row.get("cost"))

    def _rest(self) -> Request | None:
        usage, cost = _usage(self.about, "accumulated_") or _usage(self.about, ""), self.about.get("accumulated_cost")
        if usage is None:
            return None
        if self.single:
            known = sum((each.usage for each in self.single), Usage())
            usage, cost = _without(usage, known), None
            if not usage.input_tokens and not usage.output_tokens:
                return None
        at = seconds(self.about.get("updated_at")) or self._source.modified
        return self._request(_id(self._source), at, self.model, usage, cost)

    def _request(self, key: str, at: float, model: str, usage: Usage, cost: Any) -> Request:
        own = float(cost) if isinstance(cost, int | float) and cost > 0 else None
        folder = as_text(self.about.get("working_dir"))
        return Request(key, at, model or "unknown/unknown", usage, folder, cost_usd=own)


def _requests(source: Source, database: sqlite3.Connection) -> _Requests:
    cursor = database.execute(_ONE, (source.part,))
    about = _row(cursor.description, cursor.fetchone())
    try:
        rows = database.execute(_LEDGER, (source.part,))
    except sqlite3.OperationalError:  # an older version: there is no such table
        return _Requests(source, about, [])
    return _Requests(source, about, [_row(rows.description, row) for row in rows.fetchall()])


def _decoded(content: str) -> Any:
    return fields(f'{{"content": {content}}}').get("content")


def _conversation(source: Source, requests: _Requests, messages: Iterable[_Said]) -> Iterator[Item]:
    about = requests.about
    name = as_text(about.get("name")) or as_text(about.get("description"))
    begun = seconds(about.get("created_at")) or source.modified
    parent = as_text(about.get("parent_session_id"))
    yield Head(_id(source), as_text(about.get("working_dir")), begun, name, parent, version=source.version)
    unspent = iter(requests.single)
    held: Answer | None = None
    results: list[Result] = []
    given: dict[str, Fields] = {}
    for said in messages:
        at = seconds(said.at)
        if said.role == "assistant":
            parts = _answer(said.content)
            given |= {part.id: part.arguments for part in parts if isinstance(part, ToolCallPart)}
            if held is not None and not results and said.goes_on:
                held = msgspec.structs.replace(held, parts=[*held.parts, *parts])
                continue
            if held is not None:
                yield held
                yield from results
            request = next(unspent, None) if "usage" in said.about else None
            held, results = Answer(parts, at, request.model if request else requests.model, request), []
            continue
        answered = [Result(each, at) for block in as_dicts(said.content) if (each := _result(block, given)) is not None]
        results += answered
        words = _said(said.content)
        if words and not answered:
            if held is not None:
                yield held
                yield from results
            held, results = None, []
            yield Note("\n".join(texts(said.content)), at) if said.is_hidden else Prompt(words, at)
    if held is not None:  # the newest answer carries what is not known by request
        yield held if held.request else msgspec.structs.replace(held, request=requests.rest)
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


def _usage(row: Fields, sum_: str) -> Usage | None:
    sent, received = as_count(row.get(f"{sum_}input_tokens")), as_count(row.get(f"{sum_}output_tokens"))
    if not sent and not received:
        sent = as_count(row.get(f"{sum_}total_tokens"))
    if not sent and not received:
        return None
    cached, written = (as_count(row.get(f"{sum_}cache_{what}_tokens")) for what in ("read", "write"))
    return Usage(input_tokens=sent, output_tokens=received, cached_tokens=cached, cache_write_tokens=written)


def _without(all_: Usage, known: Usage) -> Usage:
    return Usage(
        input_tokens=max(all_.input_tokens - known.input_tokens, 0),
        output_tokens=max(all_.output_tokens - known.output_tokens, 0),
        cached_tokens=max(all_.cached_tokens - known.cached_tokens, 0),
        cache_write_tokens=max(all_.cache_write_tokens - known.cache_write_tokens, 0),
    )


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


def _result(block: Fields, given: Mapping[str, Fields]) -> ToolResultPart | None:
    if block.get("type") != "toolResponse":
        return None
    told = as_dict(block.get("toolResult"))
    id_ = as_text(block.get("id"))
    if told.get("status") == "error":
        return ToolResultPart(id_, "", as_text(told.get("error")), is_error=True)
    value = told.get("value")
    content = as_dict(value).get("content") if isinstance(value, dict) else value
    failed = bool(as_dict(value).get("isError"))
    display = NO_DISPLAY if failed else _display(as_dict(value), given.get(id_, {}))
    return ToolResultPart(id_, "", "\n".join(texts(content)), is_error=failed, images=_images(content), display=display)


def _display(value: Fields, given: Fields) -> Display:
    if child := as_text(as_dict(value.get("_meta")).get("subagent_session_id")):
        return Display(agents=[AgentRun(session=session_id("goose", child), reason="done")])
    if isinstance(code := as_dict(value.get("structuredContent")).get("exit_code"), int):
        return Display(exit_code=code)
    path, old, new = as_text(given.get("path")), given.get("old"), given.get("new")
    if path and isinstance(old, str) and isinstance(new, str):
        return diffs.between(path, old, new)
    return Display(path=path) if path else NO_DISPLAY
