"""Claude Code: `~/.claude/projects/FOLDER/SESSION.jsonl`, one line for each block of a message.

Sub-agents have files of their own (`agent-ID.jsonl`, in older versions lines with `isSidechain` among the others).
"""

from collections import OrderedDict, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from openagent.history import diffs
from openagent.history.copies import Copies
from openagent.history.dates import seconds
from openagent.history.files import beneath, source
from openagent.history.foreign_tools import call
from openagent.history.ids import session_id
from openagent.history.json_lines import Lines, decoded
from openagent.history.models import full_name
from openagent.history.reading import (
    Answer,
    Cancelled,
    Head,
    Item,
    Look,
    Note,
    Prompt,
    Remark,
    Renamed,
    Request,
    Result,
    Source,
    StartOver,
    Summarized,
    TakenBack,
    Unreadable,
)
from openagent.protocol.display import NO_DISPLAY, AgentRun, Display
from openagent.protocol.messages import ImagePart, Part, StopReason, TextPart, ThinkingPart, ToolResultPart
from openagent.protocol.origin import ForeignAgent
from openagent.protocol.usage import Usage

_SYNTHETIC = "<synthetic>"
_STILL_COMING = 64
"""Messages of which another line may follow."""
_ENDS_KEPT = 8
"""Lines at the end of a turn that a later prompt may follow."""
_INTERRUPTED = "[Request interrupted by user"
_BY_COMMANDS = ("<command-", "<local-command", "<bash-", "<system-reminder>", "<task-notification>", "Caveat: ")
_KNOWN = frozenset(("user", "assistant", "system", "summary", "attachment", "queue-operation", "file-history-snapshot"))


class _CacheWrites(Struct):
    ephemeral_1h_input_tokens: int | None = 0


class _ServerTools(Struct):
    web_search_requests: int | None = 0


class _Usage(Struct):
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cache_creation_input_tokens: int | None = 0
    cache_read_input_tokens: int | None = 0
    cache_creation: _CacheWrites | None = None
    server_tool_use: _ServerTools | None = None


class _Counted(Struct):
    id: str = ""
    model: str = ""
    usage: _Usage | None = None


class _CountedLine(Struct, rename="camel"):
    type: str = ""
    uuid: str = ""
    timestamp: str = ""
    cwd: str = ""
    request_id: str | None = None
    cost_usd: float | None = msgspec.field(default=None, name="costUSD")
    message: _Counted | None = None


class _Where(Struct):
    cwd: str = ""


class _Said(Struct):
    content: Any = ""
    id: str = ""
    model: str = ""
    stop_reason: str | None = None
    usage: _Usage | None = None


class _Line(Struct, rename="camel"):
    type: str = ""
    uuid: str = ""
    parent_uuid: str | None = None
    is_sidechain: bool = False
    is_meta: bool | None = False
    is_compact_summary: bool = False
    is_api_error_message: bool = False
    timestamp: str = ""
    cwd: str = ""
    session: str = msgspec.field(default="", name="sessionId")
    agent_id: str | None = None
    request_id: str | None = None
    cost_usd: float | None = msgspec.field(default=None, name="costUSD")
    summary: Any = None
    custom_title: Any = None
    ai_title: Any = None
    tool_use_result: msgspec.Raw = msgspec.Raw()
    message: _Said | None = None


_counted = msgspec.json.Decoder(_CountedLine)
_where = msgspec.json.Decoder(_Where)
_lines = msgspec.json.Decoder(_Line)


