"""What becomes of a task that stands in a file and on the board, when either has changed since they last agreed."""

from typing import Any, NamedTuple

from openagent.protocol.tasks import TaskState
from openagent.tasks.markdown import Written

_NAMES = {"after": "order"}
"""What a field is called where its own name would read badly."""


class Side(NamedTuple):
    name: str
    task: Written
    changed_at: float


class Merged(NamedTuple):
    task: Written
    notes: list[str]


def merge(base: Written | None, file: Side, board: Side) -> Merged:
    """Field by field. Where both changed one, the newer counts, and what the older said goes into the detail."""
    newer, older = (file, board) if file.changed_at >= board.changed_at else (board, file)
    notes: list[str] = []
    lost: list[str] = []

    def chosen(field: str) -> Any:
        before = getattr(base, field) if base else None
        mine, other = getattr(newer.task, field), getattr(older.task, field)
        if other in (mine, before):
            return mine
        if mine == before:
            return other
        name = _NAMES.get(field, field)
        notes.append(
            f"Both sides changed the {name} of {newer.task.title!r}: that of {newer.name}, the newer, counts; "
            f"{older.name} had {_short(_told(other))}."
        )
        if other and field != "state":
            lost.append(_quoted(f"The {name} that {older.name} had:", _told(other)))
        return mine

    title, owner = chosen("title"), chosen("owner")
    state: TaskState = chosen("state")
    after, links = chosen("after"), chosen("links")
    detail = "\n\n".join(part for part in (chosen("detail"), *lost) if part)
    return Merged(Written(title, state, owner, detail, after, links), notes)


def _told(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else ", ".join(value)


def _quoted(introduction: str, text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in (introduction, *text.split("\n")))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= 60 else line[:59] + "…")
