"""Every setting there is. The text under a field becomes its entry in docs/configuration.md."""

from typing import Annotated, Literal, get_args

from msgspec import Meta, Struct, field, structs

from openagent.config.secrets import masked
from openagent.filesystem.handles import LINUX
from openagent.protocol.sessions import Mode

ProviderKind = Literal["anthropic", "openai", "gemini", "azure", "github", "compatible", "local", "demo", "plugin"]
PROVIDER_KINDS: tuple[str, ...] = get_args(ProviderKind)

DAEMON_WIDE: frozenset[tuple[str, ...]] = frozenset(
    {
        ("store",),
        ("database",),
        ("redis",),
        ("team",),
        ("log",),
        ("turns",),
        ("web",),
        ("telemetry",),
        ("backup",),
        ("report",),
        ("retention",),
        ("tools", "search"),
    }
)
"""One daemon serves many projects, so a project cannot set these."""

AT_START: frozenset[str] = frozenset(
    {
        *("database", "jail", "log", "redis", "store", "team", "telemetry", "web"),
        *("index.vectors", "tools.disabled", "tools.schema_share", "tools.search"),
    }
)
"""What the daemon reads when it starts, and not again; all else counts from the next message on."""

ONE_FOR_ALL: frozenset[str] = (
    AT_START
    | {"backup", "report", "retention", "turns", "budget.day_usd", "budget.day_tokens", "budget.warn_at", "prices"}
) - {"tools.disabled"}
"""What all sessions share. A project's own would be shown, and nobody would go by it. Of tools that are disabled, a
project's list holds for its sessions."""

ModelName = Annotated[str, Meta(pattern=r"^(auto|[^/\s]+/\S+)?$", description='"provider/model" or "auto"')]
ConcreteModel = Annotated[str, Meta(pattern=r"^([^/\s]+/\S+)?$", description='"provider/model"')]
WorkerLabel = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.-]{0,63}$", description="letters, digits, -, _ and .")]
Address = Annotated[str, Meta(pattern=r"^(https?://\S+)?$", description="an http:// or https:// address")]
Size = Annotated[str, Meta(pattern=r"^\d+[kmgtKMGT]?$", description='a size such as "512m" or "2g"')]
StoreUrl = Annotated[
    str, Meta(pattern=r"^(sqlite|postgresql)(\+\w+)?://", description="a sqlite:/// or postgresql:// address")
]
DatabaseUrl = Annotated[
    str, Meta(pattern=r"^((sqlite|postgresql)(\+\w+)?://.*)?$", description="a postgresql:// or sqlite:/// address")
]
RedisUrl = Annotated[str, Meta(pattern=r"^((rediss?|unix)://\S+)?$", description="a redis:// address")]
HeaderLine = Annotated[
    str, Meta(pattern=r"^(@auth|[A-Za-z0-9!#$%&'*+.^_`|~-]+: ?\S.*)$", description='"Name: value" or "@auth"')
]
Percent = Annotated[float, Meta(ge=1, le=100)]
Amount = Annotated[float, Meta(ge=0, le=1_000_000)]
Count = Annotated[int, Meta(ge=1)]
Days = Annotated[int, Meta(ge=0, le=36_500)]
Tokens = Annotated[int, Meta(ge=0, le=100_000)]
Seconds = Annotated[float, Meta(gt=0, le=31_536_000)]
Port = Annotated[int, Meta(ge=0, le=65535)]


ServerPort = Annotated[
    str, Meta(pattern=r"^[a-z0-9_-]+:\d{1,5}$", description='a name and a port, such as "ollama:11434"')
]


class OAuthSettings(Struct, frozen=True, kw_only=True):
    """Where and as whom to log in when a provider is used with OAuth 2.0 in place of a key."""

    template: Literal["google", "microsoft", "github", "huggingface"] | None = None
    """Whose endpoints to use, where they are not given here. A client id of yours is needed all the same."""
    issuer: Address = ""
    """Your company's login server: its `/.well-known/openid-configuration` says the endpoints that are not given."""
    client_id: str = ""
    """The client id your provider gave you."""
    client_secret: str = ""
    """Only for clients that have one."""
    redirect_uri: str = ""
    """Where the browser goes afterwards, as you registered it. Of this machine (`http://localhost:8976/done`): the
    daemon listens there, on any port if none is named. Elsewhere: a page that shows a code to paste. Left out: any port
    of 127.0.0.1."""
    authorize_url: Address = ""
    """Where a person grants access."""
    token_url: Address = ""
    """Where codes and refresh tokens are exchanged."""
    revoke_url: Address = ""
    """Where a token is given back."""
    device_url: Address = ""
    """Where a login by a code begins (RFC 8628), for machines without a browser."""
    scopes: list[str] = []
    """What to ask access for."""
    authorize_params: dict[str, str] = {}
    """Whatever else the provider wants in the address, such as `access_type = "offline"`."""

    def __repr__(self) -> str:
        return _repr_without_secrets(self)


