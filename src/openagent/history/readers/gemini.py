"""gemini-cli: `~/.gemini/tmp/PROJECT/chats/session-DATE-ID.jsonl`, once `.json`.

Each line is a message, or changes what was written before: a message of the same id replaces the earlier one,
`$rewindTo` takes back, `$set` with messages begins anew. So a file is read whole.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from openagent.history import diffs
from openagent.history.copies import Copies
from openagent.history.dates import seconds
from openagent.history.files import beneath, source
from openagent.history.foreign_tools import call
from openagent.history.json_lines import Lines, opened
from openagent.history.models import full_name
from openagent.history.readers.loose import Fields, as_count, as_dict, as_dicts, as_text, fields, texts
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
from openagent.protocol.display import NO_DISPLAY, Display
from openagent.protocol.messages import ImagePart, Part, TextPart, ThinkingPart, ToolResultPart
from openagent.protocol.origin import ForeignAgent
from openagent.protocol.usage import Usage

LARGEST = 512 << 20
_CONTEXT = ("<session_context>", "This is the Gemini CLI.", "<hook_context>", "<loaded_context>")
_ENDINGS = (".jsonl", ".json")


class GeminiReader:
    agent: ForeignAgent = "gemini"

    def places(self, look: Look) -> list[Path]:
        place = Path(look.env.get("GEMINI_CLI_HOME") or look.home) / ".gemini" / "tmp"
        return [place] if place.is_dir() else []

    def find(self, place: Path, copies: Copies) -> Iterator[Source]:
        for entry in beneath(place, _ENDINGS, deepest=4):
            inside = Path(entry.path).relative_to(place).parts
            if len(inside) >= 3 and inside[1] == "chats" and (found := source(self.agent, entry.path)):
                yield found

    def count(self, source: Source, copies: Copies) -> Iterator[Request]:
        kept = _Kept(source)
        project = _project(source.path, kept.about)
        for message in kept.ever.values():
            if (request := _request(message, project)) is not None:
                yield request

    def read(self, source: Source, copies: Copies, position: int = 0) -> Iterator[Item]:
        kept = _Kept(source)
        project = _project(source.path, kept.about)
        about = kept.about
        at = seconds(about.get("startTime"))
        parent = Path(source.path).parent.name if about.get("kind") == "subagent" else ""
        name = " ".join(as_text(about.get("summary")).split())[:200]
        yield Head(as_text(about.get("sessionId")), project, at, name=name, parent=parent)
        for message in kept.standing.values():
            yield from _said(message, project)
        if kept.remark:
            yield Remark(kept.remark)


class _Kept:
    """What a file says in the end, and all that it ever said."""

    def __init__(self, source: Source) -> None:
        self.about: Fields = {}
        self.standing: dict[str, Fields] = {}
        self.ever: dict[str, Fields] = {}
        self.remark = ""
        if source.size > LARGEST:
            raise Unreadable(f"is too large: {source.size >> 20} MB, and up to {LARGEST >> 20} MB are read")
        if source.path.endswith(".json"):
            with opened(source.path, LARGEST) as file:
                self._take(fields(file.read()))
        else:
            lines = Lines(source.path)
            for line in lines:
                if record := fields(line):
                    self._take(record)
                else:
                    lines.damaged += 1
            self.remark = lines.remark()
        if not as_text(self.about.get("sessionId")):
            raise Unreadable("is no session of gemini-cli, or is damaged")

    def _take(self, record: Fields) -> None:
        if rewound := as_text(record.get("$rewindTo")):
            ids = list(self.standing)
            for id_ in ids[ids.index(rewound) if rewound in ids else 0 :]:
                del self.standing[id_]
        elif as_text(record.get("id")):
            self._keep(record)
        elif "$set" in record:
            changed = as_dict(record["$set"])
            if isinstance(changed.get("messages"), list):
                self.standing.clear()
                self._keep_all(changed["messages"])
            self.about.update({name: value for name, value in changed.items() if name != "messages"})
        elif as_text(record.get("sessionId")):
            self._keep_all(record.get("messages"))
            self.about.update({name: value for name, value in record.items() if name != "messages"})

    def _keep_all(self, messages: Any) -> None:
        for message in as_dicts(messages):
            if as_text(message.get("id")):
                self._keep(message)

    def _keep(self, message: Fields) -> None:
        self.standing[message["id"]] = message
        self.ever[message["id"]] = message


def _said(message: Fields, project: str) -> Iterator[Item]:
    at = seconds(message.get("timestamp"))
    match message.get("type"):
        case "user":
            parts = _user_parts(message.get("content"))
            if parts:
                yield Prompt(parts, at)
        case "gemini":
            calls = as_dicts(message.get("toolCalls"))
            answer: list[Part] = [
                ThinkingPart(": ".join(filter(None, (as_text(each.get("subject")), as_text(each.get("description"))))))
                for each in as_dicts(message.get("thoughts"))
            ]
            answer += [TextPart(text) for text in texts(message.get("content")) if text]
            for made in calls:
                name = as_text(made.get("name")) or "?"
                answer.append(call("gemini", as_text(made.get("id")), name, made.get("args")))
            request = _request(message, project)
            if answer or request:
                yield Answer(answer, at, request.model if request else "", request)
            for made in calls:
                if (result := _result(made)) is not None:
                    yield Result(result, seconds(made.get("timestamp")) or at)
        case _:
            pass


def _user_parts(content: Any) -> list[Part]:
    """Without results, which stand with their calls, and without what gemini-cli itself begins with."""
    said = [text for text in texts(content) if text.strip() and not text.lstrip().startswith(_CONTEXT)]
    found: list[Part] = [TextPart(text) for text in said]
    for part in as_dicts(content):
        data = as_dict(part.get("inlineData"))
        if as_text(data.get("mimeType")).startswith("image/") and as_text(data.get("data")):
            found.append(ImagePart(data["mimeType"], data["data"]))
    return found


def _request(message: Fields, project: str) -> Request | None:
    tokens = as_dict(message.get("tokens"))
    model = as_text(message.get("model"))
    if not tokens or not model or message.get("type") != "gemini":
        return None
    thought = as_count(tokens.get("thoughts"))
    sent = as_count(tokens.get("input")) + as_count(tokens.get("tool"))
    usage = Usage(
        input_tokens=sent,
        output_tokens=as_count(tokens.get("output")) + thought,
        cached_tokens=min(as_count(tokens.get("cached")), sent),
        reasoning_tokens=thought,
    )
    return Request(message["id"], seconds(message.get("timestamp")), full_name(model), usage, project)


def _result(made: Fields) -> ToolResultPart | None:
    status, result = as_text(made.get("status")), made.get("result")
    if result is None and status not in ("error", "cancelled"):
        return None
    told: list[str] = []
    for part in as_dicts(result):
        response = as_dict(as_dict(part.get("functionResponse")).get("response"))
        told += [str(response[name]) for name in ("output", "error") if response.get(name)]
        told += [part["text"]] if as_text(part.get("text")) else []
    ended = {"error": "failed", "cancelled": "stopped"}.get(status, "done")
    text = "\n".join(told) or (json.dumps(result) if result and not as_dicts(result) else "")
    return ToolResultPart(as_text(made.get("id")), "", text, ended=ended, display=_display(made.get("resultDisplay")))  # pyright: ignore[reportArgumentType]


def _display(shown: Any) -> Display:
    kept = as_dict(shown)
    path = as_text(kept.get("filePath")) or as_text(kept.get("fileName"))
    if diff := as_text(kept.get("fileDiff")):
        lines = diff.splitlines(keepends=True)
        begin = next((number for number, line in enumerate(lines) if line.startswith("--- ")), 0)
        return diffs.shown(path, "".join(lines[begin:]))
    return Display(path=path) if path else NO_DISPLAY


def _project(path: str, about: Fields) -> str:
    """The folder that was worked in. A file tells its digest at most; which folders there are is told beside it."""
    directories = about.get("directories")
    if isinstance(directories, list) and directories and as_text(directories[0]):
        return as_text(directories[0])
    place = next((each for each in Path(path).parents if each.name == "chats"), Path(path)).parent
    try:
        if root := (place / ".project_root").read_text(errors="replace").strip():
            return root
    except OSError:
        pass
    home = place.parent.parent
    known = {**_listed(home / "projects.json", "projects"), **_listed(home / "trustedFolders.json")}
    for folder, name in known.items():
        if name == place.name or hashlib.sha256(folder.encode()).hexdigest() in (place.name, about.get("projectHash")):
            return folder
    return ""


def _listed(file: Path, within: str = "") -> Fields:
    try:
        found = fields(file.read_bytes())
    except OSError:
        return {}
    return as_dict(found.get(within)) if within else found
