"""Undo by facts: what a session's calls wrote, whoever else works in the folder, and the way back from it."""

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from openagent.client import Client
from openagent.protocol import events as e
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.tools import ToolRun
from openagent.protocol.undo import Rewound, SessionChanges, SessionRedo, SessionUndo

from .doing import ask, call, shell, tree, turn, write
from .house import House, house, new_session, until

pytestmark = pytest.mark.anyio


async def rewind(client: Client, session: str, number: int = 1, **fields: Any) -> Rewound:
    return await ask(client, SessionUndo, session=session, turn=number, **{"conversation": True} | fields)


async def changed(client: Client, session: str, number: int | None = None) -> dict[str, str]:
    found = await ask(client, SessionChanges, session=session, turn=number)
    return {file.path: file.status for file in found.files}


def last_prompts(h: House) -> list[str]:
    return [m["content"] for m in h.sim.requests[-1].json()["messages"] if m["role"] == "user"]


def conversations(**steps: list[dict[str, Any]]) -> dict[str, Any]:
    return {"conversations": [{"match": match, "steps": some} for match, some in steps.items()]}


@pytest.mark.parametrize(
    "command",
    [
        "ls && echo x > a.txt",
        "cat a.txt && sed -i s/one/two/ a.txt",
        "cd . && echo x > a.txt",
        "ls; mv a.txt b.txt",
        "for i in 1 2 3; do echo > f$i; done",
        "python3 -c \"import mmap; f=open('a.txt','r+b'); m=mmap.mmap(f.fileno(),0); m[0:1]=b'X'; m.close()\"",
        "mkdir -p d/e && mv a.txt d/e/ && mv d moved && echo y >> moved/e/a.txt",
        "ln -s a.txt link; chmod 600 a.txt; rm -rf folder; touch -d @1 a.txt",
        "cp -r folder copy; rm -r folder; echo file > folder",
    ],
)
async def test_whatever_a_command_wrote_is_known_and_taken_back(tmp_path: Path, command: str) -> None:
    async with house(tmp_path, [shell(command), {"text": "ok"}]) as h, await h.client() as client:
        (h.workspace / "a.txt").write_text("one\n")
        (h.workspace / "folder").mkdir()
        (h.workspace / "folder/inside").write_text("in\n")
        before = tree(h.workspace)
        session = await new_session(h, client)
        await turn(client, await client.attach(session))
        after = tree(h.workspace)
        assert after != before
        assert await changed(client, session)
        done = await rewind(client, session)
        assert tree(h.workspace) == before
        assert (done.kept, done.others) == ([], [])
        assert not await changed(client, session)
        await ask(client, SessionRedo, session=session, undo=done.undo)
        assert tree(h.workspace) == after


async def test_a_rewind_touches_nobody_elses_work(tmp_path: Path) -> None:
    script = conversations(
        one=[shell("echo one > one.txt; echo more >> kept.txt"), write("both.txt", "a\nmine\nc\n"), {"text": "ok"}],
        two=[write("two.txt", "two\n"), shell("echo two > second.txt; mkdir -p new; echo 2 > new/two"), {"text": "ok"}],
    )
    async with house(tmp_path, script) as h, await h.client() as client:
        (h.workspace / "kept.txt").write_text("kept\n")
        (h.workspace / "both.txt").write_text("a\nb\nc\nd\ne\n")
        one, two = await new_session(h, client), await new_session(h, client)
        (h.workspace / "person.txt").write_text("before\n")
        await turn(client, await client.attach(one), "one")
        (h.workspace / "person.txt").write_text("in between\n")
        (h.workspace / "both.txt").write_text("a\nmine\nc\nperson's\n")
        await turn(client, await client.attach(two), "two")
        (h.workspace / "person2.txt").write_text("after\n")

        assert set(await changed(client, one)) == {"one.txt", "kept.txt", "both.txt"}
        assert set(await changed(client, two)) == {"two.txt", "second.txt", "new/two"}
        done = await rewind(client, one)
        assert (h.workspace / "kept.txt").read_text() == "kept\n"
        assert not (h.workspace / "one.txt").exists()
        assert sorted(os.listdir(h.workspace)) == [
            "both.txt", "kept.txt", "new", "person.txt", "person2.txt", "second.txt", "two.txt",
        ]  # fmt: skip
        assert (h.workspace / "person.txt").read_text() == "in between\n"
        assert [left.path for left in done.others] == ["both.txt"], "the same lines: it is left, and said"
        assert "others" in done.others[0].reason
        assert (h.workspace / "both.txt").read_text() == "a\nmine\nc\nperson's\n"


