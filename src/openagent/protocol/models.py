"""The models that providers offer."""

from msgspec import Struct

from openagent.protocol.errors import ErrorInfo
from openagent.protocol.op import Op, ReadingOp
from openagent.protocol.routes import GET, POST


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


class ModelsList(
    ReadingOp[ModelEntries], tag="models.list", needs="read", reach="open", waits=True, routes=GET("/api/models")
):
    """What the providers offer, asked of them."""

    provider: str = ""
    cwd: str = ""


class ModelsTest(
    ReadingOp[ModelTests],
    tag="models.test",
    needs="admin",
    reach="whole unless named",
    waits=True,
    routes=POST("/api/models/test"),
):
    """Ask models for one token, and see."""

    name: str = ""
    """A provider, or provider/model; all providers when empty."""
    cwd: str = ""


class ModelsPull(
    Op[ModelPulled], tag="models.pull", needs="admin", reach="whole", waits=True, routes=POST("/api/models/pull")
):
    """Install an offline model. Its progress comes as events, to this connection alone."""

    name: str
