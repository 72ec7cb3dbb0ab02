"""Writes the table of addresses in docs/api.md from the program itself: `--write`, or `--check` that it is current."""

import sys
from pathlib import Path
from typing import Any, cast

from openagent.gateway.rest.app import rows
from openagent.gateway.rest.asking import Asking
from openagent.gateway.rest.endpoint import Row

PAGE = Path(__file__).parent.parent / "docs" / "api.md"
BEGIN, END = "<!-- addresses: written by scripts/api_reference.py -->", "<!-- end of addresses -->"


def table() -> str:
    nobody = cast("Any", None)
    found = sorted(rows(Asking(nobody, nobody), nobody, nobody), key=_order)
    lines = [f"| {row.method} | `{row.path}` | {' and '.join(row.scopes) or 'none'} | {row.summary} |" for row in found]
    return "\n".join(["| method | address | scope | what |", "|---|---|---|---|", *lines])


def _order(row: Row) -> tuple[str, str]:
    return row.path, row.method


def main() -> int:
    page = PAGE.read_text()
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    current = f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"
    if "--write" in sys.argv:
        PAGE.write_text(current)
    elif page != current:
        print("docs/api.md differs from the program: run make docs.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
