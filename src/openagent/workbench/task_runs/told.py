"""What `gh` and `glab` print, as far as it is read here: `gh pr view --json …`, GitHub's and GitLab's REST APIs."""

from msgspec import Struct, field


class GitHubAuthor(Struct):
    login: str = ""


class GitHubOpen(Struct):
    number: int
    url: str


class GitHubComment(Struct):
    """A comment, or a review with what was said of the whole."""

    id: str = ""
    author: GitHubAuthor = field(default_factory=GitHubAuthor)
    association: str = field(name="authorAssociation", default="")
    body: str = ""
    state: str = ""
    at: str | None = field(name="submittedAt", default=None)


class GitHubCheck(Struct):
    """A check run has a name and a conclusion, a commit status a context and a state."""

    name: str = ""
    context: str = ""
    conclusion: str = ""
    state: str = ""
    description: str = ""
    url: str = field(name="detailsUrl", default="")


class GitHubRequest(Struct):
    state: str
    comments: list[GitHubComment] = []
    reviews: list[GitHubComment] = []
    checks: list[GitHubCheck] | None = field(name="statusCheckRollup", default=None)
    head: str = field(name="headRefOid", default="")


class GitHubLine(Struct):
    """A comment on a line, from the REST API: `gh pr view` leaves them out."""

    id: int
    body: str = ""
    path: str = ""
    line: int | None = None
    original_line: int | None = None
    author_association: str = ""
    user: GitHubAuthor | None = None


class GitHubIssue(Struct):
    number: int
    title: str
    url: str
    body: str = ""
    author: GitHubAuthor = field(default_factory=GitHubAuthor)
    assignees: list[GitHubAuthor] = []


class GitLabAuthor(Struct):
    id: int = 0
    username: str = ""


class GitLabPipeline(Struct):
    id: int
    status: str = ""


class GitLabRequest(Struct):
    iid: int
    web_url: str
    state: str
    head_pipeline: GitLabPipeline | None = None


class GitLabPosition(Struct):
    new_path: str | None = None
    new_line: int | None = None


class GitLabNote(Struct):
    id: int
    body: str = ""
    system: bool = False
    author: GitLabAuthor = field(default_factory=GitLabAuthor)
    position: GitLabPosition | None = None


class GitLabMember(Struct):
    id: int
    access_level: int = 0


class GitLabJob(Struct):
    id: int
    name: str
    allow_failure: bool = False


class GitLabIssue(Struct):
    iid: int
    title: str
    web_url: str
    description: str | None = None
    author: GitLabAuthor = field(default_factory=GitLabAuthor)
    assignees: list[GitLabAuthor] = []
