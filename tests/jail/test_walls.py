"""What of the machine a jailed command sees, and what it is refused."""

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from openagent.jail.bwrap import BwrapJail
from openagent.jail.mounts import knows_descriptors
from openagent.jail.toolchains import find_toolchains
from openagent.plugins.jail import Openings
from openagent.protocol.errors import OpenAgentError
from tests.jail.conftest import needs_bwrap
from tests.jail.jailed_shell import JailedShell

pytestmark = pytest.mark.anyio


def _git(*arguments: str, cwd: Path) -> None:
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.com")
    subprocess.run(("git", *identity, *arguments), cwd=cwd, check=True, capture_output=True)


async def test_without_bubblewrap_nothing_runs_and_the_error_says_how_to_get_it(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", str(workspace))
    with pytest.raises(OpenAgentError) as caught:
        await BwrapJail().open("session", workspace)
    assert caught.value.info.code == "jail_error"
    assert "apt-get install bubblewrap" in caught.value.info.hint


@needs_bwrap
async def test_when_bubblewrap_fails_its_complaint_is_the_error(workspace: Path):
    bare = await BwrapJail(env={"PATH": "/nowhere"}).open("session", workspace)
    with pytest.raises(OpenAgentError, match=r"could not be started: .*bash"):
        await bare.run("echo never")
    await bare.close()


@needs_bwrap
async def test_the_home_directory_and_its_parents_are_no_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path / "people" / "ada"))
    (tmp_path / "people" / "ada").mkdir(parents=True)
    for folder in (tmp_path / "people" / "ada", tmp_path / "people", Path("/")):
        with pytest.raises(OpenAgentError, match="home directory or holds system files"):
            await BwrapJail().open("session", folder)
    with pytest.raises(OpenAgentError, match="cannot be used"):
        await BwrapJail().open("session", tmp_path / "missing")


@needs_bwrap
async def test_a_commit_made_inside_is_the_persons_and_settings_stay_as_they_were(workspace: Path):
    Path(os.environ["HOME"], ".gitconfig").write_text(
        "[user]\n\tname = Ada\n\temail = ada@example.com\n[x]\n\ttoken = s3cret\n"
    )
    _git("init", "-q", cwd=workspace)
    shell = await BwrapJail().open("session", workspace)
    result = await shell.run(
        "touch a && git add a && git commit -qm one && git log --format='%an <%ae>'; git config -l | grep token"
    )
    await shell.close()
    assert result.stdout == "Ada <ada@example.com>\n"


@needs_bwrap
async def test_a_worktree_reaches_its_repository_and_no_other(tmp_path: Path):
    main, tree, private = (tmp_path / name for name in ("main", "tree", "private"))
    main.mkdir()
    _git("init", "-q", cwd=main)
    _git("commit", "-q", "--allow-empty", "-m", "one", cwd=main)
    _git("worktree", "add", "-q", str(tree), cwd=main)
    shell = await BwrapJail().open("session", tree)
    inside = await shell.run(
        "touch f; git add f && git -c user.name=T -c user.email=t commit -qm two && git log --format=%s"
    )
    hook = await shell.run(f"touch {main}/.git/hooks/post-commit; ls {main}")
    await shell.close()
    assert inside.stdout == "two\none\n"
    assert "Read-only" in hook.stderr
    assert hook.stdout == ""

    (private / "worktrees" / "x").mkdir(parents=True)
    (private / "secret").write_text("s3cret")
    (tree / ".git").write_text(f"gitdir: {private}/worktrees/x\n")
    lured = await BwrapJail().open("session", tree)
    assert "s3cret" not in (await lured.run(f"cat {private}/secret")).stdout
    await lured.close()


@needs_bwrap
async def test_a_toolchain_below_the_home_directory_runs_and_its_neighbours_are_unseen(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
):
    home = Path(os.environ["HOME"])
    for program in (".pyenv/versions/9/bin/tool", ".cargo/bin/cargo-tool", "bin/own", ".config/app/bin/refused"):
        path = home / program
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\necho {path.name}\n")
        path.chmod(0o755)
    (home / ".pyenv/versions/9/lib").mkdir()
    (home / ".cargo/credentials.toml").write_text("s3cret")
    (home / "diary").write_text("s3cret")
    added = [str(home / folder) for folder in (".pyenv/versions/9/bin", ".cargo/bin", "bin", ".config/app/bin", ".")]
    monkeypatch.setenv("PATH", os.pathsep.join([*added, os.environ["PATH"]]))
    shell = await BwrapJail().open("session", workspace)
    ran = await shell.run("tool; cargo-tool; own; refused")
    seen = await shell.run(
        f"ls -A {home} {home}/.pyenv/versions/9 {home}/.cargo; cat {home}/diary {home}/.cargo/credentials.toml"
    )
    written = await shell.run(f"touch {home}/bin/new")
    await shell.close()
    assert ran.stdout == "tool\ncargo-tool\nown\n"
    assert (
        seen.stdout == f"{home}:\n.cargo\n.pyenv\nbin\n\n{home}/.cargo:\nbin\n\n{home}/.pyenv/versions/9:\nbin\nlib\n"
    )
    assert "Read-only" in written.stderr


