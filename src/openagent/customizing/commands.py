"""Slash commands: Markdown files whose text is what a person means by `/name`."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from openagent.customizing.files import read_text
from openagent.customizing.folders import CustomFolders, markdown_below
from openagent.customizing.tool_names import our_tools
from openagent.plugins.front_matter import parse_front_matter
from openagent.policy.rules import Rule
from openagent.protocol.customizing import SlashCommand
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.mcp import McpPrompt
from openagent.protocol.messages import TextPart, UserPart

FOLDER = "commands"
MAX_TEXT = 64 * 1024
MAX_INCLUDED = 128 * 1024
"""Bytes of all the files one command brings in."""
_CALL = re.compile(r"/([\w][\w.:-]*)(?:\s+(.*))?", re.DOTALL)
_NAME = re.compile(r"[\w][\w.-]*")
_PLACEHOLDER = re.compile(r"\$(ARGUMENTS|[1-9])(?!\w)")
_FILE = re.compile(r"(?:(?<=\s)|^)@([^\s`@]+)", re.MULTILINE)
_WORD = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|(\S+)")


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


class CommandFiles:
    def __init__(self, folders: CustomFolders, prompts: ServerPrompts) -> None:
        self._folders = folders
        self._prompts = prompts

    def find(self, workspace: Path | None) -> FoundCommands:
        commands: dict[str, SlashCommand] = {}
        problems: list[str] = []
        for custom in self._folders.holding(workspace, FOLDER):
            for file in markdown_below(custom.folder):
                words = file.relative_to(custom.folder).with_suffix("").parts
                if not all(_NAME.fullmatch(word) for word in words):
                    problems.append(f"{file} is left out: a command's name is letters, digits, - and _.")
                    continue
                name = ":".join(words)
                try:
                    header = parse_front_matter(read_text(file, within=custom.within, limit=MAX_TEXT).text, str(file))
                except OpenAgentError as problem:
                    message = problem.info.message
                    problems.append(message if str(file) in message else f"{file}: {message}")
                    continue
                described = header.text("description") or header.body.strip().partition("\n")[0].lstrip("# ")
                command = SlashCommand(
                    name=name,
                    description=" ".join(described.split())[:200],
                    arguments=header.text("argument-hint"),
                    origin=custom.origin,
                    source=str(file),
                    model=header.text("model"),
                    allowed_tools=header.listed("allowed-tools"),
                )
                commands.setdefault(name, command)
        return FoundCommands(commands, problems)

    async def all(self, workspace: Path | None) -> FoundCommands:
        """With the prompts of MCP servers."""
        found = self.find(workspace)
        for prompt in await self._prompts.prompts(workspace) if workspace is not None else ():
            command = _command_of(prompt)
            found.commands.setdefault(command.name, command)
        return found

    async def expand(self, message: str, workspace: Path) -> Expanded | None:
        """None for a message that is no command: many begin with a slash and mean a path."""
        call = _CALL.fullmatch(message.strip()) if message.lstrip().startswith("/") else None
        if call is None:
            return None
        name, arguments = call.group(1), (call.group(2) or "").strip()
        command = self.find(workspace).commands.get(name)
        if command is not None:
            return self._expand(command, arguments, workspace)
        server, colon, wanted = name.partition(":")
        if not colon or not any(_name_of(prompt) == name for prompt in await self._prompts.prompts(workspace)):
            return None
        parts = await self._prompts.prompt(workspace, server, wanted, words_of(arguments))
        return Expanded(name, "\n\n".join(part.text for part in parts if isinstance(part, TextPart)))

    def _expand(self, command: SlashCommand, arguments: str, workspace: Path) -> Expanded:
        text = parse_front_matter(
            read_text(Path(command.source), within=None, limit=MAX_TEXT).text, command.source
        ).body
        words = words_of(arguments)
        used = False

        def filled(match: re.Match[str]) -> str:
            nonlocal used
            used = True
            if match.group(1) == "ARGUMENTS":
                return arguments
            place = int(match.group(1)) - 1
            return words[place] if place < len(words) else ""

        text = self._with_files(_PLACEHOLDER.sub(filled, text), workspace)
        if arguments and not used:
            text += f"\n\nARGUMENTS: {arguments}"
        if command.origin == "project" and not self._folders.trusts(workspace):
            return Expanded(command.name, text.strip())
        return Expanded(command.name, text.strip(), command.model, rules_for(command, workspace))

    def _with_files(self, text: str, workspace: Path) -> str:
        """The content of each `@file` of the workspace follows the text."""
        room, included = MAX_INCLUDED, dict[str, str]()
        for given in dict.fromkeys(_FILE.findall(text)):
            try:
                read = read_text(workspace / given, within=workspace, limit=max(room, 0))
            except OpenAgentError:
                continue
            room -= len(read.text.encode())
            cut = f"\n[cut: the file has {read.size:,} bytes]" if read.cut else ""
            included[given] = f"\n\n[{given}]\n{read.text}{cut}"
        return text + "".join(included.values())


def words_of(arguments: str) -> list[str]:
    """As a person means them: quotes keep words together, and an odd one is only a character."""
    return [quoted.replace('\\"', '"') or single or plain for quoted, single, plain in _WORD.findall(arguments)]


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
