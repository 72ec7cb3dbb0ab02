"""The session's shell through whole turns: waiting for a command, restarts, text that bash refuses."""

from pathlib import Path

import pytest

from devtools.simulator import Simulator
from openagent.protocol import events as e
from openagent.protocol.tools import ToolRun

from .doing import call, one_turn, shell, turn
from .house import house, house_over, new_session, until

pytestmark = pytest.mark.anyio

QUICK = "[jail]\nbackground_after = 0.2\n"


async def test_a_model_that_waits_for_a_command_is_not_taken_for_one_that_repeats_itself(tmp_path: Path) -> None:
    looking = [call("shell_output", id="bg1")] * 9
    sleeping = [shell("sleep 0.01; echo not yet")] * 9
    async with house(tmp_path, [shell("sleep 1000"), *looking, *sleeping, {"text": "done"}], config=QUICK) as h:
        async with await h.client() as client:
            _, completed, _ = await one_turn(h, client, mode="full")
        assert (completed.reason, completed.text) == ("done", "done")


async def test_the_first_command_after_a_restart_finds_what_the_last_one_left_and_is_told_what_is_gone(
    tmp_path: Path,
) -> None:
    script = [
        shell("mkdir sub; cd sub; export KEPT=yes; plain=too; echo x > /tmp/gone"),
        {"text": "one"},
        shell("basename $PWD; echo $KEPT $plain"),
        {"text": "{last_result}"},
    ]
    async with Simulator(script) as sim:
        async with house_over(tmp_path, sim) as h, await h.client() as client:
            session, *_ = await one_turn(h, client, mode="full")
        async with house_over(tmp_path, sim) as h, await h.client() as client:
            completed, _ = await turn(client, await client.attach(session))
    lines = completed.text.splitlines()
    assert lines[:2] == ["sub", "yes too"]
    assert lines[2].startswith("[openagent: this is a new shell in ")
    assert "its processes are gone" in lines[2]


async def test_rules_read_relative_paths_from_where_the_shell_will_be_after_a_restart(tmp_path: Path) -> None:
    script = [shell("cd /"), {"text": "there"}, shell("rm -rf *"), {"text": "{last_result}"}]
    async with Simulator(script) as sim:
        async with house_over(tmp_path, sim) as h, await h.client() as client:
            session, *_ = await one_turn(h, client, mode="full")
        async with house_over(tmp_path, sim) as h, await h.client() as client:
            completed, _ = await turn(client, await client.attach(session))
    assert completed.text.startswith("Denied: ")


async def test_what_a_fast_command_prints_comes_after_its_start(tmp_path: Path) -> None:
    async with house(tmp_path, [{"text": "ok"}]) as h, await h.client() as client:
        session = await new_session(h, client)
        attachment = await client.attach(session)
        for number in range(5):  # from the second one on, the shell is there
            run = ToolRun(id=client.next_id(), session=session, tool="shell", arguments={"command": f"echo n{number}"})
            await client.request(run)
            seen = await until(attachment, lambda event: isinstance(event, e.ToolFinished))
            of_call = [event for event in seen if isinstance(event, e.ToolStarted | e.ToolOutput | e.ToolFinished)]
            assert isinstance(of_call[0], e.ToolStarted), [type(event).__name__ for event in of_call]
            assert "".join(event.text for event in of_call if isinstance(event, e.ToolOutput)) == f"n{number}\n"
