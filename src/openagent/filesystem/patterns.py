"""Path patterns: globs with `**` and braces, and the rules of .gitignore files.

Matching goes component by component and takes time that grows with the length of the path, whatever the pattern.
"""

import fnmatch
import re
from collections.abc import Sequence
from functools import cached_property

MAX_ALTERNATIVES = 64
_ANY = re.compile("")
"""Stands for `**`: any number of components."""
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


class Glob:
    """`*` stays inside a component, `**` does not; `{a,b}` is either. A pattern without a slash matches any name."""

    def __init__(self, pattern: str) -> None:
        self._alternatives = [_compiled(alternative) for alternative in _expanded(pattern)]

    def matches(self, path: str) -> bool:
        components = path.split("/")
        return any(_matches(pattern, components) for pattern in self._alternatives)


def _expanded(pattern: str) -> list[str]:
    patterns = [pattern]
    while len(patterns) <= MAX_ALTERNATIVES and (found := _BRACES.search(patterns[0])):
        first = patterns.pop(0)
        patterns += [first[: found.start()] + choice + first[found.end() :] for choice in found[1].split(",")]
    return patterns


def _compiled(pattern: str) -> list[re.Pattern[str]]:
    components = [part for part in pattern.removeprefix("./").split("/") if part]
    if "/" not in pattern.removeprefix("./").rstrip("/"):
        components.insert(0, "**")
    return [_ANY if part == "**" else re.compile(fnmatch.translate(_escaped(part))) for part in components]


def _escaped(component: str) -> str:
    """A backslash makes the next character an ordinary one, and `[^a]` is `[!a]`."""
    return re.sub(r"\\(.)|\[\^", _plain, component)


def _plain(found: re.Match[str]) -> str:
    if not found[1]:
        return "[!"
    return f"[{found[1]}]" if found[1] in "*?[" else found[1]


def _matches(pattern: Sequence[re.Pattern[str]], components: Sequence[str]) -> bool:
    """Greedy: on failure only the latest `**` need take one component more."""
    at = here = 0
    retry_at, retry_here = -1, 0
    while here < len(components):
        if at < len(pattern) and pattern[at] is _ANY:
            retry_at, retry_here = at, here
            at += 1
        elif at < len(pattern) and pattern[at].match(components[here]):
            at += 1
            here += 1
        elif retry_at >= 0:
            retry_here += 1
            at, here = retry_at + 1, retry_here
        else:
            return False
    return all(part is _ANY for part in pattern[at:])


class IgnoreFile:
    """The rules of one .gitignore, for paths relative to its directory."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _rules(self) -> list[tuple[list[re.Pattern[str]], bool, bool]]:
        return [rule for line in self._text.splitlines() if (rule := _rule(line))]

    def verdict(self, path: str, is_directory: bool) -> bool | None:
        """True: ignored; False: taken back in; None: not mentioned."""
        components = path.split("/")
        for pattern, ignores, only_directories in reversed(self._rules):
            if (is_directory or not only_directories) and _matches(pattern, components):
                return ignores
        return None


def _rule(line: str) -> tuple[list[re.Pattern[str]], bool, bool] | None:
    line = re.sub(r"(?<!\\) +$", "", line.rstrip("\r"))
    if not line or line.startswith("#"):
        return None
    ignores = not line.startswith("!")
    line = line if ignores else line[1:]
    only_directories = line.endswith("/")
    anchored = "/" in line.rstrip("/")
    inside = line.rstrip("/").endswith("/**")
    components = [part for part in line.split("/") if part]
    if not components:
        return None
    if not anchored:
        components.insert(0, "**")
    if inside:
        components.append("*")
    try:
        pattern = [_ANY if part == "**" else re.compile(fnmatch.translate(_escaped(part))) for part in components]
    except re.error:
        return None
    return pattern, ignores, only_directories
