"""What sessions share. The composition root fills it in."""

from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from openagent.core.activity_clock import ActivityClock
from openagent.core.pace import Pace
from openagent.plugins.admission import Admission, Unbounded
from openagent.plugins.collector import Collector, ContextSettings
from openagent.plugins.gate import Gate, OpenGate
from openagent.plugins.jail import Jail, NeverReached, reach_anything
from openagent.plugins.ledger import Budget, Ledger
from openagent.plugins.provider import ModelRequest, Provider
from openagent.plugins.store import Store
from openagent.plugins.tool import Tool
from openagent.plugins.workspace import Checkpoints, Writes
from openagent.policy.facts import Kind
from openagent.policy.rules import Rule, RuleSet
from openagent.protocol.errors import ErrorInfo
from openagent.protocol.events import Event
from openagent.protocol.sessions import Mode, SessionInfo, Settings
from openagent.protocol.usage import Usage


class ResolvedModel(Struct, frozen=True):
    provider: Provider
    model: str
    """The model's name at the provider."""
    name: str
    """provider/model"""
    context_window: int
    max_output_tokens: int | None = None
    temperature: float | None = None
    thinking: str | None = None
    tools: bool = True
    """It can call tools."""


class ModelResolver(Protocol):
    def __call__(self, model: str, *, env: Mapping[str, str], cwd: Path, whose: tuple[str, ...] = ()) -> ResolvedModel:
        """`whose` keys come before those that are everybody's: see `Session.keys_of`. Raises
        OpenAgentError('config_error') when no such provider is configured."""
        ...


class ModelStudent(Protocol):
    async def __call__(self, model: str, *, env: Mapping[str, str], cwd: Path, whose: tuple[str, ...] = ()) -> None: ...


class Audience(Protocol):
    """Who hears of a session."""

    def publish(self, event: Event) -> None: ...

    def flush(self, session: str) -> None:
        """All that happened to it in this moment was published."""
        ...


class Frozen(Protocol):
    """What a turn uses, as it was when the turn started."""

    def here(self) -> AbstractContextManager[None]:
        """Holds for what is called from here, and in the tasks that are started from here."""
        ...

    def thaw(self) -> None:
        """The turn has ended."""
        ...


class Unfrozen:
    def here(self) -> AbstractContextManager[None]:
        return nullcontext()

    def thaw(self) -> None:
        pass


class WorkspaceRules(Struct, frozen=True):
    """What holds in a workspace right now."""

    rules: RuleSet = RuleSet()
    at_most: Mode = "full"
    """No session goes beyond this mode: `ask` when there are rules that cannot be read."""


async def _nothing_to_learn(model: str, *, env: Mapping[str, str], cwd: Path, whose: tuple[str, ...] = ()) -> None:
    pass


async def _is_open(_workspace: Path) -> None:
    pass


async def _no_more_tools(_session: SessionInfo) -> Sequence[Tool]:
    return ()


async def _nothing_to_stop(_session: str, _turns: Container[int]) -> Sequence[str]:
    return ()


async def _no_copy(_session: str) -> str:
    return ""


@dataclass(kw_only=True)
class Runtime:
    store: Store
    resolve_model: ModelResolver
    learn_model: ModelStudent = _nothing_to_learn
    """Awaited before a turn resolves its model: what its server says of it is asked, if nobody has yet."""
    answering: Callable[[str, Mapping[str, str], Path], str] = lambda model, _env, _workspace: model
    """What a session chose to the name of what will answer it in this environment and workspace; empty: nothing is set
    up. All that people are shown of it comes from here."""
    tools: Sequence[Tool]
    more_tools: Callable[[SessionInfo], Awaitable[Sequence[Tool]]] = _no_more_tools
    """What else there is for a session right now, from MCP servers for one. Asked at the start of every turn."""
    offers: Callable[[str, Tool, int], bool] = lambda _session, _tool, _window: True
    """Session, tool and the model's context window to whether the tool's schema is sent; if not, it can be called all
    the same."""
    jail: Jail
    scratch: Path
    """Holds one private directory per session: long output, backups."""
    ledger: Ledger
    collectors: Mapping[str, Collector]
    checkpoints: Checkpoints | None = None
    writes: Writes | None = None
    """What sessions wrote; without it nothing can be rewound but conversations."""
    open_workspace: Callable[[Path], Awaitable[None]] = _is_open
    """Called before a session works somewhere: a copy may have to be mounted again."""
    freeze: Callable[[Path, Mapping[str, str]], Frozen] = lambda _workspace, _env: Unfrozen()
    """Called when a turn starts, with the environment of whoever sent the message."""
    context: Callable[[Path], ContextSettings] = lambda _workspace: ContextSettings()
    rules: Callable[[SessionInfo], WorkspaceRules] = lambda _session: WorkspaceRules()
    """Asked at the start of every turn."""
    notices: Callable[[Path], Sequence[ErrorInfo]] = lambda _workspace: ()
    """What a person should know about a workspace's own settings and rules before an agent works there."""
    explain_cache: Callable[[str, str, ModelRequest, Usage], str] = lambda _s, _m, _r, _u: ""
    """Session, model, request and usage to why less of the prompt came from the provider's cache than could have."""
    left_memory: Callable[[str], None] = lambda _session: None
    """A session rests, was put away or deleted: whoever remembers something for its next step forgets it."""
    remember_grant: Callable[[Rule], Rule] = lambda rule: rule
    """Write an "always allow this" to the user's rules. Returns it as it stands there; raises OpenAgentError when that
    cannot be done."""
    stop_started_in: Callable[[str, Container[int]], Awaitable[Sequence[str]]] = _nothing_to_stop
    """Ends what a session started in the background in turns that are taken back: their sub-agents' names."""
    drop_copy: Callable[[Path], Awaitable[None]] = _is_open
    """The session that worked in a folder was deleted with the one it worked for: a copy goes with it."""
    copy_left: Callable[[str], Awaitable[str]] = _no_copy
    """A sub-agent's session to the copy with edits of it that have not come back; empty when there are none. Loads no
    session."""
    clock: ActivityClock = field(default_factory=ActivityClock)
    gate: Gate = field(default_factory=OpenGate)
    network: Callable[[str, int], Kind] = lambda _host, _port: "allow"
    """What the settings say about reaching a host and port from a session: `ask` where a person decides."""
    never_reached: NeverReached = reach_anything
    """Why nobody can open a jail to a host and port: it is the installation's own."""
    admission: Admission = field(default_factory=Unbounded)
    """Whether a turn may begin now."""
    pace: Pace = field(default_factory=Pace)
    """Of sessions that go on with their turns."""
    opening: Pace = field(default_factory=lambda: Pace(1))
    """Of shells: starting one holds everybody up for milliseconds."""
    ask_timeout: Callable[[Path], float | None] = lambda _workspace: 600.0
    away_timeout: Callable[[Path], float] = lambda _workspace: 15.0
    """Seconds after which a permission request that nobody answered is denied."""

    def caps_of(self, settings: Settings) -> Budget:
        return self.ledger.caps(Budget(usd=settings.budget_usd, tokens=settings.budget_tokens))

    def capped(self, info: SessionInfo) -> SessionInfo:
        """With the caps that hold for it."""
        caps = self.caps_of(info.settings)
        return msgspec.structs.replace(info, cap_usd=caps.usd, cap_tokens=caps.tokens, today=self.ledger.today())
