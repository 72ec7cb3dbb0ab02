"""A home of a version that kept states of before each turn, and no journal of who wrote what."""

from pathlib import Path

import pytest

from openagent.protocol.undo import SessionChanges, SessionRedo, SessionUndo
from openagent.workspace.checkpoints import GitCheckpoints

from .doing import ask, turn
from .house import house, new_session
from .test_undo_paths import files

pytestmark = pytest.mark.anyio


async def test_the_changes_of_sessions_of_older_versions_are_shown_and_undone_on_request(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "one"}, {"text": "two"}]) as h, await h.client() as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        (h.workspace / "a.txt").write_text("first\n")
        older = GitCheckpoints(h.home)
        await older.take(h.workspace, session, 1)
        await turn(client, attachment)
        (h.workspace / "a.txt").write_text("changed\n")
        (h.workspace / "b.txt").write_text("made\n")
        await older.take(h.workspace, session, 2)
        await turn(client, attachment)
        (h.workspace / "b.txt").unlink()
        (h.workspace / "c.txt").write_text("made\n")
        left = files(h.workspace)

        changed = (await ask(client, SessionChanges, session=session)).files
        assert {file.path: bool(file.shared) for file in changed} == {"a.txt": True, "c.txt": True}
        one = await ask(client, SessionUndo, session=session, turn=2)
        assert {each.path for each in one.others} == {"b.txt", "c.txt"}
        assert "did not record who wrote it" in one.others[0].reason
        assert files(h.workspace) == left

        undone = await ask(client, SessionUndo, session=session, turn=2, others="overwrite")
        assert files(h.workspace) == {"a.txt": "changed\n", "b.txt": "made\n"}
        await ask(client, SessionRedo, session=session, undo=undone.undo)
        assert files(h.workspace) == left
        await ask(client, SessionUndo, session=session, turn=1, paths=["a.txt"], others="overwrite")
        assert files(h.workspace) == {"a.txt": "first\n", "c.txt": "made\n"}


async def test_a_session_without_such_states_has_nothing_to_undo(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "one"}, {"text": "two"}]) as h, await h.client() as client:
        session, other = await new_session(h, client), await new_session(h, client)
        await turn(client, await client.attach(session))
        await GitCheckpoints(h.home).take(h.workspace, other, 1)
        (h.workspace / "a.txt").write_text("by somebody")
        await ask(client, SessionUndo, session=session, turn=1, others="overwrite")
        assert files(h.workspace) == {"a.txt": "by somebody"}
