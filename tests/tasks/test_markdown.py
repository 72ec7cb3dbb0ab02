"""A file of tasks, read and written."""

from hypothesis import given
from hypothesis import strategies as st

from openagent.protocol.tasks import TaskInfo
from openagent.tasks.markdown import Item, Written, parse, render, written
from openagent.tasks.merge import Side, merge

STATES = st.sampled_from(["todo", "doing", "blocked", "done"])
TEXT = st.text(st.one_of(st.sampled_from(list(" \t\n\r\\()<>!-@%#`[]x~*é")), st.characters(codec="utf-8")), max_size=60)
TASKS = st.builds(
    TaskInfo,
    id=st.just("06gx"),
    title=TEXT.filter(lambda title: title.strip()),
    created_at=st.just(0.0),
    updated_at=st.just(0.0),
    state=STATES,
    detail=TEXT,
    owner=TEXT,
    after=st.lists(st.sampled_from(["06gx", "t-1"]), unique=True),
    links=st.lists(st.sampled_from(["https://x.test/a?b=%20#c--", "docs/a.md", "--"]), unique=True),
)


@given(st.lists(TASKS, max_size=5))
def test_what_is_written_is_read_back(tasks: list[TaskInfo]) -> None:
    lines = [line for number, task in enumerate(tasks) for line in render(written(task), f"t{number}")]
    items = parse("\n".join(lines).split("\n")) if lines else []
    assert [(item.task, item.identity) for item in items if isinstance(item, Item)] == [
        (written(task), f"t{number}") for number, task in enumerate(tasks)
    ]
    assert not [line for line in items if isinstance(line, str) and line.strip()]


@given(TEXT)
def test_no_line_of_a_file_is_lost_in_reading(text: str) -> None:
    lines = text.split("\n")
    kept = [line for part in parse(lines) for line in ([part] if isinstance(part, str) else part.lines)]
    assert kept == lines


def test_a_file_that_people_wrote_is_understood() -> None:
    text = """# Plan

* [ ] Write the parser (@ann)
  With **tests**.

  - [ ] a part of it, no task of its own

- [X] Read the seeds
- [~] Sync <!-- task:06gx -->
- [!] Wait
- [ ] Sync again, copied <!-- task:06gx -->
- [ ]\x20
- plain
```
- [ ] an example
```
"""
    items = [item for item in parse(text.split("\n")) if isinstance(item, Item)]
    assert [(item.task, item.identity) for item in items] == [
        (Written("Write the parser", "todo", "ann", "With **tests**.\n\n- [ ] a part of it, no task of its own"), ""),
        (Written("Read the seeds", "done"), ""),
        (Written("Sync", "doing"), "06gx"),
        (Written("Wait", "blocked"), ""),
        (Written("Sync again, copied"), ""),
    ]


WRITTEN = TASKS.map(written)


@given(WRITTEN, WRITTEN, WRITTEN, st.floats(0, 9), st.floats(0, 9))
def test_no_words_of_either_side_are_lost_in_a_merge(
    base: Written, file: Written, board: Written, file_at: float, board_at: float
) -> None:
    merged = merge(base, Side("the file", file, file_at), Side("the board", board, board_at)).task
    kept = "\n".join([merged.title, merged.owner, *(line.removeprefix("> ") for line in merged.detail.split("\n"))])
    for side in (file, board):
        for field in ("title", "owner", "detail"):
            if (said := getattr(side, field)) != getattr(base, field):
                assert all(line.rstrip() in kept for line in said.split("\n"))
    assert merge(base, Side("the file", file, file_at), Side("the board", base, board_at)).task == file
    assert merge(base, Side("the file", base, file_at), Side("the board", board, board_at)).task == board
