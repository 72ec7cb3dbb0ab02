"""Commit, branch, push and pull request by a person's click, against real repositories and a forge's program."""

import os
import subprocess
from pathlib import Path

import pytest

from openagent.client import Client
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.repository import GitBranch, GitCommit, GitPullRequest, GitPush, GitStatus
from openagent.protocol.safety import AuditAsk

from .doing import ask, shell, turn
from .house import House, house, new_session

pytestmark = pytest.mark.anyio


def git(folder: Path, *words: str) -> str:
    author = ["-c", "user.name=n", "-c", "user.email=n@x"]
    return subprocess.run(
        ["git", *author, "-C", str(folder), *words], check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture(autouse=True)
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Whose git settings hold; with a program of the forge that writes down what it is asked."""
    settings = tmp_path / "gitconfig"
    settings.write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    programs = tmp_path / "programs"
    programs.mkdir()
    forge = programs / "gh"
    forge.write_text(
        f'#!/bin/sh\nprintf "%s|" "$@" > "{tmp_path}/asked"\n'
        f'[ -e "{tmp_path}/refuse" ] && echo "no login" >&2 && exit 4\n'
        'echo "Creating pull request"; echo https://forge.test/x/pull/7\n'
    )
    forge.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    return settings


def repository(folder: Path, *, remote: Path | None = None) -> None:
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
    (folder / "a.txt").write_text("start\n")
    (folder / "mine.txt").write_text("start\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    if remote is not None:
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(remote)], check=True)
        git(folder, "remote", "add", "origin", str(remote))
        git(folder, "push", "-q", "origin", "main")


async def worked(h: House, client: Client) -> str:
    session = await new_session(h, client, mode="full", name="Fix the greeting")
    await turn(client, await client.attach(session))
    return session


WORK = [shell("echo changed > a.txt; echo new > 'new file.txt'"), {"text": "done"}]


async def test_the_sessions_files_are_committed_and_what_the_person_has_at_hand_is_not(tmp_path: Path) -> None:
    async with house(tmp_path, WORK) as h, await h.client() as client:
        repository(h.workspace)
        session = await worked(h, client)
        (h.workspace / "mine.txt").write_text("mine\n")
        git(h.workspace, "add", "mine.txt")
        state = await ask(client, GitStatus, session=session)
        assert (state.problem, state.branch, state.remote) == ("", "main", "")
        assert {file.path: (file.status, file.own, file.staged) for file in state.files} == {
            "a.txt": ("M", True, False),
            "mine.txt": ("M", False, True),
            "new file.txt": ("A", True, False),
        }
        assert state.message == "Fix the greeting"
        done = await ask(client, GitCommit, session=session, message="Change it\n\nWith a body.")
        assert (done.branch, done.files, done.subject) == ("main", 2, "Change it")
        shown = git(h.workspace, "show", "--name-only", "--format=%an %B").split("\n")
        assert [line for line in shown if line] == ["Ada Change it", "With a body.", "a.txt", "new file.txt"]
        assert git(h.workspace, "diff", "--cached", "--name-only") == "mine.txt"
        with pytest.raises(OpenAgentError, match="nothing to commit"):
            await ask(client, GitCommit, session=session, message="Again")
        await ask(client, GitCommit, session=session, message="Mine", paths=["mine.txt"])
        assert git(h.workspace, "status", "--porcelain") == ""
        trail = (await ask(client, AuditAsk, session=session, kind="git")).entries
        assert [row.subject.split(" ")[0] for row in trail] == ["commit", "commit"]


async def test_a_branch_is_pushed_and_a_pull_request_is_opened_for_it(tmp_path: Path) -> None:
    async with house(tmp_path, WORK) as h, await h.client() as client:
        repository(h.workspace, remote=tmp_path / "far.git")
        session = await worked(h, client)
        with pytest.raises(OpenAgentError, match="This is the branch main itself"):
            await ask(client, GitPullRequest, session=session, title="T")
        assert (await ask(client, GitBranch, session=session, name="fix/greeting")).branch == "fix/greeting"
        await ask(client, GitCommit, session=session, message="Change it")
        state = await ask(client, GitStatus, session=session)
        assert (state.branch, state.base, state.ahead, state.upstream, state.forge) == (
            *("fix/greeting", "main", 1, "", "gh"),
        )
        opened = await ask(client, GitPullRequest, session=session, title="Greet", body="-- y", base="main", draft=True)
        assert opened.url == "https://forge.test/x/pull/7"
        assert (tmp_path / "asked").read_text() == (
            "pr|create|--title|Greet|--body|-- y|--head|fix/greeting|--base|main|--draft|"
        )
        assert git(tmp_path / "far.git", "log", "--format=%s", "fix/greeting") == "Change it\nfirst"
        state = await ask(client, GitStatus, session=session)
        assert (state.upstream, state.ahead) == ("origin/fix/greeting", 0)
        (tmp_path / "refuse").touch()
        with pytest.raises(OpenAgentError, match="gh did not open a pull request: no login"):
            await ask(client, GitPullRequest, session=session, title="Greet")


async def test_files_that_run_outside_the_sandbox_are_marked_until_the_pull_request_is_open(tmp_path: Path) -> None:
    script = [shell("mkdir -p web; echo x | tee Makefile web/package.json plain.txt; rm a.txt"), {"text": "done"}]
    async with house(tmp_path, script) as h, await h.client() as client:
        repository(h.workspace, remote=tmp_path / "far.git")
        session = await worked(h, client)
        marks = {"Makefile": "make or build", "web/package.json": "package manager", "plain.txt": "", "a.txt": ""}
        state = await ask(client, GitStatus, session=session)
        assert {file.path: file.runs_outside for file in state.files} == marks
        assert state.runs_outside == {}
        await ask(client, GitBranch, session=session, name="build")
        await ask(client, GitCommit, session=session, message="Build it")
        found = {path: reason for path, reason in marks.items() if reason}
        assert (await ask(client, GitStatus, session=session)).runs_outside == found
        assert (await ask(client, GitPullRequest, session=session, title="Build")).runs_outside == found


async def test_what_cannot_be_done_is_said_in_a_sentence(tmp_path: Path, person: Path) -> None:
    async with house(tmp_path, WORK) as h, await h.client() as client:
        session = await worked(h, client)
        assert (await ask(client, GitStatus, session=session)).problem.startswith(
            "The workspace is not a git repository."
        )
        repository(h.workspace)
        (h.workspace / "a.txt").write_text("once more\n")
        with pytest.raises(OpenAgentError, match="has no remote to push to"):
            await ask(client, GitPush, session=session)
        for name, why in (("main", "There is a branch main already"), ("a b", "cannot be the name"), ("-x", "cannot")):
            with pytest.raises(OpenAgentError, match=why):
                await ask(client, GitBranch, session=session, name=name)
        with pytest.raises(OpenAgentError, match="has no change that could be committed"):
            await ask(client, GitCommit, session=session, message="x", paths=["../outside"])
        with pytest.raises(OpenAgentError, match="needs a message"):
            await ask(client, GitCommit, session=session, message=" \n")
        person.write_text("[user]\n\tuseConfigOnly = true\n")
        with pytest.raises(OpenAgentError, match="does not know who you are"):
            await ask(client, GitCommit, session=session, message="x", paths=["a.txt"])
        assert git(h.workspace, "diff", "--cached", "--name-only") == ""
        git(h.workspace, "checkout", "-q", "--detach")
        with pytest.raises(OpenAgentError, match="HEAD is detached"):
            await ask(client, GitCommit, session=session, message="x", paths=["a.txt"])


async def test_a_push_that_the_remote_does_not_take_is_told(tmp_path: Path) -> None:
    async with house(tmp_path, WORK) as h, await h.client() as client:
        repository(h.workspace, remote=tmp_path / "far.git")
        subprocess.run(["git", "clone", "-q", str(tmp_path / "far.git"), str(tmp_path / "other")], check=True)
        git(tmp_path / "other", "commit", "-q", "--allow-empty", "-m", "theirs")
        git(tmp_path / "other", "push", "-q")
        session = await worked(h, client)
        await ask(client, GitCommit, session=session, message="Change it")
        with pytest.raises(OpenAgentError, match="origin has commits on main that are not here"):
            await ask(client, GitPush, session=session)


async def test_neither_hooks_nor_settings_of_the_repository_run_anything(tmp_path: Path) -> None:
    async with house(tmp_path, WORK) as h, await h.client() as client:
        repository(h.workspace, remote=tmp_path / "far.git")
        ran = tmp_path / "ran"
        for name in ("pre-commit", "post-commit", "post-checkout", "pre-push"):
            hook = h.workspace / ".git" / "hooks" / name
            hook.parent.mkdir(exist_ok=True)
            hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
            hook.chmod(0o755)
        session = await worked(h, client)
        assert "pre-commit" in (await ask(client, GitStatus, session=session)).hooks
        git(h.workspace, "config", "core.fsmonitor", f"touch {ran}")
        git(h.workspace, "config", "core.pager", f"touch {ran}")
        await ask(client, GitBranch, session=session, name="aside")
        await ask(client, GitCommit, session=session, message="Change it")
        await ask(client, GitPush, session=session)
        assert not ran.exists()
        for key in ("filter.x.clean", "core.sshCommand", "remote.origin.receivepack", "gpg.program", "include.path"):
            git(h.workspace, "config", key, f"touch {ran}")
            with pytest.raises(OpenAgentError, match=key.lower()):
                await ask(client, GitPush, session=session)
            assert key.lower() in (await ask(client, GitStatus, session=session)).problem
            subprocess.run(["git", "config", "--file", f"{h.workspace}/.git/config", "--unset", key], check=True)
        assert not ran.exists()


def hook(folder: Path, name: str, marker: Path) -> None:
    (folder / name).write_text(f'#!/bin/sh\ntouch "{marker}"\n')
    (folder / name).chmod(0o755)


@pytest.mark.parametrize("address", ["far.git", "file://{workspace}/far.git", "{workspace}/way/../far.git"])
async def test_nothing_is_pushed_to_a_repository_that_lies_in_the_workspace(tmp_path: Path, address: str) -> None:
    async with house(tmp_path, WORK) as h, await h.client() as client:
        repository(h.workspace)
        (h.workspace / "way").mkdir()
        subprocess.run(["git", "init", "-q", "--bare", str(h.workspace / "far.git")], check=True)
        hook(h.workspace / "far.git/hooks", "pre-receive", tmp_path / "ran")
        git(h.workspace, "remote", "add", "origin", address.format(workspace=h.workspace))
        session = await worked(h, client)
        await ask(client, GitBranch, session=session, name="fix")
        with pytest.raises(OpenAgentError, match="lies in the workspace"):
            await ask(client, GitPush, session=session)
        assert not (tmp_path / "ran").exists()


async def test_a_repository_inside_the_repository_runs_nothing(tmp_path: Path) -> None:
    async with house(tmp_path, WORK) as h, await h.client() as client:
        repository(h.workspace)
        inner = h.workspace / "inner"
        repository(inner)
        git(h.workspace, "add", "inner")
        git(h.workspace, "commit", "-qm", "with another")
        git(inner, "config", "filter.x.clean", f'touch "{tmp_path}/ran"; cat')
        git(inner, "config", "core.fsmonitor", f'touch "{tmp_path}/ran"; false')
        (inner / ".gitattributes").write_text("* filter=x\n")
        (inner / "a.txt").write_text("other\n")
        session = await worked(h, client)
        state = await ask(client, GitStatus, session=session)
        assert {file.path for file in state.files} == {"a.txt", "new file.txt"}
        await ask(client, GitCommit, session=session, message="Change it")
        assert not (tmp_path / "ran").exists()
