"""Checkpoints, rewind and diffs, seen through the client; two sessions in one workspace; copies."""

import asyncio
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from openagent.client import Client
from openagent.protocol import events as e
from openagent.protocol.conversation import MessagesPage
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.sessions import SessionDelete
from openagent.protocol.undo import Rewound, SessionChanges, SessionUndo
from openagent.protocol.workspaces import (
    MergeChoice,
    WorkspacesCollect,
    WorkspacesCreate,
    WorkspacesDiff,
    WorkspacesList,
    WorkspacesMerge,
    WorkspacesRemove,
)

from .doing import ask, call, messages_of, one_turn, results_of, shell, tree, turn, write
from .house import House, house, new_session, until

pytestmark = pytest.mark.anyio


def fill(workspace: Path) -> None:
    """A repository with what is easily lost: an untracked and an ignored file, a link, modes, an empty folder."""
    subprocess.run(["git", "init", "-q", str(workspace)], check=True)
    (workspace / ".gitignore").write_text("*.log\n")
    (workspace / "kept.txt").write_bytes(b"one\r\ntwo\n\xff")
    (workspace / "ignored.log").write_text("log\n")
    (workspace / "run.sh").write_text("true\n")
    (workspace / "run.sh").chmod(0o755)
    (workspace / "link").symlink_to("kept.txt")
    (workspace / "empty").mkdir()


DAMAGE = (
    "rm kept.txt link; rmdir empty; echo x >> ignored.log; chmod 600 run.sh; mkdir -p new/deep; echo y > new/deep/f"
)


async def rewind(client: Client, session: str, number: int, **fields: bool) -> Rewound:
    return await ask(client, SessionUndo, session=session, turn=number, **{"conversation": True} | fields)


async def changed(client: Client, session: str, number: int | None = None) -> dict[str, str]:
    found = await ask(client, SessionChanges, session=session, turn=number)
    return {file.path: file.status for file in found.files}


def last_prompts(h: House) -> list[str]:
    return [m["content"] for m in h.sim.requests[-1].json()["messages"] if m["role"] == "user"]


@pytest.mark.parametrize("away", ["deleted", "moved"])
async def test_a_folder_that_was_made_again_is_watched_again(tmp_path: Path, away: str) -> None:
    script = [
        write("first.txt", "1"),
        {"text": "done"},
        shell("echo 2 > by-shell.txt"),
        write("a.txt", "3"),
        {"text": "done"},
    ]
    async with house(tmp_path, script) as h, await h.client() as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await turn(client, attachment, "begin")
        if away == "deleted":
            shutil.rmtree(h.workspace)
        else:
            h.workspace.rename(tmp_path / "elsewhere")
        h.workspace.mkdir()
        (h.workspace / "theirs.txt").write_text("kept")
        await turn(client, attachment, "go on")
        assert await changed(client, session, 2) == {"by-shell.txt": "A", "a.txt": "A"}
        await rewind(client, session, 2)
        assert [path.name for path in h.workspace.iterdir()] == ["theirs.txt"]


async def test_a_rewind_brings_files_back_to_the_byte_and_takes_the_conversation_back(tmp_path: Path) -> None:
    script = [{"text": "hello"}, shell(DAMAGE), {"text": "done"}, {"text": "again"}]
    async with house(tmp_path, script) as h, await h.client() as client:
        fill(h.workspace)
        before = tree(h.workspace)
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await turn(client, attachment, "say hello")
        _, seen = await turn(client, attachment, "break everything")
        (created,) = [event for event in seen if isinstance(event, e.CheckpointCreated)]
        assert created.turn == 2
        assert tree(h.workspace) != before

        done = await rewind(client, session, 2)
        assert tree(h.workspace) == before
        assert (done.kept, "new/deep/f" in done.removed, "kept.txt" in done.written) == ([], True, True)
        restored = (await until(attachment, lambda event: isinstance(event, e.CheckpointRestored)))[-1]
        assert isinstance(restored, e.CheckpointRestored)
        assert (restored.turn, restored.files, restored.conversation) == (2, True, True)

        await turn(client, attachment, "and now?")
        assert last_prompts(h) == ["say hello", "and now?"]
        said = [message.text for message in await messages_of(client, session) if message.role == "user"]
        assert said == ["say hello", "break everything", "and now?"]


async def test_files_and_conversation_can_go_back_one_without_the_other(tmp_path: Path) -> None:
    script = [write("a.txt", "1"), {"text": "ok"}, write("b.txt", "2"), {"text": "ok"}, {"text": "ok"}, {"text": "ok"}]
    async with house(tmp_path, script) as h, await h.client() as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await turn(client, attachment, "first")
        await turn(client, attachment, "second")
        await rewind(client, session, 2, conversation=False)
        assert sorted(os.listdir(h.workspace)) == ["a.txt"]
        await turn(client, attachment, "third")
        assert last_prompts(h) == ["first", "second", "third"]
        await rewind(client, session, 1, files=False)
        assert sorted(os.listdir(h.workspace)) == ["a.txt"]
        await turn(client, attachment, "fourth")
        assert last_prompts(h) == ["fourth"]
        with pytest.raises(OpenAgentError, match="no turn 9"):
            await rewind(client, session, 9)


