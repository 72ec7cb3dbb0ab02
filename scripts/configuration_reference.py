"""The tables of docs/configuration.md, from the settings' types and docstrings, and that of docs/providers.md, from the
list of variables: `--write` them, or `--check` them."""

import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from openagent.config.describe import tables
from openagent.protocol.configuration import SettingInfo, SettingTable
from openagent.providers.variables import VARIABLES

DOCS = Path(__file__).parents[1] / "docs"
BEGIN, END = "<!-- generated: make docs -->\n", "<!-- end of generated -->\n"


def main(arguments: list[str]) -> int:
    settings = [line for table in tables() for line in _section(table)]
    fits = [
        _page(DOCS / name, lines, arguments)
        for name, lines in (("configuration.md", settings), ("providers.md", list(_variables())))
    ]
    return 0 if all(fits) else 1


def _page(file: Path, lines: list[str], arguments: list[str]) -> bool:
    page = file.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    wanted = before + BEGIN + "\n".join(lines) + "\n" + END + after
    if "--write" in arguments:
        file.write_text(wanted, encoding="utf-8")
    elif page != wanted:
        print(f"docs/{file.name} does not fit the sources any more: run `make docs`.")
        return False
    return True


def _variables() -> Iterator[str]:
    yield "| variable | provider | read by | meaning |"
    yield "|---|---|---|---|"
    for variable in VARIABLES:
        yield f"| `{variable.name}` | {variable.of} | {variable.read_by} | {variable.meaning} |"


def _section(table: SettingTable) -> Iterator[str]:
    name = f"[{table.name}]" if table.listed else table.name
    yield f"\n### `[{name}]`\n" if name else "\n### At the top of the file\n"
    if name:
        yield f"{table.about}\n"
    yield "| key | value | default | meaning |"
    yield "|---|---|---|---|"
    for setting in table.settings:
        yield f"| `{setting.name}` | {setting.wanted} | {_default(table, setting)} | {setting.about} |"


def _default(table: SettingTable, setting: SettingInfo) -> str:
    if (table.name, setting.name) == ("store", "url"):
        return "in the data home"
    if setting.required:
        return "*required*"
    if setting.default in (None, "", [], {}):
        return ""
    return f"`{msgspec.json.encode(setting.default).decode()}`"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