@needs_bwrap
async def test_a_companys_certificates_are_found_and_no_key_beside_them(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
):
    home = Path(os.environ["HOME"])
    (home / "corp").mkdir()
    (home / "corp/ca.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    (home / "corp/other.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    (home / "corp/both.pem").write_text("-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n")
    monkeypatch.setenv("NODE_EXTRA_CA_CERTS", str(home / "corp/ca.pem"))
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(home / "corp/both.pem"))
    monkeypatch.setenv("SSL_CERT_DIR", str(home))
    monkeypatch.setenv("npm_config_registry", "https://packages.example/npm/")
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://ada:s3cret@packages.example/pypi/")
    shell = await BwrapJail().open("session", workspace)
    seen = await shell.run(
        f"cat $NODE_EXTRA_CA_CERTS; ls {home}/corp; env | grep -E '^(REQUESTS_CA|SSL_CERT_DIR|npm_config_reg|UV_)'"
    )
    written = await shell.run("echo mine >> $NODE_EXTRA_CA_CERTS")
    await shell.close()
    assert seen.stdout == ("-----BEGIN CERTIFICATE-----\nca.pem\nnpm_config_registry=https://packages.example/npm/\n")
    assert "Read-only" in written.stderr


def test_links_to_installations_elsewhere_are_followed(tmp_path: Path):
    home = tmp_path / "ada"
    venv, installed = home / "project/.venv/bin", home / ".local/share/uv/python/bin"
    for folder in (venv, installed, home / ".local/bin", home / ".ssh/bin"):
        folder.mkdir(parents=True)
    (installed / "python3").touch()
    (home / ".ssh/bin/key").touch()
    (venv / "python3").symlink_to(installed / "python3")
    (home / ".local/bin/key").symlink_to(home / ".ssh/bin/key")
    found = find_toolchains({"PATH": f"{venv}:{home}/.local/bin:relative:/usr/bin"}, {home})
    assert {path for path in found.readable if path.startswith(str(home))} == {
        str(home / ".local/bin"),
        str(home / ".local/share/uv/python"),
        str(home / "project/.venv"),
    }
    assert found.path.split(":")[-2:] == ["/usr/bin", "/bin"]


def test_interpreters_that_uv_fetched_are_found_beside_it(tmp_path: Path):
    home = tmp_path / "ada"
    programs, fetched = home / ".local/bin", home / ".local/share/uv/python/cpython-3.13.1-linux"
    for folder in (programs, fetched / "bin"):
        folder.mkdir(parents=True)
    (home / ".local/share/uv/python/cpython-3.13-linux").symlink_to(fetched)
    assert str(fetched) not in find_toolchains({"PATH": str(programs)}, {home}).readable
    (programs / "uv").touch(mode=0o755)
    found = find_toolchains({"PATH": str(programs)}, {home})
    assert str(fetched) in found.readable
    assert found.path.split(":") == [str(programs), str(fetched / "bin"), "/usr/bin", "/bin"]


@needs_bwrap
async def test_a_process_of_its_own_runs_behind_the_same_walls(workspace: Path):
    secret = Path(os.environ["HOME"], "secret")
    secret.write_text("s3cret")
    program = f"read line; echo got $line; id -un; cat {secret}; ulimit -c; touch made; echo $ADDED"
    process = await BwrapJail().start_process(workspace, ("sh", "-c", program), env={"ADDED": "yes"})
    out, err = await process.communicate(b"hello\n")
    assert out.decode() == "got hello\nagent\n0\nyes\n"
    assert "No such file" in err.decode()
    assert (workspace / "made").exists()


@needs_bwrap
async def test_a_repository_made_inside_is_walled_when_the_jail_starts_again(workspace: Path):
    shell = await BwrapJail().open("session", workspace)
    await shell.run("git init -q .; kill -9 -1; sleep 5", timeout=60)
    planted = await shell.run("echo x > .git/hooks/pre-commit")
    await shell.close()
    assert "Read-only" in planted.stderr


@needs_bwrap
def test_a_script_gets_a_jailed_shell_without_a_daemon(workspace: Path):
    with JailedShell(workspace) as shell:
        result = shell.run("id -un; touch made; echo problem >&2; exit 3")
        assert (result.exit_code, result.stdout) == (3, "agent\n")
        assert result.stderr.startswith("problem\n")
        assert shell.run("sleep 100", timeout=0.05).timed_out
    assert (workspace / "made").exists()
    with pytest.raises(RuntimeError, match="with"):
        shell.run("echo")


