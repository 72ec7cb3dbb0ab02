"""A file of tasks: top-level list items with a box. Everything else in it is left as it stands."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from openagent.protocol.tasks import TaskInfo, TaskState

MARKS: dict[TaskState, str] = {"todo": " ", "doing": "~", "blocked": "!", "done": "x"}
_STATES: dict[str, TaskState] = {**{mark: state for state, mark in MARKS.items()}, "X": "done"}
_ITEM = re.compile(r"([-*+]) \[([ ~!xX])\] (.*)")
_COMMENT = re.compile(r"(?<!\\)<!--((?: (?:task:[\w-]+|after:[\w-]+|link:[^\s<>]+))+) -->\s*$")
_OWNER = re.compile(r"(?<!\\)\(@([^()]*)\)$")
_FENCE = re.compile(r"(```|~~~)")
_IN_OWNER = str.maketrans({"%": "%25", "(": "%28", ")": "%29", "<": "%3C", ">": "%3E"})
_FROM_OWNER = {code: character for character, code in ((chr(a), b) for a, b in _IN_OWNER.items())}


class Written(NamedTuple):
    """What of a task stands in a file."""

    title: str
    state: TaskState = "todo"
    owner: str = ""
    detail: str = ""
    after: tuple[str, ...] = ()
    links: tuple[str, ...] = ()


class Item(NamedTuple):
    """One task of a file."""

    task: Written
    identity: str = ""
    """Empty: a person wrote it, and no task is known for it yet."""
    bullet: str = "-"
    lines: tuple[str, ...] = ()
    """As it stood."""


def written(task: TaskInfo) -> Written:
    """A task as a file can hold it: its title in one line, no white space around anything."""
    title, owner = " ".join(task.title.split()), " ".join(task.owner.split())
    return Written(title, task.state, owner, _plain(task.detail), tuple(task.after), tuple(task.links))


def _plain(detail: str) -> str:
    lines = detail.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(line if line.strip() else "" for line in lines).strip("\n")


def render(task: Written, identity: str, bullet: str = "-") -> list[str]:
    title = task.title.replace("(@", "\\(@").replace("<!--", "\\<!--")
    owner = f" (@{task.owner.translate(_IN_OWNER)})" if task.owner else ""
    facts = [f"task:{identity}", *(f"after:{each}" for each in task.after), *(f"link:{each}" for each in task.links)]
    first = f"{bullet} [{MARKS[task.state]}] {title}{owner} <!-- {' '.join(facts)} -->"
    return [first, *(f"  {line}" if line else "" for line in (task.detail.split("\n") if task.detail else ()))]


def parse(lines: Sequence[str]) -> list[Item | str]:
    """The tasks of a file, and in between the lines that are none."""
    found: list[Item | str] = []
    seen: set[str] = set()
    fenced = ""
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if fence := _FENCE.match(line):
            closes = any(each.startswith(fence[1]) for each in lines[at:])  # one that is never closed hides no task
            fenced = "" if fenced == fence[1] else fenced or (fence[1] if closes else "")
        item = None if fenced or fence else _ITEM.fullmatch(line.rstrip("\r"))
        if item is None or not (first := _first_line(item[3]))[0]:
            found.append(line)
            continue
        end = _end_of_detail(lines, at)
        title, owner, identity, after, links = first
        if identity in seen:
            identity = ""  # a line that was copied is another task
        seen.add(identity)
        detail = _plain("\n".join(_dedented(each) for each in lines[at:end]))
        task = Written(title, _STATES[item[2]], owner, detail, after, links)
        found.append(Item(task, identity, item[1], tuple(lines[at - 1 : end])))
        at = end
    return found


def _first_line(text: str) -> tuple[str, str, str, tuple[str, ...], tuple[str, ...]]:
    owner = ""
    facts: dict[str, list[str]] = {"task": [], "after": [], "link": []}
    if match := _COMMENT.search(text):
        text = text[: match.start()]
        for fact in match[1].split():
            kind, _, value = fact.partition(":")
            facts[kind].append(value)
    text = text.strip()
    if match := _OWNER.search(text):
        owner = re.sub("%(25|28|29|3C|3E)", lambda code: _FROM_OWNER[code[0]], match[1])
        text = text[: match.start()]
    title = " ".join(text.split()).replace("\\(@", "(@").replace("\\<!--", "<!--")
    identity = facts["task"][0] if facts["task"] else ""
    return title, " ".join(owner.split()), identity, tuple(facts["after"]), tuple(facts["link"])


def _end_of_detail(lines: Sequence[str], at: int) -> int:
    """The first line after it: blank lines belong to it only when more of it follows."""
    end = at
    while at < len(lines) and (not lines[at].strip() or lines[at].startswith(("  ", "\t"))):
        at += 1
        if lines[at - 1].strip():
            end = at
    return end


def _dedented(line: str) -> str:
    if not line.strip():
        return ""
    return line[1:] if line.startswith("\t") else line[2:]
