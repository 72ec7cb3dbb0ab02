"""Kept pictures of screens: their text, and below it their colours. `UPDATE_SNAPSHOTS=1 pytest` draws them anew."""

import os
import re
from pathlib import Path

from openagent.tui.app import OpenAgent

KEPT = Path(__file__).parent / "snapshots"
_CHANGING = (
    (re.compile(r"\d+(\.\d+)? (ms|s)\b"), "N ms"),
    (re.compile(r"just now|\d+ (min|h|d) ago"), "now"),
    (re.compile(r"/\S*workspace"), "/workspace"),
    (re.compile(r"OpenAgent \d+\.\d+\.\d+"), "OpenAgent N"),
    (re.compile(r"([│·] (?:context|in|out|tools|system|rules|user|assistant|tool: \w+) +)[\d.]+k?"), r"\1N"),
)


def drawn(app: OpenAgent) -> str:
    """The screen's text, and for each line where which colours and styles begin."""
    width, height = app.size
    lines = app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
    text, styles = list[str](), list[str]()
    for number, line in enumerate(lines[:height]):
        text.append("".join(segment.text for segment in line)[:width].rstrip())
        runs, place, before = list[str](), 0, ""
        for segment in line:
            style = _style(segment.style)
            if segment.text.strip() and style != before:
                runs.append(f"{place}: {style}")
                before = style
            place += len(segment.text)
        if runs:
            styles.append(f"{number:>2} | " + ", ".join(runs))
    return "\n".join([*text, "", *styles]) + "\n"


def _style(style: object) -> str:
    words = str(style).partition(" meta ")[0]
    return re.sub(r"\bnot \w+ ?|\blink \S+ ?", "", words).strip() or "plain"


def settled(text: str) -> str:
    """Without what is another each time. Whatever follows on the line moves with it, so blanks count as one."""
    for pattern, instead in _CHANGING:
        text = pattern.sub(instead, text)
    return re.sub(r"[ ─]{2,}", "  ", text)


def fits(name: str, shown: str) -> bool:
    return settled((KEPT / f"{name}.txt").read_text()) == settled(shown)


def compare(name: str, shown: str) -> None:
    file = KEPT / f"{name}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        KEPT.mkdir(exist_ok=True)
        file.write_text(shown)
    assert fits(name, shown), f"{file.name} is another screen. If it is meant so: UPDATE_SNAPSHOTS=1 pytest.\n{shown}"
