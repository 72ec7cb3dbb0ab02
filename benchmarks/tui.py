"""The terminal program: how soon it is there, how soon a key is, and what a long day costs it."""

import asyncio
import re
import statistics
import time
from collections.abc import Iterator

from benchmarks.effort import Effort
from benchmarks.long_session import fill
from benchmarks.model import serving, usual_script
from benchmarks.processes import memory_mb
from benchmarks.rows import Row, median_row, milliseconds, percentile, row
from benchmarks.stage import Stage, stage_at, stage_with, temporary_folder
from benchmarks.terminals import Terminal

SIZE = (120, 40)
SESSIONS = 5
TOKENS_PER_SECOND = 200
PARAGRAPH = 60
"""Tokens of one, fewer than usual: each of these tokens is as long as three."""
HISTORY = 10_000
INPUT = b"message, @file"
KEY_PAUSE = 0.13
_TICK = re.compile(rb"\d{11,}")


def terminal(effort: Effort) -> list[Row]:
    return [*_first_paint(effort), *_while_streaming(effort), *_long_history(effort)]


def _first_paint(effort: Effort) -> list[Row]:
    painted: list[float] = []
    with stage_with(usual_script()) as (stage, _):
        stage.start()
        for _ in range(effort.terminals):
            screen = Terminal(["tui"], stage.env, stage.workspace, SIZE)
            painted.append(screen.until(lambda seen: INPUT in seen) - screen.began)
            screen.close()
    note = "from exec to the first picture, on a warm daemon; keys count from there"
    return [median_row("terminal: first paint", milliseconds(painted), "ms", at_most=400, note=note)]


def _while_streaming(effort: Effort) -> list[Row]:
    """Five tabs, each with a model that says what time it is two hundred times a second."""
    chunks = TOKENS_PER_SECOND * effort.streamed_seconds
    answer = ("benchmarks.ticking_model", str(chunks), str(1000 / TOKENS_PER_SECOND), str(PARAGRAPH))
    with temporary_folder() as folder, serving(*answer) as url, stage_at(folder, url) as stage:
        stage.program("serve", "--daemon")
        sessions = asyncio.run(_sessions(stage))
        screen = Terminal(["tui", sessions[0]], stage.env, stage.workspace, SIZE)
        try:
            screen.until(lambda seen: INPUT in seen)
            _open_tabs(screen)
            asyncio.run(_ask_all(stage, sessions))
            keys, refreshes = _watch(screen, effort.streamed_seconds - 1)
        finally:
            screen.close()
    note = f"{SESSIONS} tabs, {TOKENS_PER_SECOND} tokens a second each"
    return [
        row("terminal: key to screen, p95", percentile(keys, 0.95), "ms", at_most=100, best=min(keys), note=note),
        row("terminal: token to screen, median", statistics.median(refreshes), "ms", at_most=50, best=min(refreshes)),
        row("terminal: token to screen, p95", percentile(refreshes, 0.95), "ms"),
    ]


async def _sessions(stage: Stage) -> list[str]:
    async with await stage.client() as client:
        return [await stage.new_session(client) for _ in range(SESSIONS)]


async def _ask_all(stage: Stage, sessions: list[str]) -> None:
    async with await stage.client() as client:
        for session in sessions:
            await client.send(session, "what time is it?")


def _open_tabs(screen: Terminal) -> None:
    """The other sessions, found and opened as a person would; then back to the first tab."""
    for number in range(1, SESSIONS):
        screen.write("\x18l")
        screen.until(lambda seen: b"just now" in seen)
        screen.write("\x1b[B" * (number - 1) + "\r")
        tab = f"{number + 1} ".encode()
        screen.until(lambda seen, tab=tab: re.search(tab + rb"(\x1b\[[\d;]*m)*new session", seen))
    _settle(screen)
    screen.write("\x1b1")
    _settle(screen)


def _watch(screen: Terminal, seconds: float) -> tuple[list[float], list[float]]:
    """Milliseconds from a key to its being drawn, and from a token's leaving the model to its being drawn."""
    keys: list[float] = []
    refreshes: list[float] = []
    newest = 0
    letters = _letters()
    letter, pressed, next_press = "", 0.0, time.perf_counter() + 1
    deadline = time.perf_counter() + 1 + seconds
    while (now := time.perf_counter()) < deadline:
        if now >= next_press and not letter:
            letter, pressed, next_press = next(letters), now, now + KEY_PAUSE
            screen.write(letter)
        drawn = screen.read(0.02)
        at_ns = time.monotonic_ns()
        if letter and letter.encode() in drawn:
            keys.append(1000 * (time.perf_counter() - pressed))
            letter = ""
        for tick in sorted(int(found) for found in _TICK.findall(drawn)):
            if tick > newest and tick < at_ns:
                newest = tick
                refreshes.append((at_ns - tick) / 1e6)
    return keys, refreshes


def _letters() -> Iterator[str]:
    """Characters that are drawn nowhere else."""
    while True:
        yield from "ÄÖÜßÆØÅÞÐŁŊŒ"


def _long_history(effort: Effort) -> list[Row]:
    """A session of ten thousand messages: opened, and taken to its first message."""
    with stage_with(usual_script()) as (stage, _):
        session = asyncio.run(fill(stage, HISTORY))
        stage.start()
        screen = Terminal(["tui", session], stage.env, stage.workspace, SIZE)
        try:
            opened = screen.until(lambda seen: b"Here:" in seen) - screen.began
            before = memory_mb(screen.process.pid)
            for _ in range(effort.pages):
                screen.write("\x1b[1;5H")
                screen.read(0.2)
                _settle(screen)
            after = memory_mb(screen.process.pid)
        finally:
            screen.close()
    note = f"to the first message, {effort.pages} times"
    return [
        row(f"terminal: {HISTORY:,} messages, start to the newest", 1000 * opened, "ms"),
        row(f"terminal: {HISTORY:,} messages, memory", before, "MB"),
        row("terminal: memory that reading upwards adds", after - before, "MB", at_most=30, note=note),
    ]


def _settle(screen: Terminal) -> None:
    while screen.read(0.15):
        pass
