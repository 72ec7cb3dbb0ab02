"""A container whose engine has another kernel than this machine: nothing but files is shared with it."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from openagent.jail.docker import DockerJail
from openagent.plugins.jail import Shell
from openagent.policy.paths import is_secret_file
from openagent.protocol.errors import OpenAgentError
from tests.jail.engine import TestEngine

pytestmark = pytest.mark.anyio


@pytest.fixture
def elsewhere(docker_host: TestEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> TestEngine:
    """The engine, as one in a virtual machine: its kernel is not the one this machine says it has."""
    own = os.uname()
    monkeypatch.setattr(os, "uname", lambda: os.uname_result((*own[:2], "another", *own[3:])))
    monkeypatch.setenv("OPENAGENT_HOME", str(tmp_path / "home"))
    return docker_host


@pytest.fixture
async def far(elsewhere: TestEngine, workspace: Path, tmp_path: Path) -> AsyncIterator[Shell]:
    (workspace / ".env").write_text("KEY=secret\n")
    shell = await DockerJail(is_secret=is_secret_file, log_dir=tmp_path / "logs").open("session", workspace)
    yield shell
    await shell.close()
    assert elsewhere.containers() == []


async def test_no_pipe_is_shared_and_the_shell_is_one_shell(far: Shell, workspace: Path) -> None:
    mounted = "while read -r _ _ _ _ place _; do echo $place; done </proc/self/mountinfo"
    places = await far.run(f"{mounted}; [ -p /run/openagent/1/o ] && echo own")
    assert {"/run/openagent", "/run/openagent-files", str(workspace)} <= set(places.stdout.split())
    assert places.stdout.endswith("own\n")
    await far.run(f"cd {workspace} && mkdir -p below && cd below && export KEPT=yes && false")
    after = await far.run("echo $? $KEPT ${PWD##*/}")
    assert after.stdout == "1 yes below\n"
    assert (await far.run("echo out; echo wrong >&2; exit 7")).stderr == "wrong\n"
    assert (await far.run("echo $KEPT ${PWD##*/}")).stdout == "yes below\n"


async def test_all_that_a_command_printed_is_there_when_it_ends(far: Shell) -> None:
    for number in range(5):
        ran = await far.run(f"seq 1 {3000 + number}; printf 'f%.0s' {{1..40}} >&2")
        assert ran.stdout.split()[-1] == str(3000 + number)
        assert ran.stderr == "f" * 40
    left = await far.run("sleep 1000 & echo begun")
    assert left.stdout == "begun\n"
    assert (await far.run("echo ${1:-next}", merged=True)).stdout == "next\n"


async def test_a_timeout_ends_the_command_and_what_an_earlier_one_left_stays(far: Shell) -> None:
    await far.run("sleep 1000 & echo $! >/tmp/server")
    ran = await far.run("(setsid sleep 2000 &); bash -c 'echo begun; sleep 3000'", timeout=3)
    assert ran.timed_out
    still_there = "for each in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$each; echo; done 2>/dev/null | grep '^sleep'"
    async with asyncio.timeout(60):
        while "sleep 2000" in (seen := (await far.run(still_there)).stdout) or "sleep 3000" in seen:
            pass
    assert "sleep 1000" in seen
    assert (await far.run("kill -0 $(cat /tmp/server) && echo lives")).stdout == "lives\n"


async def test_input_reaches_a_command_that_wants_it(far: Shell) -> None:
    running = asyncio.create_task(far.run("read -r line; echo got $line; cat", interactive=True))
    async with asyncio.timeout(60):
        while True:
            try:
                far.send_input("a word\nthe rest")
                break
            except OpenAgentError:  # it has not begun
                await asyncio.sleep(0)
        far.close_input()
        assert (await running).stdout == "got a word\nthe rest"


async def test_secrets_cannot_be_read_and_reading_shells_cannot_write(far: Shell, workspace: Path) -> None:
    assert "secret" not in (await far.run(f"cat {workspace}/.env")).stdout
    assert (await far.run(f"touch {workspace}/new", wall="read")).exit_code == 1
    assert not (workspace / "new").exists()
    assert (await far.run(f"touch {workspace}/new")).exit_code == 0
    assert (workspace / "new").exists()


async def test_a_repository_that_comes_is_walled_in_the_next_container(far: Shell, workspace: Path) -> None:
    await far.run(f"cd {workspace} && git init -q . && export KEPT=yes")
    ran = await far.run("echo $KEPT; git config core.hooksPath /tmp/x; echo $?")
    assert ran.stdout.startswith("yes\n")
    assert not ran.stdout.endswith("\n0\n")
    assert "hooksPath" not in (workspace / ".git" / "config").read_text()