class ClaudeReader:
    agent: ForeignAgent = "claude"

    def places(self, look: Look) -> list[Path]:
        said = look.env.get("CLAUDE_CONFIG_DIR", "").split(",")
        given = [Path(each.strip()).expanduser() for each in said if each.strip()]
        config = Path(look.env.get("XDG_CONFIG_HOME") or look.home / ".config")
        places = [each / "projects" for each in given or [look.home / ".claude", config / "claude"]]
        return [place for place in places if place.is_dir()]

    def find(self, place: Path, copies: Copies) -> Iterator[Source]:
        for entry in beneath(place, (".jsonl",)):
            if found := source(self.agent, entry.path):
                yield found

    def count(self, source: Source, copies: Copies) -> Iterator[Request]:
        lines, cwd = Lines(source.path), ""
        coming: OrderedDict[str, Request] = OrderedDict()
        for line in lines:
            if not cwd and b'"cwd"' in line:
                cwd = (decoded(line, _where) or _Where()).cwd
            if b'"usage"' not in line or b'"assistant"' not in line:
                continue
            found = decoded(line, _counted)
            if found is None or found.type != "assistant" or found.message is None:
                continue
            message = found.message
            request = _request(found, message.id, message.model, message.usage, cwd)
            if request is None:
                continue
            id_ = f"{message.id or found.uuid}:{found.request_id}"
            before = coming.pop(id_, None)
            coming[id_] = request if before is None else _later(before, request)
            if len(coming) > _STILL_COMING:
                yield coming.popitem(last=False)[1]
        yield from coming.values()

    def read(self, source: Source, copies: Copies, position: int = 0) -> Iterator[Item]:
        lines = Lines(source.path, position)
        return _Transcript(source, lines, resumed=position > 0).items()


class _Transcript:
    """A file, line by line."""

    def __init__(self, source: Source, lines: Lines, *, resumed: bool) -> None:
        stem = Path(source.path).stem
        self._lines = lines
        self._resumed = resumed
        self._is_agent = stem.startswith("agent-")
        self._id = stem.removeprefix("agent-") if self._is_agent else stem
        self._chain = _Chain(resumed=resumed)
        self._sides: dict[str, list[Item]] = {}
        """What sub-agents said among the rest, each by the first of its lines."""
        self._side_steps: dict[str, _Step] = {}
        self._side_of: dict[str, str] = {}
        self._head: Head | None = None
        self._names: dict[str, str] = {}

    def items(self) -> Iterator[Item]:
        known, step = False, _Step()
        for line in self._lines:
            found = decoded(line, _lines)
            if found is None:
                self._lines.damaged += 1
                continue
            known = known or found.type in _KNOWN
            self._note_name(found)
            if found.message is None or found.type not in ("user", "assistant"):
                self._chain.passed(found)
                continue
            if found.is_sidechain and not self._is_agent:
                self._beside(found)
                continue
            if self._head is None:
                self._head = self._begun(found)
                yield self._head
            yield from step.take(found, self._lines.position, self._chain)
        if not known and not self._resumed:
            raise Unreadable("is no session of Claude Code, or of a version that is not known")
        yield from step.flush()
        for kind in ("custom", "ai", "summary"):
            if name := self._names.get(kind):
                yield Renamed(name)
                break
        if remark := self._lines.remark():
            yield Remark(remark)
        yield from self._from_beside()

    def _begun(self, line: _Line) -> Head:
        if not self._is_agent:
            return Head(self._id, line.cwd, seconds(line.timestamp))
        return Head(line.agent_id or self._id, line.cwd, seconds(line.timestamp), parent=line.session)

    def _note_name(self, line: _Line) -> None:
        for kind, name in (("custom", line.custom_title), ("ai", line.ai_title), ("summary", line.summary)):
            if isinstance(name, str) and name.strip():
                self._names[kind] = " ".join(name.split())[:200]

    def _beside(self, line: _Line) -> None:
        first = self._side_of.get(line.parent_uuid or "", line.uuid)
        self._side_of[line.uuid] = first
        step = self._side_steps.get(first)
        if step is None:
            step = self._side_steps[first] = _Step()
            head = Head(f"{self._id}/{first}", line.cwd, seconds(line.timestamp), parent=self._id)
            self._sides[first] = [head]
        self._sides[first] += step.take(line, 0, None)

    def _from_beside(self) -> Iterator[Item]:
        if self._sides and self._resumed:
            raise StartOver
        for first, items in self._sides.items():
            yield from items
            yield from self._side_steps[first].flush()


