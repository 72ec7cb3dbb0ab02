"""What a client sends. Every op carries an id; its Reply or Failed carries the same one back."""

from typing import Any, ClassVar, Literal

from msgspec import Struct

from openagent.protocol.agents import AgentsList, AgentTree
from openagent.protocol.context import (
    ContextCollect,
    ContextGivenBack,
    ContextPin,
    ContextProposal,
    ContextReport,
    ContextRestore,
    ContextShow,
)
from openagent.protocol.customizing import (
    CommandsList,
    Hooks,
    HooksList,
    HooksTest,
    HooksTried,
    Plugins,
    PluginsList,
    SkillContent,
    Skills,
    SkillShow,
    SkillsList,
    SlashCommands,
)
from openagent.protocol.display import NO_DISPLAY, Display
from openagent.protocol.errors import ErrorInfo
from openagent.protocol.files import FileContent, FileEntries, FilesList, FilesRead, FilesWrite, FileWritten
from openagent.protocol.flows import (
    FlowCheck,
    FlowInfo,
    FlowList,
    FlowReport,
    FlowResume,
    FlowRun,
    FlowRunning,
    FlowShow,
    FlowsList,
)
from openagent.protocol.grants import Grants, GrantsList, GrantsRevoke
from openagent.protocol.index import (
    CodeHits,
    CodeMap,
    CodeSymbols,
    IndexBuilt,
    IndexInfo,
    IndexReady,
    IndexWatch,
    SearchBy,
)
from openagent.protocol.mcp import (
    McpAdd,
    McpCatalog,
    McpCatalogue,
    McpImport,
    McpImported,
    McpList,
    McpLogin,
    McpLoginFinish,
    McpLogout,
    McpPromptGet,
    McpPromptList,
    McpPromptMessages,
    McpPrompts,
    McpRemove,
    McpResourceContents,
    McpResourceList,
    McpResourceRead,
    McpResources,
    McpServers,
    McpSessionServers,
    McpSwitch,
    McpTest,
)
from openagent.protocol.messages import Message, UserPart
from openagent.protocol.metrics import AgentsMetrics, CostAnalysis, MetricsAgents, MetricsCost
from openagent.protocol.op import Done, Op, ReadingOp
from openagent.protocol.queue import Queue, QueueEdit, QueueMove, QueueRemove, QueueResume, QueueShow
from openagent.protocol.safety import AuditPage, PolicyExplanation, PolicyTested, TrustEntries, TrustEntry
from openagent.protocol.search import FoundMessages, MessagesSearch
from openagent.protocol.sessions import EndedTurn, GrantScope, Mode, SessionInfo, SettingsChange, Snapshot
from openagent.protocol.tasks import (
    TaskCreate,
    TaskDelete,
    TaskGet,
    TaskInfo,
    TaskList,
    TasksList,
    TasksSync,
    TasksSynced,
    TaskUpdate,
)
from openagent.protocol.templates import (
    TemplateInfo,
    TemplateList,
    TemplatesExport,
    TemplatesGet,
    TemplatesImport,
    TemplatesList,
    TemplatesRemove,
    TemplatesSave,
    TemplateText,
)
from openagent.protocol.terminals import TerminalClose, TerminalInput, TerminalOpen, TerminalOpened, TerminalResize
from openagent.protocol.tokens import (
    LoginAddress,
    TokenCreated,
    TokenList,
    TokensCreate,
    TokensList,
    TokensRevoke,
    WebLogin,
)
from openagent.protocol.tools import ToolsSwitch
from openagent.protocol.usage import FailureReport, GroupBy, SessionUsage, UsageFailures, UsageReport
from openagent.protocol.workspaces import (
    CopyMethod,
    WorkspaceBackup,
    WorkspaceCopies,
    WorkspaceCopy,
    WorkspaceMerged,
    WorkspacesCollected,
)


class Hello(ReadingOp, frozen=True, kw_only=True, tag="hello"):
    """The first op of a connection."""

    protocol: str
    client: str = ""
    """Who is calling, for people: `cli`, `tui`, `web`, `zed`, …"""
    interactive: bool = False
    """A person can answer permission requests and questions here."""
    env: dict[str, str] = {}
    """Provider settings from the caller's environment. Kept in memory for the sessions it uses, never stored."""

    def __repr__(self) -> str:
        return f"Hello(client={self.client!r})"


