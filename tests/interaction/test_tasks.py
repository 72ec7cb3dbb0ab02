"""Tasks are kept, moved, told of, and outlive the daemon."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from devtools.simulator import Simulator
from openagent.client import Client
from openagent.protocol.daemon import DaemonFollow
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import TaskUpdated
from openagent.protocol.tasks import (
    TaskCreate,
    TaskDelete,
    TaskGet,
    TaskHistory,
    TaskNote,
    TasksList,
    TaskUpdate,
)

from .doing import ask
from .house import PATIENCE, house, house_over

pytestmark = pytest.mark.anyio


async def titles(client: Client, **wanted: Any) -> list[str]:
    return [task.title for task in (await ask(client, TasksList, **wanted)).tasks]


async def test_a_task_is_made_moved_ordered_and_deleted(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "ok"}]) as h, await h.client() as client:
        first = await ask(client, TaskCreate, title=" write it ", detail="**well**", owner="me", cwd="/a")
        second = await ask(client, TaskCreate, title="read it")
        assert (first.title, first.state, first.position < second.position) == ("write it", "todo", True)
        moved = await ask(client, TaskUpdate, task=second.id, position=first.position - 1)
        assert (moved.title, await titles(client)) == ("read it", ["read it", "write it"])
        await ask(client, TaskUpdate, task=first.id, state="doing")
        assert await titles(client, state="doing") == await titles(client, cwd="/a") == ["write it"]
        assert await titles(client, state="todo") == ["read it"]
        await ask(client, TaskDelete, task=second.id)
        assert await titles(client) == ["write it"]
        with pytest.raises(OpenAgentError, match="There is no task"):
            await ask(client, TaskGet, task=second.id)
        with pytest.raises(OpenAgentError, match="There is no task"):
            await ask(client, TaskDelete, task=second.id)


async def test_a_task_without_words_or_with_too_many_is_refused(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "ok"}]) as h, await h.client() as client:
        for title, detail in (("  ", ""), ("x" * 501, ""), ("x", "y" * 70_000)):
            with pytest.raises(OpenAgentError, match="task"):
                await ask(client, TaskCreate, title=title, detail=detail)
        assert await titles(client) == []


async def test_a_task_waits_for_others_and_none_for_itself(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "ok"}]) as h, await h.client() as client:
        first = await ask(client, TaskCreate, title="write it", cwd="/a", links=["https://x.test/a b", "docs/a.md"])
        second = await ask(client, TaskCreate, title="read it", cwd="/a", after=[first.id, first.id])
        elsewhere = await ask(client, TaskCreate, title="sell it", cwd="/b")
        assert (first.links, second.after, second.waits_for) == (
            *(["https://x.test/a%20b", "docs/a.md"], [first.id], [first.id]),
        )
        for after, why in (([second.id], "'write it' → 'read it' → 'write it'"), ([first.id], "wait for itself")):
            with pytest.raises(OpenAgentError, match=why):
                await ask(client, TaskUpdate, task=first.id, after=after)
        with pytest.raises(OpenAgentError, match="of the same workspace"):
            await ask(client, TaskUpdate, task=first.id, after=[elsewhere.id])
        await ask(client, TaskNote, task=second.id, text=" soon ")
        await ask(client, TaskUpdate, task=first.id, state="done")
        assert (await ask(client, TaskGet, task=second.id)).waits_for == []
        log = [entry.text for entry in (await ask(client, TaskHistory, task=second.id)).entries]
        assert log == ["Made.", "soon", "'write it' is done: nothing is left that it waits for."]
        await ask(client, TaskDelete, task=first.id)
        assert (await ask(client, TaskGet, task=second.id)).after == []


async def test_whoever_follows_the_daemon_hears_of_every_change(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "ok"}]) as h, await h.client() as one, await h.client() as other:
        async with other.all_events() as events:
            await ask(other, DaemonFollow)
            task = await ask(one, TaskCreate, title="write it")
            await ask(one, TaskUpdate, task=task.id, state="done")
            await ask(one, TaskDelete, task=task.id)
            states: list[str] = []
            async with asyncio.timeout(PATIENCE):
                while len(states) < 3:
                    if isinstance(event := await events.get(), TaskUpdated):
                        states.append(event.state)
        assert states == ["todo", "done", "deleted"]


async def test_tasks_are_there_after_a_restart(tmp_path: Path) -> None:
    async with Simulator([{"text": "ok"}]) as sim:
        async with house_over(tmp_path, sim) as h, await h.client() as client:
            made = await ask(client, TaskCreate, title="write it", session="s", owner="agent")
        async with house_over(tmp_path, sim) as h, await h.client() as client:
            assert await ask(client, TaskGet, task=made.id) == made
