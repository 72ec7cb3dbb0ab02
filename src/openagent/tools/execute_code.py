"""execute_code"""

import secrets
from typing import Annotated, Literal

from openagent.plugins.tool import ToolContext, ToolOutcome, Touched, tool
from openagent.tools.command_outcome import command_outcome, timeout_problem

DEFAULT_TIMEOUT = 120.0
_NOT_INSTALLED = 97
Language = Literal["python", "javascript", "bash", "elixir"]
_LANGUAGES: dict[Language, tuple[str, str, str]] = {
    "python": ("python3 python", "py", 'PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"'),
    "javascript": ("node nodejs", "js", 'NODE_PATH="$PWD/node_modules:$PWD${NODE_PATH:+:$NODE_PATH}"'),
    "bash": ("bash", "sh", ""),
    "elixir": ("elixir", "exs", ""),
}
"""Its interpreters by preference, how its files end, and how it finds what lies in the current directory."""


@tool(
    effect="execute",
    kind="run",
    words=("run code", "running code", "ran code"),
    summary="code",
    runs="code",
    touches=lambda given: Touched(
        runs="bash" if given.get("language") == "bash" else "code", text=str(given.get("code", ""))
    ),
    known_as=("Bash",),
)
async def execute_code(
    context: ToolContext,
    language: Language,
    code: str,
    timeout: Annotated[float, "Seconds until it is killed."] = DEFAULT_TIMEOUT,
) -> ToolOutcome:
    """Run a snippet in the shell's current directory, in a fresh process. Returns what it prints."""
    if problem := timeout_problem(timeout):
        return problem
    running = await context.shell()
    result = await running.run(_command(language, code), timeout=timeout, on_output=context.output, merged=True)
    if result.exit_code == _NOT_INSTALLED and not result.stdout:
        return ToolOutcome(f"{language} is not installed here.", is_error=True)
    return command_outcome(context, result, timeout=timeout)


def _command(language: Language, code: str) -> str:
    """The snippet goes through a file of its own, which is gone when the snippet ends."""
    interpreters, ending, environment = _LANGUAGES[language]
    end = f"END_{secrets.token_hex(8)}"
    return (
        f"(for found in {interpreters}; do command -v $found >/dev/null && break; found=; done\n"
        f'[ -n "$found" ] || exit {_NOT_INSTALLED}\n'
        "folder=$(mktemp -d) || exit 1\n"
        "trap 'rm -rf \"$folder\"' EXIT\n"
        f"cat >\"$folder/snippet.{ending}\" <<'{end}'\n{code}\n{end}\n"
        f'{environment} command $found "$folder/snippet.{ending}")'
    )