class Ping(ReadingOp, frozen=True, kw_only=True, tag="ping"):
    pass


class SessionCreate(Op, frozen=True, kw_only=True, tag="session.create"):
    tells: ClassVar[bool] = True
    session: str = ""
    """A client may choose the id, so that it can send further ops without waiting for the reply."""
    name: str = ""
    cwd: str = ""
    parent: str = ""
    """The session this one works for: what it spends counts against that one's budget too."""
    template: str = ""
    """What to start from; `settings` count over what the template says."""
    settings: SettingsChange = SettingsChange()


class SessionList(ReadingOp, frozen=True, kw_only=True, tag="session.list"):
    limit: int = 50
    before: float | None = None
    """Only sessions last active before this time: the cursor for the next page."""
    before_id: str = ""
    """With `before`: also those last active at just that time whose id is smaller."""
    cwd: str = ""
    """Only sessions of this workspace."""
    query: str = ""
    """Only sessions whose name contains this."""
    roots: bool = False
    """Only sessions that work for nobody: no sub-agents."""


class SessionGet(ReadingOp, frozen=True, kw_only=True, tag="session.get"):
    session: str


class SessionAttach(ReadingOp, frozen=True, kw_only=True, tag="session.attach"):
    session: str
    after: int | None = None
    """The last `seq` this client has seen: send what it missed in place of a snapshot."""
    messages: int = 50
    """How many messages the snapshot holds."""


class SessionDetach(ReadingOp, frozen=True, kw_only=True, tag="session.detach"):
    session: str


class SessionUpdate(Op, frozen=True, kw_only=True, tag="session.update"):
    tells: ClassVar[bool] = True
    session: str
    name: str | None = None
    settings: SettingsChange = SettingsChange()
    expected: str = ""
    """The version of the settings that this changes, as REST tells it; refused when they are others by now."""


class SessionDelete(Op, frozen=True, kw_only=True, tag="session.delete"):
    tells: ClassVar[bool] = True
    session: str


class SessionFork(Op, frozen=True, kw_only=True, tag="session.fork"):
    tells: ClassVar[bool] = True
    session: str
    through: int | None = None
    """The last message the fork keeps; all when not given."""
    name: str = ""


class MessageSend(Op, frozen=True, kw_only=True, tag="message.send"):
    """Accepted and stored when the reply arrives. Runs at once, or after the turn that is running."""

    tells: ClassVar[bool] = True
    session: str
    text: str = ""
    parts: list[UserPart] = []
    """Text and images; `text` is put before them."""


class TurnCancel(Op, frozen=True, kw_only=True, tag="turn.cancel"):
    session: str


class SessionRewind(Op, frozen=True, kw_only=True, tag="session.rewind"):
    """Back to before a turn. Nothing is destroyed: the messages stay stored, and the files can be brought back."""

    tells: ClassVar[bool] = True
    session: str
    turn: int
    files: bool = True
    conversation: bool = True
    git_state: bool = False
    """Also the repository's HEAD, branches and index."""
    others: Literal["keep", "overwrite"] = "keep"
    """What becomes of files that others changed since, or may have written: they stay as they are, or go back too."""
    paths: list[str] = []
    """Files that go back although others changed them since."""


class SessionUnrewind(Op, frozen=True, kw_only=True, tag="session.unrewind"):
    """Take a rewind back: files and conversation, but for what others did since."""

    tells: ClassVar[bool] = True
    session: str
    undo: str
    """As the rewind's answer and its event name it."""


class SessionChanges(ReadingOp, frozen=True, kw_only=True, tag="session.changes"):
    """What a turn's calls wrote in the workspace; without a turn, what the session wrote and did not take back. What
    others wrote is no part of it."""

    session: str
    turn: int | None = None


class MessagesPage(ReadingOp, frozen=True, kw_only=True, tag="messages.page"):
    session: str
    before: int | None = None
    """Messages with a smaller number; the newest when not given."""
    after: int | None = None
    limit: int = 50


class MessageRaw(ReadingOp, frozen=True, kw_only=True, tag="message.raw"):
    """The request that led to an answer and the response as it came, as far as kept."""

    session: str
    number: int


