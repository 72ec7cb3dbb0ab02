"""The board and `docs/TASKS.md` come to agree, whoever changed what."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from openagent.client import Client
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.tasks import (
    TaskCreate,
    TaskDelete,
    TaskInfo,
    TasksList,
    TasksSync,
    TasksSynced,
    TaskUpdate,
)

from ..interaction.doing import ask
from ..interaction.house import house

pytestmark = pytest.mark.anyio
PEOPLE = "# Plan\n\nWhat we want.\n\n- [ ] Write it (@ann)\n  Well.\n- [x] Think\n\n## Later\n\nMaybe.\n"


class Place:
    def __init__(self, client: Client, workspace: Path) -> None:
        self.client, self.workspace = client, workspace
        self.file = workspace / "docs" / "TASKS.md"

    async def sync(self) -> TasksSynced:
        return await ask(self.client, TasksSync, cwd=str(self.workspace))

    async def tasks(self) -> dict[str, TaskInfo]:
        found = await ask(self.client, TasksList, cwd=str(self.workspace))
        return {task.title: task for task in found.tasks}

    def write(self, text: str, *, at: float | None = None) -> None:
        self.file.parent.mkdir(exist_ok=True)
        self.file.write_text(text)
        if at is not None:
            os.utime(self.file, (at, at))


@asynccontextmanager
async def place(tmp_path: Path) -> AsyncGenerator[Place, None]:
    workspace = tmp_path / "project"
    workspace.mkdir()
    async with house(tmp_path, [{"text": "ok"}]) as h, await h.client() as client:
        yield Place(client, workspace)


async def test_a_file_that_people_wrote_becomes_a_board_and_keeps_its_words(tmp_path: Path) -> None:
    async with place(tmp_path) as p:
        p.write(PEOPLE)
        synced = await p.sync()
        assert (synced.tasks, synced.to_board, synced.notes) == (2, 2, [])
        tasks = await p.tasks()
        assert [(t.state, t.owner, t.detail) for t in tasks.values()] == [("done", "", ""), ("todo", "ann", "Well.")]
        text = p.file.read_text()
        assert (
            text.replace(f" <!-- task:{tasks['Write it'].id} -->", "").replace(
                f" <!-- task:{tasks['Think'].id} -->", ""
            )
            == PEOPLE
        )
        again = await p.sync()
        assert (again.to_board, again.to_file, p.file.read_text()) == (0, 0, text)


async def test_the_board_writes_a_file_where_there_is_none(tmp_path: Path) -> None:
    async with place(tmp_path) as p:
        task = await ask(p.client, TaskCreate, title="Ship", detail="a\n\nb", cwd=str(p.workspace))
        await ask(p.client, TaskCreate, title="Of elsewhere", cwd="/elsewhere")
        assert (await p.sync()).to_file == 1
        assert p.file.read_text().endswith(f"\n\n- [ ] Ship <!-- task:{task.id} -->\n  a\n\n  b\n")
        p.file.unlink()
        assert (await p.sync()).tasks == 1
        assert "Ship" in p.file.read_text()
        assert "elsewhere" not in p.file.read_text()


async def test_edits_of_both_sides_survive_and_of_one_field_the_newer_counts(tmp_path: Path) -> None:
    async with place(tmp_path) as p:
        p.write(PEOPLE)
        await p.sync()
        task = (await p.tasks())["Write it"]
        await ask(p.client, TaskUpdate, task=task.id, state="doing", detail="On the board.")
        p.write(p.file.read_text().replace("Write it", "Write it all").replace("Well.", "In the file."), at=1.0)
        synced = await p.sync()
        assert len(synced.notes) == 1
        assert "'In the file.'" in synced.notes[0]
        merged = (await p.tasks())["Write it all"]
        assert (merged.id, merged.state) == (task.id, "doing")
        assert merged.detail == "On the board.\n\n> The detail that the file had:\n> In the file."
        text = p.file.read_text()
        assert "- [~] Write it all (@ann)" in text
        assert "  > In the file.\n" in text
        assert text.endswith("## Later\n\nMaybe.\n")
        assert (await p.sync()).notes == []


async def test_what_one_side_removed_goes_unless_the_other_changed_it(tmp_path: Path) -> None:
    async with place(tmp_path) as p:
        p.write("- [ ] a\n- [ ] b\n- [ ] c\n- [ ] d\n")
        await p.sync()
        tasks = await p.tasks()
        for title in "ab":
            await ask(p.client, TaskDelete, task=tasks[title].id)
        await ask(p.client, TaskUpdate, task=tasks["d"].id, owner="ann")
        lines = p.file.read_text().splitlines()
        p.write(f"{lines[0]}\n{lines[1].replace('[ ]', '[x]')}\n")
        notes = "\n".join((await p.sync()).notes)
        assert {title: task.state for title, task in (await p.tasks()).items()} == {"b": "done", "d": "todo"}
        assert [line[6:7] for line in p.file.read_text().splitlines()] == ["b", "d"]
        for said in ("'a' was deleted on the board", "'c' was taken out of the file", "'d' was taken out", "it stays"):
            assert said in notes


async def test_a_fence_that_is_never_closed_hides_no_task(tmp_path: Path) -> None:
    async with place(tmp_path) as p:
        p.write("```\nopen\n")
        await ask(p.client, TaskCreate, title="a", cwd=str(p.workspace))
        assert (await p.sync()).to_file == 1
        assert (await p.sync()).notes == []
        assert list(await p.tasks()) == ["a"]


async def test_windows_line_ends_stay(tmp_path: Path) -> None:
    async with place(tmp_path) as p:
        p.file.parent.mkdir()
        p.file.write_bytes(b"# Plan\r\n\r\n- [ ] a\r\n  more\r\n")
        await ask(p.client, TaskCreate, title="b", cwd=str(p.workspace))
        await p.sync()
        data = p.file.read_bytes()
        assert data.count(b"\r\n") == data.count(b"\n") == 5
        assert (await p.tasks())["a"].detail == "more"
        assert (await p.sync()).to_board == 0


async def test_what_cannot_be_a_task_stays_in_the_file_untouched(tmp_path: Path) -> None:
    async with place(tmp_path) as p:
        text = f"- [ ] {'x' * 501}\n"
        p.write(text)
        synced = await p.sync()
        assert (synced.tasks, p.file.read_text()) == (0, text)
        assert "was left alone" in synced.notes[0]


async def test_a_file_that_leads_out_of_the_workspace_is_refused(tmp_path: Path) -> None:
    async with place(tmp_path) as p:
        outside = tmp_path / "outside.md"
        outside.write_text("- [ ] mine\n")
        p.file.parent.mkdir()
        p.file.symlink_to(outside)
        with pytest.raises(OpenAgentError, match="leads out"):
            await p.sync()
        with pytest.raises(OpenAgentError, match="no folder"):
            await ask(p.client, TasksSync, cwd=str(tmp_path / "nowhere"))
        assert outside.read_text() == "- [ ] mine\n"


async def test_what_a_task_waits_for_and_what_belongs_to_it_goes_both_ways(tmp_path: Path) -> None:
    async with place(tmp_path) as p:
        link = "https://x.test/1"
        first = await ask(p.client, TaskCreate, title="Write it", cwd=str(p.workspace), links=[link])
        await ask(p.client, TaskCreate, title="Read it", cwd=str(p.workspace), after=[first.id])
        await p.sync()
        second = (await p.tasks())["Read it"]
        assert f"- [ ] Write it <!-- task:{first.id} link:{link} -->\n" in p.file.read_text()
        assert f"- [ ] Read it <!-- task:{second.id} after:{first.id} -->\n" in p.file.read_text()
        text = p.file.read_text().replace(f" link:{link}", "").replace(f" after:{first.id}", " link:docs/a.md")
        p.write(f"{text}- [ ] Sell it <!-- after:{second.id} after:nobody -->\n- [ ] By hand <!-- a note -->\n")
        assert "cannot wait for nobody" in " ".join((await p.sync()).notes)
        tasks = await p.tasks()
        assert (tasks["Write it"].links, tasks["Read it"].links, tasks["Read it"].after) == ([], ["docs/a.md"], [])
        assert tasks["Sell it"].waits_for == [second.id]
        p.write(p.file.read_text().replace(f"task:{second.id}", f"task:{second.id} after:{tasks['Sell it'].id}"))
        assert "would wait for itself" in " ".join((await p.sync()).notes)
        await p.sync()
        assert f"task:{second.id} link:docs/a.md -->" in p.file.read_text()
