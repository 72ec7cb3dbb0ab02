"""`openagent logs`"""

import json
import os
import sys
import time
from collections import deque
from collections.abc import Iterator
from typing import Any, TextIO, cast

import click

from openagent.cli.command import as_json, command, print_json, say
from openagent.cli.terminal import DIM, RED, YELLOW, paint
from openagent.client import elsewhere
from openagent.client.text import clean
from openagent.protocol import locations
from openagent.protocol.errors import OpenAgentError

LEVELS = ("debug", "info", "warning", "error", "critical")
_COLOURS = {"debug": DIM, "warning": YELLOW, "error": RED, "critical": RED}
_LOOK_AGAIN = 0.2
"""Seconds between two looks at a file that is followed."""


@command("logs", "openagent logs", "openagent logs --follow", "openagent logs --level warning --lines 200")
@click.option("-f", "--follow", is_flag=True, help="Go on with what is written from now on, until Ctrl-C.")
@click.option(
    "-n", "--lines", type=click.IntRange(min=0), default=50, show_default=True, help="How many of the newest lines."
)
@click.option("--level", type=click.Choice(LEVELS), default="debug", help="Only this level and worse.")
@as_json
def logs(follow: bool, lines: int, level: str, as_json: bool) -> None:
    """Show the daemon's log: what it did, and what went wrong."""
    if url := elsewhere.wanted(os.environ):
        raise OpenAgentError(
            "invalid_argument", f"The log of the daemon at {url} lies on that machine.", hint="Run this there."
        )
    path = os.path.join(locations.data_home(os.environ), "logs", "daemon.log")
    wanted = LEVELS.index(level)
    try:
        file = open(path, encoding="utf-8", errors="replace")  # noqa: SIM115
    except FileNotFoundError:
        raise OpenAgentError(
            "not_found",
            f"There is no log at {path}: no daemon has run here yet.",
            hint="`openagent status` tells more.",
        ) from None
    with file:
        newest = deque((entry for entry in _entries(file) if _worth(entry, wanted)), maxlen=lines)
        if as_json and not follow:
            print_json({"file": path, "lines": list(newest)})
            return
        for entry in newest:
            _print(entry, as_json)
        if follow:
            sys.stdout.flush()
            _follow(path, file, wanted, as_json)


def _entries(file: TextIO) -> Iterator[dict[str, Any]]:
    for line in file:
        try:
            entry: Any = json.loads(line)
        except ValueError:
            entry = None
        yield cast("dict[str, Any]", entry) if isinstance(entry, dict) else {"message": line.rstrip("\n")}


def _worth(entry: dict[str, Any], wanted: int) -> bool:
    level = str(entry.get("level", "info"))
    return (LEVELS.index(level) if level in LEVELS else 1) >= wanted


def _follow(path: str, file: TextIO, wanted: int, as_json: bool) -> None:
    while True:
        for entry in _entries(file):
            if _worth(entry, wanted):
                _print(entry, as_json)
        sys.stdout.flush()
        time.sleep(_LOOK_AGAIN)
        try:
            if os.stat(path).st_ino != os.fstat(file.fileno()).st_ino:  # a full one was put aside
                file = open(path, encoding="utf-8", errors="replace")  # noqa: SIM115
        except FileNotFoundError:
            continue


def _print(entry: dict[str, Any], as_json: bool) -> None:
    if as_json:
        say(json.dumps(entry))
        return
    level = str(entry.get("level", ""))
    at = paint(clean(str(entry.get("at", "")).replace("T", " ").rstrip("Z")), DIM)
    where = paint(clean(str(entry.get("logger", "")).removeprefix("openagent.")), DIM)
    more = {key: value for key, value in entry.items() if key not in ("at", "level", "logger", "message", "exception")}
    told = " ".join(f"{key}={value}" for key, value in more.items())
    said = clean(str(entry.get("message", "")))
    mark = paint(f"{clean(level):8}", _COLOURS.get(level, ""))
    say(f"{at}  {mark}{where}  {said}  {paint(clean(told), DIM)}".rstrip())
    if failed := entry.get("exception"):
        say(clean(str(failed)))
