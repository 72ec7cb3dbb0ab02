"""`openagent models`"""

import os
import sys

import click

from openagent.cli.command import as_json, ask_daemon, command, complete, examples, group, plain, print_json, say
from openagent.cli.progress import bar, with_progress
from openagent.cli.terminal import GREEN, RED, YELLOW, paint, table
from openagent.client.text import clean, duration, size
from openagent.protocol.events import PullProgress
from openagent.protocol.models import (
    ModelEntry,
    ModelsList,
    ModelsPull,
    ModelsTest,
    ModelTest,
)


@group("models", epilog=examples("openagent models list", "openagent models test", "openagent models pull smollm2"))
def models() -> None:
    """The models there are, and whether they answer."""


@command("list", "openagent models list", "openagent models list anthropic --json")
@click.argument("provider", default="")
@as_json
def list_models(provider: str, as_json: bool) -> int:
    """List what the providers offer, asked of them now; prices are in dollars per million tokens."""
    found = ask_daemon(ModelsList(id="-", provider=provider, cwd=os.getcwd()))
    if as_json:
        print_json(plain(found))
        return int(bool(found.problems) and not found.models)
    if found.models:
        say(table(("MODEL", "CONTEXT", "INPUT", "OUTPUT", "NOTE"), [_row(model) for model in found.models]))
    for problem in found.problems:
        said = f"{problem.provider}: {problem.error.message} {problem.error.hint}"
        click.echo(paint(f"✗ {clean(said)}", YELLOW, sys.stderr), err=True)
    return int(bool(found.problems) and not found.models)


def _row(model: ModelEntry) -> tuple[str, ...]:
    window = f"{model.context_window:,}" if model.context_window else "–"
    return model.name, window, _price(model.input_usd), _price(model.output_usd), model.note


def _price(dollars: float | None) -> str:
    return "–" if dollars is None else f"${dollars:g}"


@command("test", "openagent models test", "openagent models test anthropic", "openagent models test openai/gpt-5")
@click.argument("name", default="", metavar="[PROVIDER[/MODEL]]")
@as_json
def test(name: str, as_json: bool) -> int:
    """Ask for one token, of every provider or of one, and tell how long it took or what went wrong."""
    answer = ask_daemon(ModelsTest(id="-", name=name, cwd=os.getcwd()))
    tests = answer.tests
    failed = any(test.error for test in tests)
    if as_json:
        print_json(answer)
    else:
        for each in tests:
            say(_verdict(each))
    return int(failed)


def _verdict(test: ModelTest) -> str:
    if test.error is None:
        return f"{paint('✓', GREEN)} {test.model} answered in {duration(test.latency_ms)}"
    return f"{paint('✗', RED)} {test.model}: {clean(f'{test.error.message} {test.error.hint}')}"


@command("pull", "openagent models pull smollm2")
@click.argument("name")
@as_json
def pull(name: str, as_json: bool) -> None:
    """Install a model that runs on this machine, without key or network. `smollm2` is small: it chats, no more."""
    pulled = complete(with_progress(ModelsPull(id="-", name=name), PullProgress, pull_bar, quiet=as_json))
    if as_json:
        print_json(plain(pulled))
    else:
        say(f"{pulled.model} is installed ({size(pulled.size_bytes)} in {pulled.path}). It chats, it cannot use tools.")
        say(f'Try it: openagent run --model {pulled.model} "Hello!"')


def pull_bar(event: PullProgress) -> str:
    if not event.total_bytes:
        return clean(event.stage)
    done = f"{size(event.done_bytes)} of {size(event.total_bytes)}"
    return bar(event.stage, event.done_bytes, event.total_bytes, done)


for _command in (list_models, test, pull):
    models.add_command(_command)
