"""`if` of a hook, in the words of Claude Code's permission rules: `Bash(git push *)`, `Edit(*.ts)`, `mcp__x__*`."""

import os
import re
import shlex
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

from openagent.filesystem.patterns import Glob
from openagent.protocol.words import about

EVENTS = ("PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure")
"""Those that are about a call."""
_CONDITION = re.compile(r"\s*([\w*-]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
_KINDS = {"Edit": ("edit",), "Read": ("read", "search")}
"""A rule of these stands for all tools that do so."""
_ASSIGNMENT = re.compile(r"\w+=")
_BETWEEN_COMMANDS = frozenset("&|;()<>\n")
_COMMAND_INSIDE = re.compile(r"\$\(|`|<\(")


def is_understood(condition: str) -> bool:
    return _CONDITION.fullmatch(condition) is not None


def holds(condition: str, tool: str, known: str, given: Mapping[str, Any], workspace: str) -> bool:
    """Whether a call is one that it means; where that cannot be told, it is. `known`: the tool in hooks' words."""
    found = _CONDITION.fullmatch(condition)
    if found is None:
        return True
    name, inside = found[1], (found[2] or "").strip()
    if not any(fnmatchcase(each, name) for each in (tool, known)) and about(tool).kind not in _KINDS.get(name, ()):
        return False
    if inside in ("", "*"):
        return True
    if isinstance(command := given.get("command"), str):
        return _meets_command(inside, command)
    if inside.startswith("domain:"):
        host = urlsplit(str(given.get("url", ""))).hostname or ""
        return fnmatchcase(host, inside.removeprefix("domain:"))
    path = given.get("file_path") or given.get("path")
    return _meets_path(inside, path, workspace) if isinstance(path, str) else True


def _meets_command(pattern: str, command: str) -> bool:
    """Any of the commands in it."""
    if pattern.endswith((":*", " *")):
        words = re.compile(_as_regex(pattern[:-2]) + r"(?:\s.*)?", re.DOTALL)
    else:
        words = re.compile(_as_regex(pattern), re.DOTALL)
    if words.fullmatch(command.strip()) or _COMMAND_INSIDE.search(command):
        return True
    try:
        return any(words.fullmatch(each) or each.startswith("$") for each in _commands_in(command))
    except ValueError:  # it cannot be read
        return True


def _as_regex(pattern: str) -> str:
    return ".*".join(map(re.escape, pattern.split("*")))


def _commands_in(text: str) -> Iterable[str]:
    lexer = shlex.shlex(text.replace("\n", " ; "), posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    for word in lexer:
        if not set(word) <= _BETWEEN_COMMANDS:
            words += [word] if words or not _ASSIGNMENT.match(word) else []
        elif words:
            yield " ".join(words)
            words = []
    if words:
        yield " ".join(words)


def _meets_path(pattern: str, path: str, workspace: str) -> bool:
    """`//x` is a path of this machine, `~/x` one of the person's, and all else of the project."""
    absolute = os.path.normpath(os.path.join(workspace, path))
    if pattern.startswith(("//", "~/")):
        return Glob(os.path.expanduser(pattern.removeprefix("/"))).matches(absolute)
    if absolute != workspace and not absolute.startswith(f"{workspace}/"):
        return False
    return Glob(pattern.removeprefix("./")).matches(os.path.relpath(absolute, workspace))
