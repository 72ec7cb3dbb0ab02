"""A workspace's tasks and its `docs/TASKS.md`, brought to agree."""

import asyncio
import hashlib
import os
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from openagent.filesystem.atomic_files import replace_file
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.ids import new_session_id
from openagent.protocol.tasks import TaskInfo, TasksSynced, TaskUpdate
from openagent.tasks.board import TaskBoard
from openagent.tasks.markdown import Item, Written, parse, render, written
from openagent.tasks.merge import Side, merge

FILE = os.path.join("docs", "TASKS.md")
_LARGEST = 4 << 20
_ATTEMPTS = 5
_INTRODUCTION = [
    "# Tasks",
    "",
    "`[ ]` to do, `[~]` doing, `[!]` blocked, `[x]` done. `openagent tasks sync` keeps the board and this file alike.",
    "",
]


class _Agreed(Struct):
    """How both sides stood when they last agreed."""

    cwd: str
    tasks: dict[str, Written] = {}


class _Text(Struct):
    lines: list[str]
    ending: str
    """What a line ends with before the line feed."""
    changed_at: float
    raw: bytes | None
    """None: there is no file."""


class _Outcome:
    """What is to be written where."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.agreed: dict[str, Written] = {}
        self.new: dict[str, Written] = {}
        self.changed: dict[str, tuple[Written, Written]] = {}
        self.removed: list[str] = []
        self.notes: list[str] = []
        self.known: set[str] = set()
        """All tasks that others can wait for."""
        self.in_file = 0


class TaskFile:
    """`agreed` is the folder where it is kept how file and board stood when they last agreed."""

    def __init__(self, board: TaskBoard, agreed: Path) -> None:
        self._board = board
        self._agreed = agreed
        self._busy = asyncio.Lock()

    async def sync(self, cwd: str) -> TasksSynced:
        workspace, path = await asyncio.to_thread(_places, cwd)
        async with self._busy:
            agreed = await asyncio.to_thread(self._read_agreed, workspace)
            for _ in range(_ATTEMPTS):
                text = await asyncio.to_thread(_read, path)
                outcome = self._decide(workspace, text, await self._board.all(), agreed.tasks)
                if await asyncio.to_thread(_write, path, text, outcome.lines):
                    break
            else:
                raise OpenAgentError("busy", f"{path} changes all the time.", hint="Try again when nobody writes it.")
            await self._apply(workspace, outcome)
            await asyncio.to_thread(self._keep_agreed, _Agreed(workspace, outcome.agreed))
        to_board = len(outcome.new) + len(outcome.changed) + len(outcome.removed)
        return TasksSynced(path, len(outcome.agreed), to_board, outcome.in_file, outcome.notes)

    def _decide(self, workspace: str, text: _Text, every: list[TaskInfo], agreed: dict[str, Written]) -> _Outcome:
        outcome = _Outcome()
        board = {task.id: task for task in every}
        in_file: set[str] = set()
        parts = parse(text.lines)
        own = {task.id for task in every if task.cwd == workspace}
        outcome.known = {*own, *(part.identity for part in parts if isinstance(part, Item))}
        for part in parts:
            if isinstance(part, str):
                outcome.lines.append(part)
                continue
            in_file.add(part.identity)
            known = board.get(part.identity)
            if known is not None and known.cwd != workspace:
                where = known.cwd or "no workspace"
                outcome.notes.append(f"{part.task.title!r} is a task of {where}: it was left alone.")
                outcome.lines += part.lines
                continue
            kept = self._decide_one(part, text.changed_at, known, agreed.get(part.identity), outcome)
            outcome.lines += kept if kept == list(part.lines) else [line + text.ending for line in kept]
            outcome.in_file += kept != list(part.lines) and bool(part.identity)
        missing = [task for task in every if task.cwd == workspace and task.id not in in_file]
        added = self._decide_missing(missing, agreed if text.raw is not None else {}, outcome)
        if added:
            _append(outcome.lines, [line + text.ending for line in added])
        return outcome

    def _decide_one(
        self, item: Item, changed_at: float, known: TaskInfo | None, base: Written | None, outcome: _Outcome
    ) -> list[str]:
        """The lines that stand for it from now on."""
        identity = item.identity
        if known is None and base is not None and item.task == base:
            outcome.notes.append(f"{item.task.title!r} was deleted on the board: it was taken out of the file.")
            return []
        task = item.task
        if known is not None:
            merged = merge(
                base, Side("the file", task, changed_at), Side("the board", written(known), known.updated_at)
            )
            task = merged.task
            outcome.notes += merged.notes
        if strange := [each for each in task.after if each not in outcome.known]:
            outcome.notes.append(f"{task.title!r} cannot wait for {', '.join(strange)}: there is no such task.")
            task = task._replace(after=tuple(each for each in task.after if each in outcome.known))
        if problem := self._board.problem(task.title, task.detail):
            outcome.notes.append(f"{item.task.title[:60]!r} was left alone: {problem}")
            if base is not None:
                outcome.agreed[identity] = base
            return list(item.lines)
        if known is None:
            identity = identity or new_session_id()
            outcome.new[identity] = task
        elif task != written(known):
            outcome.changed[identity] = (task, written(known))
        outcome.agreed[identity] = task
        unchanged = task == item.task and identity == item.identity
        return list(item.lines) if unchanged else render(task, identity, item.bullet)

    def _decide_missing(self, missing: list[TaskInfo], agreed: dict[str, Written], outcome: _Outcome) -> list[str]:
        """What the board has and the file has not: new, or taken out of the file. The lines to add to the file."""
        added: list[str] = []
        for task in missing:
            if agreed.get(task.id) == (now := written(task)):
                outcome.removed.append(task.id)
                outcome.notes.append(f"{task.title!r} was taken out of the file: it was deleted on the board.")
                continue
            if task.id in agreed:
                outcome.notes.append(f"{task.title!r} was taken out of the file, but changed on the board: it stays.")
            outcome.agreed[task.id] = now
            outcome.in_file += 1
            added += render(now, task.id)
        return added

    async def _apply(self, workspace: str, outcome: _Outcome) -> None:
        waiting: dict[str, tuple[str, ...]] = {}
        for identity, task in outcome.new.items():
            await self._board.adopt(identity, workspace, {**task._asdict(), "after": [], "links": list(task.links)})
            if task.after:
                waiting[identity] = task.after
        for identity, (task, before) in outcome.changed.items():
            fields = {key: value for key, value in task._asdict().items() if value != getattr(before, key)}
            if "after" in fields:
                waiting[identity] = fields.pop("after")
            with suppress(OpenAgentError):  # deleted this very moment: the next sync sees that
                await self._board.update(msgspec.convert({"id": "", "task": identity, **fields}, TaskUpdate))
        for identity, after in waiting.items():  # those that are waited for are all there now
            try:
                await self._board.update(TaskUpdate(id="", task=identity, after=list(after)))
            except OpenAgentError as problem:
                outcome.notes.append(problem.info.message)
        for identity in outcome.removed:
            with suppress(OpenAgentError):
                await self._board.delete(identity)

    def _place(self, workspace: str) -> Path:
        return self._agreed / f"{hashlib.sha256(workspace.encode()).hexdigest()[:24]}.json"

    def _read_agreed(self, workspace: str) -> _Agreed:
        try:
            return msgspec.json.decode(self._place(workspace).read_bytes(), type=_Agreed)
        except (FileNotFoundError, msgspec.DecodeError):
            return _Agreed(workspace)

    def _keep_agreed(self, agreed: _Agreed) -> None:
        self._agreed.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(self._place(agreed.cwd), msgspec.json.encode(agreed), flush=False)


def _append(lines: list[str], added: list[str]) -> None:
    last = lines.pop() if lines and not lines[-1] else None
    if lines and lines[-1].strip() and not lines[-1].startswith(("- [", "* [", "+ [", "  ", "\t")):
        lines.append("")
    lines += added
    lines.append("" if last is None else last)


def _places(cwd: str) -> tuple[str, str]:
    workspace = os.path.abspath(os.path.expanduser(cwd))
    if not os.path.isdir(workspace):
        raise OpenAgentError("invalid_argument", f"There is no folder {workspace}.", hint="Name a workspace.")
    path = os.path.join(workspace, FILE)
    root = os.path.realpath(workspace)
    if os.path.commonpath([root, os.path.realpath(path)]) != root:
        raise OpenAgentError(
            "invalid_argument", f"{path} leads out of the workspace.", hint="Make it a file of the workspace's own."
        )
    return workspace, path


def _read(path: str) -> _Text:
    try:
        with open(path, "rb") as file:
            changed_at = os.fstat(file.fileno()).st_mtime
            raw = file.read(_LARGEST + 1)
        text = raw.decode()
    except FileNotFoundError:
        return _Text([*_INTRODUCTION], "", 0.0, None)
    except (OSError, UnicodeDecodeError) as problem:
        raise OpenAgentError("invalid_argument", f"{path} cannot be read: {problem}.") from None
    if len(raw) > _LARGEST:
        raise OpenAgentError("invalid_argument", f"{path} has more than {_LARGEST >> 20} MB.", hint="Split it up.")
    return _Text(text.split("\n"), "\r" if "\r\n" in text else "", changed_at, raw)


def _write(path: str, before: _Text, lines: list[str]) -> bool:
    """False when somebody else wrote it in the meantime."""
    place = Path(os.path.realpath(path))
    try:
        current = place.read_bytes()
    except FileNotFoundError:
        current = None
    if current != before.raw:
        return False
    data = "\n".join(lines).encode()
    if data != current:
        place.parent.mkdir(parents=True, exist_ok=True)
        replace_file(place, data, mode=0o644, keep_mode=True, flush=False)  # the store has them too
    return True
