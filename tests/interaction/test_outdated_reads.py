"""No write that rests on an outdated look at a file replaces what somebody wrote there meanwhile."""

from pathlib import Path
from typing import Any

import pytest

from devtools.simulator import Simulator
from openagent.protocol.sessions import SessionFork
from openagent.protocol.tools import ToolRun
from openagent.protocol.undo import SessionUndo

from .doing import ask, call, results_of, turn, write
from .house import house, house_over, new_session

pytestmark = pytest.mark.anyio

MINE = "one\ntwo\nby a person\n"
READ = call("read_file", path="a.txt")
EDIT = call("edit_file", path="a.txt", old="one", new="ONE")
OVERWRITE = write("a.txt", "one\ntwo\nthree\n")
DONE = {"text": "done"}
REFUSED = "a.txt has changed since you read it. Nothing was written."


def together(*steps: dict[str, Any]) -> dict[str, Any]:
    """Several calls in one answer."""
    return {"tool_calls": [each for step in steps for each in step["tool_calls"]]}


async def test_a_look_holds_over_a_restart(tmp_path: Path) -> None:
    async with Simulator([READ, DONE, OVERWRITE, DONE]) as sim:
        async with house_over(tmp_path, sim) as h, await h.client() as client:
            (h.workspace / "a.txt").write_text("one\ntwo\n")
            session = await new_session(h, client)
            await turn(client, await client.attach(session))
        async with house_over(tmp_path, sim) as h, await h.client() as client:
            (h.workspace / "a.txt").write_text(MINE)
            await turn(client, await client.attach(session))
            assert REFUSED in (await results_of(client, session))[-1].text
            assert (h.workspace / "a.txt").read_text() == MINE


async def test_what_is_as_it_was_seen_may_be_written_after_a_restart(tmp_path: Path) -> None:
    """What the session itself wrote counts as seen too, and a file that was only touched is the same."""
    async with Simulator([READ, EDIT, DONE, OVERWRITE, DONE]) as sim:
        async with house_over(tmp_path, sim) as h, await h.client() as client:
            (h.workspace / "a.txt").write_text("one\ntwo\n")
            session = await new_session(h, client)
            await turn(client, await client.attach(session))
        (tmp_path / "workspace" / "a.txt").touch()
        async with house_over(tmp_path, sim) as h, await h.client() as client:
            await turn(client, await client.attach(session))
            assert (h.workspace / "a.txt").read_text() == "one\ntwo\nthree\n"


@pytest.mark.parametrize("through", [None, 4])
async def test_a_look_holds_in_a_fork(tmp_path: Path, through: int | None) -> None:
    """Also in one that ends where the look was the last thing."""
    async with house(tmp_path, [READ, DONE, OVERWRITE, DONE, OVERWRITE, DONE]) as h, await h.client() as client:
        (h.workspace / "a.txt").write_text("one\ntwo\n")
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await turn(client, attachment)
        await turn(client, attachment)
        fork = (await ask(client, SessionFork, session=session, through=through)).id
        (h.workspace / "a.txt").write_text(MINE)
        await turn(client, await client.attach(fork))
        assert REFUSED in (await results_of(client, fork))[-1].text
        assert (h.workspace / "a.txt").read_text() == MINE


async def test_a_look_holds_after_a_rewind_to_a_later_turn(tmp_path: Path) -> None:
    async with house(tmp_path, [READ, DONE, OVERWRITE, DONE]) as h, await h.client() as client:
        (h.workspace / "a.txt").write_text("one\ntwo\n")
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await turn(client, attachment)
        await turn(client, attachment)
        await ask(client, SessionUndo, session=session, turn=2, conversation=True)
        assert (h.workspace / "a.txt").read_text() == "one\ntwo\n"
        (h.workspace / "a.txt").write_text(MINE)
        await turn(client, attachment)
        assert REFUSED in (await results_of(client, session))[-1].text
        assert (h.workspace / "a.txt").read_text() == MINE


async def test_what_was_seen_before_a_rewound_turn_may_be_written_again(tmp_path: Path) -> None:
    async with house(tmp_path, [READ, DONE, OVERWRITE, DONE]) as h, await h.client() as client:
        (h.workspace / "a.txt").write_text("one\ntwo\n")
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await turn(client, attachment)
        await turn(client, attachment)
        await ask(client, SessionUndo, session=session, turn=2, conversation=True)
        await turn(client, attachment)
        assert (h.workspace / "a.txt").read_text() == "one\ntwo\nthree\n"


@pytest.mark.parametrize("look", [EDIT, READ])
async def test_what_a_step_shows_counts_from_the_next_step(tmp_path: Path, look: dict[str, Any]) -> None:
    """The call beside it was made by a model that had not seen it: a refusal's diff, or what was read."""
    script = [READ, DONE, together(look, OVERWRITE), OVERWRITE, DONE]
    async with house(tmp_path, script) as h, await h.client() as client:
        (h.workspace / "a.txt").write_text("one\ntwo\n")
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await turn(client, attachment)
        (h.workspace / "a.txt").write_text(MINE)
        await turn(client, attachment)
        *_, refused, replaced = [result.text for result in await results_of(client, session)]
        assert REFUSED in refused
        assert "+by a person" in refused
        assert replaced.startswith("Replaced a.txt")


async def test_several_edits_of_one_file_in_one_step_rest_on_one_another(tmp_path: Path) -> None:
    second = call("edit_file", path="a.txt", old="two", new="TWO")
    async with house(tmp_path, [READ, together(EDIT, READ, second), DONE]) as h, await h.client() as client:
        (h.workspace / "a.txt").write_text("one\ntwo\n")
        session = await new_session(h, client)
        await turn(client, await client.attach(session))
        assert (h.workspace / "a.txt").read_text() == "ONE\nTWO\n"


async def test_what_a_person_reads_the_model_has_not_seen(tmp_path: Path) -> None:
    async with house(tmp_path, [READ, DONE, OVERWRITE, DONE]) as h, await h.client() as client:
        (h.workspace / "a.txt").write_text("one\ntwo\n")
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await turn(client, attachment)
        edit = {"path": "a.txt", "old": "two\n", "new": "two\nby a person\n"}
        for tool, arguments in (("edit_file", edit), ("read_file", {"path": "a.txt"})):
            done = await ask(client, ToolRun, session=session, tool=tool, arguments=arguments)
            assert not done.is_error, done
        await turn(client, attachment)
        assert REFUSED in (await results_of(client, session))[-1].text
        assert (h.workspace / "a.txt").read_text() == MINE


async def test_what_comes_back_after_the_model_deleted_it_must_be_read_first(tmp_path: Path) -> None:
    delete = call("apply_patch", patch="*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\n")
    async with house(tmp_path, [delete, DONE, OVERWRITE, READ, OVERWRITE, DONE]) as h, await h.client() as client:
        (h.workspace / "a.txt").write_text("one\ntwo\n")
        session = await new_session(h, client)
        attachment = await client.attach(session)
        await turn(client, attachment)
        assert not (h.workspace / "a.txt").exists()
        (h.workspace / "a.txt").write_text(MINE)
        await turn(client, attachment)
        _, refused, _, replaced = [result.text for result in await results_of(client, session)]
        assert refused.startswith("a.txt, which you deleted, is there again. Nothing was written.")
        assert replaced.startswith("Replaced a.txt")