DialectName = Literal["own", "claude-code", "anthropic", "codex", "gemini", "opencode"]


class ProviderSettings(Struct, frozen=True, kw_only=True):
    """One provider. NAME is what stands before the slash in a model; several providers may be of one kind."""

    kind: ProviderKind
    """Which wire format and login it uses. May be left out when NAME is itself a kind."""
    plugin: str = ""
    """For the kind `plugin`: the name of an installed plugin's provider."""
    api_key: str = ""
    """The key. Write `"${VARIABLE}"`, so that the file holds no secret; an unset variable means no key."""
    base_url: Address = ""
    """Empty: the provider's usual address."""
    base_urls: list[Address] = []
    """More addresses of the same, such as other regions, with the same key. Where one does not answer, the next one is
    asked at once; the one that failed is set aside for half a minute, longer every time, and then asked again."""
    nearest: bool = False
    """Of several addresses, ask the one that began to answer soonest of late, in place of the first."""
    wire_profile: str = "native"
    """Which headers are sent, in which order: `native`, `reference` or a profile of yours."""
    api: Literal["responses", "chat"] | None = None
    """For OpenAI and its like: which of the two APIs to speak. Left out: the kind's usual one."""
    api_version: str = ""
    """For Azure: the `api-version` to ask for."""
    organization: str = ""
    """For OpenAI and GitHub: whom usage is attributed to."""
    project: str = ""
    """For Vertex: the project."""
    location: str = ""
    """For Vertex: the region."""
    credentials_file: str = ""
    """For Vertex: path of a service account's JSON file."""
    auth: Literal["key", "oauth"] = "key"
    """How to prove who you are: a key, or a login. With `oauth`, a given `api_key` is sent as the access token."""
    oauth: OAuthSettings = OAuthSettings()
    headers: dict[str, str] = {}
    """Sent with every request, beside those of the wire profile."""
    requests_per_minute: Count | None = None
    """It is asked no more often, evenly over the minute; what comes sooner waits. In a team, all workers together.
    Left out: as often as there is something to ask."""
    timeout: Seconds = 300.0
    """Seconds without a byte from the provider after which a request counts as failed."""
    traced: bool = False
    """Whether requests carry the header `traceparent`, which names the trace they are part of. A vendor could tell by
    it which requests belong together."""
    dialect: DialectName | None = None
    """The names and arguments under which its models are offered tools, and understood in any case. Left out: what a
    model's family knows, `own` where that is not known."""
    dialects: dict[str, DialectName] = {}
    """The same for some of its models: patterns of their names, such as `"qwen*" = "opencode"`. The first that fits
    counts."""

    def __repr__(self) -> str:
        return _repr_without_secrets(self)


class FallbackSettings(Struct, frozen=True, kw_only=True):
    """What to do when a provider fails for good."""

    chain: list[ConcreteModel] = []
    """Models to go on with, in this order."""
    on_quota: Literal["wait", "move_on"] = "move_on"
    """When a plan is used up: `wait` until it resets and go on by itself, or `move_on` to the next model."""


class BudgetSettings(Struct, frozen=True, kw_only=True):
    """Caps. A request that could pass one is not sent. Left out: no cap."""

    session_usd: Amount | None = None
    """Dollars one session and its sub-agents may spend."""
    day_usd: Amount | None = None
    """Dollars all sessions together may spend in a day."""
    session_tokens: Count | None = None
    """Tokens one session and its sub-agents may use."""
    day_tokens: Count | None = None
    """Tokens all sessions together may use in a day."""
    warn_at: Percent = 80.0
    """Percent of a cap at which a warning is shown."""


