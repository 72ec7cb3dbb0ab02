"""`openagent sessions search`"""

import time

import click

from openagent.cli.command import as_json, ask_daemon, command, plain, print_json, say
from openagent.cli.terminal import BOLD, DIM, paint
from openagent.client.text import ago, clean, one_line
from openagent.protocol.search import FoundMessage, MessagesSearch

_BEGIN, _END = "\x02", "\x03"


@command(
    "search",
    'openagent sessions search "token refresh"',
    "openagent sessions search parser --session 06gx --limit 5",
    "openagent sessions search parser --json | jq -r '.found[].session'",
)
@click.argument("words", nargs=-1, required=True, metavar="WORDS...")
@click.option("--session", default="", metavar="SESSION", help="Only in this session.")
@click.option("--limit", type=click.IntRange(min=1, max=200), default=20, show_default=True, help="How many at most.")
@as_json
def search(words: tuple[str, ...], session: str, limit: int, as_json: bool) -> None:
    """Find messages of all sessions that hold all of these words, the best first."""
    found = ask_daemon(MessagesSearch(id="-", query=" ".join(words), session=session, limit=limit))
    if as_json:
        print_json(plain(found))
        return
    now = time.time()
    for each in found.found:
        _print(each, now)
    if not found.found:
        say("Nothing that was said holds all of these words.")
    if found.unread:
        say(paint(f"{found.unread} messages are not searched yet: they are being read.", DIM))


def _print(each: FoundMessage, now: float) -> None:
    name = one_line(each.session_name, 60) or "Unnamed"
    where = f"message {each.number}, {each.role}, {ago(each.created_at, now)}"
    say(f"{paint(name, BOLD)}  {each.session}  {paint(where, DIM)}")
    pieces = [piece.partition(_END) for piece in each.excerpt.split(_BEGIN)]
    marked = "".join((paint(clean(found), BOLD) if end else clean(found)) + clean(rest) for found, end, rest in pieces)
    say(f"  {' '.join(marked.split())}\n")
