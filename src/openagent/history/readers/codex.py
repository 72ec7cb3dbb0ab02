"""codex: `~/.codex/sessions/YEAR/MONTH/DAY/rollout-DATE-ID.jsonl`, each line an item with its date.

What a model said, called and was told are `response_item`s; what was used comes after an answer, as a
`token_usage_record` or, in older versions, a `token_count` event with sums.
"""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from openagent.history import diffs
from openagent.history.copies import Copies
from openagent.history.dates import seconds
from openagent.history.files import beneath, source
from openagent.history.foreign_tools import call
from openagent.history.json_lines import Lines, decoded
from openagent.history.models import full_name
from openagent.history.readers.loose import Fields, as_count, as_dict, as_dicts, as_text, fields, texts
from openagent.history.reading import (
    Answer,
    Cancelled,
    Head,
    Item,
    Look,
    Prompt,
    Remark,
    Renamed,
    Request,
    Result,
    Source,
    Summarized,
    TakenBack,
    Unreadable,
)
from openagent.protocol.display import NO_DISPLAY, Display
from openagent.protocol.messages import ImagePart, Part, TextPart, ThinkingPart, ToolResultPart
from openagent.protocol.origin import ForeignAgent
from openagent.protocol.usage import Usage

_COMPRESSED = ".jsonl.zst"
_METERED = (b"token_count", b"token_usage_record", b'"turn_context"', b'"session_meta"')
_INJECTED = (
    "<environment_context>",
    "<user_instructions>",
    "<INSTRUCTIONS>",
    "# AGENTS.md instructions",
    "<permissions instructions>",
    "<turn_aborted>",
    "<user_shell_command>",
    "<skill>",
    "<collaboration_mode>",
    "<apps_instructions>",
)
"""How what codex itself says in a person's name begins."""
_ON_THIS_MACHINE = frozenset(("ollama", "ollama-chat", "lmstudio", "oss", "local"))


class _Line(Struct):
    timestamp: str = ""
    ordinal: int | None = None
    type: str = ""
    payload: msgspec.Raw = msgspec.Raw()


_lines = msgspec.json.Decoder(_Line)


class CodexReader:
    agent: ForeignAgent = "codex"

    def places(self, look: Look) -> list[Path]:
        home = Path(look.env.get("CODEX_HOME") or look.home / ".codex")
        return [place for name in ("sessions", "archived_sessions") if (place := home / name).is_dir()]

    def find(self, place: Path, copies: Copies) -> Iterator[Source]:
        for entry in beneath(place, (".jsonl", _COMPRESSED)):
            if found := source(self.agent, entry.path):
                yield found

    def count(self, source: Source, copies: Copies) -> Iterator[Request]:
        meter = _Meter()
        for line in Lines(_readable(source, copies)):
            if any(word in line for word in _METERED) and (found := decoded(line, _lines)) is not None:
                request = meter.take(found, fields(found.payload))
                if request is not None:
                    yield request

    def read(self, source: Source, copies: Copies, position: int = 0) -> Iterator[Item]:
        return _Rollout(source, Lines(_readable(source, copies), position), resumed=position > 0).items()


def _readable(source: Source, copies: Copies) -> str:
    """codex compresses sessions that have been left alone for a while."""
    return copies.unpacked(source.path) if source.path.endswith(_COMPRESSED) else source.path


