"""`openagent sessions`"""

import json
import os
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from html import escape
from io import StringIO
from typing import TextIO

import click
import msgspec

from openagent.cli.command import (
    as_json,
    ask_daemon,
    command,
    complete,
    daemon,
    examples,
    group,
    plain,
    print_json,
    say,
)
from openagent.cli.completion import session_argument
from openagent.cli.drawing import drawing
from openagent.cli.exported import VERSION
from openagent.cli.queue import queue
from openagent.cli.search import search
from openagent.cli.session_import import import_session
from openagent.cli.session_lines import write_lines
from openagent.cli.session_prune import prune
from openagent.cli.session_settings import archive, raw, rename, set_settings
from openagent.cli.synonyms import silently
from openagent.cli.terminal import table
from openagent.cli.transcript import Markdown, Transcript, within
from openagent.cli.undo import diff, redo, undo
from openagent.client import Client
from openagent.client.text import ago, clean, cost, one_line
from openagent.protocol.conversation import MessagePage, MessagesPage
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.origin import FOREIGN_AGENTS
from openagent.protocol.sessions import (
    EndedTurn,
    SessionCreate,
    SessionDelete,
    SessionFork,
    SessionGet,
    SessionInfo,
    SessionList,
)
from openagent.protocol.usage import SessionUsage
from openagent.protocol.words import in_words

PAGE = 200
NEWEST = 20


