"""What other agents' files call tools, in our names: `Read`, `run_shell_command`, Copilot's `editFiles`."""

import re
from collections.abc import Sequence

from openagent.protocol.known_tools import KNOWN

_EDIT = ("edit_file", "write_file", "apply_patch")
_SEARCH = ("grep", "glob", "list_dir", "search_code")
_RUN = ("shell", "shell_output")
_GROUPS: dict[str, Sequence[str]] = {
    # opencode, codex and gemini-cli
    "read": ("read_file", "list_dir"),
    "write": ("write_file",),
    "edit": _EDIT,
    "patch": ("apply_patch",),
    "bash": _RUN,
    "list": ("list_dir",),
    "webfetch": ("web_fetch",),
    "websearch": ("web_search",),
    "todowrite": ("todo",),
    "todoread": ("todo",),
    "task": ("agent", "agent_result"),
    "question": ("ask_user",),
    "run_shell_command": _RUN,
    "exec_command": _RUN,
    "replace": ("edit_file",),
    "list_directory": ("list_dir",),
    "read_many_files": ("read_file",),
    "grep_search": ("grep",),
    "search_file_content": ("grep",),
    "google_web_search": ("web_search",),
    "write_todos": ("todo",),
    "update_plan": ("todo",),
    "activate_skill": ("skill",),
    "request_user_input": ("ask_user",),
    # Claude Code's that ours stand for
    "NotebookEdit": (),
    "NotebookRead": ("read_file",),
    "ExitPlanMode": (),
    "SlashCommand": (),
    # Copilot
    "search": _SEARCH,
    "codebase": _SEARCH,
    "usages": ("search_code",),
    "execute": _RUN,
    "shell": _RUN,
    "runcommands": _RUN,
    "runinterminal": _RUN,
    "terminal": _RUN,
    "runtests": _RUN,
    "runtasks": _RUN,
    "terminallastcommand": ("shell_output",),
    "terminalselection": ("shell_output",),
    "editfiles": _EDIT,
    "createfile": ("write_file",),
    "new": ("write_file",),
    "readfile": ("read_file",),
    "filesearch": ("glob",),
    "textsearch": ("grep",),
    "listdirectory": ("list_dir",),
    "changes": ("git",),
    "fetch": ("web_fetch",),
    "web": ("web_fetch", "web_search"),
    "agent": ("agent", "agent_result"),
    "custom-agent": ("agent", "agent_result"),
    "runsubagent": ("agent", "agent_result"),
    "todo": ("todo",),
    "todos": ("todo",),
    "askquestions": ("ask_user",),
}
_NAMES = {name: tool for tool, known in reversed(KNOWN.items()) for name in known.known_as}
"""Others' names to ours; where several of ours go by one, to the first."""
_MCP = re.compile(r"mcp__[\w-]+__[\w-]+")
_SERVER = re.compile(r"(?:mcp__)?([A-Za-z][\w.-]*)(?:__\*|__|/\*)")


def ours(name: str) -> Sequence[str]:
    """`Bash(git:*)` is the shell: rules, not templates, say which commands. A name that nobody knows stays as it is."""
    plain = re.sub(r"\(.*\)$", "", name.strip())
    if plain in KNOWN or _MCP.fullmatch(plain):
        return (plain,)
    if plain in _GROUPS:
        return _GROUPS[plain]
    if plain in _NAMES:
        return (_NAMES[plain],)
    last = plain.rpartition("/")[2].lower()  # Copilot's `edit/editFiles`
    return _GROUPS.get(last) or _GROUPS.get(plain.lower()) or (plain,)


def whole_server(name: str) -> str:
    """The MCP server all whose tools are meant: `github/*`, `mcp__github__*`."""
    found = _SERVER.fullmatch(name.strip())
    return found[1] if found else ""
