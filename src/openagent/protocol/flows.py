"""Flows: files that chain templates."""

from typing import Literal

from msgspec import Struct

from openagent.protocol.errors import ErrorInfo
from openagent.protocol.op import Op, ReadingOp
from openagent.protocol.routes import GET, POST
from openagent.protocol.sessions import Mode

FlowState = Literal["running", "done", "failed", "cancelled", "interrupted"]


StepState = Literal["waiting", "running", "done", "failed"]


class FlowInfo(Struct, frozen=True, omit_defaults=True):
    name: str
    description: str = ""
    file: str = ""
    inputs: dict[str, str] = {}
    """What it wants to be given, and what each is."""
    defaults: dict[str, str] = {}
    steps: list[str] = []
    """Each on one line: its name and what it does."""
    problems: list[str] = []
    """Why it cannot be run."""


class FlowList(Struct, frozen=True):
    flows: list[FlowInfo]


class FlowRunning(Struct, frozen=True, omit_defaults=True):
    """The session it runs in: attach to follow it, `turn.cancel` ends it."""

    session: str
    name: str
    steps: list[str]
    seq: int = 0
    """Attach after it to hear of this run, and not of earlier ones that have failed or were cancelled."""
    done: list[str] = []
    """Names of the steps that an earlier run has done."""


class FlowStepReport(Struct, frozen=True, omit_defaults=True):
    name: str
    state: StepState = "waiting"
    rounds: int = 0
    """How often its agents worked until the check passed."""
    text: str = ""
    cost_usd: float = 0.0


class FlowReport(Struct, frozen=True, omit_defaults=True):
    session: str
    name: str
    state: FlowState
    steps: list[FlowStepReport]
    cost_usd: float = 0.0
    tokens: int = 0
    error: ErrorInfo | None = None


class FlowsList(ReadingOp[FlowList], tag="flow.list", needs="read", routes=GET("/api/flows")):
    """The flows of a project: `.openagent/flows/*.toml`."""

    cwd: str


class FlowCheck(ReadingOp[FlowInfo], tag="flow.check", needs="read", reach="open", routes=POST("/api/flows/check")):
    """Whether a flow could run there. Nothing is run."""

    text: str
    file: str = ""
    cwd: str = ""


class FlowRun(
    Op[FlowRunning], tag="flow.run", needs=("chat", "approve"), works_there=True, routes=POST("/api/flows", status=202)
):
    """Start a flow in a session of its own."""

    text: str
    file: str = ""
    cwd: str
    inputs: dict[str, str] = {}
    mode: Mode | None = None
    model: str = ""
    budget_usd: float | None = None


class FlowResume(
    Op[FlowRunning],
    tag="flow.resume",
    needs="chat",
    acts=True,
    routes=POST("/api/flows/{id=session}/resume", status=202),
):
    """Go on with a flow that ended early, after its last step that was done."""

    session: str


class FlowShow(ReadingOp[FlowReport], tag="flow.show", needs="read", routes=GET("/api/flows/{id=session}")):
    """How a flow is doing."""

    session: str
