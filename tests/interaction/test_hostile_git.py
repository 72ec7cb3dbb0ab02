"""After a hostile session the person's own git runs nothing, wherever they look."""

import asyncio
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from openagent.protocol.events import ErrorRaised, Event, PermissionRequested, TurnCompleted
from openagent.protocol.undo import SessionUndo

from .doing import answer, shell
from .hostile_git import PLOTS, Plot
from .house import MODEL, House, house, until

pytestmark = pytest.mark.anyio


def _env(home: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}


def _git(cwd: Path, *arguments: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "protocol.file.allow=always")
    return subprocess.run(
        ("git", *identity, *arguments), cwd=cwd, env=dict(env), capture_output=True, text=True, check=False
    )


def _begin(workspace: Path, start: str, env: Mapping[str, str]) -> None:
    workspace.mkdir(parents=True)
    if start == "nothing":
        return

    def git(*arguments: str, cwd: Path = workspace) -> None:
        done = _git(cwd, *arguments, env=env)
        assert done.returncode == 0, done.stderr

    git("init", "-q")
    (workspace / "file").write_text("one\n")
    git("add", "file")
    git("commit", "-qm", "one")
    match start:
        case "work tree settings":
            git("config", "extensions.worktreeConfig", "true")
        case "another work tree":
            git("worktree", "add", "-q", "../other")
        case "submodule":
            made = workspace.parent / "made"
            _begin(made, "repository", env)
            git("submodule", "--quiet", "add", str(made), "sub")
            git("commit", "-qm", "two")
        case "nested":
            git("init", "-q", "own")
        case "own hooks":
            (workspace / ".githooks").mkdir()
            git("config", "core.hooksPath", ".githooks")
        case "own include":
            (workspace / ".gitconfig").write_text("[alias]\n\tst = status\n")
            git("config", "include.path", "../.gitconfig")
        case "own filter":
            (workspace / "clean.sh").write_text("cat\n")
            (workspace / ".gitattributes").write_text("file filter=mine\n")
            git("config", "filter.mine.clean", "sh ./clean.sh")
        case _:
            pass


def _command(plot: Plot, canary: Path) -> str:
    command = re.sub(r"SET (\S+?)(?=;|$)", r"git config -f \1 core.fsmonitor 'EVIL'", plot.command)
    return command.replace("EVIL", f"touch {canary} #")


def _look_around(plot: Plot, workspace: Path, env: Mapping[str, str]) -> None:
    for place in plot.looks:
        if (workspace / place).is_dir():
            _git(workspace / place, "status", env=env)


async def _play(house: House, plots: list[Plot], env: Mapping[str, str], root: Path) -> dict[str, list[str]]:
    """Each in a session and a workspace of its own; what the person was told, by the plot's name."""
    told: dict[str, list[str]] = {}
    async with await house.client() as client:
        for number, plot in enumerate(plots):
            workspace = root / str(number) / "workspace"
            _begin(workspace, plot.start, env)
            session = await client.create_session(str(workspace), model="compatible/scripted", mode="full")
            attachment = await client.attach(session.id)
            await client.send(session.id, f"plot {number}!")
            events: list[Event] = []
            while not any(isinstance(event, TurnCompleted) for event in events):
                events += await until(attachment, lambda event: isinstance(event, PermissionRequested | TurnCompleted))
                if isinstance(asking := events[-1], PermissionRequested):
                    await answer(client, asking, decision="allow")  # a person who does not read
            told[plot.name] = [event.error.message for event in events if isinstance(event, ErrorRaised)]
    return told


async def test_the_first_git_status_after_a_hostile_session_runs_nothing(tmp_path: Path) -> None:
    env, canaries = _env(tmp_path), tmp_path / "canaries"
    canaries.mkdir()
    script = {
        "conversations": [
            {"match": f"plot {number}!", "steps": [shell(_command(plot, canaries / str(number))), {"text": "done"}]}
            for number, plot in enumerate(PLOTS)
        ]
    }
    async with house(tmp_path, script) as h:
        told = await _play(h, PLOTS, env, tmp_path / "places")
        for number, plot in enumerate(PLOTS):
            _look_around(plot, tmp_path / "places" / str(number) / "workspace", env)
        open_still = [PLOTS[int(name)].name for name in os.listdir(canaries)]
    for number, plot in enumerate(PLOTS):
        _look_around(plot, tmp_path / "places" / str(number) / "workspace", env)
    assert open_still == []
    assert [PLOTS[int(name)].name for name in os.listdir(canaries)] == []
    for name in ("a gitlink", "a new repository", "a bare repository in a subfolder", "a clone with settings"):
        # A busy machine may stop the plot at its first setting, before it comes to the other.
        settings = ("core.fsmonitor", "core.worktree")
        assert any(setting in message for setting in settings for message in told[name]), (name, told[name])


