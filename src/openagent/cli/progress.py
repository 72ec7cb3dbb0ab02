"""Ops that take long and tell how far they are: a bar that moves in a terminal, elsewhere a line per stage."""

import asyncio
import sys
from collections.abc import Callable
from typing import TypeVar

import click
from msgspec import Struct

from openagent.cli.command import daemon
from openagent.client.text import clean
from openagent.protocol.events import AnyEvent, HistoryProgress, IndexProgress, PullProgress
from openagent.protocol.op import Op

R = TypeVar("R", bound=Struct)
P = TypeVar("P", HistoryProgress, IndexProgress, PullProgress)
_BAR = 30


async def with_progress(op: Op[R], kind: type[P], draw: Callable[[P], str], *, quiet: bool) -> R:
    """The bar is gone from the terminal when the answer is there."""
    async with daemon() as client, client.all_events() as events:
        shown = None if quiet else asyncio.create_task(_show(events, kind, draw))
        try:
            return await client.request(op)
        finally:
            if shown is not None:
                shown.cancel()
                if sys.stderr.isatty():
                    click.echo("\r\x1b[K", nl=False, err=True)


async def _show(events: "asyncio.Queue[AnyEvent | None]", kind: type[P], draw: Callable[[P], str]) -> None:
    moving = sys.stderr.isatty()
    stage = ""
    while (event := await events.get()) is not None:
        if not isinstance(event, kind):
            continue
        if moving:
            click.echo(f"\r\x1b[K{draw(event)}", nl=False, err=True)
        elif event.stage != stage:
            click.echo(clean(event.stage), err=True)
        stage = event.stage


def bar(stage: str, done: int, total: int, words: str) -> str:
    filled = _BAR * min(done, total) // total
    return f"{clean(stage):28} {'█' * filled}{'░' * (_BAR - filled)} {words}"