class JailSettings(Struct, frozen=True, kw_only=True):
    """Where an agent's commands run, and what bounds them."""

    kind: Literal["bwrap", "docker", "host", "plugin"] = "bwrap" if LINUX else "docker"
    """`host` is no jail at all: commands run as you, with all you may do. Bubblewrap is Linux's own: elsewhere it is
    `docker` when nothing is set."""
    plugin: str = ""
    """For the kind `plugin`: the name of an installed plugin's jail."""
    image: str = ""
    """The image of the `docker` jail's containers; it must have bash. Left out: `python:3.12-slim`."""
    network: Literal["off", "ask", "on"] | list[str] = "ask"
    """`ask`: a connection to a host that nobody allowed yet waits while you are asked. Or `off`, `on`, or the list of
    hosts that may be reached, and no other. It holds for commands, MCP servers, hooks, terminals and `web_fetch`."""
    names: dict[str, str] = {}
    """Host names of your own and the address each stands for, which may be of this machine: they are asked for like
    any other, and no other name leads to this machine or its network."""
    memory: Size = "2g"
    """Memory one session's commands may use."""
    processes: Count = 512
    """Processes one session may have at once."""
    cpus: Annotated[float, Meta(gt=0)] | None = None
    """Processors one session's commands may use, such as `1.5`. Left out: all."""
    file_size: Size = "2g"
    """The largest file a command may write."""
    disk: Size = "1g"
    """What commands may write outside the workspace: `/tmp` and the jail's own home."""
    background_after: Seconds = 120.0
    """Seconds after which a command that still runs goes on in the background, where it can be read and ended."""


class SearchSettings(Struct, frozen=True, kw_only=True):
    """The service behind `web_search`. Without one that tool is not offered."""

    kind: Literal["brave", "searxng"] | None = None
    """Whose way of asking and answering it has."""
    base_url: Address = ""
    """Empty: Brave's own address. SearXNG has no usual one."""
    api_key: str = ""
    """The key. Write `"${VARIABLE}"`, so that the file holds no secret."""

    def __repr__(self) -> str:
        return _repr_without_secrets(self)


class ToolSettings(Struct, frozen=True, kw_only=True):
    """The tools that models are offered."""

    disabled: list[str] = []
    """Tools that are neither offered nor callable, in any session."""
    off: list[str] = []
    """Tools that new sessions start without; each can be switched on in a session."""
    schema_share: Percent = 10.0
    """Percent of the model's window that schemas of MCP tools may take. Of more, the model looks up what it needs."""
    search: SearchSettings = SearchSettings()


class AgentSettings(Struct, frozen=True, kw_only=True):
    """Sub-agents: templates that an agent calls to work for it."""

    max_depth: Annotated[int, Meta(ge=0)] = 2
    """How deep they may call each other; 0: no sub-agents."""
    max_parallel: Count = 4
    """How many of one caller work at once. The others wait."""
    timeout: Seconds = 3600.0
    """Seconds one may take, unless its template says otherwise."""


class TaskSettings(Struct, frozen=True, kw_only=True):
    """Tasks that become pull requests."""

    follow_every: Seconds = 60.0
    """Seconds between two looks at an open pull request: what was said about it, how its checks ended."""


class ContextSettings(Struct, frozen=True, kw_only=True):
    """How a context that has grown too large is shrunk."""

    collector: str = "hybrid"
    """The strategy: `truncate`, `summarize`, `hybrid`, `evict`, or a plugin's."""
    threshold: Percent = 80.0
    """Percent of the model's window at which it runs."""
    goal: Percent = 40.0
    """Percent of the model's window that may be left after it ran."""
    keep_turns: Annotated[int, Meta(ge=0)] = 5
    """The newest turns are not touched, unless nothing else is left."""
    turn_limit: Annotated[int, Meta(ge=0)] = 0
    """It also runs when the model is shown more turns than this; 0: as many as fit."""
    auto: bool = True
    """Run it when needed. If not, only `openagent compact` runs it."""


class RulesSettings(Struct, frozen=True, kw_only=True):
    """Files with rules for agents, in folders and beside your config.toml."""

    files: tuple[str, ...] = ("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md")
    """Their names. In each folder the first of these that is there counts."""
    max_bytes: Count = 32768
    """What agents are shown of one file, with all it imports."""


