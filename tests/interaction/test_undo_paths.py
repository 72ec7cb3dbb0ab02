"""A path limits what is undone: nothing else goes back, whoever asks and with whatever version."""

from pathlib import Path

import pytest

from openagent.protocol.errors import OpenAgentError
from openagent.protocol.op import Op
from openagent.protocol.ops import BY_TAG
from openagent.protocol.review import ReviewShow
from openagent.protocol.undo import Rewound, SessionChanges, SessionRedo, SessionUndo

from .doing import ask, messages_of, shell, turn, write
from .house import house, new_session

pytestmark = pytest.mark.anyio


def files(workspace: Path) -> dict[str, str]:
    return {str(path.relative_to(workspace)): path.read_text() for path in workspace.rglob("*") if path.is_file()}


async def test_a_path_limits_what_is_undone_and_the_conversation_stays(tmp_path: Path) -> None:
    script = [write("till.py", "1"), write("a/b.txt", "1"), {"text": "ok"}, write("a/c.txt", "2"), {"text": "ok"}]
    async with house(tmp_path, script) as h, await h.client() as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await turn(client, attachment)
        await turn(client, attachment)
        said = await messages_of(client, session)
        made = files(h.workspace)
        done = await ask(client, SessionUndo, session=session, turn=1, paths=["till.py"])
        assert (done.written, done.removed) == ([], ["till.py"])
        assert files(h.workspace) == {"a/b.txt": "1", "a/c.txt": "2"}
        folder = await ask(client, SessionUndo, session=session, turn=2, paths=["./a/"])
        assert folder.removed == ["a/c.txt"]
        assert await messages_of(client, session) == said
        for undone in (folder, done):
            await ask(client, SessionRedo, session=session, undo=undone.undo)
        assert files(h.workspace) == made


async def test_a_path_that_cannot_be_undone_alone_is_refused_and_nothing_is_done(tmp_path: Path) -> None:
    lines = "".join(f"line {n}\n" for n in range(20))
    script = [write("a.txt", "1"), {"text": "ok"}, shell("mv old.py new.py; echo 2 > b.txt"), {"text": "ok"}]
    async with house(tmp_path, script) as h, await h.client() as client:
        (h.workspace / "old.py").write_text(lines)
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await turn(client, attachment)
        await turn(client, attachment)
        made = files(h.workspace)
        for paths in (["a.txt"], ["b.txt", "a.txt"], ["b"], [""], ["/b.txt"], ["../b.txt"], ["new.py"]):
            with pytest.raises(OpenAgentError, match=r"(?i)no.*was undone|not a path"):
                await ask(client, SessionUndo, session=session, turn=2, paths=paths, conversation=True)
            assert files(h.workspace) == made
        for wrong in ({"files": False}, {"git_state": True}):
            with pytest.raises(OpenAgentError, match="limit"):
                await ask(client, SessionUndo, session=session, turn=2, paths=["b.txt"], conversation=True, **wrong)
        with pytest.raises(OpenAgentError, match="nothing to undo"):
            await ask(client, SessionUndo, session=session, turn=2, files=False)
        assert files(h.workspace) == made
        await ask(client, SessionUndo, session=session, turn=2, paths=["new.py", "old.py"])
        assert files(h.workspace) == {"a.txt": "1", "b.txt": "2\n", "old.py": lines}


async def test_files_that_run_outside_the_sandbox_are_marked_with_what_runs_them(tmp_path: Path) -> None:
    script = [shell("mkdir .vscode; echo x | tee .envrc .vscode/tasks.json src.py; rm Makefile"), {"text": "ok"}]
    async with house(tmp_path, script) as h, await h.client() as client:
        (h.workspace / "Makefile").write_text("all:\n")
        session = await new_session(h, client)
        await turn(client, await client.attach(session))
        changes = await ask(client, SessionChanges, session=session)
        marks = {file.path: file.runs_outside for file in changes.files}
        assert marks == {
            ".envrc": "direnv or environment",
            ".vscode/tasks.json": "editor",
            "src.py": "",
            "Makefile": "",
        }
        review = await ask(client, ReviewShow, session=session)
        assert {each.file.path: each.file.runs_outside for each in review.files} == marks
        assert {each.file.path: each.file.runs_outside for each in review.turns[0].files} == marks
        undone = await ask(client, SessionUndo, session=session, turn=1)
        assert undone.runs_outside == {"Makefile": "make or build"}
        redone = await ask(client, SessionRedo, session=session)
        assert redone.runs_outside == {path: mark for path, mark in marks.items() if mark}