async def test_every_client_is_told_which_messages_were_taken_back(tmp_path: Path) -> None:
    script = {"conversations": [{"steps": [{"text": "yes"}], "loop": True}]}
    async with house(tmp_path, script) as h, await h.client() as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        for _ in range(3):
            await turn(client, attachment)
        await rewind(client, session, 2)
        restored = (await until(attachment, lambda event: isinstance(event, e.CheckpointRestored)))[-1]
        assert isinstance(restored, e.CheckpointRestored)
        assert restored.rewound == [(3, 6)]
        await turn(client, attachment)
        snapshot = (await client.attach(session)).snapshot
        page = await ask(client, MessagesPage, session=session)
        assert snapshot is not None
        assert snapshot.rewound == page.rewound == [(3, 6)]
        assert [message.number for message in page.messages] == list(range(1, 9))


async def test_a_turn_can_be_taken_back_although_the_one_before_it_changed_nothing(tmp_path: Path) -> None:
    script = [shell("touch /tmp/elsewhere"), {"text": "ok"}, write("a.txt", "1"), {"text": "ok"}, {"text": "only talk"}]
    async with house(tmp_path, script) as h, await h.client() as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        for _ in range(3):
            await turn(client, attachment)
        assert await changed(client, session, 1) == {}
        assert await changed(client, session, 2) == {"a.txt": "A"}
        assert await changed(client, session, 3) == {}
        talked = await rewind(client, session, 3)
        assert (talked.written, talked.removed) == ([], [])
        assert (h.workspace / "a.txt").exists()
        await rewind(client, session, 2)
        assert not (h.workspace / "a.txt").exists()


async def test_each_turns_changes_are_shown_apart_also_after_a_rewind(tmp_path: Path) -> None:
    script = [
        write("a.txt", "one\n"),
        {"text": "ok"},
        call("edit_file", path="a.txt", old="one", new="two"),
        write("b.txt", "b\n"),
        {"text": "ok"},
    ]
    async with house(tmp_path, script) as h, await h.client() as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        for _ in range(2):
            await turn(client, attachment)
        assert await changed(client, session, 1) == {"a.txt": "A"}
        assert await changed(client, session, 2) == {"a.txt": "M", "b.txt": "A"}
        assert await changed(client, session) == {"a.txt": "A", "b.txt": "A"}
        second = await ask(client, SessionChanges, session=session, turn=2)
        assert "-one\n+two" in next(file.patch for file in second.files if file.path == "a.txt")
        await rewind(client, session, 2)
        assert await changed(client, session, 2) == {"a.txt": "M", "b.txt": "A"}
        assert await changed(client, session) == {"a.txt": "A"}


async def test_a_rewind_to_before_a_collection_takes_the_collection_back_too(tmp_path: Path) -> None:
    small, large = ({"text": "x" * 20_000, "usage": {"input": used, "output": 5_000}} for used in (10_000, 120_000))
    script = [*[small] * 3, *[large] * 8]
    async with house(tmp_path, script) as h, await h.client() as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        seen: list[e.Event] = []
        for number in range(1, 11):
            seen += (await turn(client, attachment, f"prompt {number}"))[1]
        hidden = [last for event in seen if isinstance(event, e.ContextCollected) for _, last in event.hidden]
        assert max(hidden) > 4, "messages of turn 3 were put away"
        await rewind(client, session, 3, files=False)
        await turn(client, attachment, "and now?")
        assert last_prompts(h) == ["prompt 1", "prompt 2", "and now?"]


async def test_a_running_turn_cannot_be_rewound_and_messages_wait_for_a_rewind(tmp_path: Path) -> None:
    script = {
        "conversations": [
            {"match": "first", "steps": [shell("touch a; sleep 30")]},
            {"match": "second", "steps": [{"text": "queued"}]},
        ]
    }
    async with house(tmp_path, script) as h, await h.client() as client, await h.client() as other:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await client.send(session, "first")
        async with asyncio.timeout(20):
            while not (h.workspace / "a").exists():
                await asyncio.sleep(0.01)
        with pytest.raises(OpenAgentError, match="in the middle of a turn"):
            await rewind(client, session, 1)
        await client.cancel(session)
        await attachment.until_turn_ends()
        done, _ = await asyncio.gather(rewind(client, session, 1), other.send(session, "second"))
        completed, _ = await attachment.until_turn_ends()
        assert (done.removed, completed.reason, completed.text) == (["a"], "done", "queued")
        assert not (h.workspace / "a").exists()