class PermissionAnswer(Op, frozen=True, kw_only=True, tag="permission.answer"):
    session: str
    ask: str
    decision: Literal["allow", "deny"]
    scope: GrantScope = "once"
    reason: str = ""
    choice: str = ""
    """Which of the request's choices with this scope is meant, by its id; left out: the scope's own."""


class QuestionAnswer(Op, frozen=True, kw_only=True, tag="question.answer"):
    session: str
    question: str
    answer: str


class ToolsList(ReadingOp, frozen=True, kw_only=True, tag="tools.list"):
    waits: ClassVar[bool] = True
    session: str = ""


class ToolRun(Op, frozen=True, kw_only=True, tag="tool.run"):
    """Run a tool as a person would: decided on, shown and audited like a model's call, but no part of the history."""

    tells: ClassVar[bool] = True
    waits: ClassVar[bool] = True
    session: str
    tool: str
    arguments: dict[str, Any] = {}


class ConfigShow(ReadingOp, frozen=True, kw_only=True, tag="config.show"):
    cwd: str = ""


class AuthAdd(Op, frozen=True, kw_only=True, tag="auth.add"):
    """Keep an API key in the vault, under the name of the provider it is for."""

    name: str
    key: str
    replace: bool = False

    def __repr__(self) -> str:
        return f"AuthAdd(name={self.name!r})"


class AuthList(ReadingOp, frozen=True, kw_only=True, tag="auth.list"):
    cwd: str = ""


class AuthRemove(Op, frozen=True, kw_only=True, tag="auth.remove"):
    """Forget a key; a login is also given back to the provider, where it offers that."""

    waits: ClassVar[bool] = True
    name: str


class AuthLogin(Op, frozen=True, kw_only=True, tag="auth.login"):
    """Start a login. It ends when the browser comes back to the daemon, or with `auth.login.finish`."""

    waits: ClassVar[bool] = True
    provider: str
    cwd: str = ""


class AuthLoginFinish(Op, frozen=True, kw_only=True, tag="auth.login.finish"):
    """Answered when the login has ended, well or not."""

    waits: ClassVar[bool] = True
    login: str
    answer: str = ""
    """What the browser showed: the address it ended at, or `code#state`. Empty: only wait for the browser."""

    def __repr__(self) -> str:
        return f"AuthLoginFinish(login={self.login!r})"


class AuthRefresh(Op, frozen=True, kw_only=True, tag="auth.refresh"):
    """Renew a login now."""

    waits: ClassVar[bool] = True
    provider: str


class UsageAsk(ReadingOp, frozen=True, kw_only=True, tag="usage.report"):
    by: GroupBy = "model"
    since: float = 0.0
    until: float | None = None


class ModelsList(ReadingOp, frozen=True, kw_only=True, tag="models.list"):
    """What the providers offer, asked of them."""

    waits: ClassVar[bool] = True
    provider: str = ""
    cwd: str = ""


class ModelsTest(ReadingOp, frozen=True, kw_only=True, tag="models.test"):
    """Ask for one token and see."""

    waits: ClassVar[bool] = True
    name: str = ""
    """A provider, or provider/model; all providers when empty."""
    cwd: str = ""


class ModelsPull(Op, frozen=True, kw_only=True, tag="models.pull"):
    """Install an offline model. Its progress comes as events, to this connection alone."""

    waits: ClassVar[bool] = True
    name: str


class TrustAdd(Op, frozen=True, kw_only=True, tag="trust.add"):
    """From now on a folder's own settings and rules count, as they are at this moment."""

    tells: ClassVar[bool] = True
    cwd: str
    """The folder, or one below it."""


class TrustRemove(Op, frozen=True, kw_only=True, tag="trust.remove"):
    tells: ClassVar[bool] = True
    folder: str


class TrustShow(ReadingOp, frozen=True, kw_only=True, tag="trust.list"):
    pass


class PolicyExplain(ReadingOp, frozen=True, kw_only=True, tag="policy.explain"):
    """What would be decided about a command, and why. Nothing is run."""

    command: str
    cwd: str = ""
    mode: Mode | None = None
    """The configured one when left out."""
    tool: str = "shell"


class PolicyTest(ReadingOp, frozen=True, kw_only=True, tag="policy.test"):
    """Whether all rules, built in and own, do what their examples say."""

    waits: ClassVar[bool] = True
    cwd: str = ""


