"""Words behind `openagent` that are more likely a guessed command than a prompt: a prompt costs money, and acts."""

import shlex
from collections.abc import Sequence
from difflib import get_close_matches

from openagent.cli.commands import COMMANDS, is_a_command, plugin_commands
from openagent.client.command_line import WrongUse

COMMANDS_ELSEWHERE: dict[str, str] = {
    "about": "version",
    "agent": "templates",
    "app-server": "rpc",
    "apply": "workspaces merge",
    "auto-mode": "--mode auto",
    "bench": "eval",
    "budget": "config set budget.day_usd",
    "chat": "",
    "configure": "config",
    "conf": "config",
    "cost": "usage",
    "create-chat": "--new",
    "daemon": "serve",
    "db": "backup",
    "debug": "logs",
    "dirs": "workspaces list",
    "exec": "run",
    "execpolicy": "policy explain",
    "export": "sessions export",
    "extension": "plugins",
    "extensions": "plugins",
    "features": "config show",
    "fork": "sessions fork",
    "generate-rule": "init",
    "github": "tasks import",
    "gui": "web",
    "gui-server": "web",
    "info": "status",
    "install": "plugins install",
    "install-shell-integration": "completion",
    "local-models": "models pull",
    "log": "logs",
    "ls": "sessions list",
    "mcp-server": "mcp serve",
    "migrate-installer": "update",
    "new": "--new",
    "permissions": "policy",
    "plan": "--mode plan",
    "plugin": "plugins",
    "pr": "tasks run",
    "project": "workspaces list",
    "projects": "workspaces list",
    "providers": "auth list",
    "ps": "agents list",
    "recipe": "flows",
    "remote-control": "web",
    "review": "diff",
    "rule": "init",
    "sandbox": "policy explain",
    "sched": "flows",
    "schedule": "flows",
    "schema": "protocol",
    "server": "serve",
    "setup-token": "auth add",
    "skill": "skills",
    "stats": "usage",
    "term": "tui",
    "threads": "sessions list",
    "tool": "tools",
    "ultrareview": "diff",
    "uninstall": "plugins remove",
    "update-providers": "models",
    "upgrade": "update",
    "view": "sessions show",
    "worker": "serve",
}
"""Commands of claude, codex, gemini, opencode, goose, cursor-agent, openhands, crush, amp and others, and some that
people tried, with what does the same here. Words behind them are taken for their arguments."""

_ALONE: dict[str, str] = {
    "ask": "--mode ask",
    "clear": "--new",
    "history": "sessions list",
    "kill": "agents cancel",
    "list": "sessions list",
    "memory": "init",
    "restart": "stop",
    "rewind": "undo",
    "rules": "policy",
    "set": "config set",
    "setup": "login",
    "start": "serve --daemon",
    "switch": "resume",
}
"""The same for words that may well begin a sentence, but are guessed when they stand alone."""

_LIKE_A_MISSPELLING, _LIKE_A_COMMAND = 0.6, 0.8
"""How similar a word must be to a command to be taken for it: alone, and before others."""
_LONGEST_SHOWN = 60


def refuse_guess(words: Sequence[str]) -> None:
    """Raises WrongUse for a word alone, and for words of which the first is a command, here or of another program."""
    given = [word for word in words if word not in ("", "-")]
    if not given or any(character.isspace() for character in given[0]) or _is_a_sentence(given[0]):
        return
    name, alone = given[0].lower(), len(given) == 1
    if is_a_command(given[0]):
        raise WrongUse(f"{given[0]} is a command: write it first, or -- before it if it is the prompt.")
    known = COMMANDS_ELSEWHERE | _ALONE if alone else COMMANDS_ELSEWHERE
    if name in known:
        same = f"openagent {known[name]}".rstrip()
        raise WrongUse(f"OpenAgent has no command {given[0]!r}: use `{same}`.", _as_a_prompt(given))
    ours = [*COMMANDS, *plugin_commands()]
    near = get_close_matches(name.lstrip("/"), ours, n=1, cutoff=_LIKE_A_MISSPELLING if alone else _LIKE_A_COMMAND)
    if near or alone:
        guess = f" Did you mean {near[0]}?" if near else ""
        raise WrongUse(f"There is no command {given[0]!r}.{guess}", _as_a_prompt(given))


def _is_a_sentence(word: str) -> bool:
    """In scripts that put no spaces between words: Thai, Khmer, Japanese, Chinese and the like."""
    return any(character.isalpha() and ord(character) >= 0x0E00 for character in word)


def _as_a_prompt(words: Sequence[str]) -> str:
    prompt = " ".join(words)
    quoted = shlex.quote(prompt) if set('"\\$`!') & set(prompt) else f'"{prompt}"'
    shown = quoted if len(prompt) <= _LONGEST_SHOWN else '"PROMPT"'
    return f"To send it as a prompt: `openagent run {shown}`."