async def test_a_repository_whose_name_is_no_text_is_disarmed_and_told_of(tmp_path: Path) -> None:
    command = "git init -q $'n\\xff'; printf '[core]\\n\\tfsmonitor = evil\\n' >> $'n\\xff/.git/config'"
    async with house(tmp_path, [shell(command), {"text": "done"}]) as h, await h.client() as client:
        session = (await client.create_session(str(h.workspace), model=MODEL, mode="full")).id
        attachment = await client.attach(session)
        await client.send(session, "go")
        completed, seen = await attachment.until_turn_ends()
    told = [event.error.message for event in seen if isinstance(event, ErrorRaised)]
    assert completed.reason == "done", completed.error
    assert any("n\\xff" in message and "core.fsmonitor" in message for message in told), told
    config = tmp_path / "workspace" / os.fsdecode(b"n\xff") / ".git/config"
    assert "evil" not in config.read_text()


@pytest.mark.parametrize("plot", PLOTS, ids=lambda plot: plot.name)
def test_the_plot_is_a_real_one(tmp_path: Path, plot: Plot) -> None:
    workspace, env = tmp_path / "workspace", _env(tmp_path)
    _begin(workspace, plot.start, env)
    subprocess.run(
        ("bash", "-c", _command(plot, tmp_path / "canary")), cwd=workspace, env=env, check=False, capture_output=True
    )
    (tmp_path / "canary").unlink(missing_ok=True)
    _look_around(plot, workspace, env)
    assert (tmp_path / "canary").exists()


_LIKE_OTHERS = """\
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
for right in (1, 2):  # to pass over, and to read past, what a file's mode says
    if libc.prctl(24, right, 0, 0, 0):
        sys.exit(77)
os.execv(sys.executable, [sys.executable, "-m", "pytest", *sys.argv[1:]])
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="others have no such rights")
@pytest.mark.timeout(280)
def test_the_same_holds_where_a_files_mode_does() -> None:
    """Root lists what nobody may list, which makes nothing of some plots: here root has that right no more."""
    chosen = ("-k", "first_git_status or real_one", "-p", "no:cacheprovider")
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    with tempfile.TemporaryDirectory() as place:  # a socket's path has to be short
        said = Path(place, "said")  # not a pipe, which whatever a plot leaves running would hold open
        with said.open("w") as output:
            done = subprocess.run(
                (sys.executable, "-c", _LIKE_OTHERS, __file__, *chosen, "--basetemp", f"{place}/t"),
                cwd=Path(__file__).parents[2],
                env=env,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
        told = said.read_text()
    if done.returncode == 77:
        pytest.skip("root may not lay down rights on this machine")
    assert done.returncode == 0, told
    assert f"{len(PLOTS) + 1} passed" in told


async def test_a_process_that_a_command_left_behind_plants_nothing(tmp_path: Path) -> None:
    workspace, env, canary = tmp_path / "workspace", _env(tmp_path), tmp_path / "canary"
    _begin(workspace, "repository", env)
    make = "git init -q sub; git -C sub -c user.name=x -c user.email=x commit -q --allow-empty -m x; git add sub"
    plant = f"git config -f sub/.git/config core.fsmonitor 'touch {canary} #'; rm -rf sub/.git"
    later = f"(until [ -e go ]; do sleep 0.01; done; {plant}; echo tried > tried) >/dev/null 2>&1 &"
    async with house(tmp_path, [shell(f"{make}; {later}"), {"text": "done"}]) as h, await h.client() as client:
        session = await client.create_session(str(workspace), model="compatible/scripted", mode="full")
        attachment = await client.attach(session.id)
        await client.send(session.id, "go")
        await attachment.until_turn_ends()
        (workspace / "go").touch()
        while not (workspace / "tried").exists():
            await asyncio.sleep(0.01)
        assert "fsmonitor" not in (workspace / "sub/.git/config").read_text()
    _git(workspace, "status", env=env)
    assert not canary.exists()


async def test_a_repository_that_a_command_emptied_comes_back_whole(tmp_path: Path) -> None:
    workspace, env = tmp_path / "workspace", _env(tmp_path)
    _begin(workspace, "repository", env)
    _git(workspace, "gc", "-q", env=env)
    (workspace / "file").write_text("two\n")
    _git(workspace, "commit", "-qam", "two", env=env)
    before = _git(workspace, "log", "--format=%H %s", env=env).stdout
    async with house(tmp_path, [shell("rm -rf .git; ls -A .git"), {"text": "done"}]) as h, await h.client() as client:
        session = await client.create_session(str(workspace), model="compatible/scripted", mode="full")
        attachment = await client.attach(session.id)
        await client.send(session.id, "go")
        seen = await until(attachment, lambda event: isinstance(event, PermissionRequested | TurnCompleted))
        if isinstance(asking := seen[-1], PermissionRequested):
            await answer(client, asking, decision="allow")
            await attachment.until_turn_ends()
        assert _git(workspace, "log", env=env).returncode != 0
        rewound = await client.request(
            SessionUndo(id=client.next_id(), session=session.id, turn=1, git_state=True, conversation=True)
        )
        assert rewound.git.startswith("restored"), rewound
    assert _git(workspace, "log", "--format=%H %s", env=env).stdout == before
    assert _git(workspace, "fsck", env=env).returncode == 0
    assert _git(workspace, "status", "--short", env=env).stdout == ""