class AuditAsk(ReadingOp, frozen=True, kw_only=True, tag="audit.list"):
    """What was decided, run and written, newest first."""

    session: str = ""
    kind: str = ""
    tool: str = ""
    since: float = 0.0
    limit: int = 100
    before: int | None = None
    """The cursor: only entries with a smaller id."""


class WorkspacesList(ReadingOp, frozen=True, kw_only=True, tag="workspaces.list"):
    waits: ClassVar[bool] = True
    cwd: str = ""
    """Only copies of this workspace."""


class WorkspacesCreate(Op, frozen=True, kw_only=True, tag="workspaces.create"):
    waits: ClassVar[bool] = True
    cwd: str
    name: str
    method: CopyMethod | None = None
    """The cheapest that works here when left out."""
    max_bytes: int | None = None
    max_files: int | None = None


class WorkspacesDiff(ReadingOp, frozen=True, kw_only=True, tag="workspaces.diff"):
    """What a copy has changed since it was made or last merged."""

    waits: ClassVar[bool] = True
    copy: str


class WorkspacesMerge(Op, frozen=True, kw_only=True, tag="workspaces.merge"):
    """Bring a copy's changes back into its origin. What both changed in one place stays as it is on both sides."""

    waits: ClassVar[bool] = True
    copy: str


class WorkspacesRemove(Op, frozen=True, kw_only=True, tag="workspaces.remove"):
    waits: ClassVar[bool] = True
    copy: str
    force: bool = False
    """Also with changes that were not merged back."""


class WorkspacesBackup(Op, frozen=True, kw_only=True, tag="workspaces.backup"):
    waits: ClassVar[bool] = True
    cwd: str
    archive: str


class WorkspacesRestore(Op, frozen=True, kw_only=True, tag="workspaces.restore"):
    """Unpack a backup into a folder that does not exist yet or is empty."""

    waits: ClassVar[bool] = True
    archive: str
    to: str


class WorkspacesCollect(Op, frozen=True, kw_only=True, tag="workspaces.gc"):
    """Give back the space of checkpoints and copies that nobody needs any more."""

    waits: ClassVar[bool] = True
    keep: int = 200
    """Checkpoints kept of each session, the newest ones."""


class IndexBuild(Op, frozen=True, kw_only=True, tag="index.build"):
    """Bring a workspace's index up to date. Its progress comes as events, to this connection alone."""

    waits: ClassVar[bool] = True
    cwd: str


class IndexSearch(ReadingOp, frozen=True, kw_only=True, tag="index.search"):
    waits: ClassVar[bool] = True
    cwd: str
    query: str
    limit: int = 10
    by: SearchBy = "fused"


class IndexSymbols(ReadingOp, frozen=True, kw_only=True, tag="index.symbols"):
    """Where a name is defined and where it is used."""

    waits: ClassVar[bool] = True
    cwd: str
    name: str


class IndexMap(ReadingOp, frozen=True, kw_only=True, tag="index.map"):
    """What is used most in a workspace, in so many tokens at most."""

    waits: ClassVar[bool] = True
    cwd: str
    max_tokens: int = 1000


class IndexAsk(ReadingOp, frozen=True, kw_only=True, tag="index.status"):
    waits: ClassVar[bool] = True
    cwd: str


class IndexSetup(Op, frozen=True, kw_only=True, tag="index.setup"):
    """Install the model that finds code by meaning. Its progress comes as events, to this connection alone."""

    waits: ClassVar[bool] = True


class DaemonStatus(ReadingOp, frozen=True, kw_only=True, tag="daemon.status"):
    pass


class DaemonFollow(ReadingOp, frozen=True, kw_only=True, tag="daemon.follow"):
    """Start or stop receiving the events of the whole daemon: sessions coming and going, status, metrics."""

    on: bool = True


class DaemonStop(Op, frozen=True, kw_only=True, tag="daemon.stop"):
    tells: ClassVar[bool] = True


