"""Slash commands: Markdown files whose text is what a person means by `/name`."""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from openagent.config import opencode
from openagent.customizing.command_text import CommandText, RunCommand, words_of
from openagent.customizing.files import read_text
from openagent.customizing.folders import CustomFolder, CustomFolders, files_below
from openagent.customizing.tool_names import our_tools
from openagent.plugins.front_matter import Entry, FrontMatter, parse_front_matter
from openagent.policy.rules import Rule
from openagent.protocol.customizing import Origin, SlashCommand
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.mcp import McpPrompt
from openagent.protocol.messages import TextPart, UserPart

FOLDER = "commands"
MAX_TEXT = 64 * 1024
ENDINGS = (".md", ".toml")
_CALL = re.compile(r"/([\w][\w.:-]*)(?:\s+(.*))?", re.DOTALL)
_NAME = re.compile(r"[\w][\w.-]*")
_CONFIGS = (".json", ".jsonc")
_NOT_USED = frozenset(
    {"agent", "subtask", "mode", "tools", "context", "hooks", "disable-model-invocation", "user-invocable", "effort"}
)
"""What other agents' commands may say and nothing here does."""


class ServerPrompts(Protocol):
    """Prompts of MCP servers, which are commands too: `/server:prompt`."""

    async def prompts(self, workspace: Path) -> Sequence[McpPrompt]: ...

    async def prompt(self, workspace: Path, server: str, name: str, words: Sequence[str]) -> Sequence[UserPart]:
        """What `/server:name words…` says to the agent."""
        ...


class FoundCommands(Struct, frozen=True):
    commands: dict[str, SlashCommand]
    problems: list[str]


class Expanded(Struct, frozen=True):
    name: str
    text: str
    model: str = ""
    rules: Sequence[Rule] = ()
    """What the command's author lets the agent do unasked."""


class Called(Struct, frozen=True):
    """A command of a file that a message calls, not written out yet."""

    name: str
    arguments: str
    command: SlashCommand
    trusted: bool
    """Whether it may do more than talk."""
    rules: Sequence[Rule] = ()


class CommandFiles:
    def __init__(self, folders: CustomFolders, prompts: ServerPrompts) -> None:
        self._folders = folders
        self._prompts = prompts

    def find(self, workspace: Path | None) -> FoundCommands:
        commands: dict[str, SlashCommand] = {}
        problems: list[str] = []
        for custom in self._folders.holding(workspace, FOLDER):
            for file in files_below(custom.folder, ENDINGS):
                words = _name_in(file.relative_to(custom.folder))
                if not all(_NAME.fullmatch(word) for word in words):
                    problems.append(f"{file} is left out: a command's name is letters, digits, - and _.")
                    continue
                try:
                    command = _read(custom.named(":".join(words)), file, custom, problems)
                except OpenAgentError as problem:
                    message = problem.info.message
                    problems.append(message if str(file) in message else f"{file}: {message}")
                    continue
                commands.setdefault(command.name, command)
        for file, origin in self._folders.opencode_files(workspace):
            for command in _in_config(file, origin, problems):
                commands.setdefault(command.name, command)
        return FoundCommands(commands, problems)

    async def all(self, workspace: Path | None) -> FoundCommands:
        """With the prompts of MCP servers."""
        found = self.find(workspace)
        for prompt in await self._prompts.prompts(workspace) if workspace is not None else ():
            command = _command_of(prompt)
            found.commands.setdefault(command.name, command)
        return found

    async def called(self, message: str, workspace: Path) -> Called | Expanded | None:
        """None for a message that is no command: many begin with a slash and mean a path."""
        call = _CALL.fullmatch(message.strip()) if message.lstrip().startswith("/") else None
        if call is None:
            return None
        name, arguments = call.group(1), (call.group(2) or "").strip()
        command = self.find(workspace).commands.get(name)
        if command is not None:
            trusted = command.origin == "user" or self._folders.trusts(workspace)
            return Called(name, arguments, command, trusted, rules_for(command, workspace) if trusted else ())
        server, colon, wanted = name.partition(":")
        if not colon or not any(_name_of(prompt) == name for prompt in await self._prompts.prompts(workspace)):
            return None
        parts = await self._prompts.prompt(workspace, server, wanted, words_of(arguments))
        return Expanded(name, "\n\n".join(part.text for part in parts if isinstance(part, TextPart)))

    async def written_out(self, called: Called, workspace: Path, run: RunCommand) -> Expanded:
        """Nothing of a stranger's command is run."""

        async def left_out(command: str) -> str:
            return f"[not run, because nobody trusts this folder: {command}]"

        file = Path(called.command.source)
        if file.suffix in _CONFIGS:
            text = str(opencode.entries(file, "command").get(called.name, {}).get("template", ""))
        else:
            text = _parted(read_text(file, within=None, limit=MAX_TEXT).text, file).body
        filled = await CommandText(text, called.arguments, workspace).filled(run if called.trusted else left_out)
        return Expanded(called.name, filled.strip(), called.command.model if called.trusted else "", called.rules)