class HookSettings(Struct, frozen=True, kw_only=True):
    """Commands that run when something happens in a session."""

    claude_settings: bool = False
    """Also those in `.claude/settings.json` and `settings.local.json`, yours and the project's."""
    gemini_settings: bool = False
    """Also those in `.gemini/settings.json`, yours and the project's."""
    codex_settings: bool = False
    """Also those in `.codex/hooks.json`, yours and the project's, and your `notify` of `~/.codex/config.toml`."""
    copilot_settings: bool = False
    """Also those in the project's `.github/hooks/`."""


class IntentSettings(Struct, frozen=True, kw_only=True):
    """Finding out what a message is for before it is answered. Needs the extra `intent`."""

    enabled: bool = False
    """Ask for every message. Costs one small request each."""
    model: ModelName = ""
    """What is asked: a small model will do. Empty: the session's."""
    min_confidence: Annotated[float, Meta(ge=0, le=1)] = 0.6
    """Below this, the message is answered as if nothing had been found out."""
    timeout: Annotated[float, Meta(gt=0)] = 5.0
    """Seconds after which it is answered without."""


class StoreSettings(Struct, frozen=True, kw_only=True):
    """Where sessions are kept."""

    url: StoreUrl = "sqlite://"
    """A SQLite file or a PostgreSQL server. The default is `openagent.db` in the data home."""
    idle_sessions: Annotated[int, Meta(ge=0)] = 64
    """Sessions that stay in memory although nobody uses them. The least recently used are put away first."""

    def __repr__(self) -> str:
        return _repr_without_secrets(self)


class TeamSettings(Struct, frozen=True, kw_only=True):
    """Several daemons as one: where `redis` is set."""

    turns: Count = 32
    """Turns that one worker runs at once; further ones wait for a free worker."""
    lost_after: Annotated[float, Meta(ge=2, le=600)] = 20.0
    """Seconds without a sign of life after which a worker counts as lost, and others take over its turns. The same for
    all of a team."""
    vault: str = ""
    """The folder of the vault that all of a team share, on a volume of theirs. Its key may come from
    `OPENAGENT_VAULT_KEY`, and lies beside it otherwise. Empty: each has its own, in its data home."""
    labels: list[WorkerLabel] = []
    """Of a worker, best in its `OPENAGENT_TEAM_LABELS`: it runs the sessions that ask for one of these, and with `any`
    among them those that ask for none. Empty: those that ask for none."""
    snapshots: str = ""
    """Where workers keep for each other what undo knows, and the files of sessions that work on a repository: a folder
    that all of them have, or `s3://BUCKET/PREFIX`, with what `backup.s3` says. Empty: undo knows what was done on the
    worker that has the session, and no session works on a clone."""
    repositories: list[str] = []
    """Addresses of git repositories that sessions may be started for; `*` stands for anything. The workers clone them
    with the credentials that git has there."""
    drain: Annotated[float, Meta(ge=0, le=86_400)] = 60.0
    """Seconds that running turns may go on when a worker is told to stop. What has not ended then goes on at another
    worker."""


class BucketSettings(Struct, frozen=True, kw_only=True):
    """An S3-compatible store, where `backup.folder` is `s3://BUCKET/PREFIX`. Needs the extra `s3`."""

    endpoint: Address = ""
    """Its address. Empty: `AWS_ENDPOINT_URL` of the daemon's environment, or Amazon's."""
    region: str = ""
    """Empty: `AWS_REGION`, or `us-east-1`."""
    access_key: str = ""
    """Who asks. Empty: `AWS_ACCESS_KEY_ID`."""
    secret_key: str = ""
    """Write `"${VARIABLE}"`, so that the file holds no secret. Empty: `AWS_SECRET_ACCESS_KEY`, or the vault's, from
    `openagent auth add s3 --no-test`."""

    def __repr__(self) -> str:
        return _repr_without_secrets(self)


class BackupSettings(Struct, frozen=True, kw_only=True):
    """Backups: sessions, sealed keys, settings and templates in an archive."""

    daily: bool = True
    """Make one a day, while everybody works on."""
    folder: str = ""
    """Where they are kept, best on another disk, or `s3://BUCKET/PREFIX`. Empty: `backups` in the data home."""
    s3: BucketSettings = BucketSettings()
    keep_days: Count = 30
    """Days after which a daily one is taken away. Those made by hand stay."""
    max_size: Size = "5g"
    """What the daily ones may take together. Of more, those older than a week are thinned out to one a week, and then
    the oldest go."""
    checkpoints: bool = False
    """Put in what undo needs, too."""