AnyOp = (
    Hello
    | Ping
    | SessionCreate
    | SessionList
    | SessionGet
    | SessionAttach
    | SessionDetach
    | SessionUpdate
    | SessionDelete
    | SessionFork
    | MessageSend
    | TurnCancel
    | QueueShow
    | QueueEdit
    | QueueRemove
    | QueueMove
    | QueueResume
    | SessionRewind
    | SessionUnrewind
    | SessionChanges
    | MessagesPage
    | MessageRaw
    | PermissionAnswer
    | QuestionAnswer
    | ToolsList
    | ToolsSwitch
    | ToolRun
    | ConfigShow
    | AuthAdd
    | AuthList
    | AuthRemove
    | AuthLogin
    | AuthLoginFinish
    | AuthRefresh
    | UsageAsk
    | UsageFailures
    | TasksList
    | TaskGet
    | TaskCreate
    | TaskUpdate
    | TaskDelete
    | TasksSync
    | ModelsList
    | ModelsTest
    | ModelsPull
    | TrustAdd
    | TrustRemove
    | TrustShow
    | GrantsList
    | GrantsRevoke
    | PolicyExplain
    | PolicyTest
    | AuditAsk
    | WorkspacesList
    | WorkspacesCreate
    | WorkspacesDiff
    | WorkspacesMerge
    | WorkspacesRemove
    | WorkspacesBackup
    | WorkspacesRestore
    | WorkspacesCollect
    | McpList
    | McpTest
    | McpAdd
    | McpRemove
    | McpSwitch
    | McpImport
    | McpCatalog
    | McpLogin
    | McpLoginFinish
    | McpLogout
    | McpSessionServers
    | McpResources
    | McpResourceRead
    | McpPrompts
    | McpPromptGet
    | IndexBuild
    | IndexSearch
    | IndexSymbols
    | IndexMap
    | IndexAsk
    | IndexSetup
    | IndexWatch
    | AgentsList
    | FlowsList
    | FlowCheck
    | FlowRun
    | FlowResume
    | FlowShow
    | TemplatesList
    | TemplatesGet
    | TemplatesSave
    | TemplatesRemove
    | TemplatesImport
    | TemplatesExport
    | TokensCreate
    | TokensList
    | TokensRevoke
    | WebLogin
    | ContextShow
    | ContextCollect
    | ContextPin
    | ContextRestore
    | CommandsList
    | SkillsList
    | SkillShow
    | HooksList
    | HooksTest
    | PluginsList
    | FilesList
    | FilesRead
    | FilesWrite
    | TerminalOpen
    | TerminalInput
    | TerminalResize
    | TerminalClose
    | MessagesSearch
    | MetricsAgents
    | MetricsCost
    | DaemonStatus
    | DaemonFollow
    | DaemonStop
)


class Welcome(Struct, frozen=True):
    protocol: str
    version: str
    pid: int


class SessionPage(Struct, frozen=True):
    sessions: list[SessionInfo]
    next: float | None = None


class Attached(Struct, frozen=True, omit_defaults=True):
    """Either a snapshot, or (`snapshot` is null) the missed events follow this reply."""

    session: str
    seq: int
    """The live tail starts after this number."""
    snapshot: Snapshot | None = None


class Sent(Struct, frozen=True, omit_defaults=True):
    session: str
    turn: int = 0
    """The turn that was started; 0 when the message waits in the queue."""
    message_number: int = 0
    queued: str = ""


class Cancelled(Struct, frozen=True):
    was_running: bool


class ChangedFile(Struct, frozen=True, omit_defaults=True):
    path: str
    status: Literal["A", "M", "D", "R"]
    added: int = 0
    removed: int = 0
    patch: str = ""
    """Unified diff, cut at a bound."""
    old_path: str = ""
    binary: bool = False
    cut: bool = False
    others: bool = False
    """Others have changed it since."""
    shared: str = ""
    """Why it may have been somebody else's; empty when it was surely the session's."""


class Changes(Struct, frozen=True):
    files: list[ChangedFile]


class LeftAlone(Struct, frozen=True):
    path: str
    reason: str


class Rewound(Struct, frozen=True, omit_defaults=True):
    turn: int
    undo: str = ""
    """What takes the rewind back, with `session.unrewind`."""
    written: list[str] = []
    removed: list[str] = []
    kept: list[str] = []
    """What could not be restored, and why."""
    git: str = ""
    """What became of the repository's own state, when that was asked for."""
    others: list[LeftAlone] = []
    """What others changed since, or may have written: it was left as it is, unless that was asked for."""
    merged: list[str] = []
    """What others changed since in other places: their changes are still in it."""
    stopped: list[str] = []
    """Sub-agents and commands of those turns that were still at work in the background, and were ended."""
    beside: list[str] = []
    """Other sessions in the middle of a turn in this folder: nothing of theirs was touched."""


