"""What a command's file says once it is called, in the syntaxes that other agents' commands have too.

Claude Code, opencode, codex: `$ARGUMENTS`, `$1`, `$ARGUMENTS[0]`, `$NAME` of `NAME=value`, `` !`command` ``, `@file`.
gemini-cli: `{{args}}`, `!{command}`, `@{file}`. Copilot: `${input:name}`, `#file:path`.
"""

import re
import shlex
from collections.abc import Awaitable, Callable
from pathlib import Path

from openagent.customizing.files import read_text
from openagent.protocol.errors import OpenAgentError

MAX_INCLUDED = 128 * 1024
"""Bytes of all the files one command brings in."""
MAX_COMMANDS = 20
RunCommand = Callable[[str], Awaitable[str]]
"""What a command printed, or why it was not run."""
_PLACEHOLDER = re.compile(
    r"\$ARGUMENTS\[(?P<nth>\d)\]|\$(?P<place>ARGUMENTS|[1-9])(?!\w)|(?P<args>\{\{args\}\})"
    r"|\$\{input:(?P<input>[\w-]+)(?::(?P<hint>[^}]*))?\}|\$(?P<named>[A-Z][A-Z0-9_]+)(?!\w)"
)
_COMMAND = re.compile(r"(?<![\w`])!`([^`\n]+)`|!\{((?:[^{}]|\{\{args\}\}|\{[^{}]*\})+)\}")
_FILE = re.compile(r"(?:(?<=\s)|^)(?:@\{([^}\n]+)\}|(?:@|#file:)([^\s`@{]+))", re.MULTILINE)
_NAMED = re.compile(r"([A-Z][A-Z0-9_]+)=(.*)", re.DOTALL)
_WORD = re.compile(r"([A-Z][A-Z0-9_]*=)?(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|(\S+))")


def words_of(arguments: str) -> list[str]:
    """As a person means them: quotes keep words together, and an odd one is only a character."""
    return [
        key + (quoted.replace('\\"', '"') or single or plain) for key, quoted, single, plain in _WORD.findall(arguments)
    ]


class CommandText:
    def __init__(self, text: str, arguments: str, workspace: Path) -> None:
        self._text = text
        self._arguments = arguments
        self._words = words_of(arguments)
        self._named = {found[1]: found[2] for word in self._words if (found := _NAMED.fullmatch(word))}
        self._workspace = workspace
        self._inputs: dict[str, str] = {}
        self._used = False

    async def filled(self, run: RunCommand) -> str:
        """Commands first, and each once: what they print, and what files say, is text and nothing more."""
        pieces: list[str] = []
        at = 0
        for number, match in enumerate(_COMMAND.finditer(self._text)):
            pieces.append(self._fill(self._text[at : match.start()]))
            command = self._fill(match[1]) if match[1] else self._fill(match[2], shlex.quote)
            pieces.append(await run(command) if number < MAX_COMMANDS else f"[not run, one too many: {command}]")
            at = match.end()
        pieces.append(self._fill(self._text[at:]))
        written = [pieces[place] for place in range(0, len(pieces), 2)]
        text = "".join(pieces) + self._files("\n".join(written))
        return f"{text}\n\nARGUMENTS: {self._arguments}" if self._arguments and not self._used else text

    def _fill(self, text: str, quoted: Callable[[str], str] = str) -> str:
        def filled(match: re.Match[str]) -> str:
            if (name := match["named"]) and name not in self._named:
                return match[0]
            self._used = True
            return quoted(self._named[name] if name else self._meant(match))

        return _PLACEHOLDER.sub(filled, text)

    def _meant(self, match: re.Match[str]) -> str:
        if match["args"] or match["place"] == "ARGUMENTS":
            return self._arguments
        if name := match["input"]:
            return self._input(name, match["hint"] or "")
        place = int(match["nth"]) if match["nth"] else int(match["place"]) - 1
        return self._words[place] if place < len(self._words) else ""

    def _input(self, name: str, hint: str) -> str:
        """Copilot asks for each; here they are the words, in their order, and the last takes what is left."""
        if name not in self._inputs:
            place = len(self._inputs)
            self._inputs[name] = self._words[place] if place < len(self._words) else hint or f"[{name}: not given]"
        return self._inputs[name]

    def _files(self, text: str) -> str:
        """The content of each file of the workspace that is named follows the text."""
        room, included = MAX_INCLUDED, dict[str, str]()
        for braced, plain in dict.fromkeys(_FILE.findall(text)):
            given = braced.strip() or plain
            try:
                read = read_text(self._workspace / given, within=self._workspace, limit=max(room, 0))
            except OpenAgentError:
                continue
            room -= len(read.text.encode())
            cut = f"\n[cut: the file has {read.size:,} bytes]" if read.cut else ""
            included[given] = f"\n\n[{given}]\n{read.text}{cut}"
        return "".join(included.values())