class RetentionSettings(Struct, frozen=True, kw_only=True):
    """How long sessions that nobody uses are kept. Looked at every hour; nothing goes that you did not set."""

    archive_days: Days = 0
    """Days of rest after which a session is put away. 0: never."""
    delete_days: Days = 0
    """Days of rest after which a session is deleted for good; being put away counts as a use. 0: never."""
    max_database: Size | None = None
    """What the database may hold. Of more, the sessions that rest longest are deleted for good, those of the last day
    excepted. Left out: as much as there is room for. For SQLite."""
    vacuum: bool = True
    """Give room that deleted sessions left back to the disk, when nobody works. For SQLite."""


class ReportSettings(Struct, frozen=True, kw_only=True):
    """Reports that are sent by themselves, each when its time is over. `openagent report` shows one at any time."""

    every: Literal["day", "week", "month"] | None = None
    """How often. Left out: none."""
    format: Literal["md", "html"] = "html"
    """Of the file."""
    folder: str = ""
    """A folder to write them into, each under its date."""
    mail_to: list[str] = []
    """Addresses to mail them to."""
    mail_from: str = ""
    """Whom the mail is from. Empty: `smtp_user`, or the first of `mail_to`."""
    smtp: str = ""
    """The mail server: `smtp://host:587`, encrypted where it can be, or `smtps://host`."""
    smtp_user: str = ""
    """Who logs in there. Empty: nobody does. A password is sent over an encrypted connection alone."""
    smtp_password: str = ""
    """Write `"${VARIABLE}"`, so that the file holds no secret. Empty: the vault's, from `openagent auth add smtp
    --no-test`."""
    webhook: Address = ""
    """An address that gets each as JSON: `text` for people, `report` with every figure."""

    def __repr__(self) -> str:
        return _repr_without_secrets(self)


class LimitSettings(Struct, frozen=True, kw_only=True):
    """What a new session may do in one turn, unless it is created with other limits."""

    max_steps: Count = 200
    """Steps a turn may take."""
    turn_timeout: Seconds | None = None
    """Seconds a turn may take. Left out: no limit."""
    ask_timeout: Seconds = 600.0
    """Seconds after which something that nobody allowed counts as denied. It can be asked again then."""
    away_timeout: Seconds = 15.0
    """Seconds after which a program that waits for an answer (a connection to a host) is refused when nobody is there
    who could give one: time to come back."""


class TurnsSettings(Struct, frozen=True, kw_only=True):
    """How many turns run at the same time, in all sessions together. Those that wait are told their place in line."""

    at_once: Count | None = None
    """Turns that run at once. A session has one place together with the sub-agents that work for it. Left out: as many
    as come."""
    waiting: Count | None = None
    """Sessions that may wait for a turn, and messages that may wait in one session: a message beyond is refused, and
    told when to come again. In a full line everybody has an equal share. Left out: as many as come."""


class LogSettings(Struct, frozen=True, kw_only=True):
    """The daemon's log."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """The least severe entries that are written."""
    stderr: bool = False
    """Written to standard error, too, where that is no terminal: for containers and service managers."""


class TelemetrySettings(Struct, frozen=True, kw_only=True):
    """Where what the daemon counts is sent by itself. Prometheus fetches it from `/metrics`, and needs nothing here."""

    influx: Address = ""
    """Where InfluxDB takes lines: `http://localhost:8086/write?db=openagent`, or its second version's
    `/api/v2/write?org=…&bucket=…`. Empty: nothing is sent."""
    influx_token: str = ""
    """Sent along as `Authorization: Token …`. Write `"${VARIABLE}"`, so that the file holds no secret."""
    every: Seconds = 15.0
    """Seconds from one time to the next."""
    otlp: Address = ""
    """Where traces and metrics go, by OTLP over HTTP: `http://localhost:4318`. Needs the extra `otel`. Empty: where
    `OTEL_EXPORTER_OTLP_ENDPOINT` of the daemon's own environment says, if anywhere."""

    def __repr__(self) -> str:
        return _repr_without_secrets(self)