class MessagePage(Struct, frozen=True, omit_defaults=True):
    messages: list[Message]
    has_more: bool
    rewound: list[tuple[int, int]] = []
    """Ranges of message numbers that were taken back: still stored, no longer part of the conversation."""
    turns: list[EndedTurn] = []
    """How the turns of these messages ended, in order."""


class RawExchange(Struct, frozen=True, omit_defaults=True):
    request: str
    response: str
    truncated: bool = False


class ToolInfo(Struct, frozen=True, omit_defaults=True):
    name: str
    description: str
    parameters: dict[str, Any]
    read_only: bool = False
    source: str = "built-in"
    enabled: bool = True


class ToolList(Struct, frozen=True):
    tools: list[ToolInfo]


class ToolRan(Struct, frozen=True, omit_defaults=True):
    text: str
    is_error: bool = False
    display: Display = NO_DISPLAY


class ConfigValue(Struct, frozen=True):
    key: str
    value: Any
    source: str
    """default, a file with its line, or an environment variable. Secrets are masked."""


class ConfigList(Struct, frozen=True):
    values: list[ConfigValue]
    files: list[str] = []
    """The files that were looked at and exist."""
    notes: list[str] = []
    """What is no error and still good to know, such as what of an untrusted project's file was left out."""


class AuthEntry(Struct, frozen=True, omit_defaults=True):
    """A credential, as far as anybody may see it."""

    name: str
    kind: Literal["api_key", "oauth"]
    source: Literal["vault", "config", "environment"] = "vault"
    created_at: float = 0.0
    updated_at: float = 0.0
    last_used_at: float | None = None
    use_count: int = 0
    expires_at: float | None = None
    """Of a login that was used since the daemon started: when its token ends, unless renewed before."""


class AuthEntries(Struct, frozen=True):
    entries: list[AuthEntry]


class LoginStarted(Struct, frozen=True):
    login: str
    url: str
    """Where a person grants access."""
    expires_at: float
    """When the daemon stops waiting."""


class ModelEntry(Struct, frozen=True, omit_defaults=True):
    name: str
    """provider/model"""
    context_window: int = 0
    max_output_tokens: int = 0
    input_usd: float | None = None
    """Dollars per million tokens; None: not known."""
    output_usd: float | None = None
    note: str = ""


class ProviderProblem(Struct, frozen=True):
    provider: str
    error: ErrorInfo


class ModelEntries(Struct, frozen=True):
    models: list[ModelEntry]
    problems: list[ProviderProblem] = []


class ModelTest(Struct, frozen=True, omit_defaults=True):
    model: str
    latency_ms: float = 0.0
    """To the first chunk of the answer."""
    error: ErrorInfo | None = None
    """None: it answered."""


class ModelTests(Struct, frozen=True):
    tests: list[ModelTest]


class ModelPulled(Struct, frozen=True):
    model: str
    path: str
    size_bytes: int


class DaemonInfo(Struct, frozen=True, omit_defaults=True):
    pid: int
    version: str
    protocol: str
    socket: str
    web_url: str = ""
    home: str = ""
    started_at: float = 0.0
    uptime_s: float = 0.0
    sessions: int = 0
    running: int = 0
    queued: int = 0
    """Messages that wait for a turn to end, in all sessions."""
    clients: int = 0
    rss_bytes: int = 0
    usage: SessionUsage = SessionUsage()
    """Of all sessions."""
    jail: str = ""
    jail_problem: str = ""
    """Why no command could run in it; told about a jail that something outside this program makes."""
    model: str = ""


