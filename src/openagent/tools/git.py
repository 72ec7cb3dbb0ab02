"""git"""

import shlex
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from openagent.plugins.tool import ToolContext, ToolEffect, ToolOutcome, Touched, tool
from openagent.tools.command_outcome import command_outcome

TIMEOUT = 300.0
Subcommand = Literal[
    "status", "diff", "log", "show", "blame", "branch", "checkout", "switch", "restore", "add", "rm", "mv", "commit",
    "reset", "stash", "merge", "rebase", "cherry-pick", "revert", "tag", "fetch", "pull", "push", "clone", "init",
    "remote", "worktree", "rev-parse", "ls-files", "grep", "config", "clean", "apply",
]  # fmt: skip
_ONLY_READ = frozenset(("status", "diff", "log", "show", "blame", "rev-parse", "ls-files"))
_MAY_DO_MORE = ("--output", "--ext-diff", "--textconv")
_UNATTENDED = "GIT_TERMINAL_PROMPT=0 GIT_EDITOR=true GIT_PAGER=cat"


def _summary(arguments: Mapping[str, Any]) -> str:
    return shlex.join(["git", str(arguments.get("subcommand", "")), *_words(arguments)])


def _effect(arguments: Mapping[str, Any]) -> ToolEffect:
    """Reading calls may run beside others. What is allowed is policy's business: it reads the command itself."""
    reads = str(arguments.get("subcommand")) in _ONLY_READ
    return "read" if reads and not any(word.startswith(_MAY_DO_MORE) for word in _words(arguments)) else "execute"


def _words(arguments: Mapping[str, Any]) -> list[str]:
    given = arguments.get("args", [])
    return [str(word) for word in given] if isinstance(given, list) else [str(given)]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


@tool(
    effect="execute",
    kind="run",
    words=("run", "running", "ran"),
    summary=_summary,
    subject="git {subcommand} {args}",
    effect_of=_effect,
    runs="command",
    touches=lambda given: Touched(runs="command", text=_summary(given)),
    known_as=("Bash",),
)
async def git(
    context: ToolContext,
    subcommand: Subcommand,
    args: Annotated[list[str], "One argument per item, unquoted."] = [],  # noqa: B006
) -> ToolOutcome:
    """Run git in the shell's current directory."""
    running = await context.shell()
    command = f"{_UNATTENDED} command git {shlex.join([subcommand, *args])}"
    result = await running.run(command, timeout=TIMEOUT, on_output=context.output, merged=True)
    return command_outcome(context, result, timeout=TIMEOUT)
