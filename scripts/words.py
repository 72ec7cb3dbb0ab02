"""What tools and events say of themselves, written down for clients: in Python, which `openagent run` reads, and in
TypeScript.

`--write` renews, `--check` fails when they differ.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from openagent.agents.flows import flow_tool
from openagent.client import agents_file
from openagent.customizing.skills import skill_tool
from openagent.plugins.tool import Tool
from openagent.protocol.events import AnyEvent, Event
from openagent.protocol.sessions import Status
from openagent.protocol.telling import Line
from openagent.protocol.words import in_words
from openagent.tools.agent import agent_tools
from openagent.tools.mcp.find_tools import find_tools_tool
from openagent.tools.mcp.resources import resource_tools
from openagent.tools.mcp.sampling import SamplingTool
from openagent.tools.registry import built_in_tools
from openagent.tui.commands import COMMANDS, Command

ROOT = Path(__file__).parent.parent
TOOLS = ROOT / "src" / "openagent" / "protocol" / "known_tools.py"
EVENTS = ROOT / "src" / "openagent" / "protocol" / "known_events.py"
WEB = ROOT / "web" / "src" / "protocol" / "words.ts"
WEB_COMMANDS = WEB.with_name("commands.ts")
NOBODY: Any = object()
"""In place of what a tool works with: these are only looked at."""


def every_tool() -> Sequence[Tool]:
    return [
        *built_in_tools(search=NOBODY, index=NOBODY, memory=NOBODY),
        *agent_tools(NOBODY, ()),
        skill_tool(NOBODY),
        flow_tool(NOBODY),
        find_tools_tool(NOBODY),
        *resource_tools(NOBODY),
        SamplingTool(NOBODY),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", action="store_true")
    what.add_argument("--check", action="store_true")
    tools = every_tool()
    written = {TOOLS: python_tools(tools), EVENTS: python_events(), WEB: web(tools), WEB_COMMANDS: web_commands()}
    if parser.parse_args().write:
        for file, text in written.items():
            file.write_text(text)
        return 0
    differing = [file for file, text in written.items() if not file.exists() or file.read_text() != text]
    for file in differing:
        print(f"{file.relative_to(ROOT)} differs from what tools and events say: run make docs.")
    return bool(differing)


def python_tools(tools: Sequence[Tool]) -> str:
    return _formatted(
        '"""Written by scripts/words.py from what the tools say of themselves. `make docs` renews it."""',
        "",
        "from openagent.protocol.about import About",
        "",
        "KNOWN = {",
        *(f"    {tool.name!r}: {_about(tool)}," for tool in tools),
        "}",
    )


def python_events() -> str:
    return _formatted(
        '"""Written by scripts/words.py from what the events say of themselves. `make docs` renews it."""',
        "",
        "# ruff: noqa: E501 -- templates are written in one piece",
        "",
        "from openagent.protocol.telling import Line",
        "",
        "LINES = {",
        *(f"    {tag!r}: ({''.join(f'{_line(line)}, ' for line in lines)})," for tag, lines in told_events().items()),
        "}",
        '"""Events that are told in lines."""',
    )


def told_events() -> dict[str, Sequence[Line]]:
    events: Sequence[type[Event]] = AnyEvent.__args__
    told = {str(event.__struct_config__.tag): event.told for event in events}
    return {tag: lines for tag, lines in told.items() if isinstance(lines, tuple)}


def _line(line: Line) -> str:
    said = [f"{name}={value!r}" for name in ("hint", "detail", "when") if (value := getattr(line, name))]
    return f"Line({', '.join([repr(line.text), repr(line.tone), *said])})"


def _formatted(*lines: str) -> str:
    formatter = [Path(sys.executable).parent / "ruff", "format", "--stdin-filename", TOOLS, "-"]
    text = "\n".join(lines) + "\n"
    return subprocess.run(formatter, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def _about(tool: Tool) -> str:
    about = tool.about
    named = ("subject", "paths", "urls", "runs", "known_as", "keys")
    said = [f"{name}={value!r}" for name in named if (value := getattr(about, name))]
    return f"About({', '.join([repr(about.kind), repr(about.words), *said])})"


def web(tools: Sequence[Tool]) -> str:
    rows = [f"  {tool.name}: {_web_row(tool)}," for tool in tools]
    return "\n".join(
        [
            "// Written by scripts/words.py from what tools and events say of themselves. `make docs` renews it.",
            "",
            "export interface ToolWords {",
            "  kind: string",
            "  /** Before it runs, while it does, and after. */",
            "  words: [string, string, string]",
            "  /** The argument that stands for the whole call, or a template of several. */",
            "  subject: string",
            "}",
            "",
            "export const TOOLS: Record<string, ToolWords> = {",
            *rows,
            "}",
            "",
            "/** What a session is doing, in words. */",
            "export const STATUSES = {",
            *(f"  {status}: {_quoted(in_words(status))}," for status in get_args(Status)),
            "} as const",
            "",
            "/** A line that tells of an event: templates, which telling.ts fills in. */",
            "export interface Line {",
            "  text: string",
            "  tone: 'plain' | 'warning' | 'error'",
            "  hint?: string",
            "  detail?: string",
            "  when?: string",
            "}",
            "",
            "/** Events that are told in lines. */",
            "export const LINES: Record<string, Line[]> = {",
            *(f"  {_quoted(tag)}: [{', '.join(map(_web_line, lines))}]," for tag, lines in told_events().items()),
            "}",
            "",
        ]
    )


def web_commands() -> str:
    """What can be done by name after `/`, one list for the terminal and the browser."""
    lines = [
        "// Written by scripts/words.py from the terminal's commands. `make docs` renews it.",
        "",
        "export interface CommandWords {",
        "  name: string",
        "  help: string",
        "  /** What may follow it, for people. */",
        "  takes: string",
        "  /** What else it is called. */",
        "  words: string[]",
        "}",
        "",
        "/** The commands of the terminal, in its order. */",
        "export const COMMANDS = [",
        *(f"  {_web_command(command)}," for command in COMMANDS),
        "] as const satisfies readonly CommandWords[]",
        "",
        "/** What /init asks of an agent. */",
        f"export const INIT_PROMPT = {_quoted(agents_file.PROMPT)}",
        "",
    ]
    return "\n".join(lines)


def _web_command(command: Command) -> str:
    words = ", ".join(map(_quoted, command.words))
    fields = {name: _quoted(getattr(command, name)) for name in ("name", "help", "takes")} | {"words": f"[{words}]"}
    return f"{{ {', '.join(f'{name}: {value}' for name, value in fields.items())} }}"


def _web_line(line: Line) -> str:
    fields = {name: getattr(line, name) for name in ("text", "tone", "hint", "detail", "when")}
    return f"{{ {', '.join(f'{name}: {_quoted(value)}' for name, value in fields.items() if value)} }}"


def _web_row(tool: Tool) -> str:
    about = tool.about
    words = ", ".join(map(_quoted, about.words))
    return f"{{ kind: {_quoted(about.kind)}, words: [{words}], subject: {_quoted(about.subject)} }}"


def _quoted(text: str) -> str:
    inside = json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"').replace("'", "\\'")
    return f"'{inside}'"


if __name__ == "__main__":
    sys.exit(main())