class _Meter:
    """What was used, as the file tells it: each request once."""

    def __init__(self) -> None:
        self.id = ""
        self.cwd = ""
        self.model = ""
        self.provider = ""
        self._totals: Fields | None = None
        self._recorded = False
        """A record told of it already, so the count that follows is the same."""
        self._counts = 0
        self._is_copy = False
        self._copied_in = ""
        """The second in which what another session used was copied to the beginning of this one."""

    def take(self, line: _Line, payload: Fields) -> Request | None:
        match line.type:
            case "session_meta":
                self._begin(payload)
            case "turn_context":
                self.model = as_text(payload.get("model")) or self.model
                self.cwd = self.cwd or as_text(payload.get("cwd"))
            case "token_usage_record":
                self._recorded = True
                return self._record(line, payload)
            case "event_msg" if payload.get("type") == "token_count":
                return self._counted(line, payload)
            case _:
                pass
        return None

    @property
    def full_model(self) -> str:
        if self.provider in _ON_THIS_MACHINE:
            return f"{self.provider}/{self.model}"
        named = full_name(self.model)
        return full_name(self.model, self.provider) if named.startswith("unknown/") and self.provider else named

    def _begin(self, meta: Fields) -> None:
        if self.id:
            return  # of the session that this one was copied from
        self.id, self.cwd = as_text(meta.get("id")), as_text(meta.get("cwd"))
        self.provider = as_text(meta.get("model_provider"))
        self._is_copy = bool(meta.get("forked_from_id") or _parent(meta))

    def _record(self, line: _Line, payload: Fields) -> Request | None:
        response = as_text(payload.get("response_id"))
        key = f"{as_text(payload.get('thread_id')) or self.id}:{response or line.timestamp}"
        return self._request(key, line, as_dict(payload.get("usage")))

    def _counted(self, line: _Line, payload: Fields) -> Request | None:
        info = as_dict(payload.get("info"))
        totals, last = as_dict(info.get("total_token_usage")), as_dict(info.get("last_token_usage"))
        before, self._totals = self._totals, totals or self._totals
        recorded, self._recorded = self._recorded, False
        if recorded or not (totals or last) or (totals and totals == before) or self._was_copied(line.timestamp):
            return None
        if not last:
            last = {name: as_count(value) - as_count((before or {}).get(name)) for name, value in totals.items()}
        self._counts += 1
        return self._request(f"{self.id}:{self._counts}:{as_count(totals.get('total_tokens'))}", line, last)

    def _was_copied(self, timestamp: str) -> bool:
        """A copy of another session begins with its counts, all written in the same moment."""
        if self._is_copy and not self._copied_in:
            self._copied_in = timestamp[:19]
        if self._is_copy and timestamp[:19] == self._copied_in:
            return True
        self._is_copy = False
        return False

    def _request(self, key: str, line: _Line, used: Fields) -> Request | None:
        usage = Usage(
            input_tokens=as_count(used.get("input_tokens")),
            output_tokens=as_count(used.get("output_tokens")),
            cached_tokens=min(as_count(used.get("cached_input_tokens")), as_count(used.get("input_tokens"))),
            cache_write_tokens=as_count(used.get("cache_write_input_tokens")),
            reasoning_tokens=as_count(used.get("reasoning_output_tokens")),
        )
        if not usage.input_tokens and not usage.output_tokens:
            return None
        return Request(key, seconds(line.timestamp), self.full_model, usage, self.cwd)


class _Rollout:
    def __init__(self, source: Source, lines: Lines, *, resumed: bool) -> None:
        self._source = source
        self._lines = lines
        self._resumed = resumed
        self._meter = _Meter()
        self._begun = resumed
        self._first_own = 0
        self._turn_position = 0
        self._parts: list[Part] = []
        self._at = 0.0
        self._results: list[Result] = []
        self._request: Request | None = None
        self._displays: dict[str, Display] = {}

    def items(self) -> Iterator[Item]:
        known = False
        for line in self._lines:
            found = decoded(line, _lines)
            if found is None:
                self._lines.damaged += 1
                continue
            payload = fields(found.payload)
            if not payload:  # as the first versions wrote it: the item itself
                payload = fields(line)
                if found.type:
                    found.type = "response_item"
                elif "id" in payload and "timestamp" in payload:
                    found.type = "session_meta"
            known = known or found.type in ("session_meta", "response_item", "event_msg")
            if found.ordinal is None or found.ordinal >= self._first_own or found.type == "session_meta":
                yield from self._line(found, payload)
        if not known and not self._resumed:
            raise Unreadable("is no session of codex, or of a version that is not known")
        yield from self._flush()
        if remark := self._lines.remark():
            yield Remark(remark)

    def _line(self, line: _Line, payload: Fields) -> Iterator[Item]:
        request = self._meter.take(line, payload)
        if request is not None and self._request is None and (self._parts or self._results):
            self._request = request
        match line.type:
            case "session_meta" if not self._begun:
                self._begun = True
                self._first_own = as_count(payload.get("subagent_history_start_ordinal"))
                at = seconds(payload.get("timestamp") or line.timestamp)
                yield Head(self._meter.id or Path(self._source.path).stem, self._meter.cwd, at, parent=_parent(payload))
            case "turn_context":
                self._turn_position = self._turn_position or self._lines.position
            case "response_item":
                yield from self._item(payload, seconds(line.timestamp))
            case "event_msg":
                yield from self._event(payload)
            case "compacted" if text := as_text(payload.get("message")).strip():
                yield from self._flush()
                yield Summarized(text)
            case _:
                pass

    def _item(self, item: Fields, at: float) -> Iterator[Item]:
        match item.get("type"):
            case "message" if item.get("role") == "user":
                yield from self._prompt(item, at)
            case "message" if item.get("role") == "assistant":
                yield from self._answers(at, [TextPart(text) for text in texts(item.get("content"))])
            case "reasoning":
                thought = "\n\n".join([*texts(item.get("summary")), *texts(item.get("content"))])
                yield from self._answers(at, [ThinkingPart(thought)] if thought else [])
            case "function_call" | "custom_tool_call" | "local_shell_call" as kind:
                yield from self._answers(at, [_call(kind, item)])
            case "function_call_output" | "custom_tool_call_output":
                self._results.append(Result(self._result(item), at))
            case _:
                pass

    def _prompt(self, item: Fields, at: float) -> Iterator[Item]:
        content = item.get("content")
        said: list[Part] = [TextPart(text) for text in texts(content) if not text.lstrip().startswith(_INJECTED)]
        said += [image for block in as_dicts(content) if (image := _image(as_text(block.get("image_url"))))]
        if said:
            yield from self._flush()
            yield Prompt(said, at, self._turn_position or self._lines.position)
            self._turn_position = 0

    def _answers(self, at: float, parts: list[Part]) -> Iterator[Item]:
        if self._results or self._request is not None:
            yield from self._flush()
        self._parts += parts
        self._at = at

    def _result(self, item: Fields) -> ToolResultPart:
        id_, output = as_text(item.get("call_id")), item.get("output")
        images: list[ImagePart] = []
        failed = False
        if isinstance(output, str) and output.startswith("{"):
            output = _unwrapped(output)
        if isinstance(output, list):
            images = [image for block in as_dicts(output) if (image := _image(as_text(block.get("image_url"))))]
            output = "\n".join(texts(output))
        elif isinstance(output, dict):
            told = as_dict(output)
            failed = told.get("success") is False
            output = as_text(told.get("content")) or json.dumps(told)
        display = self._displays.pop(id_, NO_DISPLAY)
        failed = failed or bool(display.exit_code)
        return ToolResultPart(id_, "", str(output or ""), is_error=failed, images=images, display=display)

    def _event(self, event: Fields) -> Iterator[Item]:
        match event.get("type"):
            case "turn_aborted":
                yield from self._flush()
                yield Cancelled()
            case "thread_rolled_back":
                yield from self._flush()
                yield TakenBack(as_count(event.get("num_turns")))
            case "thread_name_updated" if name := as_text(event.get("thread_name")).strip():
                yield Renamed(name)
            case "exec_command_end" | "patch_apply_end":
                self._show(as_text(event.get("call_id")), event)
            case "item_completed":
                item = as_dict(event.get("item"))
                if item.get("type") in ("CommandExecution", "FileChange"):
                    self._show(as_text(item.get("id")), item)
            case _:
                pass

    def _show(self, call_id: str, facts: Fields) -> None:
        if isinstance(code := facts.get("exit_code"), int):
            self._displays[call_id] = Display(exit_code=code)
        elif changes := as_dict(facts.get("changes")):
            self._displays[call_id] = _changed(changes)

    def _flush(self) -> Iterator[Item]:
        if self._parts:
            yield Answer(self._parts, self._at, self._meter.full_model if self._meter.model else "", self._request)
        yield from self._results
        self._parts, self._results, self._request = [], [], None


