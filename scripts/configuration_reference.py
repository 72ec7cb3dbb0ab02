"""The tables of docs/configuration.md, from the settings' types and docstrings: `--write` them, or `--check` them."""

import ast
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import NODEFAULT, Struct, structs

from openagent.config import settings
from openagent.config.check import is_table, listed_table, named_table
from openagent.config.phrases import expectation

PAGE = Path(__file__).parents[1] / "docs" / "configuration.md"
BEGIN, END = "<!-- generated: make docs -->\n", "<!-- end of generated -->\n"
NAMES = {"providers": "NAME", "prices": '"PROVIDER/MODEL"', "wire_profiles": "NAME"}


def main(arguments: list[str]) -> int:
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    wanted = before + BEGIN + "\n".join(_section(settings.Settings, "")) + "\n" + END + after
    if "--write" in arguments:
        PAGE.write_text(wanted, encoding="utf-8")
    elif page != wanted:
        print("docs/configuration.md does not fit the settings any more: run `make docs`.")
        return 1
    return 0


def _section(kind: type[Struct], name: str) -> Iterator[str]:
    texts = _field_texts(kind)
    heading = f"`[{name}]`" if name else "At the top of the file"
    yield f"\n### {heading}\n"
    if name:
        yield f"{inspect.cleandoc(kind.__doc__ or '')}\n"
    yield "| key | value | default | meaning |"
    yield "|---|---|---|---|"
    below: list[tuple[type[Struct], str]] = []
    for field in structs.fields(kind):
        path = f"{name}.{field.name}".lstrip(".")
        if is_table(field.type):
            below.append((field.type, path))
        elif (table := named_table(field.type)) and is_table(table):
            below.append((table, f"{path}.{NAMES[field.name]}"))
        elif table := listed_table(field.type):
            below.append((table, f"[{path}]"))
        else:
            yield _row(field, path, texts[field.name])
    for table, path in below:
        yield from _section(table, path)


def _row(field: structs.FieldInfo, path: str, text: str) -> str:
    wanted = "a table of texts" if named_table(field.type) else expectation(msgspec.inspect.type_info(field.type))
    return f"| `{field.name}` | {wanted} | {_default(field, path)} | {text} |"


def _default(field: structs.FieldInfo, path: str) -> str:
    if path == "store.url":
        return "in the data home"
    default: Any = field.default if field.default_factory is NODEFAULT else field.default_factory()
    if default is NODEFAULT:
        return "*required*"
    if default in (None, "", [], {}):
        return ""
    return f"`{msgspec.json.encode(default).decode()}`"


def _field_texts(kind: type[Struct]) -> dict[str, str]:
    """The docstring under each field."""
    (definition,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(definition, ast.ClassDef)
    texts: dict[str, str] = {}
    for statement, following in zip(definition.body, definition.body[1:], strict=False):
        match statement, following:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                texts[name] = " ".join(text.split())
            case _:
                pass
    return texts


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
