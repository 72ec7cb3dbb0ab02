"""Skills, slash commands, hooks and plugins: ops about them, and how clients see them."""

from typing import Any, Literal

from msgspec import Struct

from openagent.protocol.op import Op, ReadingOp
from openagent.protocol.routes import GET

Origin = Literal["user", "project", "mcp"]
HookForm = Literal["own", "claude", "gemini", "codex", "copilot"]
"""Whose words a hook is told what happened in."""


class SlashCommand(Struct, frozen=True, omit_defaults=True):
    """A command that begins with a slash."""

    name: str
    """Without the slash; `folder:name` for one in a subfolder, `server:prompt` for an MCP prompt."""
    description: str = ""
    """What it does, in a sentence."""
    arguments: str = ""
    """A hint for people."""
    origin: Origin = "user"
    """Whose it is."""
    source: str = ""
    """The file it stands in, or the MCP server."""
    model: str = ""
    """The model it asks for; empty: the session's."""
    allowed_tools: list[str] = []
    """The tools it may use unasked."""


class SlashCommands(Struct, frozen=True, omit_defaults=True):
    """The slash commands of a workspace."""

    commands: list[SlashCommand]
    """By name."""
    notices: list[str] = []
    """What was left out, and why."""


class Skill(Struct, frozen=True, omit_defaults=True):
    """Something an agent can read up on when it needs it."""

    name: str
    """Its name."""
    description: str = ""
    """When to use it."""
    origin: Origin = "user"
    """Whose it is."""
    folder: str = ""
    """Where it lies."""


class Skills(Struct, frozen=True, omit_defaults=True):
    """The skills of a workspace."""

    skills: list[Skill]
    """By name."""
    notices: list[str] = []
    """What was left out, and why."""


class SkillContent(Struct, frozen=True, omit_defaults=True):
    """A skill with what it says."""

    skill: Skill
    """The skill."""
    body: str
    """What SKILL.md says."""
    files: list[str] = []
    """Beside SKILL.md, relative to the folder."""


class Hook(Struct, frozen=True, omit_defaults=True):
    """A command that is run when something happens."""

    event: str
    """When it runs."""
    command: str
    """What is run."""
    matcher: str = ""
    """Only for tools whose name this matches."""
    timeout: float = 60.0
    """Seconds it may take."""
    origin: Origin = "user"
    """Whose it is."""
    source: str = ""
    """The file it stands in."""
    form: HookForm = "own"
    """Whose words it speaks."""
    told_as: str = ""
    """What its file calls the event; empty: the same."""
    waits: bool = True
    """Whether what happens waits for it."""
    root: str = ""
    """The plugin's folder, where one brings it."""
    only_if: str = ""
    """Only for calls that this means, such as `Bash(git push *)`."""
    once: bool = False
    """Once in each session."""


class Hooks(Struct, frozen=True, omit_defaults=True):
    """The hooks of a workspace."""

    hooks: list[Hook]
    """Each hook."""
    notices: list[str] = []
    """What was left out, and why."""


class HookTried(Struct, frozen=True, omit_defaults=True):
    """What a hook did."""

    hook: Hook
    """The hook that was run."""
    outcome: Literal["done", "blocked", "failed", "timeout"]
    """How it ended."""
    exit_code: int | None = None
    """What the command returned; null: it was ended."""
    stdout: str = ""
    """What it printed."""
    stderr: str = ""
    """What it printed as errors."""
    detail: str = ""
    """What came of it, in words."""
    duration_ms: float = 0.0
    """How long it took, in milliseconds."""


class HooksTried(Struct, frozen=True, omit_defaults=True):
    """What the hooks of an event did."""

    tried: list[HookTried]
    """One for each hook of the event."""
    notices: list[str] = []
    """What was left out, and why."""


class Plugin(Struct, frozen=True, omit_defaults=True):
    """A plugin."""

    kind: str
    """tools, providers, collectors, jails or commands."""
    name: str
    """Its name."""
    place: str
    """module:attribute"""
    distribution: str = ""
    """The package that brings it."""
    version: str = ""
    """The package's version."""
    offers: list[str] = []
    """What it adds, by name."""
    error: str = ""
    """Why it cannot be used; empty when it can."""


class PluginBundle(Struct, frozen=True, omit_defaults=True):
    """A plugin of Claude Code or an extension of gemini-cli: a folder of agents, skills, commands and hooks."""

    name: str
    """Its name, which its skills and commands begin with."""
    folder: str
    """Where it lies."""
    form: HookForm = "claude"
    """Whose it is."""
    version: str = ""
    """Its version."""
    description: str = ""
    """What it is for."""
    brings: list[str] = []
    """What of it is used, in words."""
    unused: list[str] = []
    """What of it is not used here."""


class Plugins(Struct, frozen=True, omit_defaults=True):
    """The plugins that are installed."""

    plugins: list[Plugin]
    """Every plugin that is installed."""
    bundles: list[PluginBundle] = []
    """Folders of other programs' plugins."""
    notices: list[str] = []
    """What was left out, and why."""


class CommandsList(
    ReadingOp[SlashCommands], tag="commands.list", needs="read", reach="open", routes=GET("/api/config/commands")
):
    """The slash commands of a workspace. A message that begins with one is expanded, whichever client sends it."""

    cwd: str = ""
    """The workspace: a folder on the daemon's machine."""


class SkillsList(ReadingOp[Skills], tag="skills.list", needs="read", reach="open", routes=GET("/api/config/skills")):
    """The skills of a workspace."""

    cwd: str = ""
    """The workspace: a folder on the daemon's machine."""


class SkillShow(
    ReadingOp[SkillContent], tag="skills.show", needs="read", reach="open", routes=GET("/api/config/skills/{name}")
):
    """One skill."""

    name: str
    """Its name."""
    cwd: str = ""
    """The workspace: a folder on the daemon's machine."""


class HooksList(ReadingOp[Hooks], tag="hooks.list", needs="read", reach="open", routes=GET("/api/config/hooks")):
    """The hooks of a workspace."""

    cwd: str = ""
    """The workspace: a folder on the daemon's machine."""


class HooksTest(Op[HooksTried], tag="hooks.test", needs="admin", waits=True):
    """Run the hooks of one event now, as if it had happened. Nothing else happens."""

    event: str
    """The event that is played."""
    cwd: str
    """The workspace: a folder on the daemon's machine."""
    tool: str = ""
    """The tool it is about, where it is about one."""
    input: dict[str, Any] = {}
    """The tool's arguments."""


class PluginsList(
    ReadingOp[Plugins], tag="plugins.list", needs="read", reach="open", waits=True, routes=GET("/api/config/plugins")
):
    """The plugins. Every one is loaded, to tell which are broken."""
