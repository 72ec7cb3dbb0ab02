"""The walls of the house, and the part of docs/architecture.md that tells of them: `--write`, or `--check` that it is
current.

`pyproject.toml` is the one place where walls are set: the floors, and for each room what it may import. What a room is
for stands in its own docstring. `lint-imports` holds the imports against these lines through `RoomsContract`.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

ROOT = Path(__file__).parent.parent
HOUSES = ("openagent", "devtools")
SOURCES = ROOT / "src" / "openagent"
PAGE = ROOT / "docs" / "architecture.md"
GUIDES = (PAGE, ROOT / "CONTRIBUTING.md")
BEGIN, END = "<!-- rooms: written by scripts/rooms.py from pyproject.toml -->", "<!-- end of rooms -->"
BELOW = "*"
"""In a room's line: everything on the floors below."""
WIDTH = 100


class RoomsContract(Contract):
    """Each room is listed, and imports only what its line allows."""

    type_name = "rooms"
    may_import = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        allowed = _allowed(cast("list[str]", self.may_import), _floors())
        rooms = {_room(each) for house in HOUSES for each in graph.find_children(house)}
        strangers = sorted(rooms - allowed.keys())
        crossed = sorted(
            f"{importer} imports {imported}: the room `{_room(importer)}` may not"
            for importer, imported in _imports(graph)
            if _room(imported) not in allowed.get(_room(importer), {_room(imported)})
        )
        return ContractCheck(kept=not strangers and not crossed, metadata={"strangers": strangers, "crossed": crossed})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for room in check.metadata["strangers"]:
            output.print_error(f"The room `{room}` has no line in pyproject.toml that says what it may import.")
        for crossing in check.metadata["crossed"]:
            output.print_error(crossing)


def _imports(graph: ImportGraph) -> Iterator[tuple[str, str]]:
    """Of rooms of `openagent`; the version in `openagent` itself is everybody's."""
    for importer in graph.modules:
        if importer.startswith(tuple(f"{house}." for house in HOUSES)):
            for imported in graph.find_modules_directly_imported_by(importer):
                if imported.startswith("openagent.") and _room(imported) != _room(importer):
                    yield importer, imported


def _room(module: str) -> str:
    house, room = module.split(".")[:2]
    return room if house == "openagent" else f"{house}.{room}"


def _contracts() -> list[dict[str, Any]]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]


def _contract(kind: str) -> dict[str, Any]:
    return next(each for each in _contracts() if each["type"] == kind)


def _floors() -> list[list[str]]:
    """The highest first."""
    return [[room.strip(" ()") for room in floor.split("|")] for floor in _contract("layers")["layers"]]


def _allowed(lines: list[str], floors: list[list[str]]) -> dict[str, set[str]]:
    """By room. A room never imports one of its own floor, or of one above."""
    found: dict[str, set[str]] = {}
    for line in lines:
        room, _, rest = line.partition(":")
        below = _below(room, floors) if "." not in room else {each for floor in floors for each in floor}
        found[room] = below if rest.split() == [BELOW] else set(rest.split())
        if beyond := found[room] - below:
            raise ValueError(f"{room} may import {', '.join(sorted(beyond))}, which is not below it.")
    standing = {room for room in found if "." not in room}
    if missing := {room for floor in floors for room in floor} ^ standing:
        raise ValueError(f"Listed once, but not both among the floors and the rooms: {', '.join(sorted(missing))}.")
    return found


def _below(room: str, floors: list[list[str]]) -> set[str]:
    for number, floor in enumerate(floors):
        if room in floor:
            return {each for lower in floors[number + 1 :] for each in lower}
    raise ValueError(f"{room} stands on no floor.")


def _purpose(room: str) -> str:
    file = SOURCES / room / "__init__.py"
    if not file.exists():
        file = SOURCES / f"{room}.py"
    said = ast.get_docstring(ast.parse(file.read_text())) or ""
    return " ".join(said.partition("\n\n")[0].split()).rstrip(".")


def picture() -> str:
    floors = _floors()
    edge = "+" + "-" * (WIDTH - 2) + "+"
    lines = [edge]
    for floor in floors:
        lines += [f"| {line.center(WIDTH - 4)} |" for line in _wrapped(floor)]
        lines.append(edge)
    return "\n".join(["```text", *lines, "```"])


def _wrapped(rooms: list[str]) -> list[str]:
    lines = [""]
    for room in rooms:
        if lines[-1] and len(lines[-1]) + len(room) + 3 > WIDTH - 4:
            lines.append("")
        lines[-1] += f"{'   ' if lines[-1] else ''}{room}"
    return lines


def table() -> str:
    floors = _floors()
    allowed = _allowed(_contract("rooms")["may_import"], floors)
    lines = ["| room | its job | may import |", "|---|---|---|"]
    for floor in reversed(floors):
        for room in floor:
            below = _below(room, floors)
            told = "everything below" if allowed[room] == below and len(below) > 1 else ", ".join(sorted(allowed[room]))
            lines.append(f"| `{room}` | {_purpose(room)} | {told or 'no other room'} |")
    return "\n".join(lines)


def _lost() -> list[str]:
    """Files that the guides for newcomers name, and that are not there."""
    named = {name for guide in GUIDES for name in re.findall(r"`([a-z_]+(?:/[a-z_]+)*\.py)`", guide.read_text())}
    return sorted(name for name in named if not (SOURCES / name).exists() and not (ROOT / name).exists())


def main() -> int:
    if lost := _lost():
        print(f"CONTRIBUTING.md or docs/architecture.md names what is not there: {', '.join(lost)}.")
        return 1
    page = PAGE.read_text()
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    current = f"{before}{BEGIN}\n\n{picture()}\n\n{table()}\n\n{END}{after}"
    if "--write" in sys.argv:
        PAGE.write_text(current)
    elif page != current:
        print("docs/architecture.md differs from the walls in pyproject.toml: run make docs.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
