"""Writes docs/log-messages.md, every message of the daemon's log, from the sources: `--write`, or `--check`."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "src" / "openagent"
PAGE = ROOT / "docs" / "log-messages.md"
LEVELS = {"error": "error", "exception": "error", "warning": "warning", "info": "info", "debug": "debug"}
HEAD = """\
# Every message of the log

Written from the sources (`make docs`). `openagent logs` shows the log. Each line is a JSON object: one of these
messages as `message`, the module as `logger`, and the fields named here. `reason` is what went wrong, `exception` a
traceback.

`OPENAGENT_LOG=info,team=debug openagent serve` sets the level, and another one for a single area. It overrides
`[log] level`.
"""


class Message(NamedTuple):
    area: str
    level: str
    text: str
    fields: tuple[str, ...]


def messages() -> Iterator[Message]:
    for file in sorted(SOURCES.rglob("*.py")):
        area = file.relative_to(SOURCES).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                of = node.func.value
                if isinstance(of, ast.Name) and of.id == "_log" and node.func.attr in LEVELS:
                    yield from _message(area, node, node.func.attr)


def _message(area: str, call: ast.Call, method: str) -> Iterator[Message]:
    given = {each.arg: each.value for each in call.keywords}
    extra = given.get("extra")
    names = [key.value for key in extra.keys if isinstance(key, ast.Constant)] if isinstance(extra, ast.Dict) else []
    if method == "exception" or "exc_info" in given:
        names.append("exception")
    fields = tuple(str(name) for name in names)
    text = call.args[0]
    if isinstance(text, ast.Constant):
        yield Message(area, LEVELS[method], str(text.value), fields)


def page() -> str:
    found = sorted(set(messages()))
    lines = [HEAD]
    for area in dict.fromkeys(message.area for message in found):
        lines += [f"## {area}\n", "| level | message | fields |", "|---|---|---|"]
        for message in found:
            if message.area == area:
                fields = ", ".join(f"`{field}`" for field in message.fields)
                lines.append(f"| {message.level} | {message.text} | {fields} |")
        lines.append("")
    return "\n".join(lines)


def main() -> int:
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page())
    elif not PAGE.exists() or PAGE.read_text() != page():
        print("docs/log-messages.md differs from the sources: run make docs.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