async def test_overwriting_others_has_a_flag_of_its_own(tmp_path: Path) -> None:
    async with house(tmp_path, [write("a", "1"), write("b", "1"), {"text": "ok"}]) as h, await h.client() as client:
        session = await new_session(h, client)
        await turn(client, await client.attach(session))
        for name in ("a", "b"):
            (h.workspace / name).write_text("by hand")
        kept = await ask(client, SessionUndo, session=session, turn=1, paths=["a"])
        assert ([left.path for left in kept.others], files(h.workspace)) == (["a"], {"a": "by hand", "b": "by hand"})
        await ask(client, SessionUndo, session=session, turn=1, paths=["a"], others="overwrite")
        assert files(h.workspace) == {"b": "by hand"}


class SessionRewind(Op[Rewound], tag="session.rewind"):
    """What clients sent before paths limited anything: the paths were overwritten, and everything else undone, too."""

    session: str
    turn: int
    paths: list[str] = []


async def test_an_older_client_is_refused_instead_of_undoing_more_than_it_says(tmp_path: Path) -> None:
    async with house(tmp_path, [write("a", "1"), write("b", "1"), {"text": "ok"}]) as h, await h.client() as client:
        session = await new_session(h, client)
        await turn(client, await client.attach(session))
        with pytest.raises(OpenAgentError, match="older than the daemon"):
            await ask(client, SessionRewind, session=session, turn=1, paths=["a"])
        assert set(files(h.workspace)) == {"a", "b"}


class UndoOfTomorrow(Op[Rewound], tag="session.undo"):
    """What limits it is not known here."""

    session: str
    turn: int
    lines: list[int]


async def test_what_is_not_understood_is_refused_since_it_may_limit_what_is_undone(tmp_path: Path) -> None:
    async with house(tmp_path, [write("a", "1"), {"text": "ok"}]) as h, await h.client() as client:
        session = await new_session(h, client)
        await turn(client, await client.attach(session))
        with pytest.raises(OpenAgentError, match="unknown field `lines`"):
            await ask(client, UndoOfTomorrow, session=session, turn=1, lines=[1])
        assert set(files(h.workspace)) == {"a"}


def test_no_older_daemon_takes_an_undo_for_one_of_everything() -> None:
    """The ops that undid everything, whatever `paths` said, are never sent again."""
    assert not {"session.rewind", "session.unrewind"} & set(BY_TAG)


async def test_redo_without_an_id_brings_back_the_last_undo_then_the_one_before(tmp_path: Path) -> None:
    script = [write("a", "1"), {"text": "ok"}, write("b", "2"), {"text": "ok"}, {"text": "ok"}]
    async with house(tmp_path, script) as h, await h.client() as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        with pytest.raises(OpenAgentError, match="nothing to redo"):
            await ask(client, SessionRedo, session=session)
        for _ in range(3):
            await turn(client, attachment)
        said = await messages_of(client, session)
        await ask(client, SessionUndo, session=session, turn=3, files=False, conversation=True)
        await ask(client, SessionUndo, session=session, turn=2)
        await ask(client, SessionUndo, session=session, turn=1, conversation=True)
        assert files(h.workspace) == {}
        assert (await ask(client, SessionRedo, session=session)).written == ["a"]
        assert (await ask(client, SessionRedo, session=session)).written == ["b"]
        assert (await ask(client, SessionRedo, session=session)).turn == 3
        assert files(h.workspace) == {"a": "1", "b": "2"}
        assert await messages_of(client, session) == said
        with pytest.raises(OpenAgentError, match="nothing to redo"):
            await ask(client, SessionRedo, session=session)


@pytest.mark.parametrize("back", [{}, {"files": False, "conversation": True}])
async def test_redo_without_an_id_is_refused_after_the_session_has_gone_on(
    tmp_path: Path, back: dict[str, bool]
) -> None:
    script = [write("a", "1"), {"text": "ok"}, write("b", "2"), {"text": "ok"}]
    async with house(tmp_path, script) as h, await h.client() as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await turn(client, attachment)
        done = await ask(client, SessionUndo, session=session, turn=1, **back)
        await turn(client, attachment)
        now = files(h.workspace)
        with pytest.raises(OpenAgentError, match="gone on since") as refused:
            await ask(client, SessionRedo, session=session)
        assert done.undo in refused.value.info.hint
        assert files(h.workspace) == now
        await ask(client, SessionRedo, session=session, undo=done.undo)
        assert (h.workspace / "a").exists()