def _name_in(relative: Path) -> tuple[str, ...]:
    """Folders are namespaces; Copilot's files are called `name.prompt.md`."""
    plain = relative.with_suffix("")
    return (plain.with_suffix("") if plain.suffix == ".prompt" else plain).parts


def _read(name: str, file: Path, custom: CustomFolder, problems: list[str]) -> SlashCommand:
    header = _parted(read_text(file, within=custom.within, limit=MAX_TEXT).text, file)
    problems += map(str, header.slips)
    if unused := [f"`{key}`" for key in header.entries if key in _NOT_USED]:
        problems.append(f"{file}: {', '.join(unused)} {'is' if len(unused) == 1 else 'are'} not used here.")
    described = header.text("description") or header.body.strip().partition("\n")[0].lstrip("# ")
    return SlashCommand(
        name=name,
        description=" ".join(described.split())[:200],
        arguments=header.text("argument-hint"),
        origin=custom.origin,
        source=str(file),
        model=header.text("model"),
        allowed_tools=header.listed("allowed-tools"),
    )


def _in_config(file: Path, origin: Origin, problems: list[str]) -> list[SlashCommand]:
    """Commands that stand in opencode's configuration."""
    try:
        given = opencode.entries(file, "command")
    except OpenAgentError as problem:
        problems.append(problem.info.message)
        return []
    found: list[SlashCommand] = []
    for name, entry in given.items():
        if not _NAME.fullmatch(name) or not isinstance(entry.get("template"), str):
            problems.append(f"{file}: the command {name[:60]!r} is left out: it has no name or no `template`.")
            continue
        if unused := [f"`{key}`" for key in entry if key in _NOT_USED]:
            verb = "is" if len(unused) == 1 else "are"
            problems.append(f"{file}: {name}: {', '.join(unused)} {verb} not used here.")
        described = " ".join(str(entry.get("description", "")).split())[:200]
        found.append(SlashCommand(name, described, "", origin, str(file), str(entry.get("model", ""))))
    return found


def _parted(text: str, file: Path) -> FrontMatter:
    """Of gemini-cli's TOML, what stands in front matter elsewhere, and the prompt."""
    if file.suffix != ".toml":
        return parse_front_matter(text, str(file))
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise OpenAgentError("config_error", f"{file}: it is no TOML: {problem}.") from None
    prompt = given.pop("prompt", "")
    if not isinstance(prompt, str) or not prompt.strip():
        raise OpenAgentError("config_error", f"{file}: it has no `prompt`.")
    return FrontMatter({key: Entry(str(value), 1) for key, value in given.items()}, prompt, [])


def rules_for(command: SlashCommand, workspace: Path) -> list[Rule]:
    """`allowed-tools`: `Read`, `Bash(git add:*)`, or names of ours."""
    rules: list[Rule] = []
    for each in command.allowed_tools:
        name, _, inside = each.partition("(")
        inside = inside.rstrip(")").strip()
        words = inside.removesuffix(":*").removesuffix(" *")
        for tool in our_tools(name.strip()):
            base = Rule(
                decision="allow",
                name=f"command {command.name}",
                tool=tool,
                workspace=str(workspace),
                granted=True,
                reason=f"The command /{command.name} allows it.",
            )
            if not inside or inside == "*":
                rules.append(base)
            elif tool == "shell":
                rules.append(msgspec.structs.replace(base, command=words))
            elif tool not in ("git", "execute_code"):
                rules.append(msgspec.structs.replace(base, path=[inside]))
    return rules


def _name_of(prompt: McpPrompt) -> str:
    return f"{prompt.server}:{prompt.name}"


def _command_of(prompt: McpPrompt) -> SlashCommand:
    return SlashCommand(
        name=_name_of(prompt),
        description=" ".join(prompt.description.split())[:200],
        arguments=" ".join(argument.name.upper() for argument in prompt.arguments),
        origin="mcp",
        source=prompt.server,
    )
