"""What a tool says of itself, for everybody who shows, sorts or judges its calls.

Imports nothing: `openagent run` lives on this too.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    ToolKind = Literal["read", "edit", "delete", "move", "search", "run", "fetch", "think", "ask", "agent", "other"]
    Runs = Literal["", "command", "bash", "code"]
    """What of a call runs in the session's jail: nothing, a command of its shell, a snippet in that language, or one
    in another."""


class About:
    __slots__ = ("keys", "kind", "known_as", "paths", "runs", "subject", "urls", "words")

    def __init__(
        self,
        kind: ToolKind = "other",
        words: tuple[str, str, str] = ("", "", ""),
        subject: str = "",
        *,
        paths: tuple[str, ...] = (),
        urls: tuple[str, ...] = (),
        runs: Runs = "",
        known_as: tuple[str, ...] = (),
        keys: Mapping[str, str] | None = None,
    ) -> None:
        self.kind: ToolKind = kind
        self.words = words
        """Before it runs, while it does, and after, each to stand before its subject: `edit`, `editing`, `edited`."""
        self.subject = subject
        """What stands for a whole call on one line: an argument's name, or a template such as `git {subcommand}`."""
        self.paths = paths
        """The arguments that name files or folders."""
        self.urls = urls
        """The arguments that name addresses."""
        self.runs: Runs = runs
        self.known_as = known_as
        """Its names in other programs' templates, commands and hooks. What hooks are told is the first."""
        self.keys = dict(keys or {})
        """Our arguments to the names that those hooks know, where they differ."""


def filled_in(subject: str, arguments: Mapping[str, Any]) -> str:
    """The subject of one call. Arguments may not have been checked yet."""
    if "{" not in subject:
        return _plain(arguments.get(subject)) if subject else ""
    found, rest = "", subject
    while rest:
        before, _, rest = rest.partition("{")
        name, _, rest = rest.partition("}")
        found += before + (_plain(arguments.get(name)) if name else "")
    return found.strip()


_NAMES_A_FILE = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ", "--- ", "+++ ")


def named_files(patch: str) -> list[str]:
    """Those that a patch changes, in a unified diff or in the models' own form; it need not be a good one."""
    found: dict[str, None] = {}
    for line in patch.split("\n"):
        if line.startswith(_NAMES_A_FILE):
            name = line.partition(": ")[2] if line.startswith("***") else line[4:]
            if not name.partition("\t")[0]:
                continue
            if line.startswith(("--- a/", "--- b/", "+++ a/", "+++ b/")) and name[2:].partition("\t")[0]:
                name = name[2:]
            name = name.partition("\t")[0].strip()
            if name != "/dev/null":
                found[name] = None
    return list(found)


def _plain(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return " ".join(str(each) for each in value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return "" if value is None else str(value)
