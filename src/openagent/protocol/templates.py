"""Templates: saved personas that a session can be made from, or that an agent can call as a sub-agent."""

from typing import Literal

from msgspec import Struct

from openagent.protocol.op import Done, Op, ReadingOp
from openagent.protocol.routes import DELETE, GET, POST
from openagent.protocol.sessions import Mode

TemplateSource = Literal["project", "user", "database", "starter"]
"""Where a template comes from. Of one name, the first of these counts."""


class Template(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A saved persona."""

    name: str
    """Its name."""
    description: str = ""
    """When to call it, in a sentence: what other agents read to choose."""
    role: str = ""
    """What it is, in a few words."""
    prompt: str = ""
    """Added to the system prompt."""
    replace_prompt: bool = False
    """Its prompt is the whole system prompt: nothing of the usual one is said. `{cwd}` in it is the workspace."""
    model: str = ""
    """provider/model, or auto. Empty: that of the session that calls it, or the configured one."""
    tools: list[str] | None = None
    """The only tools it has. None: all."""
    disabled_tools: list[str] = []
    """Tools it does not have, whatever else it has."""
    mcp_servers: list[str] | None = None
    """The only MCP servers whose tools it has. None: all, or, with `tools`, those named there."""
    mode: Mode | None = None
    """What it may do unasked; as a sub-agent never more than its caller."""
    max_steps: int | None = None
    """Steps a turn may take; null: as configured."""
    timeout: float | None = None
    """Seconds a turn may take."""
    budget_usd: float | None = None
    """What it may spend, in dollars; null: as configured."""
    label: str = ""
    """In a team: sessions made from it run only on workers with this label."""


class TemplateInfo(Struct, frozen=True, omit_defaults=True):
    """A template, and where it comes from."""

    template: Template
    """The template."""
    source: TemplateSource
    """Where it comes from."""
    file: str = ""
    """Where it stands, if in a file."""
    writes: bool = False
    """It can change files, so as a sub-agent it works in a copy that is merged back."""
    hides: list[TemplateSource] = []
    """Where else there is one of this name, which does not count."""
    notices: list[str] = []
    """What its file says that is not understood or not used here."""


class TemplateList(Struct, frozen=True, omit_defaults=True):
    """Templates."""

    templates: list[TemplateInfo]
    """Each template."""
    notices: list[str] = []
    """What was left out, and why."""


class TemplateText(Struct, frozen=True):
    """A template as a Markdown file with front matter."""

    name: str
    """The template's name."""
    text: str
    """What the file says."""


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
    """The template, by its name."""
    cwd: str = ""
    """The project whose templates count too."""


class TemplatesSave(
    Op[TemplateInfo],
    tag="templates.save",
    needs="admin",
    reach="whole",
    routes=POST("/api/config/agent-templates", status=201),
):
    """Keep a template in the database."""

    template: Template
    """What to keep."""
    replace: bool = False
    """Also when there is one of this name already."""


class TemplatesRemove(
    Op[Done], tag="templates.remove", needs="admin", reach="whole", routes=DELETE("/api/config/agent-templates/{name}")
):
    """Take a template out of the database. Files are left alone."""

    name: str
    """The template, by its name."""
    cwd: str = ""
    """The project whose templates count too."""


class TemplatesImport(
    Op[TemplateInfo],
    tag="templates.import",
    needs="admin",
    reach="whole",
    routes=POST("/api/config/agent-templates/import"),
):
    """Keep the template of a Markdown file in the database."""

    text: str
    """What the file says."""
    file: str = ""
    """Its name, for errors, and for a template that does not name itself."""
    replace: bool = False
    """Also when there is one of this name already."""


class TemplatesExport(
    ReadingOp[TemplateText],
    tag="templates.export",
    needs="read",
    reach="open",
    routes=GET("/api/config/agent-templates/{name}/export"),
):
    """A template as a Markdown file."""

    name: str
    """The template, by its name."""
    cwd: str = ""
    """The project whose templates count too."""


class TemplatesRead(
    ReadingOp[Template],
    tag="templates.read",
    needs="read",
    reach="open",
    routes=POST("/api/config/agent-templates/read"),
):
    """The template that the text of a Markdown file says, kept nowhere."""

    text: str
    """What the file says."""
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
    """The template to write."""
