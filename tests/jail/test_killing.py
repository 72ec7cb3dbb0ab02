"""Timeouts, cancellation and closing: nothing of a command outlives it, and nothing else dies with it."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from openagent.jail.bwrap import BwrapJail
from openagent.jail.host import HostJail
from openagent.plugins.jail import Jail, Shell
from tests.jail.conftest import needs_bwrap
from tests.jail.processes import alive_with, appears, gone_within

pytestmark = pytest.mark.anyio

STUBBORN = (
    "python3 -c 'import os,signal,time;signal.signal(15,1);signal.signal(2,1);"
    "os.getsid(0)==os.getpid() or os.setsid();"
    "os.fork() or os.fork();time.sleep(1000)' {marker}"
)
"""Ignores signals, leaves its session, forks and lets itself be orphaned."""


@pytest.fixture
def marker() -> str:
    return f"marker-{os.urandom(6).hex()}"


@pytest.mark.parametrize(
    "command",
    [
        "sleep 1000 {marker} 2>/dev/null; exec -a {marker} sleep 1000",
        "bash -c 'sleep 1000; true' {marker}",
        "bash -c 'sleep 1000; true' {marker} | cat | cat",
        STUBBORN,
        f"({STUBBORN} &) ; {STUBBORN}",
        f"nohup setsid {STUBBORN} >/dev/null 2>&1 & bash -c 'sleep 1000; true' {{marker}}",
        "trap '' INT TERM; bash -c 'sleep 1000; true' {marker}; bash -c 'sleep 1000; true' {marker}",
    ],
)
async def test_a_timeout_kills_all_that_the_command_started(shell: Shell, command: str, marker: str, workspace: Path):
    await shell.run("cd /; export KEPT=yes")
    running = asyncio.create_task(shell.run(f"{command}; touch {workspace}/went-on".format(marker=marker), timeout=0.6))
    await appears(marker)
    result = await running
    assert result.timed_out
    assert result.exit_code is None
    assert await gone_within(marker, 0.1)
    after = await shell.run("pwd; echo $KEPT")
    assert after.stdout == "/\nyes\n"
    assert not (workspace / "went-on").exists()


async def test_a_busy_loop_in_the_shell_itself_is_killed_too(shell: Shell):
    started = time.perf_counter()
    result = await shell.run("echo before; while :; do :; done", timeout=0.1)
    assert time.perf_counter() - started < 2
    assert (result.timed_out, result.stdout) == (True, "before\n")
    assert (await shell.run("echo on")).stdout == "on\n"


async def test_a_cancelled_command_leaves_no_process_after_a_tenth_of_a_second(shell: Shell, marker: str):
    task = asyncio.create_task(shell.run(STUBBORN.format(marker=marker) + "; sleep 100"))
    await appears(marker)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await gone_within(marker, 0.1)
    assert (await shell.run("echo on")).stdout == "on\n"


async def test_what_an_earlier_commands_server_starts_survives_a_later_commands_end(shell: Shell, marker: str):
    await shell.run(f"(while [ ! -e asked ]; do sleep 0.01; done; bash -c 'sleep 1000; true' {marker}; true) &")
    asking = asyncio.create_task(shell.run("touch asked; sleep 1000"))
    await appears(marker)
    workers = alive_with(marker)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert (await shell.run("echo on")).stdout == "on\n"
    assert set(alive_with(marker)) & set(workers)


async def test_an_earlier_commands_server_survives_a_later_timeout(shell: Shell, marker: str):
    await shell.run(f"exec -a {marker} sleep 1000 &")
    await appears(marker)
    assert (await shell.run("sleep 100", timeout=0.05)).timed_out
    assert len(alive_with(marker)) == 1


async def test_closing_the_shell_leaves_nothing_behind(jail: Jail, workspace: Path, marker: str):
    shell = await jail.open("session", workspace)
    await shell.run(f"bash -c 'sleep 1000; true' {marker} &")
    await shell.run(f"nohup setsid {STUBBORN.format(marker=marker)} >/dev/null 2>&1 &")
    await appears(marker, 2)
    await shell.close()
    assert await gone_within(marker, 0.2)


async def test_closing_while_a_command_runs_ends_the_command(jail: Jail, workspace: Path, marker: str):
    shell = await jail.open("session", workspace)
    running = asyncio.create_task(shell.run(f"bash -c 'sleep 1000; true' {marker}"))
    await appears(marker)
    await shell.close()
    async with asyncio.timeout(60):
        assert (await running).exit_code == 137
    assert await gone_within(marker, 0.2)


@needs_bwrap
async def test_killing_bubblewrap_leaves_no_orphan_and_the_session_goes_on(workspace: Path, marker: str):
    shell = await BwrapJail().open("session", workspace)
    running = asyncio.create_task(shell.run(f"bash -c 'sleep 1000; true' {marker}"))
    await appears(marker)
    inner = alive_with(marker)[0]
    while "bwrap" not in (parent := Path(f"/proc/{_parent(inner)}/cmdline").read_text()):
        inner = _parent(inner)
    assert parent
    os.kill(_parent(inner), signal.SIGKILL)
    async with asyncio.timeout(60):
        result = await running
    assert result.exit_code == 137
    assert await gone_within(marker, 0.2)
    assert (await shell.run("echo on")).stdout == "on\n"
    await shell.close()


@pytest.mark.parametrize("kind", ["HostJail", pytest.param("BwrapJail", marks=needs_bwrap)])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_when_the_daemon_dies_its_jails_die_with_it(
    workspace: Path, marker: str, number: signal.Signals, kind: str
):
    program = (
        "import asyncio, sys; from pathlib import Path\n"
        "from openagent.jail.bwrap import BwrapJail; from openagent.jail.host import HostJail\n"
        "async def main():\n"
        f"    idle = await {kind}().open('idle', Path(sys.argv[1]))\n"
        f"    shell = await {kind}().open('s', Path(sys.argv[1]))\n"
        f"    sleeper = \"bash -c 'sleep 1000; true' {marker}\"\n"
        "    await shell.run(f'nohup setsid {sleeper} & {sleeper}')\n"
        "asyncio.run(main())"
    )
    daemon = subprocess.Popen([sys.executable, "-c", program, str(workspace)])
    try:
        await appears(marker, 3)
        daemon.send_signal(number)
    finally:
        daemon.wait(10)
    assert await gone_within(marker, 5)
    assert await gone_within(f"openagent-shell-{daemon.pid}-", 5)


@needs_bwrap
async def test_a_daemon_that_sees_no_process_of_another_leaves_its_folders(workspace: Path):
    """Two containers may share their memory without seeing each other's processes."""
    program = (
        "import asyncio, sys; from pathlib import Path\n"
        "from openagent.jail.host import HostJail\n"
        "async def main():\n"
        "    shell = await HostJail().open('s', Path(sys.argv[1]))\n"
        "    await shell.run('true')\n"
        "    print('ready', flush=True)\n"
        "    sys.stdin.readline()\n"
        "    print((await shell.run('echo still here')).stdout)\n"
        "    await shell.close()\n"
        "asyncio.run(main())"
    )
    apart = ("unshare", "-rpf", "--mount-proc")
    run = (sys.executable, "-c", program, str(workspace))
    late = ("bash", "-c", '(:); (:); (:); "$@"; exit', "later")  # a process number that means nobody to the other
    pipe = subprocess.PIPE
    with subprocess.Popen((*apart, *late, *run), stdin=pipe, stdout=pipe, text=True) as one:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
        with subprocess.Popen((*apart, *run), stdin=pipe, stdout=pipe, text=True) as other:
            assert other.communicate("\n")[0] == "ready\nstill here\n\n"
        assert one.communicate("\n")[0] == "still here\n\n"


