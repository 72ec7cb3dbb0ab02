"""The tools that Anthropic's API defines itself, for Claude: `bash` and `str_replace_based_edit_tool`.

The names, versions and arguments are those of `bash_20250124` and `text_editor_20250728`.
"""

import re
from typing import Any

from openagent.dialects.dialect import Dialect, covering
from openagent.dialects.shapes import LEAVING, TEXT, WHOLE
from openagent.dialects.term import Arguments, Key, Term

_EDITOR = "str_replace_based_edit_tool"
_TYPE = "text_editor_20250728"
_INSERTION = re.compile(
    r"--- (?P<path>.+)\n\+\+\+ (?P=path)\n@@ -(?P<line>\d+),0 \+\d+(?:,\d+)? @@\n(?P<text>(?:\+.*\n?)+)"
)
_PATH = Key("path", needed=True, schema=TEXT)
_RANGE = Key(
    "view_range",
    "range",
    schema={"type": "array", "items": WHOLE, "description": "First and last line; -1 is the end."},
)
_INSERTED = (
    Key("insert_line", "line", needed=True, schema={**WHOLE, "description": "Insert behind this line."}),
    Key("insert_text", "text", schema=TEXT),
)


def _view_read(arguments: Arguments) -> Arguments:
    if (shown := arguments.pop("range", None)) is not None:
        first, last = shown
        arguments |= {"start": first} if last == -1 else {"start": first, "lines": last - first + 1}
    return arguments


def _view_said(arguments: Arguments) -> Arguments:
    first, lines = arguments.pop("start", None), arguments.pop("lines", None)
    if first is not None or lines is not None:
        arguments["range"] = [first or 1, -1 if lines is None else (first or 1) + lines - 1]
    return arguments


def _insert_read(arguments: Arguments) -> Arguments:
    """Behind a line by its number: only a patch can say that here."""
    path, line, text = str(arguments["path"]), int(arguments["line"]), str(arguments["text"])
    named = path if path.startswith("/") else f"a/{path}"
    added = text.removesuffix("\n").split("\n")
    lines = "\n".join(f"+{each}" for each in added)
    return {"patch": f"--- {named}\n+++ {named}\n@@ -{line},0 +{line + 1},{len(added)} @@\n{lines}\n"}


def _insert_said(arguments: Arguments) -> Arguments:
    found = _INSERTION.fullmatch(arguments["patch"])
    if found is None:
        raise ValueError("another patch")
    text = "\n".join(line[1:] for line in found["text"].removesuffix("\n").split("\n"))
    return {"path": found["path"].removeprefix("a/"), "line": int(found["line"]), "text": text}


def _editor(name: str, *, offered: bool) -> list[Term]:
    """One tool there, four here."""

    def term(command: str, tool: str, *keys: Key, **more: Any) -> Term:
        kept: dict[str, Any] = {"vendor_type": _TYPE, "offered": offered, **more}
        return Term(name=name, tool=tool, fixed={"command": command}, keys=(_PATH, *keys), **kept)

    return [
        term("str_replace", "edit_file", Key("old_str", "old", needed=True), Key("new_str", "new")),
        term("view", "read_file", _RANGE, read=_view_read, say=_view_said, usual={"start": 1}),
        term("create", "write_file", Key("file_text", "content", needed=True)),
        term("insert", "apply_patch", *_INSERTED, also=(Key("new_str", "text"),), read=_insert_read, say=_insert_said),
    ]


ANTHROPIC = Dialect(
    "anthropic",
    [
        *_editor(_EDITOR, offered=True),
        *_editor("str_replace_editor", offered=False),
        Term(
            name="bash",
            tool="shell",
            keys=(Key("command", needed=True), Key("timeout"), *LEAVING),
            ignored=("restart",),
            vendor_type="bash_20250124",
        ),
    ],
    covered=covering(("list_dir", "glob", "grep", "git", "execute_code"), "shell"),
    descriptions={
        _EDITOR: "View, create and edit files: replace exact text that is unique in a file, or insert lines."
    },
)