class _Chain:
    """Each line names the one before. A prompt that follows an earlier turn's end takes back what came after that."""

    def __init__(self, *, resumed: bool) -> None:
        self._resumed = resumed
        self._turns_after: dict[str, int] = {}
        """The end of a turn, and how many turns stood then."""
        self._newest: deque[str] = deque(maxlen=_ENDS_KEPT)
        self._standing = 0

    def passed(self, line: _Line) -> None:
        if line.uuid:
            self._newest.append(line.uuid)

    def prompted(self, line: _Line) -> int:
        """How many turns this prompt takes back."""
        gone = 0
        parent = line.parent_uuid
        if parent and self._standing and parent not in self._newest:
            known = self._turns_after.get(parent)
            if known is None and self._resumed:
                raise StartOver
            if known is not None:
                gone, self._standing = self._standing - known, known
        for uuid in self._newest:
            self._turns_after[uuid] = self._standing
        self._newest.clear()
        self._standing += 1
        self.passed(line)
        return gone


class _Step:
    """An answer comes in several lines, and results of its first calls may come between them."""

    def __init__(self) -> None:
        self._id = ""
        self._parts: list[Part] = []
        self._last: _Line | None = None
        self._request: Request | None = None
        self._results: list[Result] = []
        self._cwd = ""

    def take(self, line: _Line, position: int, chain: _Chain | None) -> Iterator[Item]:
        assert line.message is not None
        self._cwd = self._cwd or line.cwd
        if line.type == "assistant":
            if chain:
                chain.passed(line)
            yield from self._answered(line, line.message)
        else:
            yield from self._user(line, line.message, position, chain)

    def flush(self) -> Iterator[Item]:
        line = self._last
        if line is not None and line.message is not None:
            model = line.message.model
            failed = line.is_api_error_message
            name = "" if model == _SYNTHETIC else full_name(model) if model else ""
            stop = "error" if failed else _stop(line.message.stop_reason)
            yield Answer(self._parts, seconds(line.timestamp), name, self._request, stop)
        yield from self._results
        self._id, self._parts, self._last, self._request, self._results = "", [], None, None, []

    def _answered(self, line: _Line, message: _Said) -> Iterator[Item]:
        if self._last is not None and (not message.id or message.id != self._id):
            yield from self.flush()
        self._id, self._last = message.id, line
        request = _request(line, message.id, message.model, message.usage, self._cwd)
        if request is not None:
            self._request = request if self._request is None else _later(self._request, request)
        content = message.content
        if isinstance(content, str):
            self._parts.append(TextPart(content))
        for block in _blocks(content):
            if (part := _part(block)) is not None:
                self._parts.append(part)

    def _user(self, line: _Line, message: _Said, position: int, chain: _Chain | None) -> Iterator[Item]:
        at, content = seconds(line.timestamp), message.content
        blocks = _blocks(content)
        results = [block for block in blocks if block.get("type") == "tool_result"]
        display = _display(line, results)
        for block in results:
            self._results.append(Result(_result(block, display), at))
        said = _said(content, blocks)
        if not said:
            if chain:
                chain.passed(line)
            return
        text = next((part.text for part in said if isinstance(part, TextPart)), "")
        if text.startswith(_INTERRUPTED):
            if chain:
                chain.passed(line)
            yield from self.flush()
            yield Cancelled()
        elif line.is_compact_summary:
            if chain:
                chain.passed(line)
            yield from self.flush()
            yield Summarized(text)
        elif line.is_meta or text.lstrip().startswith(_BY_COMMANDS):
            if chain:
                chain.passed(line)
            if not results:
                yield from self.flush()
                yield Note(text, at, position)
        else:
            yield from self.flush()
            if chain and (gone := chain.prompted(line)):
                yield TakenBack(gone)
            yield Prompt(said, at, position)


