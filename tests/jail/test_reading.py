"""A reading and a writing shell of one session, in every kind of jail that has walls."""

from pathlib import Path

import pytest

from openagent.jail.host import HostJail
from openagent.plugins.jail import Jail, ReadingJail
from openagent.protocol.errors import OpenAgentError

pytestmark = pytest.mark.anyio


@pytest.fixture
def walled(jail: Jail) -> ReadingJail:
    if not isinstance(jail, ReadingJail):
        pytest.skip("it has no walls")
    return jail


async def test_what_runs_behind_the_read_wall_changes_nothing_and_goes_on_where_the_other_was(
    jail: Jail, walled: ReadingJail, workspace: Path
) -> None:
    (workspace / "sub").mkdir()
    shell = await jail.open("session", workspace)
    wrote = await shell.run("cd sub; WORD=one; f() { echo $WORD; }; echo x > made; (exit 3)")
    assert wrote.exit_code == 3
    read = await shell.run("echo $?; pwd; f; cat made; touch more; chmod 777 made; rm made; WORD=two", wall="read")
    assert read.stdout.splitlines() == ["3", str(workspace / "sub"), "one", "x"]
    assert read.stderr.count("\n") == 3
    again = await shell.run("f; cd ..; echo y > more")
    assert (again.stdout, again.stderr) == ("two\n", "")
    assert (await shell.run("pwd; cat more", wall="read")).stdout == f"{workspace}\ny\n"
    assert {path.name for path in workspace.rglob("*")} == {"sub", "made", "more"}
    await shell.close()
    only = await walled.open_reading("session", workspace)
    kept = await only.run("pwd; f; touch no; echo z > /tmp/z && cat /tmp/z")
    assert kept.stdout == f"{workspace}\ntwo\nz\n"
    assert "Read-only file system" in kept.stderr
    await only.close()


async def test_a_reading_command_that_is_killed_or_ends_its_shell_costs_the_writing_one_nothing(
    jail: Jail, walled: ReadingJail, workspace: Path
) -> None:
    del walled
    shell = await jail.open("session", workspace)
    await shell.run("WORD=kept; sleep 60 & echo $! > server")
    for command in ("WORD=lost; sleep 60", "exit 4"):
        await shell.run(command, wall="read", timeout=0.3)
        after = await shell.run("echo $WORD; kill -0 $(cat server) && echo serves; touch made")
        assert after.stdout == "kept\nserves\n"
        assert (await shell.run("echo $WORD", wall="read")).stdout == "kept\n"
    await shell.close()


async def test_without_a_jail_nothing_is_promised(workspace: Path) -> None:
    jail = HostJail()
    assert not isinstance(jail, ReadingJail)
    shell = await jail.open("session", workspace)
    with pytest.raises(OpenAgentError, match="Without a jail"):
        await shell.run("touch made", wall="read")
    with pytest.raises(OpenAgentError, match="plan mode"):
        await jail.start_process(workspace, ["touch", "made"], read_only=True)
    assert not (workspace / "made").exists()
    await shell.close()
