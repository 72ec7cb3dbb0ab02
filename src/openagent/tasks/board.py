"""What can be done with tasks, and what may not."""

import asyncio
import re
import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import UNSET

from openagent.plugins.tasks import TaskStore
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.ids import new_session_id
from openagent.protocol.tasks import TaskCreate, TaskInfo, TaskLogEntry, TaskState, TaskUpdate
from openagent.tasks.waiting import circle, waiting_for

LONGEST_TITLE = 500
LONGEST_DETAIL = 64 << 10
LONGEST_NOTE = 16 << 10
_MOST_LINKS = 100
_LONGEST_LINK = 2000
_CHANGEABLE = ("title", "state", "detail", "owner", "session", "cwd", "position", "after", "links")


class TaskBoard:
    def __init__(
        self,
        store: TaskStore,
        changed: Callable[[TaskInfo], None],
        removed: Callable[[TaskInfo], None],
        who: Callable[[], str] = str,
    ) -> None:
        """`who` tells who does what is being done; empty: the daemon itself."""
        self._store = store
        self._changed = changed
        self._removed = removed
        self._who = who
        self._writing = asyncio.Lock()

    async def all(self, *, cwd: str = "", state: TaskState | None = None) -> list[TaskInfo]:
        found = await self._every()
        return [task for task in found if cwd in ("", task.cwd) and state in (None, task.state)]

    async def get(self, identity: str) -> TaskInfo:
        for task in await self._every():
            if task.id == identity:
                return task
        raise OpenAgentError("not_found", f"There is no task {identity!r}.", hint="It may have been deleted.")

    async def create(self, wanted: TaskCreate) -> TaskInfo:
        now = time.time()
        async with self._writing:
            task = TaskInfo(
                id=new_session_id(),
                title=wanted.title.strip(),
                created_at=now,
                updated_at=now,
                state=wanted.state,
                detail=wanted.detail,
                owner=wanted.owner.strip(),
                session=wanted.session,
                cwd=wanted.cwd,
                position=await self._end_of(wanted.state),
                after=_once(wanted.after),
                links=_addresses(wanted.links),
            )
            return await self._keep(task, "Made.")

    async def adopt(self, identity: str, cwd: str, given: dict[str, Any]) -> TaskInfo:
        """One that has its id already, at the end of those of its state."""
        now = time.time()
        async with self._writing:
            position = await self._end_of(given["state"])
            task = TaskInfo(id=identity, created_at=now, updated_at=now, cwd=cwd, position=position, **given)
            return await self._keep(task, "Found in docs/TASKS.md.")

    async def update(self, wanted: TaskUpdate) -> TaskInfo:
        async with self._writing:
            task = await self.get(wanted.task)
            given = {key: getattr(wanted, key) for key in _CHANGEABLE}
            changes = {key: value for key, value in given.items() if value is not UNSET}
            if "after" in changes:
                changes["after"] = _once(changes["after"])
            if "links" in changes:
                changes["links"] = _addresses(changes["links"])
            moved: TaskState = changes.get("state", task.state)
            if moved != task.state and "position" not in changes:
                changes["position"] = await self._end_of(moved)
            now = msgspec.structs.replace(task, **changes, updated_at=time.time())
            kept = await self._keep(now, f"{task.state} → {moved}." if moved != task.state else "")
            if moved != task.state:
                await self._tell_those_after(kept)
            return kept

    async def delete(self, identity: str) -> None:
        async with self._writing:
            task = await self.get(identity)
            await self._store.remove_task(identity)
            for other in await self._store.tasks():
                if identity in other.after:
                    left = [each for each in other.after if each != identity]
                    await self._keep(
                        msgspec.structs.replace(other, after=left), f"{task.title!r}, which it waited for, was deleted."
                    )
        self._removed(task)

    async def log(self, identity: str) -> list[TaskLogEntry]:
        await self.get(identity)
        return await self._store.task_log(identity)

    async def note(self, identity: str, text: str) -> TaskLogEntry:
        """Into its progress log."""
        text = text.strip()
        if not text or len(text) > LONGEST_NOTE:
            raise OpenAgentError("invalid_argument", f"A note needs some words, and at most {LONGEST_NOTE >> 10} KB.")
        task = await self.get(identity)
        entry = await self._write_down(identity, text)
        self._changed(task)
        return entry

    async def tell(self, identity: str) -> None:
        """That something of it is another, which is not kept here."""
        self._changed(await self.get(identity))

    def problem(self, title: str, detail: str) -> str:
        """Why there can be no such task; empty when there can."""
        if not title.strip() or len(title) > LONGEST_TITLE:
            return f"A task needs a title of at most {LONGEST_TITLE} characters."
        if len(detail) > LONGEST_DETAIL:
            return f"The detail of a task may have {LONGEST_DETAIL >> 10} KB at most."
        return ""

    async def _every(self) -> list[TaskInfo]:
        tasks = await self._store.tasks()
        waiting = waiting_for(tasks)
        return [msgspec.structs.replace(task, waits_for=waiting[task.id]) for task in tasks]

    async def _keep(self, task: TaskInfo, happened: str) -> TaskInfo:
        if problem := self.problem(task.title, task.detail):
            hint = "Say in a sentence what is to be done; what is long goes into a file of the workspace."
            raise OpenAgentError("invalid_argument", problem, hint=hint)
        if len(task.links) > _MOST_LINKS or any(len(link) > _LONGEST_LINK for link in task.links):
            raise OpenAgentError(
                "invalid_argument", f"A task has at most {_MOST_LINKS} links of {_LONGEST_LINK} characters."
            )
        if task.after:
            self._check_order(task, await self._store.tasks())
        await self._store.put_task(task)
        if happened:
            await self._write_down(task.id, happened)
        kept = await self.get(task.id)
        self._changed(kept)
        return kept

    def _check_order(self, task: TaskInfo, others: Sequence[TaskInfo]) -> None:
        by_id = {**{other.id: other for other in others if other.cwd == task.cwd}, task.id: task}
        if missing := [each for each in task.after if each not in by_id]:
            raise OpenAgentError(
                "not_found",
                f"There is no task {missing[0]!r} of the same workspace that it could wait for.",
                hint="`openagent tasks list` shows them.",
            )
        if around := circle(task, by_id):
            way = " → ".join(repr(by_id[each].title[:60]) for each in around)
            raise OpenAgentError(
                "invalid_argument",
                f"The task would wait for itself: {way}.",
                hint="Take one of them out of what the other waits for.",
            )

    async def _tell_those_after(self, moved: TaskInfo) -> None:
        """That nothing is in their way any more, or that something is again."""
        for other in await self._every():
            if moved.id in other.after:
                if moved.state == "done" and not other.waits_for:
                    await self._write_down(other.id, f"{moved.title!r} is done: nothing is left that it waits for.")
                self._changed(other)

    async def _write_down(self, identity: str, text: str) -> TaskLogEntry:
        entry = TaskLogEntry(time.time(), text, self._who())
        await self._store.add_to_task_log(identity, entry)
        return entry

    async def _end_of(self, state: TaskState) -> float:
        return max((task.position for task in await self._store.tasks() if task.state == state), default=0.0) + 1.0


def _once(given: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(each.strip() for each in given if each.strip()))


def _addresses(given: Sequence[str]) -> list[str]:
    """Without blanks, as addresses are: a file of tasks lists them one after the other."""
    return _once([re.sub(r"[\s<>]", lambda found: quote(found[0]), each.strip()) for each in given])
