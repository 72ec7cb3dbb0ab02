"""What should answer? Asked line by line, in the words of the terminal interface's first screen."""

import os
import sys

import click

from openagent.cli.auth import login_with_browser
from openagent.cli.command import ask_daemon, complete, say
from openagent.cli.models import pull_bar
from openagent.cli.progress import with_progress
from openagent.cli.terminal import BOLD, DIM, paint
from openagent.client.sources import QUESTION, Source, found, offered, url_to_keep, vendors, whose
from openagent.client.text import clean
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import PullProgress
from openagent.protocol.models import ModelsPull
from openagent.protocol.setup import (
    FoundKey,
    LocalServer,
    LoginOffer,
    ModelChosen,
    ModelSources,
    OfflineOffer,
    SetupKey,
    SetupLook,
    SetupShow,
    SetupUse,
)


def can_ask() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def choose_if_needed() -> bool:
    """Whether something was chosen, where nothing would answer."""
    try:
        if ask_daemon(SetupShow(id="-", cwd=os.getcwd())).model:
            return False
        click.echo(err=True)
        click.echo(f"{_told(choose())}\n", err=True)
    except (OpenAgentError, click.Abort, KeyboardInterrupt):
        return False
    return True


def choose() -> ModelChosen:
    """Until something was chosen that answers; Ctrl+C gives up."""
    sources = ask_daemon(SetupLook(id="-", cwd=os.getcwd()))
    while True:
        source = _pick(sources)
        try:
            return _use(source, sources)
        except OpenAgentError as problem:
            click.echo(f"\n{clean(str(problem))}\n", err=True)


def _pick(sources: ModelSources) -> Source:
    offers = offered(sources, tour=False)
    lines = [(offer.label, offer.note) for offer in offers]
    click.echo(f"{paint(QUESTION, BOLD)} {found(sources).replace(' /model changes it later.', '')}\n", err=True)
    return offers[_number(lines)]


def _number(lines: list[tuple[str, str]]) -> int:
    width = max(len(label) for label, _ in lines)
    for number, (label, note) in enumerate(lines, 1):
        click.echo(f"  {number}  {clean(label):<{width}}  {paint(clean(note), DIM)}", err=True)
    chosen: int = click.prompt("\nNumber", type=click.IntRange(1, len(lines)), default=1, err=True)
    return chosen - 1


def _use(source: Source, sources: ModelSources) -> ModelChosen:
    match source.of:
        case FoundKey(provider=provider):
            return ask_daemon(SetupUse(id="-", provider=provider))
        case LocalServer() as server:
            at = _number([(model.name, model.note) for model in server.models]) if len(server.models) > 1 else 0
            model = server.models[at].name if server.models else ""
            return ask_daemon(SetupUse(id="-", provider=server.provider, model=model, url=url_to_keep(server)))
        case LoginOffer() as login:
            if not login.done:
                complete(login_with_browser(login.provider))
            return ask_daemon(SetupUse(id="-", provider=login.provider))
        case OfflineOffer() as offer:
            if not offer.installed:
                complete(with_progress(ModelsPull(id="-", name=offer.name), PullProgress, pull_bar, quiet=False))
            return ask_daemon(SetupUse(id="-", provider="local", model=offer.name))
        case _:
            return _paste(sources)


def _paste(sources: ModelSources) -> ModelChosen:
    key: str = click.prompt("API key", hide_input=True, err=True).strip()
    provider = ""
    if not whose(sources, key):
        names = vendors(sources)
        click.echo("Whose key is it?", err=True)
        provider = list(names)[_number([(title, "") for title in names.values()])]
    return ask_daemon(SetupKey(id="-", key=key, provider=provider))


def tell(chosen: ModelChosen) -> None:
    say(_told(chosen))


def _told(chosen: ModelChosen) -> str:
    return f"{clean(chosen.model)} answers from now on. {clean(chosen.file)} says so."