async def test_an_edit_based_on_what_another_session_changed_is_refused_with_the_difference(tmp_path: Path) -> None:
    edit = call("edit_file", path="a.txt", old="beta", new="BETA")
    others = call("edit_file", path="a.txt", old="alpha", new="ALPHA")
    script = {
        "conversations": [
            {"match": "read", "steps": [call("read_file", path="a.txt"), {"text": "read"}, edit, edit, {"text": "ok"}]},
            {"match": "other", "steps": [others, {"text": "ok"}]},
        ]
    }
    async with house(tmp_path, script) as h, await h.client() as client:
        (h.workspace / "a.txt").write_text("alpha\nbeta\n")
        one, two = await new_session(h, client), await new_session(h, client)
        first = await client.attach(one)
        await turn(client, first, "read")
        await turn(client, await client.attach(two), "other")
        await turn(client, first, "edit")
        _, refused, accepted = await results_of(client, one)
        assert refused.is_error
        assert "-alpha" in refused.text
        assert "+ALPHA" in refused.text
        assert not accepted.is_error
        assert (h.workspace / "a.txt").read_text() == "ALPHA\nBETA\n"


async def test_the_checkpoints_of_a_deleted_session_go_with_it(tmp_path: Path) -> None:
    async with house(tmp_path, [write("a.txt", "1"), {"text": "ok"}]) as h, await h.client() as client:
        session, _, _ = await one_turn(h, client)
        kept = list(h.home.glob(f"checkpoints/*/refs/checkpoints/{session}/*"))
        assert kept
        await ask(client, SessionDelete, session=session)
        assert not [path for path in kept if path.exists()]
        await ask(client, WorkspacesCollect)


@pytest.mark.parametrize("method", ["copy", "worktree"])
async def test_a_session_works_on_a_copy_that_is_reviewed_and_merged_back(tmp_path: Path, method: str) -> None:
    script = [write("a.txt", "changed\n"), {"text": "ok"}]
    async with house(tmp_path, script) as h, await h.client() as client:
        fill(h.workspace)
        (h.workspace / "a.txt").write_text("original\n")
        subprocess.run(["git", "-C", str(h.workspace), "add", "-A"], check=True)
        author = ["-c", "user.name=n", "-c", "user.email=e@x"]
        subprocess.run(["git", *author, "-C", str(h.workspace), "commit", "-qm", "x"], check=True)
        copy = await ask(client, WorkspacesCreate, cwd=str(h.workspace), name="try", method=method)
        assert (await ask(client, WorkspacesList, cwd=str(h.workspace))).copies == [copy]
        info = await client.create_session(copy.path, model="compatible/scripted", mode="full")
        await turn(client, await client.attach(info.id))
        assert (h.workspace / "a.txt").read_text() == "original\n"
        (file,) = (await ask(client, WorkspacesDiff, copy=copy.id)).files
        assert (file.path, file.status) == ("a.txt", "M")
        with pytest.raises(OpenAgentError, match="not merged back"):
            await ask(client, WorkspacesRemove, copy=copy.id)
        merged = await ask(client, WorkspacesMerge, copy=copy.id)
        assert (merged.applied, merged.conflicts) == (["a.txt"], [])
        assert (h.workspace / "a.txt").read_text() == "changed\n"
        await ask(client, WorkspacesRemove, copy=copy.id)
        assert (await ask(client, WorkspacesList)).copies == []


async def test_conflicts_of_a_merge_are_settled_file_by_file(tmp_path: Path) -> None:
    async with house(tmp_path, []) as h, await h.client() as client:
        for name in ("ours", "theirs", "both", "gone"):
            (h.workspace / f"{name}.txt").write_text("start\n")
        copy = await ask(client, WorkspacesCreate, cwd=str(h.workspace), name="try", method="copy")
        for name in ("ours", "theirs", "both", "gone"):
            (h.workspace / f"{name}.txt").write_text("origin\n")
            (Path(copy.path) / f"{name}.txt").write_text("copy\n")
        (Path(copy.path) / "gone.txt").unlink()
        conflicts = {each.path: each for each in (await ask(client, WorkspacesMerge, copy=copy.id)).conflicts}
        assert conflicts["both.txt"].base == "start\n"
        assert [conflicts["gone.txt"].origin, conflicts["gone.txt"].copy] == ["origin\n", None]
        settled = [
            MergeChoice("ours.txt", "origin"),
            MergeChoice("theirs.txt", "copy"),
            MergeChoice("both.txt", "text", "origin and copy\n", conflicts["both.txt"].version),
        ]
        (h.workspace / "both.txt").write_text("origin again\n")
        with pytest.raises(OpenAgentError, match="has changed since you looked"):
            await ask(client, WorkspacesMerge, copy=copy.id, settled=settled)
        (h.workspace / "both.txt").write_text("origin\n")
        merged = await ask(client, WorkspacesMerge, copy=copy.id, settled=settled)
        assert (merged.applied, [each.path for each in merged.conflicts]) == (["both.txt", "theirs.txt"], ["gone.txt"])
        left = {name: (h.workspace / f"{name}.txt").read_text() for name in ("ours", "theirs", "both", "gone")}
        assert left == {"ours": "origin\n", "theirs": "copy\n", "both": "origin and copy\n", "gone": "origin\n"}
        done = await ask(client, WorkspacesMerge, copy=copy.id, settled=[MergeChoice("gone.txt", "copy")])
        assert (done.applied, done.conflicts) == (["gone.txt"], [])
        assert not (h.workspace / "gone.txt").exists()
        assert (await ask(client, WorkspacesMerge, copy=copy.id)).conflicts == []
