"""The first minutes: what could answer on this machine, trying a key, and choosing."""

from typing import Literal

from msgspec import Struct

from openagent.protocol.op import Done, Op, ReadingOp
from openagent.protocol.routes import DELETE, GET, POST


class FolderTrust(Struct, frozen=True, omit_defaults=True):
    """Whether a folder's own settings, rules, MCP servers and hooks count."""

    folder: str
    """The project's folder."""
    trusted: bool = False
    """They count."""
    declined: bool = False
    """Somebody was asked and said no, and nothing of it has changed since."""
    files: list[str] = []
    """What of it steers agents; empty: there is nothing to trust."""


class SetupState(Struct, frozen=True, omit_defaults=True):
    """How far this machine is set up."""

    model: str = ""
    """What would answer a session that names no model: provider/model. Empty: nothing would."""
    chosen: bool = False
    """Somebody chose it: it stands in the configuration. Otherwise it follows from the keys there are."""
    folder: FolderTrust | None = None
    """None: no folder was named."""


class FoundKey(Struct, frozen=True, omit_defaults=True):
    """A key that is there already."""

    provider: str
    """The provider it is for."""
    title: str
    """What people call the provider."""
    model: str
    """What would answer: provider/model."""
    source: Literal["environment", "vault", "config"]
    """Where it is."""
    variable: str = ""
    """The environment variable that holds it."""


class ServedModel(Struct, frozen=True, omit_defaults=True):
    """A model of a server on this machine."""

    name: str
    """As the server calls it."""
    note: str = ""
    """What the server says of it, such as its size."""


class LocalServer(Struct, frozen=True, omit_defaults=True):
    """A model server that answered: of this machine, or one that somebody configured."""

    provider: str
    """The name it has among the providers once it is chosen."""
    title: str
    """What people call it."""
    url: str
    """Its base_url."""
    models: list[ServedModel] = []
    """What it can run; empty: it has no model yet."""
    configured: bool = False
    """It is among the providers already, by the configuration or the environment."""


class LoginOffer(Struct, frozen=True, omit_defaults=True):
    """A provider that one can log in to."""

    provider: str
    """The provider, by its name."""
    done: bool = False
    """Somebody is logged in."""


class OfflineOffer(Struct, frozen=True, omit_defaults=True):
    """A small model that runs without a network."""

    name: str
    """What `models.pull` calls it."""
    size_bytes: int
    """About what is downloaded."""
    note: str
    """What it can do and what not."""
    installed: bool = False
    """It is here already."""


class KeyLook(Struct, frozen=True):
    """How a vendor's keys begin."""

    prefix: str
    """The beginning; the longest that fits counts."""
    provider: str
    """The provider it is for."""
    title: str
    """What people call the provider."""


class ModelSources(Struct, frozen=True):
    """What could answer on this machine."""

    keys: list[FoundKey]
    """Keys that are there, the best to begin with first."""
    servers: list[LocalServer]
    """Model servers that answered."""
    logins: list[LoginOffer]
    """Providers whose login is configured."""
    offline: list[OfflineOffer]
    """Models to fetch and use without a network."""
    looks: list[KeyLook]
    """Whose a pasted key is."""


class ModelChosen(Struct, frozen=True):
    """The model that answers from now on."""

    model: str
    """provider/model"""
    file: str
    """The configuration that says so."""


class SetupShow(ReadingOp[SetupState], tag="setup.show", needs="admin", reach="whole", routes=GET("/api/setup")):
    """What would answer here, whether somebody chose it, and whether the folder is trusted. Asks nobody else."""

    cwd: str = ""
    """The workspace: a folder on the daemon's machine."""


class SetupLook(
    ReadingOp[ModelSources],
    tag="setup.look",
    needs="admin",
    reach="whole",
    waits=True,
    routes=GET("/api/setup/sources"),
):
    """Look for keys, for model servers on this machine's usual ports, and for what else could answer."""

    cwd: str = ""
    """The workspace: a folder on the daemon's machine."""


class SetupKey(
    Op[ModelChosen], tag="setup.key", needs="admin", reach="whole", waits=True, routes=POST("/api/setup/key")
):
    """Try a key with one question that costs nothing, keep it in the vault if it is good, and let its provider answer
    from now on. A key that is refused is not kept, and the error says what the provider said."""

    key: str
    """The API key."""
    provider: str = ""
    """The provider it is for. Empty: told by the beginning of the key."""

    def __repr__(self) -> str:
        return f"SetupKey(provider={self.provider!r})"


class SetupUse(
    Op[ModelChosen], tag="setup.use", needs="admin", reach="whole", waits=True, routes=POST("/api/setup/use")
):
    """Let this answer from now on: it is tried first, then written into the configuration."""

    provider: str
    """The provider, by its name."""
    model: str = ""
    """The model, without its provider. Empty: the usual one."""
    url: str = ""
    """The base_url of a server on this machine that is to become this provider."""


class Tour(Struct, frozen=True):
    """A sample project, and what to say in it."""

    cwd: str
    """Where it lies."""
    model: str
    """The scripted model that plays the tour."""
    prompt: str
    """What to send it first."""
    label: str
    """What people are told before: that it is scripted."""


class SetupTour(Op[Tour], tag="setup.tour", needs="admin", reach="whole", waits=True, routes=POST("/api/setup/tour")):
    """Lay the guided tour's sample project into a new temporary folder. A session there, with its model, takes it."""


class ProviderAdded(Struct, frozen=True):
    """A provider that was tried and kept."""

    name: str
    """What stands before the slash of its models."""
    models: list[str]
    """What it lists; empty: it lists none, and has to be asked by name."""
    file: str
    """The configuration that says so."""


class ProvidersAdd(
    Op[ProviderAdded],
    tag="providers.add",
    needs="admin",
    reach="whole",
    waits=True,
    routes=POST("/api/providers", status=201),
):
    """Set up a provider of one's own: it is asked for its models first, and kept only if it answers. Its address goes
    into the configuration, its key into the vault."""

    name: str
    """What is to stand before the slash of its models."""
    base_url: str = ""
    """Where it is; empty: the kind's usual address."""
    kind: Literal["compatible", "openai", "anthropic", "gemini", "azure"] = "compatible"
    """Whose format it speaks."""
    key: str = ""
    """Its API key. Empty: it needs none, or the one that is kept already."""
    replace: bool = False
    """Also when there is one of this name already."""

    def __repr__(self) -> str:
        return f"ProvidersAdd(name={self.name!r})"


class ProvidersRemove(
    Op[Done], tag="providers.remove", needs="admin", reach="whole", waits=True, routes=DELETE("/api/providers/{name}")
):
    """Take a provider out of the person's own configuration, and its key out of the vault."""

    name: str
    """The provider, by its name."""
