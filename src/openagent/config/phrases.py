"""Types and values in words."""

from typing import cast

from msgspec import inspect

_VALUES: dict[type, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text in quotes",
    list: "a list",
    dict: "a table",
}


def name_of(value: object) -> str:
    """Numbers are shown as they are; what a text says is nobody's business."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    return _VALUES.get(type(value), "a date or time")


def accepts(kind: inspect.Type, value: object) -> bool:
    """It is the right sort of thing, and wrong in what it says."""
    if isinstance(kind, inspect.Metadata):
        return accepts(kind.type, value)
    if isinstance(kind, inspect.UnionType):
        return any(accepts(option, value) for option in kind.types)
    return (isinstance(kind, inspect.StrType) and isinstance(value, str)) or (
        isinstance(kind, inspect.ListType | inspect.VarTupleType) and isinstance(value, list)
    )


def expectation(kind: inspect.Type) -> str:
    """What a value should be: `a whole number of at least 1`."""
    if isinstance(kind, inspect.Metadata):
        said = cast("dict[str, str]", kind.extra_json_schema or {})  # pyright: ignore[reportUnknownMemberType]
        return said.get("description") or expectation(kind.type)
    if isinstance(kind, inspect.UnionType):
        return " or ".join(expectation(option) for option in kind.types if not isinstance(option, inspect.NoneType))
    if isinstance(kind, inspect.LiteralType):
        return "one of " + ", ".join(f'"{value}"' for value in kind.values)
    if isinstance(kind, inspect.ListType | inspect.VarTupleType):
        return f"a list, each item {expectation(kind.item_type)}"
    if isinstance(kind, inspect.IntType | inspect.FloatType):
        return _VALUES[int if isinstance(kind, inspect.IntType) else float] + _bounds(kind)
    return _VALUES[bool if isinstance(kind, inspect.BoolType) else str]


def _bounds(kind: inspect.IntType | inspect.FloatType) -> str:
    if kind.ge is not None and kind.le is not None:
        return f" from {kind.ge:g} to " + (f"{kind.le:g}" if kind.le < 1_000_000 else f"{kind.le:,}")
    if kind.ge is not None:
        return f" of at least {kind.ge:g}"
    return f" greater than {kind.gt:g}" if kind.gt is not None else ""