def _call(kind: str, item: Fields) -> Part:
    id_ = as_text(item.get("call_id")) or as_text(item.get("id"))
    if kind == "local_shell_call":
        return call("codex", id_, "local_shell", as_dict(item.get("action")))
    name = as_text(item.get("name")) or "?"
    if kind == "custom_tool_call":
        return call("codex", id_, name, {"input": as_text(item.get("input"))})
    given: Any = item.get("arguments")
    if isinstance(given, str):
        with contextlib.suppress(ValueError, RecursionError):
            given = json.loads(given) if given.strip() else {}
    return call("codex", id_, name, given)


def _unwrapped(output: str) -> Any:
    """Older versions put the text, with what is known of the run, into JSON."""
    try:
        found = json.loads(output)
    except (ValueError, RecursionError):
        return output
    if (text := as_dict(found).get("output")) is not None:
        return text
    return output


def _changed(changes: Fields) -> Display:
    shown: list[Display] = []
    for path, change in changes.items():
        said = as_dict(change)
        kind = said.get("type")
        if not kind and len(said) == 1:  # {"add": {…}}, as older versions say it
            kind, said = next((str(name), as_dict(value)) for name, value in said.items())
        if kind == "update":
            shown.append(diffs.shown(path, f"--- {path}\n+++ {path}\n{as_text(said.get('unified_diff'))}"))
        elif kind == "add":
            shown.append(diffs.created(path, as_text(said.get("content"))))
        elif kind == "delete":
            shown.append(diffs.between(path, as_text(said.get("content")), ""))
    return Display(
        path=shown[0].path if len(shown) == 1 else "",
        diff="".join(each.diff for each in shown)[: diffs.LONGEST],
        added=sum(each.added or 0 for each in shown),
        removed=sum(each.removed or 0 for each in shown),
        files=[file for each in shown for file in each.files],
    )


def _parent(meta: Fields) -> str:
    spawned = as_dict(as_dict(as_dict(meta.get("source")).get("subagent")).get("thread_spawn"))
    return as_text(meta.get("parent_thread_id")) or as_text(spawned.get("parent_thread_id"))


def _image(url: str) -> ImagePart | None:
    kind, found, data = url.removeprefix("data:").partition(";base64,")
    return ImagePart(kind, data) if found and url.startswith("data:image/") else None
