"""The models that providers offer."""

from msgspec import Struct

from openagent.protocol.errors import ErrorInfo
from openagent.protocol.op import Op, ReadingOp
from openagent.protocol.routes import GET, POST


class ModelEntry(Struct, frozen=True, omit_defaults=True):
    """A model."""

    name: str
    """provider/model"""
    context_window: int = 0
    """The most it can be shown, in tokens; 0: not known."""
    max_output_tokens: int = 0
    """The most it can answer, in tokens; 0: not known."""
    input_usd: float | None = None
    """Dollars per million tokens; None: not known."""
    output_usd: float | None = None
    """The same for what it answers."""
    note: str = ""
    """What else is worth knowing."""


class ProviderProblem(Struct, frozen=True):
    """A provider that could not be asked."""

    provider: str
    """The provider, by its name."""
    error: ErrorInfo
    """Why it could not be asked."""


class ModelEntries(Struct, frozen=True):
    """Models."""

    models: list[ModelEntry]
    """Each model."""
    problems: list[ProviderProblem] = []
    """Providers that could not be asked."""


class ModelTest(Struct, frozen=True, omit_defaults=True):
    """Whether a model answers."""

    model: str
    """The model that was asked: provider/model."""
    latency_ms: float = 0.0
    """To the first chunk of the answer."""
    error: ErrorInfo | None = None
    """None: it answered."""


class ModelTests(Struct, frozen=True):
    """Whether models answer."""

    tests: list[ModelTest]
    """One for each model that was asked."""


class ModelPulled(Struct, frozen=True):
    """A model that was installed."""

    model: str
    """The model that was installed."""
    path: str
    """Where it lies."""
    size_bytes: int
    """How large it is, in bytes."""


class ModelsList(
    ReadingOp[ModelEntries], tag="models.list", needs="read", reach="open", waits=True, routes=GET("/api/models")
):
    """What the providers offer, asked of them."""

    provider: str = ""
    """Only this one; empty: all."""
    cwd: str = ""
    """The project whose providers count too."""


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
    """The project whose providers count too."""


class ModelsPull(
    Op[ModelPulled], tag="models.pull", needs="admin", reach="whole", waits=True, routes=POST("/api/models/pull")
):
    """Install an offline model. Its progress comes as events, to this connection alone."""

    name: str
    """The model to install."""
