"""Skills, slash commands, hooks and plugins: ops about them, and how clients see them."""

from typing import Any, Literal

from msgspec import Struct

from openagent.protocol.op import Op, ReadingOp
from openagent.protocol.routes import GET

Origin = Literal["user", "project", "mcp"]


class SlashCommand(Struct, frozen=True, omit_defaults=True):
    name: str
    """Without the slash; `folder:name` for one in a subfolder, `server:prompt` for an MCP prompt."""
    description: str = ""
    arguments: str = ""
    """A hint for people."""
    origin: Origin = "user"
    source: str = ""
    """The file it stands in, or the MCP server."""
    model: str = ""
    allowed_tools: list[str] = []


class SlashCommands(Struct, frozen=True, omit_defaults=True):
    commands: list[SlashCommand]
    notices: list[str] = []
    """What was left out, and why."""


class Skill(Struct, frozen=True, omit_defaults=True):
    name: str
    description: str = ""
    origin: Origin = "user"
    folder: str = ""


class Skills(Struct, frozen=True, omit_defaults=True):
    skills: list[Skill]
    notices: list[str] = []


class SkillContent(Struct, frozen=True, omit_defaults=True):
    skill: Skill
    body: str
    files: list[str] = []
    """Beside SKILL.md, relative to the folder."""


class Hook(Struct, frozen=True, omit_defaults=True):
    event: str
    command: str
    matcher: str = ""
    timeout: float = 60.0
    origin: Origin = "user"
    source: str = ""
    """The file it stands in."""


class Hooks(Struct, frozen=True, omit_defaults=True):
    hooks: list[Hook]
    notices: list[str] = []


class HookTried(Struct, frozen=True, omit_defaults=True):
    hook: Hook
    outcome: Literal["done", "blocked", "failed", "timeout"]
    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""
    detail: str = ""
    duration_ms: float = 0.0


class HooksTried(Struct, frozen=True, omit_defaults=True):
    tried: list[HookTried]
    notices: list[str] = []


class Plugin(Struct, frozen=True, omit_defaults=True):
    kind: str
    """tools, providers, collectors, jails or commands."""
    name: str
    place: str
    """module:attribute"""
    distribution: str = ""
    version: str = ""
    offers: list[str] = []
    error: str = ""
    """Why it cannot be used; empty when it can."""


class Plugins(Struct, frozen=True, omit_defaults=True):
    plugins: list[Plugin]


class CommandsList(
    ReadingOp[SlashCommands], tag="commands.list", needs="read", reach="open", routes=GET("/api/config/commands")
):
    """The slash commands of a workspace. A message that begins with one is expanded, whichever client sends it."""

    cwd: str = ""


class SkillsList(ReadingOp[Skills], tag="skills.list", needs="read", reach="open", routes=GET("/api/config/skills")):
    """The skills of a workspace."""

    cwd: str = ""


class SkillShow(
    ReadingOp[SkillContent], tag="skills.show", needs="read", reach="open", routes=GET("/api/config/skills/{name}")
):
    """One skill."""

    name: str
    cwd: str = ""


class HooksList(ReadingOp[Hooks], tag="hooks.list", needs="read", reach="open", routes=GET("/api/config/hooks")):
    """The hooks of a workspace."""

    cwd: str = ""


class HooksTest(Op[HooksTried], tag="hooks.test", needs="admin", waits=True):
    """Run the hooks of one event now, as if it had happened. Nothing else happens."""

    event: str
    cwd: str
    tool: str = ""
    input: dict[str, Any] = {}


class PluginsList(
    ReadingOp[Plugins], tag="plugins.list", needs="read", reach="open", waits=True, routes=GET("/api/config/plugins")
):
    """The plugins. Every one is loaded, to tell which are broken."""
