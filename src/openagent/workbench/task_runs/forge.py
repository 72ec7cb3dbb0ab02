"""Pull requests and issues by the forge's own program, `gh` or `glab`, in the person's folder and with their login."""

import json
import re
from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol, TypeVar
from urllib.parse import quote, urlsplit

import msgspec

from openagent.protocol.errors import OpenAgentError
from openagent.protocol.repository import ForgeProgram
from openagent.workbench.repository.running import Git
from openagent.workbench.task_runs import told

MARK = "<!-- written by openagent -->"
"""In what is said there for the person: it is no comment to be answered."""
LONGEST_LOG = 6_000
_LONGEST_COMMENT = 8_000
_ADDRESS = re.compile(r"https?://\S+")
_MEMBERS = ("OWNER", "MEMBER", "COLLABORATOR")
_FAILED = ("FAILURE", "TIMED_OUT", "STARTUP_FAILURE", "ERROR")
_MAY_PUSH = 30
"""GitLab's level of access from which somebody may push."""

T = TypeVar("T")


class Comment(NamedTuple):
    id: str
    author: str
    body: str
    is_members: bool
    """Whoever wrote it may push there too. Anybody may comment on a public repository."""
    place: str = ""
    """The file and line it is about."""


class FailedCheck(NamedTuple):
    id: str
    name: str
    log: str = ""
    """The end of what it printed."""


class PullRequest(NamedTuple):
    number: int
    url: str


class Looked(NamedTuple):
    state: Literal["open", "merged", "closed"]
    comments: list[Comment]
    failed: list[FailedCheck]


class Issue(NamedTuple):
    number: int
    title: str
    body: str
    url: str
    author: str
    owner: str


class Forge(Protocol):
    async def open(self, branch: str, base: str, title: str, body: str, *, draft: bool) -> PullRequest:
        """The one that is there for the branch, or a new one."""
        ...

    async def look(self, request: PullRequest, known: Sequence[str]) -> Looked:
        """`known`: checks whose logs nobody needs again."""
        ...

    async def reply(self, request: PullRequest, text: str) -> None: ...

    async def issues(self, limit: int) -> list[Issue]: ...


def forge(program: ForgeProgram, git: Git) -> Forge:
    return GitLab(git) if program == "glab" else GitHub(git)


class _Program:
    def __init__(self, name: str, git: Git) -> None:
        self._name = name
        self._git = git

    async def __call__(self, *arguments: str) -> str:
        ran = await self._git.forge(self._name, *arguments)
        if ran.code:
            said = ran.said or "it said nothing."
            raise OpenAgentError("conflict", f"`{self._name} {' '.join(arguments[:2])}` failed: {said}")
        return ran.out

    async def answers(self, form: type[T], *arguments: str) -> T:
        return self._read(form, await self(*arguments), arguments)

    async def pages(self, form: type[T], *arguments: str) -> list[T]:
        """Pages are printed one after the other, each a list of its own."""
        rest = (await self("api", "--paginate", *arguments)).strip()
        found: list[T] = []
        while rest:
            try:
                _, end = json.JSONDecoder().raw_decode(rest)
            except ValueError:
                end = len(rest)
            found += self._read(list[form], rest[:end], arguments)
            rest = rest[end:].lstrip()
        return found

    def _read(self, form: type[T], printed: str, arguments: Sequence[str]) -> T:
        try:
            return msgspec.json.decode(printed, type=form)
        except msgspec.DecodeError:
            raise OpenAgentError(
                "conflict", f"`{self._name} {' '.join(arguments[:2])}` answered in a form that is not known here."
            ) from None


class GitHub:
    def __init__(self, git: Git) -> None:
        self._gh = _Program("gh", git)

    async def open(self, branch: str, base: str, title: str, body: str, *, draft: bool) -> PullRequest:
        listing = ("pr", "list", "--head", branch, "--state", "open", "--json", "number,url")
        for there in await self._gh.answers(list[told.GitHubOpen], *listing):
            return PullRequest(there.number, there.url)
        words = ["pr", "create", "--title", title, "--body", body, "--head", branch, "--base", base]
        return _opened("gh", await self._gh(*words, *(["--draft"] if draft else [])))

    async def look(self, request: PullRequest, known: Sequence[str]) -> Looked:
        fields = "state,comments,reviews,statusCheckRollup,headRefOid"
        found = await self._gh.answers(told.GitHubRequest, "pr", "view", request.url, "--json", fields)
        place = f"{_repository(request.url)}/pulls/{request.number}/comments?per_page=100"
        lines = await self._gh.pages(told.GitHubLine, "--hostname", _host(request.url), f"repos/{place}")
        said = [_github_comment(each) for each in (*found.comments, *found.reviews) if each.state != "PENDING"]
        said += [_github_line(each) for each in lines]
        failed = [
            await self._check(request, each, found.head, known)
            for each in found.checks or ()
            if each.conclusion in _FAILED or each.state in _FAILED
        ]
        return Looked(_state(found.state), _to_answer(said), failed)

    async def _check(
        self, request: PullRequest, check: told.GitHubCheck, head: str, known: Sequence[str]
    ) -> FailedCheck:
        name = check.name or check.context or "a check"
        identity = f"check {name} {head}"
        job = re.search(r"/job/(\d+)", check.url)
        if identity in known or job is None:
            return FailedCheck(identity, name, check.description)
        repository = f"{_host(request.url)}/{_repository(request.url)}"
        try:
            log = await self._gh("run", "view", "--job", job[1], "--log-failed", "--repo", repository)
        except OpenAgentError as problem:  # logs expire, and not everybody may read them
            log = problem.info.message
        return FailedCheck(identity, name, log[-LONGEST_LOG:])

    async def reply(self, request: PullRequest, text: str) -> None:
        await self._gh("pr", "comment", request.url, "--body", f"{text}\n\n{MARK}")

    async def issues(self, limit: int) -> list[Issue]:
        fields = "number,title,body,url,author,assignees"
        listing = ("issue", "list", "--state", "open", "--limit", str(limit), "--json", fields)
        found = await self._gh.answers(list[told.GitHubIssue], *listing)
        return [
            Issue(each.number, each.title, each.body, each.url, each.author.login, _first(each.assignees))
            for each in found
        ]


