"""Which files run later outside the sandbox: on a person's machine, or where the repository is built."""

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

_FILE = Path(__file__).with_name("runs_outside.toml")


class _Known(NamedTuple):
    reasons: list[str]
    names: dict[str, int]
    """Of files, by what they are called: the place of the reason."""
    folders: dict[str, int]
    paths: list[tuple[str, int]]
    """Of more than one part, with a / before and, for folders, after them."""
    patterns: re.Pattern[str]
    """For a file's name. The number of the group is that of the reason."""


def runs_outside(path: str) -> str:
    """What runs or obeys the file, such as "git hook"; empty when nothing that is known does. By its name alone: what
    such files run in turn cannot be told."""
    known = _known()
    rooted = f"/{path.lower()}"
    *folders, name = rooted.split("/")[1:]
    found = [known.folders[each] for each in folders if each in known.folders]
    found += [place for each, place in known.paths if (each in rooted if each[-1] == "/" else rooted.endswith(each))]
    if name in known.names:
        found.append(known.names[name])
    if match := known.patterns.fullmatch(name):
        found.append((match.lastindex or 1) - 1)
    return known.reasons[min(found)] if found else ""


def all_running_outside(paths: Iterable[str]) -> dict[str, str]:
    return {path: reason for path in paths if (reason := runs_outside(path))}


@cache
def _known() -> _Known:
    told: dict[str, str] = tomllib.loads(_FILE.read_text())
    names: dict[str, int] = {}
    folders: dict[str, int] = {}
    paths: list[tuple[str, int]] = []
    groups: list[str] = []
    for place, listed in enumerate(told.values()):
        globs: list[str] = []
        for each in listed.lower().split():
            if "/" in each.rstrip("/"):
                paths.append((f"/{each}", place))
            elif each.endswith("/"):
                folders.setdefault(each[:-1], place)
            elif "*" in each:
                globs.append("[^/]*".join(map(re.escape, each.split("*"))))
            else:
                names.setdefault(each, place)
        groups.append(f"({'|'.join(globs) or '(?!)'})")
    return _Known(list(told), names, folders, paths, re.compile("|".join(groups), re.DOTALL))