@group(
    "sessions",
    invoke_without_command=True,
    epilog=examples(
        "openagent sessions list", "openagent sessions show 06gx", "openagent sessions export 06gx --format markdown"
    ),
)
@click.pass_context
def sessions(ctx: click.Context) -> None:
    """Conversations with agents, listed when no command is given.

    The beginning of a session's id is enough where no other begins with it.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_sessions)


@command(
    "list",
    "openagent sessions list",
    "openagent sessions list --cwd . --json",
    "openagent sessions list --all --query parser",
    "openagent sessions list --archived",
    "openagent sessions list --brought",
    "openagent sessions list --from claude",
)
@click.option(
    "--all", "every", is_flag=True, help="All of them, not only the newest; sub-agents and archived ones too."
)
@click.option("--archived", is_flag=True, help="Those put away with `openagent sessions archive` instead.")
@click.option("--limit", type=click.IntRange(min=1), default=NEWEST, show_default=True, help="How many at most.")
@click.option("--cwd", metavar="DIR", help="Only those of this workspace.")
@click.option("--query", default="", metavar="TEXT", help="Only those whose name contains this.")
@click.option("--brought", is_flag=True, help="Those of other agents that have not gone on here instead.")
@click.option("--from", "agent", type=click.Choice(FOREIGN_AGENTS), help="Only those brought from this agent.")
@as_json
def list_sessions(
    *,
    every: bool,
    archived: bool,
    limit: int,
    cwd: str | None,
    query: str,
    brought: bool,
    agent: str | None,
    as_json: bool,
) -> None:
    """List sessions, the most recently used first. `openagent agents` shows those that work for them.

    Sessions of other agents that `openagent import` brought are listed with --brought, --from or --all, and once they
    have gone on here.
    """
    asked = SessionList(
        id="-",
        cwd=os.path.abspath(os.path.expanduser(cwd)) if cwd else "",
        query=query,
        roots=not every,
        archived=archived or (None if every else False),
        agent=agent or "",
        brought=brought or (None if every or agent else False),
    )
    found, theirs = complete(_list(asked, None if every else limit))
    if as_json:
        print_json({"sessions": found})
    elif found:
        now = time.time()
        say(
            table(
                ("ID", "ACTIVE", "STATUS", "MESSAGES", "COST", "NAME", "DIRECTORY"), [_row(info, now) for info in found]
            )
        )
    elif archived:
        say("No such session was put away. `openagent sessions archive SESSION` does that.")
    elif brought or agent:
        say("No such session was brought. `openagent import` does that.")
    else:
        say('There are no such sessions. `openagent run "…"` makes one.')
    if theirs and not query and not as_json:
        say(f"\nAnd {theirs:,} brought from other agents: `openagent sessions list --brought`.")


def _row(info: SessionInfo, now: float) -> Sequence[str]:
    there = info.origin.usage if info.origin else SessionUsage()
    unpriced = info.usage.unpriced + info.below_unpriced + there.unpriced
    spent = cost(info.usage.cost_usd + info.below_usd + there.cost_usd, unpriced)
    home = os.path.expanduser("~")
    cwd = "~" + info.cwd.removeprefix(home) if info.cwd.startswith(home + "/") else info.cwd
    name = (one_line(info.name, 50) or "–") + (f" (from {info.origin.title})" if info.origin else "")
    waiting = f", {info.queued} {'held' if info.held else 'queued'}" if info.queued else ""
    away = ", archived" if info.archived else ""
    return (
        info.id,
        ago(info.updated_at, now),
        in_words(info.status) + waiting + away,
        str(info.message_count),
        spent if info.usage.requests or there.requests else "–",
        name,
        cwd,
    )


async def _list(asked: SessionList, limit: int | None) -> tuple[list[SessionInfo], int]:
    """And how many of other agents were left out."""
    found: list[SessionInfo] = []
    theirs = 0
    before: float | None = None
    async with daemon() as client:
        while limit is None or len(found) < limit:
            size = PAGE if limit is None else min(limit - len(found), PAGE)
            last = found[-1].id if found else ""
            op = msgspec.structs.replace(asked, id=client.next_id(), limit=size, before=before, before_id=last)
            page = await client.request(op)
            found += page.sessions
            theirs += sum(page.brought.values())
            before = page.next
            if before is None:
                break
    return found, theirs


@command("show", "openagent sessions show 06gx", "openagent sessions show 06gx | less")
@session_argument()
@as_json
def show(session: str, as_json: bool) -> None:
    """Print a conversation."""
    complete(_export(session, _write_json if as_json else _write_text))


async def _write_text(client: Client, info: SessionInfo, file: TextIO) -> None:
    model = info.model or "no model"
    say(clean(f"{info.name or 'Unnamed'}  ·  {info.id}  ·  {model}  ·  {info.cwd}"))
    transcript = Transcript(say, drawing())
    async for page in _pages(client, info.id):
        transcript.learn(page.turns)
        for message in page.messages:
            transcript.add(message, taken_back=within(message.number, page.rewound))
    transcript.end()


@command(
    "export",
    "openagent sessions export 06gx > session.json",
    "openagent sessions export 06gx --format md --output session.md",
    "openagent sessions export 06gx --format html --output session.html",
    "openagent sessions export --all --format jsonl --output all.jsonl",
)
@session_argument(required=False)
@click.option(
    "--format",
    "form",
    type=click.Choice(["json", "jsonl", "markdown", "md", "html"]),
    default="json",
    show_default=True,
)
@click.option("--all", "every", is_flag=True, help="Every session that a person began, as jsonl.")
@click.option("--output", metavar="FILE", help="Write there instead of to the terminal.")
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
def export(*, session: str | None, form: str, every: bool, output: str | None, as_json: bool) -> None:
    """Write all of a session, with every message; jsonl also with all that happened in it, checkpoints by their ids."""
    if every == bool(session):
        raise click.UsageError("Name one SESSION, or say --all." if every else "Missing argument 'SESSION', or --all.")
    if every and (as_json or form != "jsonl"):
        raise click.UsageError("All of them are written with --format jsonl.")
    complete(_export(session or "", _write_json if as_json else _WRITERS[form], output))


async def _export(session: str, write: "Writer", output: str | None = None) -> None:
    """Of all sessions when none is named."""
    everything = SessionList(id="-", roots=True, archived=None, brought=False)
    listed = [] if session else (await _list(everything, None))[0]
    async with daemon() as client:
        found = listed or ([await _get(client, session)] if session else [])
        try:
            with _open(output) as file:
                for info in found:
                    await write(client, info, file)
        except OSError as problem:
            if output is None:
                raise
            raise OpenAgentError("invalid_argument", f"{output} cannot be written: {problem.strerror}.") from None


def _open(output: str | None) -> AbstractContextManager[TextIO]:
    return open(output, "w", encoding="utf-8") if output else nullcontext(sys.stdout)


async def _write_json(client: Client, info: SessionInfo, file: TextIO) -> None:
    """Page by page, so that the longest session needs little memory."""
    file.write(f'{{"version": {VERSION},\n"session": {json.dumps(plain(info))},\n"messages": [')
    separator = "\n"
    rewound: list[tuple[int, int]] = []
    ends: dict[int, EndedTurn] = {}
    async for page in _pages(client, info.id):
        rewound = page.rewound
        ends |= {end.turn: end for end in page.turns}
        for message in page.messages:
            file.write(separator + json.dumps(msgspec.to_builtins(message)))
            separator = ",\n"
    turns = ",\n".join(json.dumps(msgspec.to_builtins(end)) for end in ends.values())
    file.write(f'\n],\n"turns": [\n{turns}\n],\n"rewound": {json.dumps(rewound)}}}\n')


async def _write_markdown(client: Client, info: SessionInfo, file: TextIO) -> None:
    markdown = Markdown()
    begun = time.strftime("%Y-%m-%d %H:%M", time.localtime(info.created_at))
    file.write(f"# {one_line(info.name) or info.id}\n\n")
    file.write(f"Session `{info.id}` in `{clean(info.cwd)}`, begun {begun}.\n\n")
    async for page in _pages(client, info.id):
        file.write(markdown.page(page.messages, page.turns, page.rewound))
    file.write(markdown.end())


async def _write_html(client: Client, info: SessionInfo, file: TextIO) -> None:
    """One file that needs no other. What was said is shown as text: nothing in it can run."""
    from markdown_it import MarkdownIt

    written = StringIO()
    await _write_markdown(client, info, written)
    body: str = MarkdownIt("commonmark", {"html": False}).enable("table").render(written.getvalue())
    title = escape(one_line(info.name) or info.id)
    file.write(f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{title}</title>\n')
    file.write(f"<style>{_STYLE}</style>\n<main>\n{body}</main></html>\n")


_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;margin:0;color-scheme:light dark}main{max-width:80ch;margin:2rem auto;"
    "padding:0 1rem}pre{overflow:auto;padding:.75rem;border-radius:6px;background:#8882}code{font-family:monospace}"
    "table{border-collapse:collapse}td,th{border:1px solid #8886;padding:.2rem .6rem}blockquote{opacity:.75}"
)

Writer = Callable[[Client, SessionInfo, TextIO], Awaitable[None]]
_WRITERS: dict[str, Writer] = {
    "json": _write_json,
    "jsonl": write_lines,
    "markdown": _write_markdown,
    "md": _write_markdown,
    "html": _write_html,
}


@command("delete", "openagent sessions delete 06gx", "openagent sessions delete --yes 06gx 06gy")
@session_argument(metavar="SESSION...", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask.")
@as_json
def delete(session: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Delete sessions with everything said in them. The workspace's files stay."""
    complete(_delete(session, ask=not yes and sys.stdin.isatty(), as_json=as_json))


