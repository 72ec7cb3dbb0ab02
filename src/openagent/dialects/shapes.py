"""What several dialects have in common: milliseconds, ranges of lines, folders of commands, plans, questions."""

import re
import shlex
from collections.abc import Callable

from openagent.dialects.term import Arguments, Key
from openagent.protocol.messages import ToolResultPart

TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
FLAG = {"type": "boolean"}
LEAVING = (Key("leave"), Key("justification"), Key("prefix_rule"))
"""How a command asks to be let out of the jail. It is ours alone, and every dialect's commands have it."""
_IN_FOLDER = re.compile(
    r"\(cd -- (?P<folder>'(?:[^']|'\"'\"')*'|[\w@%+=:,./-]+) && \{\n(?P<command>.*)\n\}\)", re.DOTALL
)
_PATCHING = re.compile(
    r"\s*(?:applypatch|apply_patch)\s+<<-?\s*(?P<quote>['\"]?)(?P<end>\w+)(?P=quote)\n(?P<patch>.*?)\n(?P=end)\s*",
    re.DOTALL,
)
_EXITED = re.compile(r"(?:^|\n)\[exit code -?\d+\]$")
_NUMBER = re.compile(r"(?m)^(\d+)\t")
_STATES = {"pending": "pending", "in_progress": "active", "completed": "done", "cancelled": "done"}
_STATE_NAMES = {"pending": "pending", "active": "in_progress", "done": "completed"}


def milliseconds(name: str, *, needed: bool = False) -> Key:
    return Key(
        name,
        "timeout",
        needed=needed,
        schema={"type": "number", "description": "Milliseconds until it is killed."},
        read=lambda given: given / 1000,
        say=lambda seconds: round(seconds * 1000),
    )


def folder(name: str) -> Key:
    """The folder that a command is to run in, and no later one."""
    return Key(name, "folder", schema={**TEXT, "description": "Where to run it, and only it."})


def into_folder(arguments: Arguments) -> Arguments:
    """As a command that says so itself: whatever judges commands reads it there."""
    where = arguments.pop("folder", None)
    if where:
        arguments["command"] = f"(cd -- {shlex.quote(where)} && {{\n{arguments['command']}\n}})"
    return arguments


def out_of_folder(arguments: Arguments) -> Arguments:
    if found := _IN_FOLDER.fullmatch(str(arguments.get("command", ""))):
        arguments["command"] = found["command"]
        arguments["folder"] = shlex.split(found["folder"])[0]
    return arguments


def patch_in(command: object) -> str:
    """The patch that a command hands to `apply_patch`, as GPT models like to; empty when it does something else."""
    found = _PATCHING.fullmatch(command) if isinstance(command, str) else None
    return found["patch"] if found else ""


def range_read(arguments: Arguments) -> Arguments:
    """First and last line to first line and how many."""
    if (last := arguments.pop("last", None)) is not None:
        arguments["lines"] = last - arguments.get("start", 1) + 1
    return arguments


def range_said(arguments: Arguments) -> Arguments:
    if (lines := arguments.pop("lines", None)) is not None:
        arguments["last"] = arguments.get("start", 1) + lines - 1
    return arguments


def plan(name: str, text: str) -> Key:
    """A list of things to do, each with its words under `text`, and a status."""
    item = {
        "type": "object",
        "properties": {text: TEXT, "status": {"type": "string", "enum": list(_STATE_NAMES.values())}},
        "required": [text, "status"],
    }
    return Key(
        name,
        "plan",
        needed=True,
        schema={"type": "array", "items": item, "description": "All of it, each time."},
        read=lambda given: [{"text": each[text], "state": _STATES[each["status"]]} for each in given],
        say=lambda items: [
            {text: each["text"], "status": _STATE_NAMES[each.get("state", "pending")]} for each in items
        ],
    )


QUESTIONS = Key(
    "questions",
    needed=True,
    schema={
        "type": "array",
        "minItems": 1,
        "maxItems": 1,
        "items": {
            "type": "object",
            "properties": {
                "question": TEXT,
                "options": {
                    "type": "array",
                    "description": "Likely answers; others stay possible.",
                    "items": {"type": "object", "properties": {"label": TEXT}, "required": ["label"]},
                },
            },
            "required": ["question"],
        },
    },
)


def question_read(arguments: Arguments) -> Arguments:
    """A person is asked one thing at a time: several are put into one."""
    asked = arguments["questions"]
    if len(asked) > 1:
        return {"question": "\n".join(str(each["question"]) for each in asked)}
    choices = [option if isinstance(option, str) else option["label"] for option in asked[0].get("options") or ()]
    return {"question": asked[0]["question"], **({"choices": choices} if choices else {})}


def question_said(arguments: Arguments) -> Arguments:
    options = [{"label": choice} for choice in arguments.get("choices") or ()]
    return {"questions": [{"question": arguments["question"], **({"options": options} if options else {})}]}


def task_read(arguments: Arguments) -> Arguments:
    """One sub-agent of theirs as one of ours: their kinds have other names."""
    kind = str(arguments.get("kind") or "")
    template = {"explore": "researcher", "plan": "researcher"}.get(kind.lower(), "coder")
    background = {"background": True} if arguments.get("background") else {}
    return {"tasks": [{"template": template, "task": arguments["task"]}], **background}


def without_exit_code(result: ToolResultPart) -> str:
    return _EXITED.sub("", result.text)


def numbered(form: str) -> Callable[[ToolResultPart], str]:
    """Lines of a file with their numbers as `form` has them."""
    return lambda result: result.text if result.is_error or result.images else _NUMBER.sub(form, result.text)
