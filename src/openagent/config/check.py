"""One file's tables against the types of the settings: everything that is wrong, not just the first thing."""

import re
from collections.abc import Callable, Mapping
from math import isnan
from typing import Any, cast, get_args, get_origin

import msgspec
from msgspec import Struct, inspect, structs

from openagent.config.expand import expand
from openagent.config.phrases import accepts, expectation, name_of
from openagent.config.problems import Problem, did_you_mean
from openagent.config.settings import Settings
from openagent.config.source import KeyPath, Source, dotted

_MAY_BE_UNSET = frozenset({"api_key", "client_secret"})
_ABSENT = object()
_WRONG_ITEM = re.compile(r"\$\[(?P<index>\d+)\]`$")
"""How msgspec says which item of a list is wrong."""


def is_table(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Struct)


def named_table(annotation: Any) -> Any:
    """The type of each value of a table whose keys are free, or None."""
    return get_args(annotation)[1] if get_origin(annotation) is dict else None


def listed_table(annotation: Any) -> Any:
    """The type of each table of an array of tables, or None."""
    item = next(iter(get_args(annotation)), None)
    return item if get_origin(annotation) is list and is_table(item) else None


class Checker:
    """Takes what a file holds, and keeps what is right of it, with references to variables replaced."""

    def __init__(self, env: Mapping[str, str], source: Callable[[KeyPath], Source]) -> None:
        self._env = env
        self._source = source
        self.problems: list[Problem] = []
        self.notes: list[str] = []

    def settings(self, document: Mapping[str, Any]) -> dict[str, Any]:
        return self._table(document, Settings, ())

    def _table(self, table: Mapping[str, Any], kind: type[Struct], path: KeyPath) -> dict[str, Any]:
        annotations = {field.name: field.type for field in structs.fields(kind)}
        kept: dict[str, Any] = {}
        for name, value in table.items():
            if name not in annotations:
                self._report((*path, name), _unknown(path, name, annotations))
            elif (checked := self._value(value, annotations[name], (*path, name))) is not _ABSENT:
                kept[name] = checked
        return kept

    def _value(self, value: Any, annotation: Any, path: KeyPath) -> Any:
        if is_table(annotation) or named_table(annotation):
            if not isinstance(value, dict):
                return self._report(path, f"`{dotted(path)}` must be a table, not {name_of(value)}")
            table = cast("dict[str, Any]", value)
            if is_table(annotation):
                return self._table(table, annotation, path)
            return self._free_table(table, named_table(annotation), path)
        if rule := listed_table(annotation):
            return self._tables(value, rule, path)
        return self._leaf(value, annotation, path)

    def _free_table(self, table: dict[str, Any], annotation: Any, path: KeyPath) -> dict[str, Any]:
        checked = {name: self._value(value, annotation, (*path, name)) for name, value in table.items()}
        return {name: value for name, value in checked.items() if value is not _ABSENT}

    def _tables(self, value: Any, kind: type[Struct], path: KeyPath) -> Any:
        items = cast("list[Any]", value)
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in items):
            return self._report(path, f"`{dotted(path)}` must be an array of tables, each starting [[{dotted(path)}]]")
        tables = [self._table(item, kind, (*path, index)) for index, item in enumerate(items)]
        for index, item in enumerate(items):
            for name in missing_keys(item, kind):
                self._report((*path, index), f"`{dotted((*path, index))}` lacks the key `{name}`")
        return tables

    def _leaf(self, value: Any, annotation: Any, path: KeyPath) -> Any:
        before = len(self.problems)
        expanded = self._expand(value, path)
        if expanded is _ABSENT or len(self.problems) > before:
            return _ABSENT
        from_variable = "${" in str(value)
        try:
            return convert(expanded, annotation, strict=not from_variable)
        except msgspec.ValidationError as problem:
            item = _WRONG_ITEM.search(str(problem))
            where = (*path, int(item["index"])) if item else path
            return self._report(where, _explain(path, annotation, None if from_variable else value))

    def _expand(self, value: Any, path: KeyPath) -> Any:
        if isinstance(value, list):
            items = cast("list[Any]", value)
            return [self._expand(item, (*path, index)) for index, item in enumerate(items)]
        if not isinstance(value, str) or "${" not in value:
            return value
        expansion = expand(value, self._env)
        if expansion.malformed:
            return self._report(
                path, f"`{dotted(path)}` has a reference that should read ${{NAME}} or ${{NAME:-default}}"
            )
        if path[-1] in _MAY_BE_UNSET and (expansion.unset or not expansion.text):
            names = ", ".join(expansion.variables)
            self.notes.append(f"{self._source(path)}: {names} is not set, so `{dotted(path)}` has no value.")
            return _ABSENT
        if expansion.unset:
            return self._report(
                path,
                f"`{dotted(path)}` refers to {', '.join(expansion.unset)}, which is not set; "
                f"set it, or give a default with ${{{expansion.unset[0]}:-…}}",
            )
        return expansion.text

    def _report(self, path: KeyPath, message: str) -> object:
        self.problems.append(Problem(self._source(path), message))
        return _ABSENT


def convert(value: Any, annotation: Any, *, strict: bool) -> Any:
    converted = msgspec.convert(value, annotation, strict=strict)
    if isinstance(converted, float) and isnan(converted):
        raise msgspec.ValidationError("a cap of nan would never be reached")
    return converted


def missing_keys(table: Mapping[str, Any], kind: type[Struct]) -> list[str]:
    return [field.name for field in structs.fields(kind) if field.required and field.name not in table]


def explain_wrong(path: KeyPath, annotation: Any, *, text: str = "", got: str = "") -> str:
    """`text` is quoted only where it should have been one of a few words: anywhere else it may be a secret."""
    wanted = inspect.type_info(annotation)
    message = f"`{dotted(path)}` must be {expectation(wanted)}"
    words = _words(wanted)
    if words and text:
        near = did_you_mean(text.lower(), words)
        return f'{message}, not "{text}"' + (f'; did you mean "{near}"?' if near else "")
    return f"{message}, not {got}" if got else message


def _explain(path: KeyPath, annotation: Any, value: object) -> str:
    right_sort = value is None or accepts(inspect.type_info(annotation), value)
    return explain_wrong(
        path,
        annotation,
        text=value if isinstance(value, str) else "",
        got="" if right_sort else name_of(value),
    )


def _unknown(path: KeyPath, name: str, known: Mapping[str, Any]) -> str:
    message = f"`{dotted((*path, name))}` is not a setting"
    if near := did_you_mean(name, known):
        return f"{message}; did you mean `{dotted((*path, near))}`?"
    for section in structs.fields(Settings):
        if is_table(section.type) and any(field.name == name for field in structs.fields(section.type)):
            return f"{message}; did you mean `{dotted((section.name, name))}`?"
    place = f"in `{dotted(path)}`" if path else "at the top"
    return f"{message}; the keys {place} are {', '.join(sorted(known))}"


def _words(kind: inspect.Type) -> list[str]:
    if isinstance(kind, inspect.LiteralType):
        return [word for word in kind.values if isinstance(word, str)]
    if isinstance(kind, inspect.UnionType):
        return [word for option in kind.types for word in _words(option)]
    return []
