"""Commands that run long move to the background by themselves."""

import asyncio
from pathlib import Path

import pytest

from openagent.jail.bwrap import BwrapJail
from openagent.jail.host import HostJail
from openagent.plugins.jail import BackgroundCommand
from openagent.protocol.errors import OpenAgentError
from tests.jail.conftest import needs_bwrap
from tests.jail.processes import appears, gone_within

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.parametrize("kind", [HostJail, pytest.param(BwrapJail, marks=needs_bwrap)]),
]

Kind = type[HostJail] | type[BwrapJail]


async def test_a_long_command_goes_on_in_the_background_and_its_end_is_reported(kind: Kind, workspace: Path):
    ends: asyncio.Queue[tuple[str, BackgroundCommand]] = asyncio.Queue()

    def on_end(session: str, command: BackgroundCommand) -> None:
        ends.put_nowait((session, command))

    jail = kind(background_after=0.2, on_background_end=on_end)
    shell = await jail.open("session", workspace)
    await shell.run("cd /; export KEPT=yes; f() { echo fn; }")
    command = f"echo started; until [ -e {workspace}/go ]; do sleep 0.01; done; echo finished; exit 5"
    result = await shell.run(command)
    assert (result.exit_code, result.stdout, bool(result.background)) == (None, "started\n", True)
    assert [(item.id, item.running) for item in shell.background()] == [(result.background, True)]
    assert (await shell.run("pwd; echo $KEPT; f")).stdout == "/\nyes\nfn\n"
    assert shell.read_background(result.background).stdout == "started\n"
    (workspace / "go").touch()
    async with asyncio.timeout(60):
        session, end = await ends.get()
    assert session == "session"
    assert (end.id, end.command, end.running, end.exit_code) == (result.background, command, False, 5)
    assert shell.read_background(result.background).stdout == "started\nfinished\n"
    await shell.close()


async def test_a_server_in_the_background_is_reachable_from_the_next_command(kind: Kind, workspace: Path):
    ended = asyncio.Event()
    jail = kind(background_after=0.3, on_background_end=lambda _session, _command: ended.set())
    shell = await jail.open("session", workspace)
    serve = (
        "python3 -c \"import http.server as h; s=h.HTTPServer(('127.0.0.1',0),h.SimpleHTTPRequestHandler);"
        "open('port','w').write(str(s.server_port)); s.serve_forever()\""
    )
    served = await shell.run(serve)
    assert served.background
    fetched = await shell.run(
        "until [ -s port ]; do sleep 0.01; done; "
        "python3 -c \"import urllib.request as u; print(u.urlopen('http://127.0.0.1:'+open('port').read()).status)\""
    )
    if fetched.background:
        async with asyncio.timeout(20):
            await ended.wait()
        fetched = shell.read_background(fetched.background)
    assert fetched.stdout == "200\n"
    await shell.close()


async def test_a_background_command_can_be_killed_and_others_live_on(kind: Kind, workspace: Path):
    marker = f"killed-{workspace.parent.name}-{kind.kind}"
    shell = await kind(background_after=0.1).open("session", workspace)
    first = await shell.run(f"bash -c 'sleep 1000; true' {marker}")
    second = await shell.run("sleep 1000")
    await appears(marker)
    killed = await shell.kill_background(first.background)
    assert killed.exit_code is None
    assert await gone_within(marker, 0.1)
    assert [item.running for item in shell.background()] == [False, True]
    assert second.background != first.background
    with pytest.raises(OpenAgentError, match="no background command"):
        shell.read_background("bg99")
    await shell.close()


async def test_a_shorter_timeout_still_kills(kind: Kind, workspace: Path):
    shell = await kind(background_after=5).open("session", workspace)
    result = await shell.run("sleep 100", timeout=0.05)
    assert (result.timed_out, result.background) == (True, "")
    await shell.close()
