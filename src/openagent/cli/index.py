"""`openagent index`"""

import asyncio
import os
import sys
import time
from typing import cast

import click

from openagent.cli.command import (
    as_events,
    as_json,
    ask_daemon,
    command,
    complete,
    daemon,
    examples,
    group,
    plain,
    print_json,
    print_line,
    say,
)
from openagent.cli.progress import bar, with_progress
from openagent.cli.terminal import BOLD, DIM, paint
from openagent.client.text import ago, clean, size
from openagent.protocol.events import IndexProgress, IndexUpdated
from openagent.protocol.index import (
    IndexAsk,
    IndexBuild,
    IndexBuilt,
    IndexMap,
    IndexSearch,
    IndexSetup,
    IndexSymbols,
    IndexWatch,
    SearchBy,
)

_SHOWN_LINES = 6

_cwd = click.option("--cwd", metavar="DIR", default=".", help="The workspace; this folder when left out.")


@group(
    "index",
    epilog=examples("openagent index build", 'openagent index search "where tokens are refreshed"'),
)
def index() -> None:
    """Find code by words, by meaning and by name."""


@command("build", "openagent index build", "openagent index build --cwd ~/project")
@_cwd
@as_json
def build(cwd: str, as_json: bool) -> None:
    """Read what is new or changed since the last time."""
    op = IndexBuild(id="-", cwd=_absolute(cwd))
    built = complete(with_progress(op, IndexProgress, _bar, quiet=as_json))
    if as_json:
        print_json(plain(built))
    else:
        say(_built(built))


@command("search", 'openagent index search "retry with backoff"', "openagent index search parse_header --by text")
@click.argument("query")
@click.option("--limit", type=click.IntRange(1, 100), default=5, show_default=True, help="How many to show.")
@click.option("--by", type=click.Choice(["fused", "text", "meaning"]), default="fused", show_default=True)
@_cwd
@as_json
def search(query: str, limit: int, by: str, cwd: str, as_json: bool) -> int:
    """Find pieces of code, best first. Exit code 1 when there are none."""
    op = IndexSearch(id="-", cwd=_absolute(cwd), query=query, limit=limit, by=cast("SearchBy", by))
    answer = ask_daemon(op)
    found = answer.hits
    if as_json:
        print_json(answer)
    elif not found:
        say("Nothing was found.")
    else:
        for hit in found:
            say(paint(clean(f"{hit.path}:{hit.start_line}-{hit.end_line}  {hit.symbol}").rstrip(), BOLD))
            for line in hit.text.splitlines()[:_SHOWN_LINES]:
                say(paint(f"    {clean(line)}", DIM))
    return int(not found)


@command("symbols", "openagent index symbols SessionManager", "openagent index symbols Session.send --json")
@click.argument("name")
@_cwd
@as_json
def symbols(name: str, cwd: str, as_json: bool) -> int:
    """Show where a name is defined and where it is used. Exit code 1 when it is nowhere."""
    found = ask_daemon(IndexSymbols(id="-", cwd=_absolute(cwd), name=name))
    if as_json:
        print_json(plain(found))
    else:
        for each in found.definitions:
            say(f"{paint(clean(f'{each.path}:{each.start_line}'), BOLD)}  {clean(each.kind)}  {clean(each.signature)}")
        for place in found.references:
            say(f"  used in {clean(place.path)}:{place.line}")
        if not found.definitions and not found.references:
            say("That name is nowhere.")
    return int(not found.definitions and not found.references)


@command("map", "openagent index map", "openagent index map --tokens 500")
@click.option("--tokens", type=click.IntRange(1, 100_000), default=1000, show_default=True, help="At most so many.")
@_cwd
@as_json
def show_map(tokens: int, cwd: str, as_json: bool) -> None:
    """Show what is used most, file by file."""
    found = ask_daemon(IndexMap(id="-", cwd=_absolute(cwd), max_tokens=tokens))
    if as_json:
        print_json(plain(found))
    else:
        say(clean(found.text))


@command("status", "openagent index status")
@_cwd
@as_json
def status(cwd: str, as_json: bool) -> None:
    """Tell what is indexed, and how old it is."""
    info = ask_daemon(IndexAsk(id="-", cwd=_absolute(cwd)))
    if as_json:
        print_json(plain(info))
        return
    if info.built_at is None:
        say("Not indexed yet. `openagent index build` does it.")
    else:
        say(f"{info.files} files, {info.chunks} pieces, {info.symbols} symbols, {info.references} references")
        say(f"Built {ago(info.built_at, time.time())}, {size(info.size_bytes)}; {info.left_out} files left out")
    if info.shown:
        say(f"Learned from {info.shown} pieces shown to agents, {info.useful} of them used")
    if info.model:
        say(f"By meaning: {info.embedded} of {info.chunks} pieces")
    else:
        say("By meaning: not set up. `openagent index setup` does it; until then words alone are searched.")


@command("watch", "openagent index watch", "openagent index watch --cwd ~/project")
@_cwd
@as_events
def watch(cwd: str, as_json: bool) -> None:
    """Keep an index up to date until Ctrl+C."""
    complete(_watch(_absolute(cwd), as_json))


async def _watch(cwd: str, as_json: bool) -> None:
    async with daemon() as client, client.all_events() as events:
        watching = asyncio.create_task(client.request(IndexWatch(id=client.next_id(), cwd=cwd)))
        watching.add_done_callback(lambda _: events.put_nowait(None))
        while (event := await events.get()) is not None:
            if isinstance(event, IndexUpdated):
                if as_json:
                    print_line(event)
                else:
                    say(_built(event))
                sys.stdout.flush()
        await watching


@command("setup", "openagent index setup")
@as_json
def setup(as_json: bool) -> None:
    """Install the model that finds code by meaning. It runs on this machine; nothing is sent anywhere."""
    ready = complete(with_progress(IndexSetup(id="-"), IndexProgress, _bar, quiet=as_json))
    if as_json:
        print_json(plain(ready))
    else:
        say(f"Ready ({size(ready.size_bytes)} in {clean(ready.path)}). `openagent index build` uses it.")


def _bar(event: IndexProgress) -> str:
    if not event.total:
        return f"{clean(event.stage):28} {event.done or ''}"
    return bar(event.stage, event.done, event.total, f"{event.done} of {event.total}")


def _built(built: IndexBuilt | IndexUpdated) -> str:
    return (
        f"{built.files} files: {built.indexed} read, {built.removed} dropped, {built.left_out} left out, "
        f"in {built.seconds:.1f} s."
    )


def _absolute(path: str) -> str:
    return os.path.abspath(os.path.expanduser(path))


for _command in (build, search, symbols, show_map, status, watch, setup):
    index.add_command(_command)
