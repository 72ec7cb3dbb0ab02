"""Tool calls as an editor shows them: their kind, the places they touch, what they would change or have changed."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from openagent.gateway.acp.content import block_of, text_block
from openagent.protocol.messages import ToolResultPart
from openagent.protocol.words import about, call_to_come, subject_of

MAX_OLD_TEXT = 512 * 1024
EXECUTE = "execute"
_KINDS = {"run": EXECUTE, "ask": "other", "agent": "other"}
"""Ours to an editor's, where they differ."""
_TITLE_LENGTH = 200
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")


def kind_of(tool: str) -> str:
    kind = about(tool).kind
    return _KINDS.get(kind, kind)


def title_of(tool: str, arguments: Mapping[str, Any], summary: str = "") -> str:
    subject = " ".join((summary or subject_of(tool, arguments)).split())[:_TITLE_LENGTH]
    return subject if subject and kind_of(tool) == EXECUTE else call_to_come(tool, subject)


def locations_of(tool: str, arguments: Mapping[str, Any], cwd: str) -> list[dict[str, Any]]:
    named = [arguments.get(name) for name in about(tool).paths]
    places: list[dict[str, Any]] = [
        {"path": os.path.join(cwd, path)} for path in named if isinstance(path, str) and not path.startswith("output:")
    ]
    line = arguments.get("start")
    if len(places) == 1 and isinstance(line, int) and line > 0:
        places[0]["line"] = line
    return places


def proposed(tool: str, arguments: Mapping[str, Any], cwd: str) -> list[dict[str, Any]]:
    """What a call would change, told from its arguments alone: a patch, new content, or old and new text."""
    if about(tool).kind != "edit":
        return []
    if "patch" in arguments:
        return [_text(str(arguments["patch"]))]
    path = next((path for name in about(tool).paths if isinstance(path := arguments.get(name), str)), None)
    if path is None:
        return []
    path = os.path.join(cwd, path)
    if "content" in arguments:
        return [_diff(path, _text_of(path), str(arguments["content"]))]
    several = arguments.get("edits")
    edits = [arguments, *(cast("list[Any]", several) if isinstance(several, list) else [])]
    told = (cast("dict[str, Any]", edit) for edit in edits if isinstance(edit, dict))
    return [_diff(path, str(edit.get("old", "")), str(edit.get("new", ""))) for edit in told if edit.get("old")]


def outcome(result: ToolResultPart, cwd: str) -> list[dict[str, Any]]:
    if result.display.diff:
        return list(_hunks(result.display.diff, cwd))
    images = [{"type": "content", "content": block_of(image)} for image in result.images]
    return [*([_text(result.text)] if result.text else []), *images]


def running(output: str) -> list[dict[str, Any]]:
    """A command's output so far."""
    return [_text(output)]


def _hunks(diff: str, cwd: str) -> Iterator[dict[str, Any]]:
    """A unified diff of one or more files, hunk by hunk."""
    path = ""
    lines = iter(diff.splitlines())
    for line in lines:
        if line.startswith("+++ "):
            path = os.path.join(cwd, line[4:])
        elif hunk := _HUNK.match(line):
            old, new = _sides(lines, *(int(count or 1) for count in (hunk[2], hunk[3])))
            yield _diff(path, None if hunk[1] == "0" else "\n".join(old), "\n".join(new))


def _sides(lines: Iterator[str], old_count: int, new_count: int) -> tuple[list[str], list[str]]:
    """One hunk's text before and after; less of it when the diff was cut."""
    old, new = list[str](), list[str]()
    while len(old) < old_count or len(new) < new_count:
        line = next(lines, None)
        if line is None:
            break
        if not line.startswith("+"):
            old.append(line[1:])
        if not line.startswith("-"):
            new.append(line[1:])
    return old, new


def _diff(path: str, old: str | None, new: str) -> dict[str, Any]:
    return {"type": "diff", "path": path, "oldText": old, "newText": new}


def _text(text: str) -> dict[str, Any]:
    return {"type": "content", "content": text_block(text)}


def _text_of(path: str) -> str | None:
    try:
        file = Path(path)
        return file.read_text() if file.is_file() and file.stat().st_size <= MAX_OLD_TEXT else None
    except (OSError, UnicodeDecodeError):
        return None