async def test_others_changes_elsewhere_in_a_file_stay_when_ours_are_taken_back(tmp_path: Path) -> None:
    lines = [f"line {number}\n" for number in range(20)]
    edit = call("edit_file", path="a.txt", old="line 3\n", new="line three\n")
    async with house(tmp_path, [edit, {"text": "ok"}]) as h, await h.client() as client:
        (h.workspace / "a.txt").write_text("".join(lines))
        session = await new_session(h, client)
        await turn(client, await client.attach(session))
        text = (h.workspace / "a.txt").read_text().replace("line 15\n", "a person's line\n")
        (h.workspace / "a.txt").write_text(text)
        (file,) = (await ask(client, SessionChanges, session=session)).files
        assert (file.others, file.added, "a person's" in file.patch) == (True, 1, False)
        done = await rewind(client, session)
        assert (done.merged, done.others) == (["a.txt"], [])
        assert (h.workspace / "a.txt").read_text() == "".join(lines).replace("line 15\n", "a person's line\n")
        await ask(client, SessionRedo, session=session, undo=done.undo)
        assert (h.workspace / "a.txt").read_text() == text


async def test_what_others_changed_is_overwritten_only_when_chosen_and_comes_back(tmp_path: Path) -> None:
    script = [write("a.txt", "mine\n"), write("b.txt", "mine\n"), {"text": "ok"}]
    async with house(tmp_path, script) as h, await h.client() as client:
        session = await new_session(h, client)
        await turn(client, await client.attach(session))
        for name in ("a.txt", "b.txt"):
            (h.workspace / name).write_text("a person's\n")
        first = await rewind(client, session, conversation=False)
        assert [left.path for left in first.others] == ["a.txt", "b.txt"]
        assert (first.written, first.removed) == ([], [])
        second = await rewind(client, session, conversation=False, paths=["a.txt"], others="overwrite")
        assert (second.removed, second.others) == (["a.txt"], [])
        third = await rewind(client, session, others="overwrite")
        assert third.removed == ["b.txt"]
        for done in (third, second):
            await ask(client, SessionRedo, session=session, undo=done.undo)
        assert {path.name: path.read_text() for path in h.workspace.iterdir()} == {
            "a.txt": "a person's\n",
            "b.txt": "a person's\n",
        }


async def test_taking_a_rewind_back_brings_the_conversation_too(tmp_path: Path) -> None:
    script = [write("a.txt", "1"), {"text": "ok"}, {"text": "yes"}, {"text": "again"}]
    async with house(tmp_path, script) as h, await h.client() as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await turn(client, attachment, "first")
        await turn(client, attachment, "second")
        done = await rewind(client, session)
        told = (await until(attachment, lambda event: isinstance(event, e.CheckpointRestored)))[-1]
        assert isinstance(told, e.CheckpointRestored)
        assert told.undo == done.undo
        await ask(client, SessionRedo, session=session, undo=done.undo)
        again = (await until(attachment, lambda event: isinstance(event, e.CheckpointRestored)))[-1]
        assert isinstance(again, e.CheckpointRestored)
        assert again.returned == told.rewound
        snapshot = (await client.attach(session)).snapshot
        assert snapshot is not None
        assert snapshot.rewound == []
        assert (h.workspace / "a.txt").read_text() == "1"
        await turn(client, attachment, "third")
        assert last_prompts(h) == ["first", "second", "third"]
        with pytest.raises(OpenAgentError, match="taken back already"):
            await ask(client, SessionRedo, session=session, undo=done.undo)


async def test_what_was_taken_back_once_is_not_taken_back_again(tmp_path: Path) -> None:
    numbered = [[write("a.txt", f"{number}\n"), {"text": "ok"}] for number in (1, 2, 3)]
    async with house(tmp_path, [step for steps in numbered for step in steps]) as h, await h.client() as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        for _ in range(3):
            await turn(client, attachment)
        await rewind(client, session, 2)
        assert (h.workspace / "a.txt").read_text() == "1\n"
        await turn(client, attachment)
        assert (h.workspace / "a.txt").read_text() == "2\n"
        await rewind(client, session, 3)
        assert (h.workspace / "a.txt").read_text() == "1\n", "not the file of a turn that was taken back"


async def test_a_rewind_ends_the_commands_its_turns_left_running(tmp_path: Path) -> None:
    busy = "echo $$ > mine; while true; do date >> log; sleep 0.05; done"
    config = '[jail]\nkind = "host"\nbackground_after = 0.3\n'
    async with house(tmp_path, [shell(busy), {"text": "ok"}], config=config) as h, await h.client() as client:
        session = await new_session(h, client)
        await turn(client, await client.attach(session))
        process = Path("/proc") / (h.workspace / "mine").read_text().strip()
        assert process.exists()
        (h.workspace / "person.txt").write_text("while it runs\n")
        done = await rewind(client, session)
        assert len(done.stopped) == 1
        assert "mine" in done.removed
        assert (h.workspace / "person.txt").read_text() == "while it runs\n"
        assert "person.txt" in {left.path for left in done.others}
        async with asyncio.timeout(20):
            while process.exists():
                await asyncio.sleep(0.01)


