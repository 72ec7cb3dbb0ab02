"""`openagent audit`"""

import csv
import json
import re
import sys
import time
from collections.abc import AsyncGenerator
from datetime import datetime

import click

from openagent.cli.command import as_json, command, complete, daemon, plain, say
from openagent.cli.terminal import table
from openagent.client.text import one_line
from openagent.protocol.safety import AuditAsk, AuditRow

PAGE = 1000
NEWEST = 50
KINDS = (
    *("decision", "command", "file_written", "call", "grant", "permission", "session", "message", "turn", "queue"),
    *("rewind", "unrewind", "context", "terminal", "files", "trust", "auth", "tokens", "web", "tools", "mcp", "models"),
    *("templates", "flow", "workspaces", "index", "task", "tasks", "hooks", "question", "login", "daemon"),
)
_CUT_SHORT = {"stopped": "stopped", "interrupted": "cut off"}
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_AGO = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")


@command(
    "audit",
    "openagent audit --kind command --since 1d",
    "openagent audit --session 06gx --json | jq '.entries[].subject'",
    "openagent audit --kind file_written --csv > files.csv",
)
@click.option("--session", default="", metavar="SESSION", help="Only of this session, deleted or not.")
@click.option("--kind", default="", type=click.Choice(["", *KINDS]), metavar="KIND", help=f"One of {', '.join(KINDS)}.")
@click.option("--tool", default="", metavar="NAME", help="Only calls of this tool.")
@click.option("--since", default="", metavar="WHEN", help="A date, a time, or how long ago: 30m, 12h, 7d.")
@click.option("--limit", type=click.IntRange(min=1), help=f"How many at most: {NEWEST}, and all with --json or --csv.")
@as_json
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
def audit(*, session: str, kind: str, tool: str, since: str, limit: int | None, as_json: bool, as_csv: bool) -> None:
    """Show what was decided, run and written, the newest first. Nothing is ever removed from it."""
    if as_json and as_csv:
        raise click.UsageError("--json and --csv do not go together.")
    asked = AuditAsk(id="", session=session, kind=kind, tool=tool, since=_moment(since))
    complete(_print(asked, limit or (None if as_json or as_csv else NEWEST), as_json, as_csv))


async def _print(asked: AuditAsk, limit: int | None, as_json: bool, as_csv: bool) -> None:
    rows = _rows(asked, limit)
    if as_json:
        before = first = '{"entries": [\n'
        async for row in rows:  # there may be more of them than memory
            sys.stdout.write(before + json.dumps(plain(row)))
            before = ",\n"
        say((first if before == first else "\n") + "]}")
    elif as_csv:
        writer = csv.writer(sys.stdout)
        writer.writerow(("id", "time", "session", "kind", "subject", "detail"))
        async for row in rows:
            writer.writerow((row.id, _time(row), row.session, row.kind, _safe(row.subject), json.dumps(row.detail)))
    else:
        shown = [(_time(row), row.session[:12] or "–", _who(row), row.kind, _told(row)) async for row in rows]
        heads = ("TIME", "SESSION", "WHO", "KIND", "WHAT")
        say(table(heads, shown) if shown else "Nothing of this kind was written down.")


async def _rows(asked: AuditAsk, limit: int | None) -> AsyncGenerator[AuditRow, None]:
    left, before = limit, None
    async with daemon() as client:
        while left is None or left > 0:
            op = AuditAsk(
                id=client.next_id(),
                session=asked.session,
                kind=asked.kind,
                tool=asked.tool,
                since=asked.since,
                limit=PAGE if left is None else min(left, PAGE),
                before=before,
            )
            page = await client.request(op)
            for row in page.entries:
                yield row
            left = None if left is None else left - len(page.entries)
            before = page.next
            if before is None:
                return


def _told(row: AuditRow) -> str:
    detail = row.detail
    match row.kind:
        case "decision":
            facts = [detail.get("decision"), detail.get("rule")]
        case "command" | "call" if cut := _CUT_SHORT.get(detail.get("ended", "")):
            facts = [cut, detail.get("reason")]
        case "command":
            facts = [_counted("exit {}", detail.get("exit_code")), _counted("{} bytes", detail.get("output_bytes"))]
            facts.append("in the background" if detail.get("background") else None)
        case "file_written":
            facts = [_counted("{} bytes", detail.get("bytes"))]
        case _:
            facts = [detail.get("scope"), detail.get("what"), detail.get("decision")]
    told = ", ".join(str(fact) for fact in facts if fact)
    subject = one_line(f"{detail.get('tool', '')} {row.subject}", 90)
    return f"{subject} ({told})" if told else subject


def _counted(words: str, number: object) -> str | None:
    return None if number is None else words.format(number)


def _who(row: AuditRow) -> str:
    """The client, and the token where it was not the owner. Rows of older versions may not know."""
    by, actor = str(row.detail.get("by", "")), str(row.detail.get("actor", ""))
    return one_line(f"{by} ({actor})" if actor not in ("", "owner", by) else by, 30) or "–"


def _time(row: AuditRow) -> str:
    return datetime.fromtimestamp(row.at).astimezone().isoformat(timespec="seconds")


def _safe(text: str) -> str:
    """A spreadsheet would run a cell that begins like a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def _moment(text: str) -> float:
    if not text:
        return 0.0
    if ago := _AGO.fullmatch(text):
        return time.time() - float(ago[1]) * _UNITS[ago[2]]
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        raise click.UsageError(f"{text!r} is no time: write 2026-01-31, 2026-01-31T12:00 or 12h.") from None
