"""`openagent completion`, and what the shell is offered while a command is typed."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from openagent.cli.command import as_json, command, complete, daemon, tell
from openagent.client.command_line import OPTIONS, OUTPUTS, SHORT, SYNONYMS
from openagent.client.text import one_line
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.models import ModelsList
from openagent.protocol.sessions import MODES, SessionList

_VARIABLE = "_OPENAGENT_COMPLETE"
_PATIENCE = 1.0
"""Seconds: whoever presses Tab does not wait for a provider."""
_FILES = {
    "bash": "~/.local/share/bash-completion/completions/openagent",
    "zsh": "a folder of your $fpath, as _openagent",
    "fish": "~/.config/fish/completions/openagent.fish",
}


@command(
    "completion",
    "openagent completion bash > ~/.local/share/bash-completion/completions/openagent",
    'eval "$(openagent completion zsh)"',
    "openagent completion fish > ~/.config/fish/completions/openagent.fish",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@as_json
def completion(shell: str, as_json: bool) -> None:
    """Print what a shell needs to complete commands, options, sessions and models."""
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"There is nothing for {shell}.")
    root = click.get_current_context().find_root().command
    # `source` would start bash to look at its version first; the script says what it needs itself
    written = kind(root, {}, "openagent", _VARIABLE)
    script = f"# Put this into {_FILES[shell]}.\n{written.source_template % written.source_vars()}"
    tell(as_json, {"shell": shell, "script": script}, script)


def session_ids(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [item for item in _sessions() if item.value.startswith(incomplete)]


def session_argument(metavar: str = "SESSION", **settings: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.argument("session", metavar=metavar, shell_complete=session_ids, **settings)


def session_and_paths_argument(
    metavar: str = "[SESSION] [PATH]...",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.argument("words", metavar=metavar, nargs=-1, shell_complete=_session_or_path)


def _session_or_path(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    named = [] if context.params.get("words") else session_ids(context, parameter, incomplete)
    return [*named, CompletionItem(incomplete, type="file")]


def run_words(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """For `openagent run`, whose words are read by itself."""
    words: tuple[str, ...] = context.params.get("words") or ()
    last = words[-1] if words else ""
    match SHORT.get(last, SYNONYMS.get(last, last)):
        case "--model":
            offered = _models()
        case "--session":
            offered = _sessions()
        case "--mode":
            offered = [CompletionItem(mode) for mode in MODES]
        case "--output":
            offered = [CompletionItem(form) for form in OUTPUTS]
        case "--cwd":
            return [CompletionItem(incomplete, type="dir")]
        case "--image":
            return [CompletionItem(incomplete, type="file")]
        case _:
            offered = [CompletionItem(name, help=text) for name, text in OPTIONS.items()]
    return [item for item in offered if item.value.startswith(incomplete)]


def _sessions() -> list[CompletionItem]:
    async def ask() -> list[CompletionItem]:
        async with asyncio.timeout(_PATIENCE), daemon(auto_start=False) as client:
            page = await client.request(SessionList(id=client.next_id(), limit=50))
            return [CompletionItem(info.id, help=one_line(info.name) or info.cwd) for info in page.sessions]

    return _quietly(ask)


def _models() -> list[CompletionItem]:
    async def ask() -> list[CompletionItem]:
        async with asyncio.timeout(_PATIENCE), daemon(auto_start=False) as client:
            entries = await client.request(ModelsList(id=client.next_id()))
            return [CompletionItem(model.name, help=model.note) for model in entries.models]

    return _quietly(ask)


def _quietly(ask: Callable[[], Any]) -> list[CompletionItem]:
    """Without a daemon there is nothing to offer, and the middle of a line is no place for an error."""
    with suppress(OpenAgentError, OSError, TimeoutError):
        return complete(ask())
    return []
