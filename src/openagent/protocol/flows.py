"""Flows: files that chain templates."""

from typing import Literal

from msgspec import Struct

from openagent.protocol.errors import ErrorInfo
from openagent.protocol.op import Op, ReadingOp
from openagent.protocol.routes import GET, POST
from openagent.protocol.sessions import Mode

FlowState = Literal["running", "done", "failed", "cancelled", "interrupted"]


StepState = Literal["waiting", "running", "done", "failed"]


class FlowAgentInfo(Struct, frozen=True):
    """One agent of a step."""

    template: str
    """The template it is made from."""
    task: str
    """What it is told, with the names of inputs and steps in braces."""


class FlowStepInfo(Struct, frozen=True, omit_defaults=True):
    """A step of a flow, to be drawn."""

    name: str
    """The step's name."""
    agents: list[FlowAgentInfo] = []
    """Those that work side by side in it."""
    until: str = ""
    """The command that must pass before it is done."""
    max_rounds: int = 1
    """How often its agents work at most."""
    takes: list[str] = []
    """The inputs and earlier steps that its tasks name."""


class FlowInfo(Struct, frozen=True, omit_defaults=True):
    """A flow, as its file describes it."""

    name: str
    """Its name."""
    description: str = ""
    """What it does, in a sentence."""
    file: str = ""
    """The file it stands in."""
    inputs: dict[str, str] = {}
    """What it wants to be given, and what each is."""
    defaults: dict[str, str] = {}
    """What an input is when it is not given."""
    steps: list[str] = []
    """Each on one line: its name and what it does."""
    problems: list[str] = []
    """Why it cannot be run."""
    text: str = ""
    """What its file says: what `flow.run` is given."""
    plan: list[FlowStepInfo] = []
    """Its steps in full."""


class FlowList(Struct, frozen=True):
    """The flows of a project."""

    flows: list[FlowInfo]
    """Each flow."""


class FlowRunning(Struct, frozen=True, omit_defaults=True):
    """The session it runs in: attach to follow it, `turn.cancel` ends it."""

    session: str
    """The session's id."""
    name: str
    """The flow's name."""
    steps: list[str]
    """Its steps, each on one line."""
    seq: int = 0
    """Attach after it to hear of this run, and not of earlier ones that have failed or were cancelled."""
    done: list[str] = []
    """Names of the steps that an earlier run has done."""


class FlowStepReport(Struct, frozen=True, omit_defaults=True):
    """How a step of a flow is doing."""

    name: str
    """The step's name."""
    state: StepState = "waiting"
    """How far it is."""
    rounds: int = 0
    """How often its agents worked until the check passed."""
    text: str = ""
    """What its agents said last."""
    cost_usd: float = 0.0
    """What it cost, in dollars."""
    agents: list[str] = []
    """The sessions of its agents, in the order they were started."""
    started_at: float = 0.0
    """When it began, in seconds since 1970; 0: not yet."""
    ended_at: float = 0.0
    """When it was done or failed, in seconds since 1970; 0: not yet."""


class FlowReport(Struct, frozen=True, omit_defaults=True):
    """How a flow is doing."""

    session: str
    """The session it runs in."""
    name: str
    """The flow's name."""
    state: FlowState
    """How it is doing."""
    steps: list[FlowStepReport]
    """How each step is doing, in order."""
    cost_usd: float = 0.0
    """What it cost, in dollars."""
    tokens: int = 0
    """Tokens used by all its steps."""
    error: ErrorInfo | None = None
    """What it failed on."""
    flow: FlowInfo | None = None
    """The flow as it was when it was started."""
    inputs: dict[str, str] = {}
    """What it was given."""
    started_at: float = 0.0
    """When it was started, in seconds since 1970."""
    ended_at: float = 0.0
    """When it ended, in seconds since 1970; 0: not yet."""


class FlowsList(ReadingOp[FlowList], tag="flow.list", needs="read", routes=GET("/api/flows")):
    """The flows of a project: `.openagent/flows/*.toml`."""

    cwd: str
    """The project."""


class FlowCheck(ReadingOp[FlowInfo], tag="flow.check", needs="read", reach="open", routes=POST("/api/flows/check")):
    """Whether a flow could run there. Nothing is run."""

    text: str
    """What the flow's file says."""
    file: str = ""
    """The file's name, for errors."""
    cwd: str = ""
    """The project it would run in."""


class FlowRun(
    Op[FlowRunning], tag="flow.run", needs=("chat", "approve"), works_there=True, routes=POST("/api/flows", status=202)
):
    """Start a flow in a session of its own: one of the project's by its name, or one that is given as text."""

    name: str = ""
    """One of the project's flows: the name of its file without `.toml`, or what it calls itself. Empty: `text` says
    it."""
    text: str = ""
    """What the flow's file says, where it is none of the project's."""
    file: str = ""
    """The file's name, for errors."""
    cwd: str
    """The project it runs in."""
    inputs: dict[str, str] = {}
    """What it is given, by the names of its inputs."""
    mode: Mode | None = None
    """What its agents may do unasked; null: as configured."""
    model: str = ""
    """The model its agents use; empty: as configured."""
    budget_usd: float | None = None
    """What it may spend, in dollars; null: no cap of its own."""


class FlowResume(
    Op[FlowRunning],
    tag="flow.resume",
    needs="chat",
    acts=True,
    routes=POST("/api/flows/{id=session}/resume", status=202),
):
    """Go on with a flow that ended early, after its last step that was done."""

    session: str
    """The session the flow ran in."""


class FlowShow(ReadingOp[FlowReport], tag="flow.show", needs="read", routes=GET("/api/flows/{id=session}")):
    """How a flow is doing."""

    session: str
    """The session the flow runs in."""
