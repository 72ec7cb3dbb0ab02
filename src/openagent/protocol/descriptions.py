"""What docstrings say, for documents. They are read from the sources when somebody asks, and cost nothing before."""

import ast
import inspect
import sys
from collections.abc import Iterator
from functools import cache
from types import ModuleType

from msgspec import Struct


@cache
def of_fields(kind: type[Struct]) -> dict[str, str]:
    """By a struct's field: what the docstring below it says, its own or that of the class it has it from."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        module = sys.modules.get(each.__module__)
        if module is not None and issubclass(each, Struct) and each is not Struct:
            found |= _of_module(module).get(each.__qualname__, {})
    return found


def of_class(kind: type[Struct]) -> str:
    """A struct's own docstring on one line. Empty: it has none."""
    return " ".join(inspect.cleandoc(kind.__dict__.get("__doc__") or "").split())


@cache
def _of_module(module: ModuleType) -> dict[str, dict[str, str]]:
    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, TypeError):  # a program that was put together without its sources
        return {}
    return {node.name: dict(_below_fields(node)) for node in tree.body if isinstance(node, ast.ClassDef)}


def _below_fields(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, below in zip(node.body, node.body[1:], strict=False):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, " ".join(text.split())
            case _:
                pass
