"""The branch that a task becomes, in a repository of the daemon's own whose files are those of the agent's copy.

The agent can write whatever it likes into the copy, and into the copy's repository: settings, hooks, other remotes.
Git never meets any of that outside the jail. Objects are borrowed from the person's repository; the address that is
pushed to was read there before the agent began.
"""

import re
import shutil
from pathlib import Path

from openagent.protocol.errors import OpenAgentError
from openagent.protocol.repository import RepositoryFile
from openagent.workbench.repository.committing import committed
from openagent.workbench.repository.running import Git, Ran, run_as_person
from openagent.workbench.repository.state import parsed
from openagent.workspace.git import require_git
from openagent.workspace.git_harmless import Setting
from openagent.workspace.git_harmless import parsed as settings_in

_TAKEN_OVER = re.compile(
    r"(?:user|author|committer)\.(?:name|email)|user\.useconfigonly|commit\.gpgsign|i18n\..*"
    r"|core\.(?:autocrlf|eol|safecrlf|filemode|ignorecase|symlinks|precomposeunicode)"
)
"""Of the person's repository: whose commits these are, and how files are written."""


class Branch(Git):
    def __init__(self, directory: Path, files: Path, name: str) -> None:
        """`directory` is the daemon's own repository, `files` the copy."""
        super().__init__(files, files, "")
        self.directory = directory
        self.name = name

    async def run(self, *arguments: str, stdin: str | None = None) -> Ran:
        more = {"GIT_DIR": str(self.directory), "GIT_WORK_TREE": str(self.folder)}
        # Where the files are not there yet, git has no reason to look for them.
        folder = self.folder if self.folder.is_dir() else self.directory
        return await run_as_person([require_git(), *arguments], folder, stdin=stdin, more=more)

    async def make(self, person: Git) -> None:
        """Empty, on what the person's repository has."""
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True, mode=0o700)
        made = ("init", "--quiet", "--bare", "--template=", f"--object-format={await _format(person)}")
        ran = await run_as_person([require_git(), *made, str(self.directory)], self.directory)
        if ran.code:
            raise OpenAgentError("conflict", f"The branch could not be begun: {ran.said}")
        common = Path(await person.asked("rev-parse", "--path-format=absolute", "--git-common-dir"))
        (self.directory / "objects" / "info" / "alternates").write_text(f"{common}/objects\n")
        if (common / "shallow").is_file():
            shutil.copyfile(common / "shallow", self.directory / "shallow")
        if (common / "info" / "exclude").is_file():
            (self.directory / "info").mkdir(exist_ok=True)
            shutil.copyfile(common / "info" / "exclude", self.directory / "info" / "exclude")
        for setting in await _settings(person):
            await self.done("The branch could not be begun", "config", setting.key, setting.value or "true")
        await self.done("The branch could not be begun", "config", "core.bare", "false")

    async def fetch(self, remote: str, base: str) -> str:
        """The commit that the base is at now; empty when the remote does not tell."""
        ran = await self.run("fetch", "--quiet", "--no-tags", remote, f"+refs/heads/{base}:refs/base")
        return await self.asked("rev-parse", "--verify", "--quiet", "refs/base^{commit}") if ran.code == 0 else ""

    async def begin(self, start: str) -> None:
        problem = "The branch could not be begun"
        await self.done(problem, "update-ref", f"refs/heads/{self.name}", start)
        await self.done(problem, "symbolic-ref", "HEAD", f"refs/heads/{self.name}")
        await self.done(problem, "read-tree", start)

    async def changed(self) -> list[RepositoryFile]:
        """Not whole repositories that somebody put among the files: they would become links that lead nowhere."""
        listed = await self.done(
            "The copy cannot be read",
            *("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--ignore-submodules=dirty"),
        )
        _, files = parsed(listed, "", ())
        return [file for file in files if not file.path.endswith("/")]

    async def commit(self, message: str) -> str:
        """Everything that was changed. Empty when nothing was."""
        files = await self.changed()
        names = [name for file in files for name in (file.path, file.old_path) if name]
        return await committed(self, names, message) if names else ""

    async def count(self, start: str) -> int:
        return int(await self.asked("rev-list", "--count", f"{start}..refs/heads/{self.name}") or 0)

    async def push(self, remote: str) -> None:
        target = f"refs/heads/{self.name}:refs/heads/{self.name}"
        ran = await self.run("push", "--porcelain", remote, target)
        if ran.code == 0:
            return
        if "non-fast-forward" in ran.out + ran.err or "fetch first" in ran.out + ran.err:
            raise OpenAgentError(
                "conflict",
                f"Somebody else has pushed to {self.name}. Nothing was pushed.",
                hint="Take it from there yourself, or delete the branch and run the task again.",
            )
        raise OpenAgentError("conflict", f"{self.name} could not be pushed: {ran.said or 'git said nothing.'}")

    async def leave_in(self, person: Git) -> None:
        """As a branch of the person's own repository."""
        target = f"+refs/heads/{self.name}:refs/heads/{self.name}"
        await person.done(
            f"The branch {self.name} could not be brought here",
            "fetch",
            "--quiet",
            "--no-tags",
            str(self.directory),
            target,
        )


async def clear_copy(copy: Path, branch: Branch, start: str) -> int:
    """The copy as the commit has it, before anybody works there: it holds what the person had not committed. Returns
    how many such files it had."""
    git = await Git.checked(copy)
    listed = await git.asked("status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignore-submodules=dirty")
    problem = "The copy could not be set to the commit it begins from"
    await git.done(problem, "fetch", "--quiet", "--no-tags", str(branch.directory), f"refs/heads/{branch.name}")
    await git.done(problem, "checkout", "--quiet", "--force", "--detach", start)
    await git.done(problem, "clean", "-fdq")
    return len([field for field in listed.split("\0") if field])


async def _format(person: Git) -> str:
    return await person.asked("rev-parse", "--show-object-format") or "sha1"


async def _settings(person: Git) -> list[Setting]:
    listed = (await person.run("config", "--local", "--list", "--null")).out
    return [each for each in settings_in(listed.encode()) if _TAKEN_OVER.fullmatch(each.key)]
