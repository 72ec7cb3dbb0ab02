"""What a call changed, as other agents keep it, in the form that people are shown here."""

import difflib
from typing import Any

import msgspec

from openagent.protocol.display import Display, WrittenFile

LONGEST = 200_000
"""Characters of a diff that is kept."""


class _Hunk(msgspec.Struct, rename="camel"):
    old_start: int = 0
    old_lines: int = 0
    new_start: int = 0
    new_lines: int = 0
    lines: list[str] = []


def shown(path: str, diff: str) -> Display:
    """`diff` is a unified one."""
    lines = diff.splitlines()
    added = sum(line.startswith("+") and not line.startswith("+++") for line in lines)
    removed = sum(line.startswith("-") and not line.startswith("---") for line in lines)
    return Display(
        path=path, diff=diff[:LONGEST], added=added, removed=removed, files=[WrittenFile(path)] if path else []
    )


def created(path: str, content: str) -> Display:
    return between(path, "", content)


def between(path: str, before: str, after: str) -> Display:
    if len(before) + len(after) > LONGEST:
        return Display(path=path, files=[WrittenFile(path)])
    lines = difflib.unified_diff(
        before.splitlines(keepends=True),
        after.splitlines(keepends=True),
        "/dev/null" if not before else path,
        path,
    )
    return shown(path, "".join(line if line.endswith("\n") else f"{line}\n" for line in lines))


def hunks(path: str, patch: Any) -> Display:
    """From `structuredPatch`: hunks with their lines."""
    try:
        known = msgspec.convert(patch, list[_Hunk])
    except msgspec.ValidationError:
        return Display(path=path)
    lines = [f"--- {path}", f"+++ {path}"]
    for hunk in known:
        lines.append(f"@@ -{hunk.old_start},{hunk.old_lines} +{hunk.new_start},{hunk.new_lines} @@")
        lines += hunk.lines
    return shown(path, "\n".join(lines) + "\n") if known else Display(path=path)