@needs_bwrap
async def test_what_git_cannot_write_is_explained_and_what_it_can_is_done(workspace: Path):
    _git("init", "-q", "-b", "main", cwd=workspace)
    _git("commit", "-q", "--allow-empty", "-m", "one", cwd=workspace)
    _git("update-ref", "refs/remotes/origin/feature", "HEAD", cwd=workspace)
    _git("config", "remote.origin.url", "x", cwd=workspace)
    _git("config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*", cwd=workspace)
    settings = (workspace / ".git/config").read_text()
    shell = await BwrapJail().open("s", workspace)
    half_done = ("git branch -m main trunk", "git switch -c mine --track origin/feature")
    for refused in ("git config user.name Bob", *half_done, "echo x > .git/hooks/pre-commit"):
        assert "this is the jail" in "".join((await shell.run(refused)).notes), refused
    read = await shell.run("git commit -q --allow-empty -m two; git branch three", wall="read")
    assert ("denied" in read.stdout + read.stderr or "Read-only" in read.stdout + read.stderr, read.notes) == (True, ())
    whole = await shell.run("git switch -q trunk && git checkout -q feature && git branch --format='%(refname:short)'")
    assert (whole.stdout, whole.stderr, whole.notes) == ("feature\nmine\ntrunk\n", "", ())
    name = await shell.run("git config --global user.name Bob && git config user.name")
    assert (name.stdout, name.notes) == ("Bob\n", ())
    assert (workspace / ".git/config").read_text() == settings
    await shell.close()


class Swapped:
    """A folder that is replaced by a link to another one, whenever it is told to."""

    def __init__(self, folder: Path, elsewhere: Path) -> None:
        self._folder, self._elsewhere = folder, elsewhere
        self.aside = folder.with_name("aside")

    def swap(self) -> None:
        self._folder.rename(self.aside)
        self._folder.symlink_to(self._elsewhere)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "secret").write_text("s3cret\n")
    return folder


@needs_bwrap
async def test_a_link_that_takes_a_workspaces_place_after_it_was_checked_is_not_followed(
    workspace: Path, elsewhere: Path
):
    swapped, calls = Swapped(workspace, elsewhere), list[str]()

    def openings(session: str) -> Openings:
        calls.append(session)
        if len(calls) == 2:  # the first is before, the second after the check
            swapped.swap()
        return Openings()

    with pytest.raises(OpenAgentError, match="is not what it was") as caught:
        await BwrapJail(openings=openings).open("session", workspace)
    assert caught.value.info.code == "jail_error"
    assert os.listdir(elsewhere) == ["secret"]


@needs_bwrap
async def test_a_jail_has_the_folder_that_was_looked_at_whatever_is_in_its_place_when_it_is_mounted(
    workspace: Path, elsewhere: Path
):
    if not knows_descriptors(shutil.which("bwrap") or ""):
        pytest.skip("this bubblewrap mounts by path alone")
    swapped = Swapped(workspace, elsewhere)
    (workspace / ".git").mkdir()

    def room(_: Path) -> None:
        swapped.swap()

    shell = await BwrapJail(room=room).open("session", workspace)
    result = await shell.run("ls -A; touch planted; ls -l /proc/*/fd | grep -c workspace")
    await shell.close()
    assert result.stdout == ".git\n0\n"
    assert (swapped.aside / "planted").exists()
    assert os.listdir(elsewhere) == ["secret"]


@needs_bwrap
async def test_a_folder_outside_that_leads_elsewhere_by_now_is_looked_at_again(
    workspace: Path, tmp_path: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOME", str(tmp_path / "ada"))
    keys = tmp_path / "ada" / ".ssh"
    keys.mkdir(parents=True)
    (keys / "id").write_text("s3cret\n")
    named = tmp_path / "named"
    named.symlink_to(elsewhere)
    opened = Openings(folders=((str(named), True),))
    for leads_to, told in ((elsewhere, "secret\n"), (keys, "")):
        named.unlink()
        named.symlink_to(leads_to)
        shell = await BwrapJail(openings=lambda _: opened).open("session", workspace)
        result = await shell.run(f"ls {named}/")
        await shell.close()
        assert result.stdout == told


@needs_bwrap
async def test_programs_below_var_tmp_can_be_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with TemporaryDirectory(dir="/var/tmp", prefix="openagent-test-") as folder:
        Path(folder).chmod(0o755)
        program = Path(folder) / "bin" / "greet"
        program.parent.mkdir()
        program.write_text("#!/bin/sh\necho hello\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        shell = await BwrapJail().open("session", tmp_path)
        result = await shell.run("greet")
        await shell.close()
        assert result.stdout == "hello\n"


@needs_bwrap
async def test_a_workspace_below_var_tmp_is_one_like_any_other():
    with TemporaryDirectory(dir="/var/tmp", prefix="openagent-test-") as folder:
        shell = await BwrapJail().open("session", Path(folder))
        result = await shell.run("echo made > file; pwd; ls -A /var/tmp; cat file")
        await shell.close()
        assert result.stdout == f"{folder}\n{Path(folder).name}\nmade\n"
        assert (Path(folder) / "file").read_text() == "made\n"