class WebSettings(Struct, frozen=True, kw_only=True):
    """The WebSocket, and what is served beside it."""

    enabled: bool = False
    """Listen at all."""
    host: str = "127.0.0.1"
    """The address to listen on. Anything but loopback makes the daemon reachable from other machines."""
    port: Port = 4180
    """0 takes any free port."""
    hosts: list[str] = []
    """Names, with a port where there is one, under which it is reached beside its own address, such as a proxy's."""


class PeopleSettings(Struct, frozen=True, kw_only=True):
    """Who works here beside the one who has the machine. Without an issuer nobody logs in."""

    folder: str = "~/openagent-people"
    """Where everybody's folder is made, and every team's. A person works in their own and their teams'."""
    issuer: str = ""
    """The address of the OpenID Connect provider that people log in with. Empty: they sign in with
    a password, chosen through the link that `openagent people add` prints."""
    client_id: str = ""
    """What the provider knows this installation as."""
    client_secret: str = ""
    """What it proves that with, where the provider wants it. Better `${A_VARIABLE}` than the secret itself."""
    name: str = ""
    """What the button to log in calls the provider. Empty: its address."""
    scopes: str = "openid email profile"
    """What the provider is asked for."""
    url: str = ""
    """The address at which people open this installation if there is a proxy in front of it, such as
    `https://agents.example.com`. Invitation links begin with it."""
    admins: list[str] = []
    """The e-mail addresses of those who come in as admins."""
    domains: list[str] = []
    """Only addresses of these domains are let in. Empty: all that the provider lets in."""
    team_claim: str = ""
    """What the provider calls a person's groups, such as `groups`: they are in the teams of these names, and in no
    others. Empty: teams are made here."""
    login_hours: Annotated[float, Meta(gt=0)] = 12.0
    """How long a browser's login lasts."""


class IndexSettings(Struct, frozen=True, kw_only=True):
    """How code is found."""

    vectors: Literal["own", "chroma"] = "own"
    """Where vectors are kept: in the index's own file, or in Chroma, which is fetched with the next build."""
    map_tokens: Tokens = 800
    """Of an indexed workspace, a new session is told what is defined where, in so many tokens at most. 0: nothing."""
    retrieved_tokens: Tokens = 1000
    """Code that a message seems to be about is shown with it, in so many tokens at most. 0: none."""


class PriceSettings(Struct, frozen=True, kw_only=True):
    """Dollars per million tokens of one model, where the built-in price list is wrong or has none."""

    input: Amount
    """Prompt tokens."""
    output: Amount
    """Tokens of the answer, reasoning included."""
    cached: Amount | None = None
    """Prompt tokens read from the provider's cache. Left out: as `input`."""
    cache_write: Amount | None = None
    """Prompt tokens written to the provider's cache. Left out: as `input`."""


class ModelSettings(Struct, frozen=True, kw_only=True):
    """One model, or all whose name fits a pattern such as `"office/*"`. Where several fit, the longest counts."""

    context_window: Count | None = None
    """Tokens it can be shown. Left out: what its server says, or what is known by its name."""
    max_output_tokens: Count | None = None
    """Tokens an answer may take. Left out: as long as the model can."""
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    """How freely it answers. Left out: the provider's own."""
    thinking: Literal["off", "low", "medium", "high"] | None = None
    """How long it thinks before it answers. Left out: the provider's own."""
    tools: bool | None = None
    """Whether it can call tools. Left out: what its server says; otherwise it can."""


class AutoRule(Struct, frozen=True, kw_only=True):
    """Applies when everything it states is so. The first rule that applies decides; with no rules, built-in ones."""

    use: Literal["cheap", "strong"]
    """Which of the two models."""
    reason: str = ""
    """What people read as the reason. Left out: the conditions themselves."""
    after_tools: list[str] = []
    """The step follows results of these tools, and of no others."""
    after_error: bool | None = None
    """A tool call of the step before did (not) fail."""
    new_turn: bool | None = None
    """The step is (not) the first after a message of yours."""
    prompt_contains: list[str] = []
    """Your last message contains one of these, whatever the case."""
    prompt_shorter_than: Count | None = None
    """Your last message has fewer characters than this."""
    steps_over: Count | None = None
    """The turn has taken more steps than this."""