def _request(line: "_Line | _CountedLine", id: str, model: str, usage: _Usage | None, cwd: str) -> Request | None:  # noqa: A002
    if usage is None or model == _SYNTHETIC or not model:
        return None
    written, cached = usage.cache_creation_input_tokens or 0, usage.cache_read_input_tokens or 0
    tokens = Usage(
        input_tokens=(usage.input_tokens or 0) + written + cached,
        output_tokens=usage.output_tokens or 0,
        cached_tokens=cached,
        cache_write_tokens=written,
    )
    kept_long = (usage.cache_creation.ephemeral_1h_input_tokens or 0) if usage.cache_creation else 0
    searches = (usage.server_tool_use.web_search_requests or 0) if usage.server_tool_use else 0
    # An id is a provider's own; a scripted one may come twice, and only a copy has its date too.
    key = f"{id or line.uuid}:{line.request_id or line.timestamp}"
    return Request(
        key, seconds(line.timestamp), full_name(model), tokens, cwd, min(kept_long, written), searches, line.cost_usd
    )


def _later(before: Request, now: Request) -> Request:
    """Lines of one answer tell what it used so far; the first line says when it was."""
    fuller = now if now.usage.output_tokens >= before.usage.output_tokens else before
    return msgspec.structs.replace(fuller, key=before.key, at=before.at)


def _stop(reason: str | None) -> StopReason:
    match reason:
        case "max_tokens" | "model_context_window_exceeded":
            return "max_tokens"
        case "refusal":
            return "refusal"
        case _:
            return "end"


def _blocks(content: Any) -> list[dict[str, Any]]:
    if not isinstance(content, list):
        return []
    return [cast("dict[str, Any]", block) for block in cast("list[Any]", content) if isinstance(block, dict)]


def _part(block: dict[str, Any]) -> Part | None:
    match block.get("type"):
        case "text":
            return TextPart(str(block.get("text") or ""))
        case "thinking":
            signature = block.get("signature")
            return ThinkingPart(
                str(block.get("thinking") or ""),
                signature=signature if isinstance(signature, str) and signature else None,
                origin="anthropic",
            )
        case "redacted_thinking":
            return ThinkingPart("", redacted=str(block.get("data") or ""), origin="anthropic")
        case "tool_use":
            return call("claude", str(block.get("id") or ""), str(block.get("name") or "?"), block.get("input"))
        case _:
            return None


def _said(content: Any, blocks: list[dict[str, Any]]) -> list[Part]:
    if isinstance(content, str):
        return [TextPart(content)] if content.strip() else []
    found: list[Part] = []
    for block in blocks:
        if block.get("type") == "text" and str(block.get("text") or "").strip():
            found.append(TextPart(str(block["text"])))
        elif block.get("type") == "image" and (image := _image(block)):
            found.append(image)
    return found


def _image(block: dict[str, Any]) -> ImagePart | None:
    given = block.get("source")
    if not isinstance(given, dict):
        return None
    known = cast("dict[str, Any]", given)
    data = known.get("data")
    return ImagePart(str(known.get("media_type") or "image/png"), data) if isinstance(data, str) and data else None


def _result(block: dict[str, Any], display: Display) -> ToolResultPart:
    content = block.get("content")
    blocks = _blocks(content)
    told = [str(each.get("text") or "") for each in blocks if each.get("type") == "text"]
    return ToolResultPart(
        str(block.get("tool_use_id") or ""),
        "",
        content if isinstance(content, str) else "\n".join(told),
        is_error=bool(block.get("is_error")),
        images=[image for each in blocks if each.get("type") == "image" and (image := _image(each))],
        display=display,
    )


def _display(line: _Line, results: list[dict[str, Any]]) -> Display:
    """What was kept beside a line belongs to its one result."""
    raw = bytes(line.tool_use_result)
    if len(results) != 1 or not raw.startswith(b"{"):
        return NO_DISPLAY
    try:
        kept = cast("dict[str, Any]", msgspec.json.decode(raw))
    except msgspec.DecodeError:
        return NO_DISPLAY
    path = kept.get("filePath")
    if isinstance(path, str) and path:
        if kept.get("structuredPatch"):
            return diffs.hunks(path, kept["structuredPatch"])
        if kept.get("type") == "create" and isinstance(kept.get("content"), str):
            return diffs.created(path, kept["content"])
        return Display(path=path)
    if isinstance(agent := kept.get("agentId"), str) and agent:
        reason = "done" if kept.get("status") in (None, "completed") else str(kept["status"])
        return Display(agents=[AgentRun(session=session_id("claude", agent), reason=reason)])
    return NO_DISPLAY