class GitLab:
    def __init__(self, git: Git) -> None:
        self._glab = _Program("glab", git)

    async def open(self, branch: str, base: str, title: str, body: str, *, draft: bool) -> PullRequest:
        of_branch = f"projects/:id/merge_requests?state=opened&source_branch={quote(branch, safe='')}"
        for there in await self._glab.answers(list[told.GitLabRequest], "api", of_branch):
            return PullRequest(there.iid, there.web_url)
        words = ["mr", "create", "--yes", "--title", title, "--description", body, "--source-branch", branch]
        words += ["--target-branch", base, *(["--draft"] if draft else [])]
        return _opened("glab", await self._glab(*words))

    async def look(self, request: PullRequest, known: Sequence[str]) -> Looked:
        place = f"projects/:id/merge_requests/{request.number}"
        found = await self._glab.answers(told.GitLabRequest, "api", place)
        notes = await self._glab.pages(told.GitLabNote, f"{place}/notes?sort=asc&per_page=100")
        members = await self._glab.pages(told.GitLabMember, "projects/:id/members/all?per_page=100")
        may_push = {each.id for each in members if each.access_level >= _MAY_PUSH}
        said = [_gitlab_note(each, may_push) for each in notes if not each.system]
        pipeline = found.head_pipeline
        failed = await self._failed(pipeline, known) if pipeline and pipeline.status == "failed" else []
        return Looked(_state(found.state), _to_answer(said), failed)

    async def _failed(self, pipeline: told.GitLabPipeline, known: Sequence[str]) -> list[FailedCheck]:
        jobs = f"projects/:id/pipelines/{pipeline.id}/jobs?scope[]=failed&per_page=50"
        failed: list[FailedCheck] = []
        for job in await self._glab.answers(list[told.GitLabJob], "api", jobs):
            identity = f"check {job.name} {pipeline.id}"
            if not job.allow_failure:
                log = "" if identity in known else await self._glab("api", f"projects/:id/jobs/{job.id}/trace")
                failed.append(FailedCheck(identity, job.name, log[-LONGEST_LOG:]))
        return failed

    async def reply(self, request: PullRequest, text: str) -> None:
        await self._glab("mr", "note", str(request.number), "--message", f"{text}\n\n{MARK}")

    async def issues(self, limit: int) -> list[Issue]:
        listing = ("api", f"projects/:id/issues?state=opened&per_page={min(limit, 100)}")
        found = await self._glab.answers(list[told.GitLabIssue], *listing)
        return [
            Issue(
                each.iid, each.title, each.description or "", each.web_url, each.author.username, _first(each.assignees)
            )
            for each in found
        ]


def _opened(program: str, printed: str) -> PullRequest:
    found = _ADDRESS.findall(printed)
    number = re.search(r"/(\d+)/?$", found[-1]) if found else None
    if number is None:
        raise OpenAgentError("conflict", f"{program} did not say where the pull request is.", hint="Look at the forge.")
    return PullRequest(int(number[1]), found[-1])


def _host(url: str) -> str:
    return urlsplit(url).netloc


def _repository(url: str) -> str:
    return "/".join(urlsplit(url).path.strip("/").split("/")[:2])


def _state(said: str) -> Literal["open", "merged", "closed"]:
    state = said.lower()
    return "merged" if state == "merged" else "closed" if state == "closed" else "open"


def _first(people: Sequence[told.GitHubAuthor | told.GitLabAuthor]) -> str:
    for one in people:
        return one.login if isinstance(one, told.GitHubAuthor) else one.username
    return ""


def _github_comment(each: told.GitHubComment) -> Comment:
    identity = each.id or f"{each.author.login} {each.at}"
    return Comment(f"comment {identity}", each.author.login, each.body, each.association in _MEMBERS)


def _github_line(each: told.GitHubLine) -> Comment:
    place = f"{each.path}:{each.line or each.original_line or ''}".rstrip(":")
    author = each.user.login if each.user else ""
    return Comment(f"line {each.id}", author, each.body, each.author_association in _MEMBERS, place)


def _gitlab_note(each: told.GitLabNote, may_push: set[int]) -> Comment:
    at = each.position
    place = f"{at.new_path or ''}:{at.new_line or ''}".strip(":") if at else ""
    return Comment(f"comment {each.id}", each.author.username, each.body, each.author.id in may_push, place)


def _to_answer(said: Sequence[Comment]) -> list[Comment]:
    """Not what has no words (an approval), nor what was said here for the person."""
    kept = [each for each in said if each.body.strip() and MARK not in each.body]
    return [each._replace(body=each.body[:_LONGEST_COMMENT]) for each in kept]
