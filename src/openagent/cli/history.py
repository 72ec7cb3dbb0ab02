"""`openagent import`"""

from collections.abc import Sequence
from datetime import datetime
from typing import cast

import click

from openagent.cli.command import as_json, command, complete, plain, print_json, say
from openagent.cli.progress import bar, with_progress
from openagent.cli.terminal import BOLD, DIM, paint
from openagent.client.text import clean, size
from openagent.protocol.events import HistoryProgress
from openagent.protocol.history import HistoryImport, ImportedAgent, ImportedHistory, LeftOut
from openagent.protocol.origin import FOREIGN_AGENTS, ForeignAgent

_LEFT_OUT_SHOWN = 10


@command(
    "import",
    "openagent import",
    "openagent import claude codex",
    "openagent import --dry-run",
    "openagent import --since 2026-06-01",
)
@click.argument("agents", nargs=-1, type=click.Choice(FOREIGN_AGENTS), metavar="[AGENT]...")
@click.option("--dry-run", is_flag=True, help="Only say what would be brought.")
@click.option(
    "--since",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="Only sessions that were active on this day or later.",
)
@as_json
def import_history(agents: tuple[str, ...], dry_run: bool, since: datetime | None, as_json: bool) -> None:
    """Bring the sessions that other agents left on this machine: claude, codex, gemini, opencode, aider, goose.

    Each becomes a session here: searched, opened, counted, and continued with any model. Only what is new since the
    last time is read, and nothing of theirs is changed. It needs no key.
    """
    op = HistoryImport(
        id="-",
        agents=cast("list[ForeignAgent]", list(agents)),
        since=since.timestamp() if since else 0.0,
        dry_run=dry_run,
    )
    brought = complete(with_progress(op, HistoryProgress, reading_bar, quiet=as_json))
    if as_json:
        print_json(plain(brought))
        return
    if not brought.agents and not brought.left_out:
        say("No other agent left a session on this machine" + (", or none in this time." if since or agents else "."))
        return
    width = max((len(each.title) for each in brought.agents), default=0)
    for each in brought.agents:
        say(f"{paint(f'{each.title:{width}}', BOLD)}  {_figures(each, dry_run)}")
    say_left_out(brought.left_out)
    _say_end(brought)


def _figures(each: ImportedAgent, dry_run: bool) -> str:
    told = [
        (each.new, "to bring" if dry_run else "new"),
        (each.grown, "that went on" if dry_run else "went on there"),
        (each.apart, "went on both here and there, so each has its own now"),
        (each.unchanged, "as before"),
        (each.dropped, "that you deleted here"),
    ]
    return ", ".join(f"{count:,} {words}" for count, words in told if count) or "nothing was said in any session"


def _say_end(brought: ImportedHistory) -> None:
    if brought.dry_run:
        say("\nNothing was stored. `openagent import` brings them.")
    elif brought.messages:
        say(f"\n{brought.messages:,} messages in {brought.seconds:.1f} s. Now:")
        for line, about in (
            ("openagent usage --all-agents", "what they cost, by day, model or project"),
            ('openagent sessions search "…"', "find what was said"),
            ("openagent sessions list --from AGENT", "list them"),
            ('openagent run --session ID "…"', "go on with one, with any model"),
        ):
            say(f"  {line:38}{paint(about, DIM)}")
    else:
        say("\nThere is nothing new.")


def say_left_out(left_out: Sequence[LeftOut]) -> None:
    if not left_out:
        return
    say("\nLeft out:")
    for each in left_out[:_LEFT_OUT_SHOWN]:
        say(clean(f"  {each.path} {each.reason}."))
    if (more := len(left_out) - _LEFT_OUT_SHOWN) > 0:
        say(f"  and {more} more, which --json lists.")


def reading_bar(event: HistoryProgress) -> str:
    stored = f", {event.messages:,} messages" if event.messages else ""
    return bar(event.stage, event.done, max(event.total, 1), f"{size(event.done)} of {size(event.total)}{stored}")
