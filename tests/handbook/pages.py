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


def prompted(text: str) -> list[str]:
    """What stands behind the `$` of a page's consoles, in order."""
    lines = [line for block in blocks(text, "console") for line in block.splitlines() if line.startswith("$ ")]
    return [re.split(r"\s+# ", line.removeprefix("$ "), maxsplit=1)[0] for line in lines]
