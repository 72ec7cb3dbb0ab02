"""Draws the picture of a turn in docs/architecture.md from the code: `--write` puts it there, `--check` compares.

What stands in the picture is chosen here. That each of these functions is called where the picture says so, and in that
order, is looked up in the sources, and its words are the first sentence of its docstring.
"""

import argparse
import ast
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
CORE = ROOT / "src/openagent/core"
PAGE = ROOT / "docs/architecture.md"
BEGIN, END = "<!-- turn: drawn by scripts/turn_picture.py -->", "<!-- /turn -->"

CALLS = {
    "session.py Session.send": ["inbox.py Inbox.send"],
    "inbox.py Inbox.send": ["session.py Session.start"],
    "session.py Session.start": ["session.py Session._begin"],
    "session.py Session._begin": ["turn.py Turn.begin", "session.py Session._drive"],
    "session.py Session._drive": ["turn.py Turn.drive"],
    "turn.py Turn.drive": ["turn.py Turn.run", "turn.py Turn._complete"],
    "turn.py Turn.run": ["turn.py Turn._admit", "turn.py Turn._answer", "calls.py run_calls"],
    "turn.py Turn._answer": ["collect.py collect_when_full", "turn.py Turn._ask"],
    "turn.py Turn._ask": ["view.py SessionView.build", "model_call.py ModelCall.ask", "turn.py Turn._keep"],
    "model_call.py ModelCall.ask": ["model_call.py ModelCall._reserve", "model_call.py ModelCall._stream"],
    "calls.py run_calls": ["calls.py _run_call"],
    "calls.py _run_call": ["calls.py _perform", "calls.py _record"],
    "calls.py _perform": ["session_gate.py SessionGate.before_call", "calls.py _decide_and_run"],
    "calls.py _decide_and_run": [
        "calls.py _problem",
        "permits.py Permits.decide",
        "calls.py _ask_person",
        "calls.py _run_decided",
    ],
}
"""Who calls whom, in order, each as file and function."""
FIRST = "session.py Session.send"
REPEATED = {"turn.py Turn.run": ("turn.py Turn._answer", "calls.py run_calls")}
"""What of a function's calls goes round: from the first to the last of these, until there is nothing more to do."""


class Function(NamedTuple):
    words: str
    calls: list[str]
    """Names of what it calls, in the order of the text."""


def read(place: str) -> Function:
    file, _, name = place.partition(" ")
    scope: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef = ast.parse((CORE / file).read_text())
    for part in name.split("."):
        kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        found = [each for each in scope.body if isinstance(each, kinds) and each.name == part]
        if not found:
            raise SystemExit(f"scripts/turn_picture.py: there is no {name} in core/{file} any more.")
        scope = found[0]
    calls = [node for node in ast.walk(scope) if isinstance(node, ast.Call)]
    calls.sort(key=lambda call: (call.func.end_lineno or 0, call.func.end_col_offset or 0))
    words = (ast.get_docstring(scope) or "").replace("\n", " ").partition(". ")[0].rstrip(".")
    if not words:
        raise SystemExit(f"scripts/turn_picture.py: {name} in core/{file} has no docstring to take words from.")
    return Function(words, [_called(call) for call in calls])


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def picture() -> str:
    lines: list[tuple[str, str, str]] = []
    _draw(FIRST, "", "", lines)
    names, files = (max(map(len, column)) for column in list(zip(*lines, strict=True))[:2])
    rows = [f"{name:{names}}  {file:{files}}  {words}" for name, file, words in lines]
    return "\n".join(["```text", *rows, "```"])


def _draw(place: str, stem: str, branch: str, lines: list[tuple[str, str, str]]) -> None:
    file, _, name = place.partition(" ")
    function = read(place)
    lines.append((f"{stem}{branch}{name}", file, function.words))
    below, called = CALLS.get(place, []), 0
    stem += {"├ ": "│ ", "└ ": "  "}.get(branch[:2], "")
    first, last = REPEATED.get(place, ("", ""))
    goes_round = False
    for number, each in enumerate(below):
        short = each.rpartition(" ")[2].rpartition(".")[2]
        if short not in function.calls[called:]:
            raise SystemExit(f"scripts/turn_picture.py: {name} does not call {short} there any more.")
        called = function.calls.index(short, called) + 1
        goes_round = goes_round or each == first
        corner = "└ " if number == len(below) - 1 else "├ "
        _draw(each, stem, f"{corner}↻ " if goes_round else corner, lines)
        goes_round = goes_round and each != last


def main() -> int:
    parser = argparse.ArgumentParser(description="The picture of a turn in docs/architecture.md.")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    page = PAGE.read_text()
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    drawn = f"{before}{BEGIN}\n\n{picture()}\n\n{END}{after}"
    if given.write:
        PAGE.write_text(drawn)
    elif given.check and drawn != page:
        print("docs/architecture.md shows another turn than the code: `make docs` draws it anew.")
        return 1
    elif not given.check:
        print(picture())
    return 0


if __name__ == "__main__":
    sys.exit(main())
