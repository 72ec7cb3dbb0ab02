"""Commit, branch, push and pull request, by a person's click: `git.*`."""

import re

from openagent.core.audit import entry
from openagent.core.session import Session
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Handler
from openagent.daemon.manager import SessionManager
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.repository import (
    Branched,
    Committed,
    GitBranch,
    GitCommit,
    GitPullRequest,
    GitPush,
    GitStatus,
    PullRequestOpened,
    Pushed,
    RepositoryState,
)
from openagent.workbench.repository.committing import committed
from openagent.workbench.repository.running import Git
from openagent.workbench.repository.state import committed_running_outside, state_of

_ADDRESS = re.compile(r"https?://\S+")
_LONGEST = 64 << 10


class RepositoryService:
    def __init__(self, manager: SessionManager) -> None:
        self._manager = manager

    def handlers(self) -> list[Handler]:
        return [
            GitStatus.handled_by(self._status),
            GitCommit.handled_by(self._commit),
            GitBranch.handled_by(self._branch),
            GitPush.handled_by(self._push),
            GitPullRequest.handled_by(self._pull_request),
        ]

    async def _status(self, connection: Connection, op: GitStatus) -> RepositoryState:
        session = await self._manager.get(op.session)
        try:
            return await self._state(session, await Git.checked(session.workspace))
        except OpenAgentError as problem:
            return RepositoryState(problem=f"{problem.info.message} {problem.info.hint}".strip())

    async def _commit(self, connection: Connection, op: GitCommit) -> Committed:
        session = await self._manager.get(op.session)
        message = _text(op.message, "A commit needs a message.")
        git = await Git.checked(session.workspace)
        state = await self._state(session, git)
        _require_branch(state, "A commit would belong to no branch")
        if any(file.status == "U" for file in state.files):
            raise OpenAgentError("conflict", "Files are in conflict.", hint="Settle them first, in a terminal.")
        if state.doing:
            raise OpenAgentError(
                "conflict", f"The repository is in the middle of {state.doing}.", hint="Finish it first."
            )
        changed = {file.path: file for file in state.files}
        paths = op.paths or [file.path for file in state.files if file.own]
        if not paths:
            raise OpenAgentError("conflict", "There is nothing to commit: no file of this session is changed.")
        if missing := [path for path in paths if path not in changed]:
            raise OpenAgentError("not_found", f"{missing[0][:200]!r} has no change that could be committed.")
        names = [name for path in paths for name in (path, changed[path].old_path) if name]
        commit = await committed(git, names, message)
        done = Committed(commit, state.branch, len(paths), message.partition("\n")[0])
        session.post(audit=[entry("git", f"commit {commit} on {state.branch}", files=len(paths))])
        return done

    async def _branch(self, connection: Connection, op: GitBranch) -> Branched:
        session = await self._manager.get(op.session)
        git = await Git.checked(session.workspace)
        name = op.name.strip()
        if not name or (await git.run("check-ref-format", "--branch", name)).code or name.startswith("-"):
            raise OpenAgentError("invalid_argument", f"{name[:200]!r} cannot be the name of a branch.")
        if await git.asked("rev-parse", "--verify", "--quiet", f"refs/heads/{name}"):
            raise OpenAgentError("conflict", f"There is a branch {name} already.", hint="Choose another name.")
        await git.done(f"The branch {name} could not be started", "switch", "--quiet", "--create", name)
        session.post(audit=[entry("git", f"branch {name}")])
        return Branched(name)

    async def _push(self, connection: Connection, op: GitPush) -> Pushed:
        session = await self._manager.get(op.session)
        git = await Git.checked(session.workspace)
        return await self._pushed(session, git, await self._state(session, git))

    async def _pull_request(self, connection: Connection, op: GitPullRequest) -> PullRequestOpened:
        session = await self._manager.get(op.session)
        title = _text(op.title, "A pull request needs a title.")
        git = await Git.checked(session.workspace)
        state = await self._state(session, git)
        if not state.forge:
            raise OpenAgentError(
                "not_found",
                "Neither gh nor glab is installed where the daemon runs.",
                hint="Install one of them and log in with it, or open the pull request in the browser.",
            )
        base = op.base.strip() or state.base
        if base.startswith("-"):
            raise OpenAgentError("invalid_argument", f"{base[:200]!r} is not the name of a branch.")
        if state.branch and state.branch == base:
            raise OpenAgentError("conflict", f"This is the branch {base} itself.", hint="Start a branch first.")
        await self._pushed(session, git, state)
        ran = await git.forge(state.forge, *_request(state, title, op.body[:_LONGEST], op.base.strip(), draft=op.draft))
        if ran.code:
            raise OpenAgentError(
                "conflict", f"{state.forge} did not open a pull request: {ran.said or 'it said nothing.'}"
            )
        found = _ADDRESS.findall(ran.out) or _ADDRESS.findall(ran.err)
        url = found[-1] if found else ""
        session.post(audit=[entry("git", f"pull request for {state.branch}", url=url, program=state.forge)])
        outside = await committed_running_outside(git, f"{state.remote}/{base}" if base else "")
        return PullRequestOpened(url, state.branch, outside)

    async def _pushed(self, session: Session, git: Git, state: RepositoryState) -> Pushed:
        _require_branch(state, "There is nothing that could be pushed by name")
        if not state.head:
            raise OpenAgentError("conflict", "There is no commit yet.", hint="Commit first.")
        if not state.remote:
            raise OpenAgentError(
                "not_found", "The repository has no remote to push to.", hint="`git remote add origin URL` adds one."
            )
        if await git.lies_within(state.remote):
            raise OpenAgentError(
                "conflict",
                f"{state.remote} lies in the workspace, where anybody may have given it hooks. Nothing was pushed.",
                hint="Push in your own terminal, or name a remote that lies elsewhere.",
            )
        target = f"refs/heads/{state.branch}:refs/heads/{state.branch}"
        ran = await git.run("push", "--porcelain", "--set-upstream", state.remote, target)
        if ran.code:
            raise _not_taken(state, ran.out + ran.err, ran.said)
        session.post(audit=[entry("git", f"push {state.branch} to {state.remote}", commits=state.ahead)])
        return Pushed(state.branch, state.remote, state.ahead)

    async def _state(self, session: Session, git: Git) -> RepositoryState:
        own = {path for file in await session.undo.changes(None) for path in (file.path, file.old_path) if path}
        return await state_of(git, own, session.info.name)


