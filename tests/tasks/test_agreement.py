"""Whatever is done on either side: after a sync both agree, and a second one has nothing to do."""

import asyncio
import tempfile
from pathlib import Path

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from openagent.protocol.tasks import TaskCreate, TaskInfo, TaskLogEntry, TaskUpdate
from openagent.tasks.board import TaskBoard
from openagent.tasks.markdown import Item, parse, written
from openagent.tasks.sync import TaskFile

WORDS = st.text("ab (@)<!->\n\r\\`", max_size=12)
TITLES = WORDS.filter(lambda text: text.strip())
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), TITLES, WORDS),
        st.tuples(st.just("edit"), TITLES, WORDS),
        st.tuples(st.just("delete"), st.just(""), st.just("")),
        st.tuples(st.just("write"), TITLES, WORDS),
        st.tuples(st.just("cut"), st.just(""), st.just("")),
        st.tuples(st.just("sync"), st.just(""), st.just("")),
    ),
    max_size=8,
)


class Kept:
    """Tasks in memory, in the order of the real store."""

    def __init__(self) -> None:
        self.by_id: dict[str, TaskInfo] = {}

    async def tasks(self) -> list[TaskInfo]:
        return sorted(self.by_id.values(), key=lambda task: (task.state, task.position, task.id))

    async def put_task(self, task: TaskInfo) -> None:
        self.by_id[task.id] = task

    async def remove_task(self, task: str) -> bool:
        return self.by_id.pop(task, None) is not None

    async def task_log(self, task: str) -> list[TaskLogEntry]:
        return []

    async def add_to_task_log(self, task: str, entry: TaskLogEntry) -> None:
        pass


async def do(steps: list[tuple[str, str, str]], root: Path) -> None:
    store = Kept()
    board = TaskBoard(store, lambda _: None, lambda _: None)
    file = TaskFile(board, root / "agreed")
    page = root / "docs" / "TASKS.md"
    for what, title, detail in (*steps, ("sync", "", "")):
        first = next(iter(await store.tasks()), None)
        text = page.read_bytes().decode() if page.exists() else ""
        match what:
            case "add":
                await board.create(TaskCreate(id="", title=title, detail=detail, cwd=str(root)))
            case "edit" if first:
                await board.update(
                    msgspec.structs.replace(TaskUpdate(id="", task=first.id), title=title, detail=detail)
                )
            case "delete" if first:
                await board.delete(first.id)
            case "write":
                page.parent.mkdir(exist_ok=True)
                page.write_bytes(f"{text}- [ ] {title}\n  {detail}\n".encode())
            case "cut" if text:
                page.write_bytes("\n".join(text.split("\n")[len(text) % 3 :]).encode())
            case "sync":
                await file.sync(str(root))
            case _:
                pass
    before = page.read_bytes()
    items = {item.identity: item.task for item in parse(before.decode().split("\n")) if isinstance(item, Item)}
    assert items == {task.id: written(task) for task in await store.tasks()}
    again = await file.sync(str(root))
    assert (again.to_board, again.to_file, again.notes, page.read_bytes()) == (0, 0, [], before)


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_both_sides_agree_after_a_sync(steps: list[tuple[str, str, str]]) -> None:
    with tempfile.TemporaryDirectory() as root:
        asyncio.run(do(steps, Path(root).resolve()))
