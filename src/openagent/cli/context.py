"""`openagent context`"""

import time
from typing import TypeVar

import click
from msgspec import Struct

from openagent.cli.command import as_json, ask_daemon, command, examples, group, plain, print_json, say
from openagent.cli.completion import session_argument
from openagent.cli.synonyms import silently
from openagent.cli.terminal import BOLD, DIM, paint, table
from openagent.client.text import ago, clean, one_line
from openagent.protocol.context import (
    CollectionInfo,
    ContextCollect,
    ContextMessage,
    ContextPin,
    ContextProposal,
    ContextReport,
    ContextRestore,
    ContextShow,
)

R = TypeVar("R", bound=Struct)
_BAR = 40
_SHOWN_MESSAGES = 40


@group("context", epilog=examples("openagent context show 06gx", "openagent context compact 06gx --dry-run"))
def context() -> None:
    """What the model is shown of a session, and what compacting left out. Nothing is ever deleted."""


@command("show", "openagent context show 06gx", "openagent context show 06gx --all --json | jq '.sections'")
@session_argument()
@click.option("--all", "everything", is_flag=True, help="All messages, not only the largest.")
@as_json
def show(session: str, everything: bool, as_json: bool) -> None:
    """Show what fills the model's context window, in tokens."""
    report = ask_daemon(ContextShow(id="-", session=session))
    if as_json:
        print_json(plain(report))
        return
    say(_headline(report))
    say()
    total = max(sum(section.tokens for section in report.sections), 1)
    rows = [
        (
            section.name,
            f"{section.tokens:,}",
            f"{100 * section.tokens / total:.1f} %",
            f"{section.cached_tokens:,}" if section.cached_tokens else "–",
            f"{section.items:,}",
        )
        for section in report.sections
    ]
    say(table(("SECTION", "TOKENS", "SHARE", "CACHED", "ITEMS"), rows))
    _say_messages(report.messages, everything)
    _say_collections(report.collections)


def _headline(report: ContextReport) -> str:
    percent = 100 * report.used_tokens / report.window
    filled = min(round(_BAR * percent / 100), _BAR)
    about = "about " if report.estimated else ""
    lines = [
        paint(
            f"{clean(report.model)}: {about}{report.used_tokens:,} of {report.window:,} tokens ({percent:.1f} %)", BOLD
        ),
        f"{'█' * filled}{'░' * (_BAR - filled)}",
        f"Compacted at {report.threshold:g} % by {clean(report.collector)}."
        + (f" {report.cached_tokens:,} tokens were last read from the provider's cache." * bool(report.cached_tokens)),
    ]
    return "\n".join(lines)


def _say_messages(messages: list[ContextMessage], everything: bool) -> None:
    if not messages:
        say("\nNo message yet.")
        return
    largest = sorted(messages, key=lambda message: message.tokens, reverse=True)[:_SHOWN_MESSAGES]
    shown = messages if everything else sorted(largest, key=lambda message: message.number)
    rows = [
        (
            str(message.number),
            f"{message.tokens:,}",
            message.section,
            " ".join(word for word in ("pinned" * message.pinned, "shortened" * message.shortened) if word),
            one_line(message.about, 60),
        )
        for message in shown
    ]
    say()
    say(table(("MESSAGE", "TOKENS", "SECTION", "STATE", "ABOUT"), rows))
    if left := len(messages) - len(shown):
        say(paint(f"… and {left} smaller ones; --all shows them", DIM))


def _say_collections(collections: list[CollectionInfo]) -> None:
    if not collections:
        say("\nNothing was compacted.")
        return
    rows = [
        (
            str(each.id),
            each.collector,
            ago(each.at, time.time()),
            f"{each.messages:,}",
            f"{each.shortened:,}",
            f"{each.tokens_freed:,}",
            "holds" if each.holds else "restored",
        )
        for each in collections
    ]
    say()
    say(table(("COLLECTION", "BY", "WHEN", "MESSAGES", "SHORTENED", "FREED", "STATE"), rows))


@command(
    "compact", "openagent compact 06gx", "openagent compact 06gx --dry-run", "openagent compact 06gx --collector evict"
)
@session_argument()
@click.option(
    "--collector", default="", metavar="NAME", help="How: truncate, summarize, hybrid, evict, or a plugin's way."
)
@click.option("--dry-run", is_flag=True, help="Only show what would be left out. No model is asked.")
@as_json
def compact(session: str, collector: str, dry_run: bool, as_json: bool) -> None:
    """Shorten what the model is shown of a conversation, now. `openagent context restore` takes it back."""
    op = ContextCollect(id="-", session=session, collector=collector, dry_run=dry_run)
    done = ask_daemon(op)
    if as_json:
        print_json(plain(done))
    elif not done.hidden and not done.shortened:
        say(f"{clean(done.collector)} has nothing to gain here ({done.tokens_before:,} tokens).")
    else:
        _say_collected(done)


def _say_collected(done: ContextProposal) -> None:
    gone = sum(high - low + 1 for low, high in done.hidden)
    places = ", ".join(f"{low}–{high}" if high > low else str(low) for low, high in done.hidden)
    verb = "Left out" if done.done else "Would leave out"
    what = [f"{gone} messages ({places})"] if gone else []
    if done.shortened:
        what.append(f"the text of {len(done.shortened)} tool results")
    tokens = f"{done.tokens_before:,} → {done.tokens_after:,} tokens"
    say(f"{verb} {' and '.join(what)}: {tokens}, by {clean(done.collector)}.")
    if done.note:
        say(clean(done.note))
    if done.summary:
        say("\n" + paint(clean(done.summary), DIM))
    if done.collection:
        say(f"\nCollection {done.collection}. `openagent context restore` takes it back.")


@command("pin", "openagent context pin 06gx 12")
@session_argument()
@click.argument("message", type=int)
@as_json
def pin(session: str, message: int, as_json: bool) -> None:
    """Keep a message when the conversation is compacted. A tool's result is kept together with its call."""
    _switch(session, message, on=True, as_json=as_json)


@command("unpin", "openagent context unpin 06gx 12")
@session_argument()
@click.argument("message", type=int)
@as_json
def unpin(session: str, message: int, as_json: bool) -> None:
    """Let a message be left out again when the conversation is compacted."""
    _switch(session, message, on=False, as_json=as_json)


def _switch(session: str, message: int, *, on: bool, as_json: bool) -> None:
    ask_daemon(ContextPin(id="-", session=session, message=message, on=on))
    if as_json:
        print_json({"message": message, "pinned": on})
    else:
        say(f"Message {message} is {'pinned' if on else 'no longer pinned'}.")


@command(
    "restore",
    "openagent context restore 06gx",
    "openagent context restore 06gx 3",
    "openagent context restore 06gx --all",
)
@session_argument()
@click.argument("collection", type=int, default=0)
@click.option("--all", "every", is_flag=True, help="All collections.")
@as_json
def restore(session: str, collection: int, every: bool, as_json: bool) -> None:
    """Show the model again what compacting left out; without a number, what it left out last."""
    op = ContextRestore(id="-", session=session, collection=collection, every=every)
    back = ask_daemon(op)
    if as_json:
        print_json(plain(back))
    else:
        numbers = ", ".join(map(str, back.collections))
        say(f"Restored {numbers}: {back.tokens_before:,} → {back.tokens_after:,} tokens.")
        say("It is compacted again when it passes the threshold; pinned messages are kept.")


for _command in (show, compact, pin, unpin, restore):
    context.add_command(_command)
context.add_command(silently(compact), "collect")