RESULTS: dict[type[Op], type[Struct]] = {
    Hello: Welcome,
    Ping: Done,
    SessionCreate: SessionInfo,
    SessionList: SessionPage,
    SessionGet: SessionInfo,
    SessionAttach: Attached,
    SessionDetach: Done,
    SessionUpdate: SessionInfo,
    SessionDelete: Done,
    SessionFork: SessionInfo,
    MessageSend: Sent,
    TurnCancel: Cancelled,
    QueueShow: Queue,
    QueueEdit: Queue,
    QueueRemove: Queue,
    QueueMove: Queue,
    QueueResume: Queue,
    SessionRewind: Rewound,
    SessionUnrewind: Rewound,
    SessionChanges: Changes,
    MessagesPage: MessagePage,
    MessageRaw: RawExchange,
    PermissionAnswer: Done,
    QuestionAnswer: Done,
    ToolsList: ToolList,
    ToolsSwitch: Done,
    ToolRun: ToolRan,
    ConfigShow: ConfigList,
    AuthAdd: AuthEntry,
    AuthList: AuthEntries,
    AuthRemove: Done,
    AuthLogin: LoginStarted,
    AuthLoginFinish: AuthEntry,
    AuthRefresh: AuthEntry,
    UsageAsk: UsageReport,
    UsageFailures: FailureReport,
    TasksList: TaskList,
    TaskGet: TaskInfo,
    TaskCreate: TaskInfo,
    TaskUpdate: TaskInfo,
    TaskDelete: Done,
    TasksSync: TasksSynced,
    ModelsList: ModelEntries,
    ModelsTest: ModelTests,
    ModelsPull: ModelPulled,
    TrustAdd: TrustEntry,
    TrustRemove: Done,
    TrustShow: TrustEntries,
    GrantsList: Grants,
    GrantsRevoke: Done,
    PolicyExplain: PolicyExplanation,
    PolicyTest: PolicyTested,
    AuditAsk: AuditPage,
    WorkspacesList: WorkspaceCopies,
    WorkspacesCreate: WorkspaceCopy,
    WorkspacesDiff: Changes,
    WorkspacesMerge: WorkspaceMerged,
    WorkspacesRemove: Done,
    WorkspacesBackup: WorkspaceBackup,
    WorkspacesRestore: WorkspaceBackup,
    WorkspacesCollect: WorkspacesCollected,
    McpList: McpServers,
    McpTest: McpServers,
    McpAdd: Done,
    McpRemove: Done,
    McpSwitch: Done,
    McpImport: McpImported,
    McpCatalog: McpCatalogue,
    McpLogin: LoginStarted,
    McpLoginFinish: Done,
    McpLogout: Done,
    McpSessionServers: Done,
    McpResources: McpResourceList,
    McpResourceRead: McpResourceContents,
    McpPrompts: McpPromptList,
    McpPromptGet: McpPromptMessages,
    IndexBuild: IndexBuilt,
    IndexSearch: CodeHits,
    IndexSymbols: CodeSymbols,
    IndexMap: CodeMap,
    IndexAsk: IndexInfo,
    IndexSetup: IndexReady,
    IndexWatch: Done,
    AgentsList: AgentTree,
    FlowsList: FlowList,
    FlowCheck: FlowInfo,
    FlowRun: FlowRunning,
    FlowResume: FlowRunning,
    FlowShow: FlowReport,
    TemplatesList: TemplateList,
    TemplatesGet: TemplateInfo,
    TemplatesSave: TemplateInfo,
    TemplatesRemove: Done,
    TemplatesImport: TemplateInfo,
    TemplatesExport: TemplateText,
    TokensCreate: TokenCreated,
    TokensList: TokenList,
    TokensRevoke: Done,
    WebLogin: LoginAddress,
    ContextShow: ContextReport,
    ContextCollect: ContextProposal,
    ContextPin: Done,
    ContextRestore: ContextGivenBack,
    CommandsList: SlashCommands,
    SkillsList: Skills,
    SkillShow: SkillContent,
    HooksList: Hooks,
    HooksTest: HooksTried,
    PluginsList: Plugins,
    FilesList: FileEntries,
    FilesRead: FileContent,
    FilesWrite: FileWritten,
    TerminalOpen: TerminalOpened,
    TerminalInput: Done,
    TerminalResize: Done,
    TerminalClose: Done,
    MessagesSearch: FoundMessages,
    MetricsAgents: AgentsMetrics,
    MetricsCost: CostAnalysis,
    DaemonStatus: DaemonInfo,
    DaemonFollow: Done,
    DaemonStop: Done,
}
"""The shape of `Reply.result` for each op."""