def _require_branch(state: RepositoryState, why: str) -> None:
    if not state.branch:
        raise OpenAgentError("conflict", f"HEAD is detached. {why}.", hint="Start a branch first.")


def _not_taken(state: RepositoryState, all_of_it: str, said: str) -> OpenAgentError:
    if "non-fast-forward" in all_of_it or "fetch first" in all_of_it:
        return OpenAgentError(
            "conflict",
            f"{state.remote} has commits on {state.branch} that are not here. Nothing was pushed.",
            hint="Pull them in first, in a terminal.",
        )
    return OpenAgentError("conflict", f"{state.remote} did not take {state.branch}: {said or 'git said nothing.'}")


def _request(state: RepositoryState, title: str, body: str, base: str, *, draft: bool) -> list[str]:
    if state.forge == "glab":
        words = ["mr", "create", "--yes", "--title", title, "--description", body, "--source-branch", state.branch]
        target = ["--target-branch", base] if base else []
    else:
        words = ["pr", "create", "--title", title, "--body", body, "--head", state.branch]
        target = ["--base", base] if base else []
    return [*words, *target, *(["--draft"] if draft else [])]


def _text(text: str, missing: str) -> str:
    if not text.strip() or "\0" in text:
        raise OpenAgentError("invalid_argument", missing)
    return text.strip()[:_LONGEST]