async def test_a_command_cannot_take_the_daemon_down_with_it(workspace: Path):
    shell = await HostJail().open("session", workspace)
    result = await shell.run("kill -9 -$$; kill -9 0; sleep 5", timeout=60)
    assert result.exit_code == 137
    assert (await shell.run("echo on")).stdout == "on\n"
    await shell.close()


@needs_bwrap
async def test_killing_every_process_inside_ends_that_jail_only(workspace: Path):
    shell = await BwrapJail().open("session", workspace)
    result = await shell.run("kill -9 -1; sleep 5", timeout=60)
    assert result.exit_code == 137
    assert (await shell.run("echo on")).stdout == "on\n"
    await shell.close()


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


async def test_processes_are_found_where_the_kernel_does_not_list_children(
    shell: Shell, marker: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("openagent.jail.processes._kernel_lists_children", lambda: False)
    running = asyncio.create_task(shell.run(STUBBORN.format(marker=marker), timeout=0.4))
    await appears(marker)
    assert (await running).timed_out
    assert await gone_within(marker, 0.2)


async def test_a_hundred_servers_left_running_do_not_use_up_the_daemons_files(shell: Shell):
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(100):
        await shell.run("sleep 1000 &", timeout=60)
    assert len(os.listdir("/proc/self/fd")) - before < 80
    assert (await shell.run("jobs -r | wc -l", timeout=60)).stdout.strip() == "100"
