"""The git repository of a session's workspace, and the forge it is pushed to: what a person does there by a click."""

from typing import Literal

from msgspec import Struct

from openagent.protocol.op import Op, ReadingOp
from openagent.protocol.routes import GET, POST

ForgeProgram = Literal["", "gh", "glab"]


class RepositoryFile(Struct, frozen=True, omit_defaults=True):
    """A file that is not as it was committed last."""

    path: str
    """From the workspace's root."""
    status: Literal["A", "M", "D", "R", "U"]
    """Added, modified, deleted, renamed; U: in conflict."""
    own: bool = False
    """The session changed it."""
    staged: bool = False
    """Some of it is in git's index already."""
    old_path: str = ""
    """What a renamed file was called before."""
    runs_outside: str = ""
    """What runs it later outside the sandbox, such as "git hook"; empty: nothing that is known."""


class RepositoryState(Struct, frozen=True, omit_defaults=True):
    """How the repository stands, and what can be done with it."""

    problem: str = ""
    """Why nothing can be done with it here; empty when something can."""
    branch: str = ""
    """The branch; empty: HEAD is detached."""
    head: str = ""
    """The commit, shortened; empty before the first one."""
    base: str = ""
    """The branch that a pull request would go to, as far as it is known."""
    remote: str = ""
    """Where it would be pushed to, by its name; empty: there is no remote."""
    upstream: str = ""
    """The branch it follows; empty: it was not pushed yet."""
    ahead: int = 0
    """Commits that were not pushed."""
    behind: int = 0
    """Commits that are there and not here, as far as they were fetched."""
    doing: str = ""
    """A merge, rebase or the like that is not finished."""
    forge: ForgeProgram = ""
    """The program that opens pull requests here; empty: there is none."""
    files: list[RepositoryFile] = []
    """What is not committed."""
    hooks: list[str] = []
    """Hooks of the repository that git would run for a person, and that do not run here."""
    message: str = ""
    """A commit message to start from."""
    runs_outside: dict[str, str] = {}
    """Committed files that the base has not, and that run later outside the sandbox: the path, and what runs it."""


class Committed(Struct, frozen=True):
    """What was committed."""

    commit: str
    """Its name, shortened."""
    branch: str
    """The branch it is on."""
    files: int
    """How many files it holds."""
    subject: str
    """The message's first line."""


class Branched(Struct, frozen=True):
    """The branch that is checked out now."""

    branch: str
    """Its name."""


class Pushed(Struct, frozen=True, omit_defaults=True):
    """What was pushed."""

    branch: str
    """The branch."""
    remote: str
    """Where to, by its name."""
    commits: int = 0
    """How many commits were not there before, as far as that is known."""


class PullRequestOpened(Struct, frozen=True, omit_defaults=True):
    """A pull request."""

    url: str = ""
    """Where it is; empty when the forge's program did not say."""
    branch: str = ""
    """The branch it is about."""
    runs_outside: dict[str, str] = {}
    """Its files that run later outside the sandbox: the path, and what runs it, such as "git hook"."""


class GitStatus(
    ReadingOp[RepositoryState], tag="git.status", needs="read", waits=True, routes=GET("/api/agents/{id=session}/git")
):
    """How the repository of a session's workspace stands."""

    session: str
    """The session, by its id or the beginning of it."""


class GitCommit(
    Op[Committed], tag="git.commit", tells=True, waits=True, routes=POST("/api/agents/{id=session}/git/commit")
):
    """Commit files of a session's workspace as the person. The repository's hooks do not run."""

    session: str
    """The session, by its id or the beginning of it."""
    message: str
    """The commit message."""
    paths: list[str] = []
    """The files; none: those the session changed."""


class GitBranch(
    Op[Branched], tag="git.branch", tells=True, waits=True, routes=POST("/api/agents/{id=session}/git/branch")
):
    """Start a branch where HEAD is, and switch to it. The files stay as they are."""

    session: str
    """The session, by its id or the beginning of it."""
    name: str
    """What to call the branch."""


class GitPush(Op[Pushed], tag="git.push", tells=True, waits=True, routes=POST("/api/agents/{id=session}/git/push")):
    """Push the branch to its remote."""

    session: str
    """The session, by its id or the beginning of it."""


class GitPullRequest(
    Op[PullRequestOpened],
    tag="git.pull_request",
    tells=True,
    waits=True,
    routes=POST("/api/agents/{id=session}/git/pull-request"),
):
    """Push the branch and open a pull request for it with the forge's program, `gh` or `glab`."""

    session: str
    """The session, by its id or the beginning of it."""
    title: str
    """Its title."""
    body: str = ""
    """What it is about."""
    base: str = ""
    """The branch it goes to; empty: the forge's own choice."""
    draft: bool = False
    """It is not ready to be merged."""
