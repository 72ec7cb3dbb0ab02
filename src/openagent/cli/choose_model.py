"""What should answer? Asked line by line, in the words of the terminal interface's first screen."""

import os
import sys

import click

from openagent.cli.auth import login_with_browser
from openagent.cli.command import ask_daemon, complete, say
from openagent.cli.models import pull_bar
from openagent.cli.progress import with_progress
from openagent.cli.terminal import BOLD, DIM, paint
from openagent.client.sources import QUESTION, Source, found, offered, server_at, url_to_keep, vendors, whose
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
    ProvidersAdd,
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
        case "address":
            return use_server(click.prompt("Address", err=True).strip())
        case _:
            return _paste(sources)


def use_server(address: str) -> ModelChosen:
    """The model server at an address, which is asked for its models; also for a key, if it wants one."""
    name, url = server_at(address)
    try:
        added = ask_daemon(ProvidersAdd(id="-", name=name, base_url=url, replace=True))
    except OpenAgentError as problem:
        if problem.info.code != "auth_failed" or not can_ask():
            raise
        key: str = click.prompt("It wants a key. API key", hide_input=True, err=True).strip()
        added = ask_daemon(ProvidersAdd(id="-", name=name, base_url=url, key=key, replace=True))
    return ask_daemon(SetupUse(id="-", provider=name, model=_model_of(added.models)))


def _model_of(models: list[str]) -> str:
    if len(models) == 1 or (models and not can_ask()):
        return models[0]
    if models:
        return models[_number([(model, "") for model in models])]
    if not can_ask():
        raise OpenAgentError(
            "model_not_found",
            "The server answers but lists no models.",
            hint="Set it: `openagent config set model PROVIDER/NAME`.",
        )
    model: str = click.prompt("The server lists no models. Name of its model", err=True).strip()
    return model


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
