"""Two notations for changes to files, `*** Begin Patch` and unified diff, read into one.

Only lines that policy knows as naming a file do so here: a patch touches no file that was not judged.
"""

import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from openagent.protocol.errors import OpenAgentError

BEGIN, END = "*** Begin Patch", "*** End Patch"
_SECTION = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)")
_MOVE = re.compile(r"\*\*\* Move to: (.+)")
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@")
_NOTHING = "/dev/null"


class Line(Struct, frozen=True):
    kind: Literal[" ", "-", "+"]
    text: str


class Hunk(Struct):
    lines: list[Line] = []
    anchors: list[str] = []
    """Lines to find first, one after the other."""
    at: int | None = None
    """The line number it was made for, from 1."""
    at_end: bool = False
    no_final_newline: bool | None = None
    """Whether the file ends without a newline afterwards, where the patch says so."""


class FilePatch(Struct):
    action: Literal["add", "update", "delete"]
    path: str
    move_to: str = ""
    hunks: list[Hunk] = []


def parse_patch(patch: str) -> list[FilePatch]:
    """Raises OpenAgentError('tool_error')."""
    lines = patch.replace("\r\n", "\n").strip("\n").split("\n")
    if lines[0].strip() == BEGIN:
        return _parse_sections(lines[1:])
    if any(line.startswith("--- ") for line in lines):
        return _parse_unified(lines)
    raise _bad(f"It begins with neither {BEGIN!r} nor the --- and +++ lines of a unified diff.")


def _bad(reason: str) -> OpenAgentError:
    return OpenAgentError("tool_error", f"The patch cannot be read. {reason} Nothing was written.")


# *** Begin Patch


def _parse_sections(lines: Sequence[str]) -> list[FilePatch]:
    patches: list[FilePatch] = []
    for number, line in enumerate(lines, 2):
        if line.strip() == END:
            break
        if section := _SECTION.fullmatch(line):
            action, path = section[1].lower(), section[2].strip()
            patches.append(FilePatch("add" if action == "add" else "update" if action == "update" else "delete", path))
        elif not patches:
            if line.strip():
                raise _bad(f"Line {number} stands before the first *** Add, Update or Delete File: {line[:80]!r}.")
        else:
            _take_line(patches[-1], line, number)
    if not patches:
        raise _bad("It names no file.")
    for patch in patches:
        if patch.action == "update" and not patch.move_to and not any(hunk.lines for hunk in patch.hunks):
            raise _bad(f"It changes nothing in {patch.path}.")
    return patches


def _take_line(patch: FilePatch, line: str, number: int) -> None:
    if patch.action == "update" and not patch.hunks and (move := _MOVE.fullmatch(line)):
        patch.move_to = move[1].strip()
    elif patch.action == "delete":
        if line.strip():
            raise _bad(f"Line {number} stands below a *** Delete File: {line[:80]!r}.")
    elif patch.action == "update" and (line == "@@" or line.startswith("@@ ")):
        _take_anchor(patch, line[2:].removeprefix(" ").removesuffix(" @@"))
    elif line.strip() == "*** End of File":
        _hunk(patch).at_end = True
    elif line.startswith("+") or (patch.action == "update" and line[:1] in ("-", " ", "")):
        _hunk(patch).lines.append(_line(line))
    elif line.strip():
        expected = "+" if patch.action == "add" else "+, - or a space"
        raise _bad(f"Line {number} does not begin with {expected}: {line[:80]!r}.")


def _take_anchor(patch: FilePatch, anchor: str) -> None:
    if not patch.hunks or patch.hunks[-1].lines:
        patch.hunks.append(Hunk())
    if anchor.strip():
        patch.hunks[-1].anchors.append(anchor)


def _hunk(patch: FilePatch) -> Hunk:
    if not patch.hunks:
        patch.hunks.append(Hunk())
    return patch.hunks[-1]


def _line(line: str) -> Line:
    kind = line[:1]
    return Line("+" if kind == "+" else "-" if kind == "-" else " ", line[1:])


# unified diff


def _parse_unified(lines: Sequence[str]) -> list[FilePatch]:
    patches: list[FilePatch] = []
    place = 0
    bare = ""
    while place < len(lines):
        line = lines[place]
        if _names_files(lines[place : place + 3], inside_hunk=bool(patches and patches[-1].hunks and not bare)):
            patches.append(_file_patch(_file_name(line), _file_name(lines[place + 1])))
            bare = ""
            place += 2
        elif line.startswith("diff --git "):
            if bare:
                break
            bare = line
            place += 1
        elif bare or not patches:
            place += 1
        elif hunk := _HUNK.match(line):
            patches[-1].hunks.append(Hunk(at=int(hunk[1])))
            place += 1
        else:
            _take_unified_line(patches[-1], line, place + 1)
            place += 1
    if bare:
        raise _bad(f"{bare!r} is not followed by --- and +++ lines; to move or delete a file, use {BEGIN!r}.")
    for patch in patches:
        if patch.action != "delete" and not patch.hunks:
            raise _bad(f"It changes nothing in {patch.path}.")
    return patches


def _names_files(lines: Sequence[str], *, inside_hunk: bool) -> bool:
    """A removed `-- x` and an added `++ y` look the same, but no hunk begins after them."""
    if len(lines) < 2 or not (lines[0].startswith("--- ") and lines[1].startswith("+++ ")):
        return False
    return not inside_hunk or lines[1].startswith(f"+++ {_NOTHING}") or lines[-1].startswith("@@ -")


def _file_name(line: str) -> str:
    name = line[4:].split("\t", maxsplit=1)[0].strip()
    if name.startswith('"'):
        raise _bad(f"The file name {name} is quoted; write it as it is.")
    return name[2:] if name.startswith(("a/", "b/")) else name


def _file_patch(old: str, new: str) -> FilePatch:
    if old == _NOTHING:
        return FilePatch("add", new)
    if new == _NOTHING:
        return FilePatch("delete", old)
    return FilePatch("update", old, move_to=new if new != old else "")


def _take_unified_line(patch: FilePatch, line: str, number: int) -> None:
    if not patch.hunks:
        raise _bad(f"Line {number} stands before the first @@ -a,b +c,d @@ line: {line[:80]!r}.")
    hunk = patch.hunks[-1]
    if line.startswith("\\"):
        if hunk.lines and hunk.lines[-1].kind != "-":
            hunk.no_final_newline = True
        elif hunk.lines:
            hunk.no_final_newline = False
    elif line[:1] in ("+", "-", " ", ""):
        hunk.lines.append(_line(line))
    else:
        raise _bad(f"Line {number} does not begin with +, - or a space: {line[:80]!r}.")
