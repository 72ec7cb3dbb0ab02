"""A container per session: what it may do, when it goes, and what is said when there can be none."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from openagent.jail.docker import DEFAULT_IMAGE, DockerJail
from openagent.jail.limits import Limits
from openagent.plugins.jail import BackgroundCommand, Shell, Tunnel
from openagent.protocol.errors import ErrorInfo, OpenAgentError
from tests.interaction.loopback import web_server
from tests.jail.engine import WITHOUT_BASH, TestEngine
from tests.jail.fake_engine import Answers, fake_engine
from tests.jail.processes import alive_with, appears, gone_within

pytestmark = pytest.mark.anyio
is_root = os.geteuid() == 0
_START = "POST /containers/c1/start"
_NO_IMAGE: Answers = {"GET /images/": (404, {"message": "no such image"})}


async def _refusal(jail: DockerJail, workspace: Path) -> ErrorInfo:
    with pytest.raises(OpenAgentError) as caught:
        await jail.open("session", workspace)
    assert caught.value.info.code == "jail_error"
    return caught.value.info


# --- what is said when there is no engine, or not the right one ----------------------------------------------------


async def test_an_engine_that_is_not_running_is_named_with_its_reason(workspace: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{workspace}/docker.sock")
    info = await _refusal(DockerJail(), workspace)
    assert f"{workspace}/docker.sock (No such file or directory)" in info.message
    assert "apt-get install docker.io" in info.hint


async def test_without_any_engine_the_error_says_how_to_get_one(workspace: Path, monkeypatch: pytest.MonkeyPatch):
    if any(os.path.exists(path) for path in ("/var/run/docker.sock", "/run/podman/podman.sock")):
        pytest.skip("there is an engine on this machine")
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(workspace))
    info = await _refusal(DockerJail(), workspace)
    assert info.message == "There is no container engine (Docker or Podman) on this machine."
    assert "podman" in info.hint


async def test_an_engine_on_another_machine_is_refused(workspace: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DOCKER_HOST", "tcp://user:s3cret@engine.example:2375")
    info = await _refusal(DockerJail(), workspace)
    assert "shares files with its engine" in info.message
    assert "s3cret" not in f"{info}"


async def test_a_list_of_hosts_is_refused_with_the_alternatives(workspace: Path):
    info = await _refusal(DockerJail(network=["example.com"]), workspace)
    assert 'kind = "bwrap"' in info.hint


async def test_engines_are_looked_for_where_docker_and_podman_have_them(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    if os.path.exists("/var/run/docker.sock"):
        pytest.skip("there is an engine on this machine")
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with fake_engine(tmp_path / "podman/podman.sock", _NO_IMAGE):
        assert "podman.sock has no image" in (await _refusal(DockerJail(), workspace)).message
        with fake_engine(tmp_path / "docker.sock", _NO_IMAGE):
            assert "docker.sock has no image" in (await _refusal(DockerJail(), workspace)).message
            with fake_engine(tmp_path / "named.sock", _NO_IMAGE):
                monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/named.sock")
                assert "named.sock has no image" in (await _refusal(DockerJail(), workspace)).message


async def test_an_image_that_is_not_there_is_named_with_how_to_get_it(workspace: Path, tmp_path: Path):
    with fake_engine(tmp_path / "s", _NO_IMAGE) as engine:
        info = await _refusal(DockerJail(image="mine:2", socket=engine.path), workspace)
    assert "has no image mine:2" in info.message
    assert "docker pull mine:2" in info.hint
    assert "POST /containers/create" not in engine.asked


@pytest.mark.parametrize(
    "complaint",
    [
        'OCI runtime create failed: exec: \\"bash\\": executable file not found in $PATH: unknown',
        "crun: executable file `bash` not found in $PATH: No such file or directory",
    ],
)
async def test_an_image_without_bash_is_refused_and_nothing_is_left(workspace: Path, tmp_path: Path, complaint: str):
    with fake_engine(tmp_path / "s", {_START: (400, {"message": complaint})}) as engine:
        info = await _refusal(DockerJail(image="bare:1", socket=engine.path), workspace)
    assert "bare:1 has no bash" in info.message
    assert engine.asked[-1] == "DELETE /containers/c1"


async def test_what_an_engine_refuses_is_passed_on(workspace: Path, tmp_path: Path):
    with fake_engine(
        tmp_path / "s", {"POST /containers/create": (500, {"message": "no space left on device."})}
    ) as engine:
        info = await _refusal(DockerJail(socket=engine.path), workspace)
    assert info.message == "The container engine refused: no space left on device."


async def test_an_engine_in_a_virtual_machine_is_refused_and_its_container_removed(workspace: Path, tmp_path: Path):
    elsewhere: Answers = {_START: (204, None), "GET /containers/c1/json": (200, {"State": {"Pid": os.getpid()}})}
    with fake_engine(tmp_path / "s", elsewhere) as engine:
        info = await _refusal(DockerJail(socket=engine.path), workspace)
    assert "virtual machine" in info.message
    assert engine.asked[-1] == "DELETE /containers/c1"


async def test_a_socket_nobody_answers_sensibly_at_is_no_engine(workspace: Path, tmp_path: Path):
    server = await asyncio.start_unix_server(lambda _, writer: writer.close(), tmp_path / "s")
    async with server:
        info = await _refusal(DockerJail(socket=str(tmp_path / "s")), workspace)
    assert "No container engine answers" in info.message


async def test_a_rootless_engine_runs_commands_as_the_person_and_the_network_can_be_on(workspace: Path, tmp_path: Path):
    rootless = {"SecurityOptions": ["name=seccomp,profile=default", "name=rootless", "name=selinux"]}
    answers: Answers = {"GET /info": (200, rootless), _START: (400, {"message": "stop here"})}
    with fake_engine(tmp_path / "s", answers) as engine:
        await _refusal(DockerJail(socket=engine.path, network="on", limits=Limits(cpus=1)), workspace)
    created = engine.created[0]
    assert created["User"] == "0:0"
    assert created["HostConfig"]["NetworkMode"] == "default"
    assert "label=disable" in created["HostConfig"]["SecurityOpt"]
    assert not {"Memory", "PidsLimit", "NanoCpus"} & set(created["HostConfig"]), "an engine without groups would refuse"


# --- with a real engine ---------------------------------------------------------------------------------------------


@pytest.fixture
def docker(docker_host: TestEngine) -> Iterator[TestEngine]:
    yield docker_host
    deadline = time.monotonic() + 20
    while left := docker_host.containers():  # a busy engine answers before it has removed one
        assert time.monotonic() < deadline, left


@pytest.fixture
async def boxed(docker: TestEngine, workspace: Path) -> AsyncIterator[Shell]:
    shell = await DockerJail(limits=Limits(cpus=1.5)).open("session", workspace)
    yield shell
    await shell.close()


def _inspect(engine: TestEngine) -> dict[str, Any]:
    return json.loads(engine.docker("inspect", *engine.containers()))[0]


async def test_the_workspace_is_where_it_is_outside_and_its_new_files_belong_to_the_person(
    boxed: Shell, workspace: Path
):
    result = await boxed.run("pwd; id -un; echo $HOME; touch made ~/x /tmp/x; echo problem >&2; (exit 3)")
    assert (result.exit_code, result.stderr) == (3, "problem\n")
    assert result.stdout == f"{workspace}\nagent\n/home/agent\n"
    assert (workspace / "made").stat().st_uid == os.getuid()


async def test_the_container_has_no_rights_no_network_and_the_limits_of_the_session(boxed: Shell, docker: TestEngine):
    host = _inspect(docker)["HostConfig"]
    assert (host["Memory"], host["MemorySwap"], host["PidsLimit"]) == (2 << 30, 2 << 30, 512)
    assert (host["NanoCpus"], host["ReadonlyRootfs"], host["Privileged"]) == (1_500_000_000, True, False)
    assert (host["NetworkMode"], host["CapDrop"], host["ShmSize"]) == ("none", ["ALL"], 64 << 20)
    seen = await boxed.run("grep -c : /proc/net/dev; grep -E 'NoNewPrivs|Seccomp:|CapBnd' /proc/self/status")
    assert seen.stdout.split() == ["1", "CapBnd:", "0000000000000000", "NoNewPrivs:", "1", "Seccomp:", "2"]
    assert (await boxed.run("ulimit -c; ulimit -n; ulimit -f")).stdout.split() == ["0", "4096", str(2 << 20)]


async def test_a_container_reaches_the_hosts_that_are_allowed_and_no_other(docker: TestEngine, workspace: Path):
    if os.geteuid() != 0:
        pytest.skip("only root enters the network of a container of root's engine")
    asked: list[str] = []

    async def ask(session: str, host: str, port: int, tunnel: Tunnel | None) -> str:
        asked.append(f"{session} {host}")
        return "" if host == "far.test" else "not there"

    async with web_server() as far:
        shell = await DockerJail(network="ask", ask=ask, names={"far.test": "127.0.0.1"}).open("session", workspace)
        request = "GET http://%s:{port}/ HTTP/1.1\\r\\n\\r\\n"
        fetch = f"exec 3<>/dev/tcp/127.0.0.1/3128 && printf '{request}' {{host}} >&3 && cat <&3"
        allowed = await shell.run(fetch.format(host="far.test", port=far.port))
        refused = await shell.run(fetch.format(host="near.test", port=far.port))
        await shell.close()
    assert asked == ["session far.test", "session near.test"]
    assert "hello from outside" in allowed.stdout
    assert refused.stdout.endswith("not there\n")


async def test_every_session_has_a_container_of_its_own_that_goes_with_it(docker: TestEngine, tmp_path: Path):
    jail = DockerJail()
    shells: list[Shell] = []
    for name in "ab":
        (tmp_path / name).mkdir()
        shells.append(await jail.open(name, tmp_path / name))
    assert len(docker.containers()) == 2
    await shells[0].run("touch /tmp/mark")
    assert (await shells[1].run(f"ls /tmp/mark {tmp_path}/a")).exit_code == 2
    await shells[0].close()
    assert len(docker.containers()) == 1
    assert (await shells[1].run("echo on")).stdout == "on\n"
    await shells[1].close()


async def test_when_the_container_is_killed_the_session_goes_on_in_a_new_one(boxed: Shell, docker: TestEngine):
    await boxed.run("cd /usr; export KEPT=yes; f() { echo function; }")
    running = asyncio.create_task(boxed.run("echo before; sleep 1000"))
    [first] = docker.containers()
    await asyncio.to_thread(docker.docker, "kill", first)
    async with asyncio.timeout(60):
        assert (await running).exit_code == 137
    assert (await boxed.run("pwd; echo $KEPT; f")).stdout == "/usr\nyes\nfunction\n"
    [second] = docker.containers()
    assert second != first


_DAEMON = """
import asyncio, os, sys
from pathlib import Path
from openagent.jail.docker import DockerJail
async def main():
    shell = await DockerJail().open('s', Path(sys.argv[1]))
    await shell.run(os.environ['COMMAND'])
