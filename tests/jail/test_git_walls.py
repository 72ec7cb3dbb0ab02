"""Git inside the jail: what it may do, what it may not, and that the walls stand again when they fall."""

import os
import subprocess
from pathlib import Path

import pytest

from openagent.jail.bwrap import BwrapJail
from openagent.jail.git_walls import is_walled
from openagent.jail.limits import Limits
from openagent.policy.paths import is_secret_file
from tests.jail.conftest import needs_bwrap

pytestmark = [pytest.mark.anyio, needs_bwrap]


def _git(*arguments: str, cwd: Path) -> str:
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.com")
    done = subprocess.run(("git", *identity, *arguments), cwd=cwd, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def repository(workspace: Path) -> Path:
    _git("init", "-q", "-b", "main", cwd=workspace)
    (workspace / "file").write_text("one\n")
    _git("add", "file", cwd=workspace)
    _git("commit", "-qm", "one", cwd=workspace)
    return workspace


ORDINARY = """
set -e
git config --global user.name Ada; git config --global user.email ada@example.com
echo two >> file; git add file; git commit -qm two
git checkout -qb side; echo side > other; git add other; git commit -qm side
git checkout -q main; git merge -q --no-edit side; git rebase -q HEAD~1
echo three >> file; git stash -q; git stash pop -q; git checkout -q -- file
git tag v1; git worktree add -q tree side; git -C tree status --short; git worktree remove tree
git gc -q; git fsck; git reset -q --hard HEAD~1; git cherry-pick v1 >/dev/null
git log --oneline | wc -l
"""


async def test_everyday_git_works_without_a_word_about_walls(repository: Path):
    shell = await BwrapJail().open("session", repository)
    result = await shell.run(ORDINARY.replace("set -e", "set -e; export GIT_EDITOR=true"))
    await shell.close()
    assert (result.exit_code, result.stderr, result.notes) == (0, "", ())
    assert _git("status", "--short", cwd=repository) == ""
    assert _git("log", "-1", "--format=%an", cwd=repository) == "Ada\n"


async def test_what_stood_in_for_absent_files_is_gone_with_the_last_jail(repository: Path):
    before = sorted(os.listdir(repository / ".git"))
    first, second = await BwrapJail().open("one", repository), await BwrapJail().open("two", repository)
    assert (await first.run("cat .git/commondir; git status --short")).stdout == ".\n"
    assert is_walled(repository / ".git")
    await first.close()
    assert (await second.run("echo x > .git/commondir")).exit_code == 1
    await second.close()
    assert sorted(os.listdir(repository / ".git")) == before
    assert not is_walled(repository / ".git")


async def test_a_wall_that_fell_when_the_person_changed_a_file_stands_before_the_next_command(repository: Path):
    (repository / ".env").write_text("TOKEN=s3cret\n")
    shell = await BwrapJail(is_secret=is_secret_file).open("session", repository)
    await shell.run("true")
    _git("config", "branch.main.description", "mine", cwd=repository)  # by renaming, which takes the mount off
    (repository / ".env.new").write_text("TOKEN=s3cret2\n")
    (repository / ".env.new").rename(repository / ".env")
    tried = await shell.run("git config core.fsmonitor ./x; echo x >> .git/config; cat .env")
    still = await shell.run("git config branch.main.description")
    await shell.close()
    assert "s3cret" not in tried.stdout + tried.stderr
    assert still.stdout == "mine\n"
    assert "fsmonitor" not in (repository / ".git/config").read_text()


async def test_a_repository_made_inside_has_walls_from_the_next_command_on(workspace: Path):
    shell = await BwrapJail().open("session", workspace)
    made = await shell.run("git init -q && git -c user.name=A -c user.email=a commit -q --allow-empty -m one")
    assert made.exit_code == 0
    planted = await shell.run(
        "echo x > .git/hooks/pre-commit; echo x >> .git/config; echo x > .git/commondir; mv .git g"
    )
    again = await shell.run("git -c user.name=A -c user.email=a commit -q --allow-empty -m two && git log --format=%s")
    await shell.close()
    assert planted.stderr.count("Read-only file system") == 3
    assert "busy" in planted.stderr
    assert again.stdout == "two\none\n"


async def test_secrets_in_the_workspace_cannot_be_read_and_examples_can(repository: Path):
    for name in (
        ".env",
        "deploy/.env.production",
        "keys/id_rsa",
        "server.pem",
        ".env.example",
        "src/password_reset.py",
    ):
        path = repository / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"s3cret of {path.name}\n")
    shell = await BwrapJail(is_secret=is_secret_file).open("session", repository)
    read = await shell.run("grep -rh s3cret . --exclude-dir=.git; find . -type f -not -path './.git/*' | xargs cat")
    process = await BwrapJail(is_secret=is_secret_file).start_process(repository, ("cat", ".env"))
    out, _ = await process.communicate()
    moved = await shell.run("mv .env x; rm -f .env; cp .env y; git status --short .env")
    own = await shell.run("echo mine > .env.local; cat .env.local")
    await shell.close()
    assert set(read.stdout.splitlines()) - {"one"} == {"s3cret of .env.example", "s3cret of password_reset.py"}
    assert out == b""
    assert (repository / ".env").read_text() == "s3cret of .env\n"
    assert moved.stdout == "?? .env\n"
    assert own.stdout == "mine\n"


async def test_a_file_that_the_repository_holds_as_it_is_stays_readable_and_a_changed_one_does_not(repository: Path):
    for name in ("test.pem", "changed.pem"):
        (repository / name).write_text("in the repository\n")
    _git("add", "test.pem", "changed.pem", cwd=repository)
    (repository / "changed.pem").write_text("s3cret\n")
    shell = await BwrapJail(is_secret=is_secret_file).open("session", repository)
    read = await shell.run("cat test.pem changed.pem")
    await shell.close()
    assert read.stdout == "in the repository\n"


async def test_a_secret_that_a_person_allows_can_be_read_from_then_on(repository: Path):
    (repository / ".env").write_text("TOKEN=s3cret\n")
    shell = await BwrapJail(is_secret=is_secret_file).open("session", repository)
    assert (await shell.run("cat .env")).stdout == ""
    await shell.open_to([repository / ".env"])
    assert (await shell.run("cat .env")).stdout == "TOKEN=s3cret\n"
    await shell.close()


async def test_files_in_memory_are_bounded_where_no_control_group_counts_them(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
):
    def no_group(_limits: Limits) -> None:
        return None

    monkeypatch.setattr("openagent.jail.bwrap.make_control_group", no_group)
    shell = await BwrapJail().open("session", workspace)
    await shell.run("true")
    bounded = await shell.run(
        "for i in $(seq 100); do n=$(stat -f -c %c /tmp); [ $n -le 1000000 ] && break; sleep 0.05; done; echo $n"
    )
    await shell.close()
    assert 0 < int(bounded.stdout) <= 1_000_000