async def test_what_two_sessions_commands_wrote_at_once_is_left_and_said(tmp_path: Path) -> None:
    until_there = "while [ ! -e {} ]; do sleep 0.02; done; "
    wait = until_there.format("go") + "echo {0} > {0}.txt; touch {0}.done; " + until_there.format("end")
    script = conversations(
        one=[shell(wait.format("one")), {"text": "ok"}], two=[shell(wait.format("two")), {"text": "ok"}]
    )
    async with house(tmp_path, script) as h, await h.client() as client:
        one, two = await new_session(h, client), await new_session(h, client)
        attachments = {name: await client.attach(session) for name, session in (("one", one), ("two", two))}
        await client.send(one, "one")
        await until(attachments["one"], lambda event: isinstance(event, e.ToolStarted))
        await client.send(two, "two")
        await until(attachments["two"], lambda event: isinstance(event, e.ToolStarted))
        (h.workspace / "go").touch()
        async with asyncio.timeout(20):
            while not all((h.workspace / f"{name}.done").exists() for name in attachments):
                await asyncio.sleep(0.01)
        (h.workspace / "end").touch()
        for attachment in attachments.values():
            await attachment.until_turn_ends()
        done = await rewind(client, one)
        assert {"one.txt", "two.txt"} <= {left.path for left in done.others}
        assert (h.workspace / "two.txt").exists()
        again = await rewind(client, one, conversation=False, paths=["one.txt"], others="overwrite")
        assert again.removed == ["one.txt"]
        assert (h.workspace / "two.txt").exists()


async def test_a_file_tool_beside_another_sessions_command_is_told_apart(tmp_path: Path) -> None:
    script = conversations(
        one=[shell("echo one > one.txt; while [ ! -e go ]; do sleep 0.02; done; echo late > late.txt"), {"text": "ok"}],
        two=[write("two.txt", "two\n"), {"text": "ok"}],
    )
    async with house(tmp_path, script) as h, await h.client() as client:
        one, two = await new_session(h, client), await new_session(h, client)
        attachment = await client.attach(one)
        await client.send(one, "one")
        async with asyncio.timeout(20):
            while not (h.workspace / "one.txt").exists():
                await asyncio.sleep(0.01)
        await turn(client, await client.attach(two), "two")
        undone = await rewind(client, two, others="overwrite")
        assert undone.beside == [one]
        assert undone.removed == ["two.txt"]
        (h.workspace / "go").touch()
        await attachment.until_turn_ends()
        # Who touched `go` while the command ran cannot be known: it counts as the command's.
        assert set(await changed(client, one)) == {"one.txt", "late.txt", "go"}


async def test_a_persons_own_command_and_a_hook_count_as_the_sessions(tmp_path: Path) -> None:
    hook = {"matcher": "Write", "hooks": [{"type": "command", "command": "cp a.txt formatted.txt"}]}
    async with house(tmp_path, [write("a.txt", "1"), {"text": "ok"}]) as h, await h.client() as client:
        (h.home / "hooks.json").write_text(json.dumps({"hooks": {"PostToolUse": [hook]}}))
        session = await new_session(h, client)
        await turn(client, await client.attach(session))
        await ask(client, ToolRun, session=session, tool="shell", arguments={"command": "echo p > p.txt"})
        assert set(await changed(client, session)) == {"a.txt", "p.txt", "formatted.txt"}
        await rewind(client, session)
        assert os.listdir(h.workspace) == []


async def test_the_repository_goes_back_unless_others_moved_it_since(tmp_path: Path) -> None:
    author = "-c user.name=n -c user.email=e@x"
    commit = f"echo 2 > a.txt && git {author} commit -qam two"
    config = '[jail]\nkind = "host"\n'
    async with house(tmp_path, [shell(commit), {"text": "ok"}], config=config) as h, await h.client() as client:

        def git(*arguments: str) -> str:
            command = ["git", *author.split(), "-C", str(h.workspace), *arguments]
            return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

        git("init", "-q")
        (h.workspace / "a.txt").write_text("1\n")
        git("add", "-A")
        git("commit", "-qm", "one")
        session = await new_session(h, client)
        await turn(client, await client.attach(session))
        assert git("log", "--format=%s") == "two\none"
        git("branch", "person")
        refused = await rewind(client, session, conversation=False, files=True, git_state=True)
        assert refused.git.startswith("refused")
        assert git("log", "--format=%s") == "two\none"
        await ask(client, SessionRedo, session=session, undo=refused.undo)
        git("branch", "-D", "person")
        forced = await rewind(client, session, git_state=True, others="overwrite")
        assert forced.git.startswith("restored")
        assert (git("log", "--format=%s"), git("status", "--porcelain")) == ("one", "")
        await ask(client, SessionRedo, session=session, undo=forced.undo)
        assert (git("log", "--format=%s"), git("status", "--porcelain")) == ("two\none", "")