asyncio.run(main())
"""


async def _killed_daemon(workspace: Path, command: str, marker: str) -> None:
    daemon = subprocess.Popen([sys.executable, "-c", _DAEMON, str(workspace)], env={**os.environ, "COMMAND": command})
    try:
        await appears(marker)
    finally:
        daemon.kill()
        daemon.wait(10)


async def _emptied(engine: TestEngine) -> None:
    async with asyncio.timeout(60):
        while await asyncio.to_thread(engine.containers):
            await asyncio.sleep(0.02)


async def test_when_the_daemon_is_killed_its_containers_end(docker: TestEngine, workspace: Path):
    marker = f"marker-{os.urandom(6).hex()}"
    await _killed_daemon(workspace, f"bash -c 'sleep 1000; true' {marker}", marker)
    assert await gone_within(marker, 5)
    await _emptied(docker)


async def test_a_container_that_outlives_its_daemon_is_removed_by_the_next_and_no_other(
    docker: TestEngine, workspace: Path, monkeypatch: pytest.MonkeyPatch
):
    marker = f"marker-{os.urandom(6).hex()}"
    other = await DockerJail().open("session", workspace)
    await _killed_daemon(workspace, f"exec bash -c 'sleep 1000; true' {marker} 9>/proc/1/fd/0", marker)
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("OPENAGENT_HOME", str(workspace / "other"))
        neighbour = await DockerJail().open("session", workspace)
    assert len(alive_with(marker)) == 1
    again = await DockerJail().open("session", workspace)
    assert not alive_with(marker)
    for shell in (other, neighbour, again):
        assert (await shell.run("echo on")).stdout == "on\n"
        await shell.close()


@pytest.mark.skipif(not is_root, reason="only root can work in another's folder")
async def test_roots_daemon_works_in_anothers_workspace_as_that_user(
    docker: TestEngine, workspace: Path, tmp_path: Path
):
    os.chown(workspace, 12345, 12346)
    shell = await DockerJail(log_dir=tmp_path / "logs").open("session", workspace)
    result = await shell.run(f"id -u; id -g; id -un; touch made; # {'long ' * 3000}")
    killed = await shell.run("sleep 1000", timeout=0.05)
    typed = asyncio.create_task(shell.run("read line; echo got $line", interactive=True))
    await asyncio.sleep(0)
    shell.send_input("hello\n")
    assert (result.stdout, killed.timed_out) == ("12345\n12346\nagent\n", True)
    assert (await typed).stdout == "got hello\n"
    await shell.close()
    assert ((workspace / "made").stat().st_uid, (workspace / "made").stat().st_gid) == (12345, 12346)


async def test_a_long_command_goes_on_in_the_background_of_the_container(docker: TestEngine, workspace: Path):
    ends: asyncio.Queue[BackgroundCommand] = asyncio.Queue()
    jail = DockerJail(background_after=0.1, on_background_end=lambda _, command: ends.put_nowait(command))
    shell = await jail.open("session", workspace)
    moved = await shell.run("until [ -e go ]; do sleep 0.01; done; exit 5")
    assert moved.background
    assert (await shell.run("touch go")).exit_code == 0
    async with asyncio.timeout(60):
        assert (await ends.get()).exit_code == 5
    await shell.close()


async def test_orphans_are_reaped_in_the_container(boxed: Shell):
    await boxed.run("for i in 1 2 3 4 5; do (true & true); done; (sleep 0.01 &) ; sleep 0.1")
    assert (await boxed.run("grep -l '^State:.Z' /proc/[0-9]*/status | wc -l")).stdout.strip() == "0"


async def test_a_real_engine_says_the_same_of_images_it_cannot_use(docker: TestEngine, workspace: Path):
    assert "has no image nonesuch:1" in (await _refusal(DockerJail(image="nonesuch:1"), workspace)).message
    assert "has no bash" in (await _refusal(DockerJail(image=WITHOUT_BASH), workspace)).message


async def test_opening_that_is_cancelled_leaves_no_container(docker: TestEngine, workspace: Path):
    opening = asyncio.create_task(DockerJail().open("session", workspace))
    while not await asyncio.to_thread(docker.containers) and not opening.done():
        await asyncio.sleep(0)
    opening.cancel()
    await asyncio.wait([opening])
    if not opening.cancelled():
        await opening.result().close()


def test_what_is_shown_of_it():
    assert DockerJail().describe() == "docker, no network"
    assert DockerJail(network="on").describe() == "docker, with network"
    assert DockerJail(network="ask").describe() == "docker, network by asking"
    assert DEFAULT_IMAGE.startswith("python:")
