"""What can be set, for whoever sets it and for the documentation: read from the types and what stands below them."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import NODEFAULT, Struct, inspect, structs

from openagent.config.check import is_table, listed_table, named_table
from openagent.config.phrases import expectation
from openagent.config.secrets import is_secret
from openagent.config.settings import AT_START, Settings
from openagent.protocol import descriptions
from openagent.protocol.configuration import SettingInfo, SettingKind, SettingTable

_NAMES = {"providers": "NAME", "models": '"PROVIDER/MODEL"', "prices": '"PROVIDER/MODEL"', "wire_profiles": "NAME"}


def tables() -> list[SettingTable]:
    """Each table, in the order of the documentation."""
    return list(_tables(Settings, ""))


def _tables(kind: type[Struct], name: str, names: str = "", *, listed: bool = False) -> Iterator[SettingTable]:
    about = descriptions.of_class(kind) if name else ""
    below: list[Iterator[SettingTable]] = []
    settings: list[SettingInfo] = []
    texts = descriptions.of_fields(kind)
    for field in structs.fields(kind):
        path = f"{name}.{field.name}".lstrip(".")
        if is_table(field.type):
            below.append(_tables(field.type, path, names))
        elif (table := named_table(field.type)) and is_table(table):
            below.append(_tables(table, f"{path}.{_NAMES[field.name]}", _NAMES[field.name]))
        elif table := listed_table(field.type):
            below.append(_tables(table, path, listed=True))
        else:
            settings.append(_setting(field, path, texts.get(field.name, "")))
    yield SettingTable(name, about, settings, names, listed)
    for each in below:
        yield from each


def _setting(field: structs.FieldInfo, path: str, text: str) -> SettingInfo:
    sort = inspect.type_info(field.type)
    plain = _plain(sort)
    least, most = _bounds(plain)
    return SettingInfo(
        name=field.name,
        about=text,
        wanted="a table of texts" if named_table(field.type) else expectation(sort),
        kind=_kind(plain),
        choices=_choices(plain),
        lists=isinstance(plain, inspect.UnionType) and any(isinstance(each, inspect.ListType) for each in plain.types),
        least=least,
        most=most,
        default=_default(field),
        required=field.required,
        secret=is_secret(tuple(path.split("."))),
        at_start=any(path == each or path.startswith(f"{each}.") for each in AT_START),
    )


def _plain(sort: inspect.Type) -> inspect.Type:
    """Without what may be left out, and without words about it."""
    if isinstance(sort, inspect.Metadata):
        return _plain(sort.type)
    if isinstance(sort, inspect.UnionType):
        kept = tuple(_plain(each) for each in sort.types if not isinstance(each, inspect.NoneType))
        return kept[0] if len(kept) == 1 else inspect.UnionType(kept)
    return sort


def _kind(sort: inspect.Type) -> SettingKind:
    match sort:
        case inspect.BoolType():
            return "switch"
        case inspect.IntType():
            return "whole"
        case inspect.FloatType():
            return "number"
        case inspect.StrType():
            return "text"
        case inspect.LiteralType():
            return "choice"
        case inspect.ListType() | inspect.VarTupleType():
            return "list"
        case inspect.DictType():
            return "table"
        case inspect.UnionType() if _choices(sort):
            return "choice"
        case _:
            return "other"


def _choices(sort: inspect.Type) -> list[str]:
    match sort:
        case inspect.LiteralType():
            return [str(word) for word in sort.values]
        case inspect.UnionType():
            return [word for each in sort.types for word in _choices(each)]
        case _:
            return []


def _bounds(sort: inspect.Type) -> tuple[float | None, float | None]:
    if not isinstance(sort, inspect.IntType | inspect.FloatType):
        return None, None
    return (sort.gt if sort.ge is None else sort.ge), sort.le


def _default(field: structs.FieldInfo) -> Any:
    default: Any = field.default if field.default_factory is NODEFAULT else field.default_factory()
    return None if default is NODEFAULT else msgspec.to_builtins(default)
