"""Templates: saved personas that a session can be made from, or that an agent can call as a sub-agent."""

from typing import Literal

from msgspec import Struct

from openagent.protocol.op import Done, Op, ReadingOp
from openagent.protocol.routes import DELETE, GET, POST
from openagent.protocol.sessions import Mode

TemplateSource = Literal["project", "user", "database", "starter"]
"""Where a template comes from. Of one name, the first of these counts."""


class Template(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    name: str
    description: str = ""
    """When to call it, in a sentence: what other agents read to choose."""
    role: str = ""
    prompt: str = ""
    """Added to the system prompt."""
    model: str = ""
    """provider/model, or auto. Empty: that of the session that calls it, or the configured one."""
    tools: list[str] | None = None
    """The only tools it has. None: all."""
    mcp_servers: list[str] | None = None
    """The only MCP servers whose tools it has. None: all, or, with `tools`, those named there."""
    mode: Mode | None = None
    """What it may do unasked; as a sub-agent never more than its caller."""
    max_steps: int | None = None
    timeout: float | None = None
    """Seconds a turn may take."""
    budget_usd: float | None = None


class TemplateInfo(Struct, frozen=True, omit_defaults=True):
    template: Template
    source: TemplateSource
    file: str = ""
    """Where it stands, if in a file."""
    writes: bool = False
    """It can change files, so as a sub-agent it works in a copy that is merged back."""
    hides: list[TemplateSource] = []
    """Where else there is one of this name, which does not count."""


class TemplateList(Struct, frozen=True, omit_defaults=True):
    templates: list[TemplateInfo]
    notices: list[str] = []
    """What was left out, and why."""


class TemplateText(Struct, frozen=True):
    """A template as a Markdown file with front matter."""

    name: str
    text: str


class TemplatesList(
    ReadingOp[TemplateList], tag="templates.list", needs="read", reach="open", routes=GET("/api/config/agent-templates")
):
    """List agent templates."""

    cwd: str = ""
    """Also those of the project there."""


class TemplatesGet(
    ReadingOp[TemplateInfo],
    tag="templates.get",
    needs="read",
    reach="open",
    routes=GET("/api/config/agent-templates/{name}"),
):
    """One template."""

    name: str
    cwd: str = ""


class TemplatesSave(
    Op[TemplateInfo],
    tag="templates.save",
    needs="admin",
    reach="whole",
    routes=POST("/api/config/agent-templates", status=201),
):
    """Keep a template in the database."""

    template: Template
    replace: bool = False


class TemplatesRemove(
    Op[Done], tag="templates.remove", needs="admin", reach="whole", routes=DELETE("/api/config/agent-templates/{name}")
):
    """Take a template out of the database. Files are left alone."""

    name: str
    cwd: str = ""


class TemplatesImport(
    Op[TemplateInfo],
    tag="templates.import",
    needs="admin",
    reach="whole",
    routes=POST("/api/config/agent-templates/import"),
):
    """Keep the template of a Markdown file in the database."""

    text: str
    file: str = ""
    """Its name, for errors, and for a template that does not name itself."""
    replace: bool = False


class TemplatesExport(
    ReadingOp[TemplateText],
    tag="templates.export",
    needs="read",
    reach="open",
    routes=GET("/api/config/agent-templates/{name}/export"),
):
    """A template as a Markdown file."""

    name: str
    cwd: str = ""


class TemplatesRead(
    ReadingOp[Template],
    tag="templates.read",
    needs="read",
    reach="open",
    routes=POST("/api/config/agent-templates/read"),
):
    """The template that the text of a Markdown file says, kept nowhere."""

    text: str
    file: str = ""
    """Its name, for errors."""


class TemplatesWrite(
    ReadingOp[TemplateText],
    tag="templates.write",
    needs="read",
    reach="open",
    routes=POST("/api/config/agent-templates/write"),
):
    """A template that is kept nowhere, as the text of a Markdown file."""

    template: Template
