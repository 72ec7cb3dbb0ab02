"""A quota holds in the copy it was given to, for as long as the copy lives."""

from pathlib import Path

import pytest

from openagent.client import Client
from openagent.daemon.lifecycle import HomeLock
from openagent.protocol import events as e
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.workspaces import WorkspacesCreate

from .doing import answer, ask, results_of, shell, write
from .house import house, until

MEGABYTE = 1 << 20


async def _finish(client: Client, session: str) -> None:
    attachment = await client.attach(session)
    await client.send(session, "go")
    while True:
        event = (await until(attachment, lambda seen: isinstance(seen, e.PermissionRequested | e.TurnCompleted)))[-1]
        if isinstance(event, e.TurnCompleted):
            return
        assert isinstance(event, e.PermissionRequested)
        await answer(client, event, decision="allow")


@pytest.mark.anyio
async def test_a_full_copy_takes_no_more_until_something_is_removed(tmp_path: Path) -> None:
    script = [
        shell("head -c 60000000 /dev/zero > one; code=$?; rm -f one; exit $code"),
        shell("for i in 1 2 3 4; do head -c 3000000 /dev/zero > part$i; done"),
        write("more", "x"),
        shell("echo x > more"),
        shell("rm -f part1 part2 part3"),
        shell("echo x > more"),
        {"text": "done"},
    ]
    async with house(tmp_path, script) as h, await h.client() as client:
        (h.workspace / "file").write_text("one\n")
        copy = await ask(client, WorkspacesCreate, cwd=str(h.workspace), name="small", max_bytes=10 * MEGABYTE)
        session = await client.create_session(copy.path, model="compatible/scripted", mode="full")
        await _finish(client, session.id)
        single, many, tool, command, removed, again = await results_of(client, session.id)
        assert (Path(copy.path) / "more").read_text() == "x\n"
    assert single.is_error
    assert not many.is_error
    for refused in (tool, command):
        assert "its quota is 10,485,760" in refused.text
    assert not removed.is_error
    assert not again.is_error


@pytest.mark.anyio
@pytest.mark.parametrize("quota", [{"max_bytes": -1}, {"max_files": 0}])
async def test_a_quota_that_allows_nothing_is_refused_when_it_is_set(tmp_path: Path, quota: dict[str, int]) -> None:
    async with house(tmp_path, [{"text": "hello"}]) as h, await h.client() as client:
        with pytest.raises(OpenAgentError, match="above 0"):
            await ask(client, WorkspacesCreate, cwd=str(h.workspace), name="none", **quota)


def test_a_data_home_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o755)
    lock = HomeLock(home)
    lock.acquire()
    assert home.stat().st_mode & 0o777 == 0o700
    lock.release()