async def _delete(names: Sequence[str], *, ask: bool, as_json: bool) -> None:
    async with daemon() as client:
        found = [await _get(client, name) for name in names]
        if ask:
            for info in found:
                say(f"{info.id}  {one_line(info.name)}  ({info.message_count} messages)")
            click.confirm("Delete this for good?", abort=True)
        for info in found:
            await client.request(SessionDelete(id=client.next_id(), session=info.id))
            if not as_json:
                say(f"Deleted {info.id}.")
    if as_json:
        print_json({"deleted": [info.id for info in found]})


@command(
    "fork",
    "openagent sessions fork 06gx",
    "openagent sessions fork 06gx --through 12 --name 'another way'",
    "openagent sessions fork 06gx --cwd ~/project",
)
@session_argument()
@click.option("--through", type=click.IntRange(min=1), metavar="N", help="The last message the fork keeps.")
@click.option("--name", default="", help="What to call it.")
@click.option("--cwd", metavar="DIR", help="The folder it goes on in; that of the original when not given.")
@as_json
def fork(session: str, through: int | None, name: str, cwd: str | None, as_json: bool) -> None:
    """Begin a new session where another one stands."""
    folder = os.path.abspath(os.path.expanduser(cwd)) if cwd else ""
    info = ask_daemon(SessionFork(id="-", session=session, through=through, name=name, cwd=folder))
    if as_json:
        print_json(plain(info))
    else:
        say(f'{info.id}\nGo on with `openagent run --session {info.id} "…"`.')


@command(
    "clone",
    "openagent sessions clone https://git.example/acme/shop.git",
    "openagent sessions clone git@git.example:acme/shop.git --branch topic --template coder",
)
@click.argument("repository", metavar="ADDRESS")
@click.option("--branch", default="", metavar="NAME", help="The branch; the repository's own when left out.")
@click.option(
    "--cwd", default=".", metavar="DIR", help="The folder on the workers below which the clone lies; this one."
)
@click.option("--template", default="", metavar="NAME", help="Start the session from a template.")
@click.option("--name", default="", help="What to call it.")
@as_json
def clone(*, repository: str, branch: str, cwd: str, template: str, name: str, as_json: bool) -> None:
    """Begin a session in a team that works on a clone of a git repository. The clone goes with it to other workers."""
    folder = os.path.abspath(os.path.expanduser(cwd))
    op = SessionCreate(id="-", cwd=folder, repository=repository, branch=branch, template=template, name=name)
    info = ask_daemon(op)
    if as_json:
        print_json(plain(info))
    else:
        say(f'{info.id}\nGo on with `openagent run --session {info.id} "…"`.')


async def _get(client: Client, session: str) -> SessionInfo:
    return await client.request(SessionGet(id=client.next_id(), session=session))


async def _pages(client: Client, session: str) -> AsyncGenerator[MessagePage, None]:
    after, has_more = 0, True
    while has_more:
        op = MessagesPage(id=client.next_id(), session=session, after=after, limit=PAGE)
        page = await client.request(op)
        if page.messages:
            yield page
            after = page.messages[-1].number
        has_more = page.has_more


for each in (
    list_sessions,
    show,
    search,
    rename,
    archive,
    set_settings,
    raw,
    diff,
    undo,
    redo,
    queue,
    fork,
    clone,
    export,
    import_session,
    delete,
    prune,
):
    sessions.add_command(each)
sessions.add_command(silently(redo), "unrewind")