class AutoSettings(Struct, frozen=True, kw_only=True):
    """What `model = "auto"` chooses from, step by step."""

    cheap: ConcreteModel = ""
    """For steps that need little thought. Empty: a smaller model of the same vendor, where one is known."""
    strong: ConcreteModel = ""
    """For the rest, and whenever no rule applies. Empty: what answers without `auto`."""
    rules: list[AutoRule] = []


class CacheSettings(Struct, frozen=True, kw_only=True):
    """Answers kept for requests that are asked again word for word."""

    responses: bool = False
    """Keep answers to requests at temperature 0, in memory: for evaluations and tests."""


class WireProfileSettings(Struct, frozen=True, kw_only=True):
    """A header set of yours; a provider uses it with `wire_profile = "NAME"`."""

    headers: list[HeaderLine]
    """`"Name: value"` in the order they are sent. `@auth` stands where the key goes; `{version}`, `{model}`, `{host}`,
    `{length}`, `{organization}`, `{platform}`, `{arch}` and `{python}` are filled in."""


class Settings(Struct, frozen=True, kw_only=True):
    """The whole tree."""

    model: ModelName = ""
    """What answers: `provider/model`, or `auto`. Empty: chosen from the keys there are."""
    mode: Mode | None = None
    """What an agent may do unasked: `plan` (read only), `ask`, `edits` (change files), `auto` (all that stays in the
    jail) or `full`. Left out: `auto`, and `ask` where `jail.kind` is `host`."""
    label: WorkerLabel = ""
    """In a team: sessions run only on workers with this label, and only on those without one where it is empty. A
    project may say it for its own."""
    local_servers: list[ServerPort] = field(
        default_factory=lambda: ["ollama:11434", "llamacpp:8080", "vllm:8000", "lmstudio:1234"]
    )
    """Model servers to look for on this machine while a model is chosen: what the provider is to be called, and the
    port. Nothing but the loopback interface is asked."""
    providers: dict[str, ProviderSettings] = {}
    models: dict[str, ModelSettings] = {}
    fallback: FallbackSettings = FallbackSettings()
    credentials: dict[str, str] = {}
    """Which of several keys and logins a provider uses first: `anthropic = "work"` for `anthropic@work`. The others go
    on where it is refused or used up."""
    budget: BudgetSettings = BudgetSettings()
    jail: JailSettings = JailSettings()
    tools: ToolSettings = ToolSettings()
    agents: AgentSettings = AgentSettings()
    tasks: TaskSettings = TaskSettings()
    context: ContextSettings = ContextSettings()
    intent: IntentSettings = IntentSettings()
    rules: RulesSettings = RulesSettings()
    hooks: HookSettings = HookSettings()
    store: StoreSettings = StoreSettings()
    database: DatabaseUrl = ""
    """As `store.url`, in one word: where sessions are kept. Set, it counts instead."""
    redis: RedisUrl = ""
    """The Redis server through which the daemons of a team speak to each other: `redis://:PASSWORD@host:6379/0`. One
    without a password is refused. It takes a PostgreSQL `database`. Left out: this daemon works alone."""
    team: TeamSettings = TeamSettings()
    backup: BackupSettings = BackupSettings()
    report: ReportSettings = ReportSettings()
    retention: RetentionSettings = RetentionSettings()
    limits: LimitSettings = LimitSettings()
    turns: TurnsSettings = TurnsSettings()
    log: LogSettings = LogSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    web: WebSettings = WebSettings()
    people: PeopleSettings = PeopleSettings()
    index: IndexSettings = IndexSettings()
    prices: dict[str, PriceSettings] = {}
    auto: AutoSettings = AutoSettings()
    cache: CacheSettings = CacheSettings()
    wire_profiles: dict[str, WireProfileSettings] = {}

    @property
    def database_url(self) -> str:
        return self.database or self.store.url

    @property
    def usual_mode(self) -> Mode:
        """Without a jail nothing holds what runs unasked."""
        return self.mode or ("ask" if self.jail.kind == "host" else "auto")


def size_in_bytes(size: str) -> int:
    """`"2g"` to 2147483648."""
    unit = size[-1].lower()
    if unit.isdigit():
        return int(size)
    return int(size[:-1]) * 1024 ** ("kmgt".index(unit) + 1)


def _repr_without_secrets(settings: Struct) -> str:
    values = structs.asdict(settings)
    shown = ", ".join(f"{name}={masked((name,), value)!r}" for name, value in values.items())
    return f"{type(settings).__name__}({shown})"
