"""The handbook as it is written: its pages, and the command lines in them."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
GENERATED = ROOT / "docs" / "command-reference.md"
"""From the commands themselves."""
PAGES = sorted({*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"} - {GENERATED})
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHELL = {"", "console", "sh", "bash"}


def blocks(text: str, *languages: str) -> list[str]:
    return [body for language, body in _FENCE.findall(text) if language in languages]


def typed(text: str) -> Iterator[str]:
    """The lines of a page that somebody would type: without what is explained behind them."""
    for block in blocks(text, *SHELL):
        for line in block.splitlines():
            shown = re.split(r"\s+# |\s{2,}", line.strip().removeprefix("$ "), maxsplit=1)[0]
            if re.search(r"(^|[|;(\s])openagent(\s|$)", shown) and not shown.startswith("#"):
                yield shown


def named(text: str) -> Iterator[str]:
    """Commands that sentences name."""
    for code in re.findall(r"(?<!`)`([^`]+)`(?!`)", _FENCE.sub("", text)):
        words = " ".join(code.replace("\\|", "|").split())
        if words.startswith("openagent "):
            yield re.sub(r"[\[\]…]", "", words)


def typed_and_shown(text: str) -> list[tuple[str, list[re.Pattern[str]]]]:
    """What stands behind each `$`, and the lines that are said to come back: `06gx…` stands for any word, `…` for
    anything, and how long something took for any time."""
    found: list[tuple[str, list[re.Pattern[str]]]] = []
    for block in blocks(text, "console"):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((re.split(r"\s+# ", line.removeprefix("$ "), maxsplit=1)[0], []))
            else:
                found[-1][1].append(_as_pattern(line))
    return found


def _as_pattern(line: str) -> re.Pattern[str]:
    words = (re.escape(word) for word in re.sub(r"\S+…|\b\d+(?= ms\b)", "…", line).split())
    return re.compile(r"^\s*" + r"\s+".join(words).replace("…", ".*"), re.MULTILINE)
