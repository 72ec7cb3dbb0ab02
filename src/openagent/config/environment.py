"""The environment's layer: the key `budget.day_usd` is `OPENAGENT_BUDGET_DAY_USD`, and so on for every key.

Lists are written with commas. Providers, prices and routing rules have names or tables of their own, so they are set
in files only.
"""

import os.path
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct, structs

from openagent.config.check import convert, explain_wrong, is_table, listed_table, named_table
from openagent.config.problems import Problem, did_you_mean
from openagent.config.settings import Settings
from openagent.config.source import Source

_PREFIX = "OPENAGENT_"
_DATABASE = "OPENAGENT_SESSION_DB"
_NOT_SETTINGS = (
    "OPENAGENT_HOME",
    "OPENAGENT_SOCKET",
    "OPENAGENT_CONFIG",
    "OPENAGENT_LOG",
    "OPENAGENT_VAULT_KEY",
    _DATABASE,
)


class EnvironmentLayer(Struct):
    values: dict[tuple[str, ...], Any] = {}
    sources: dict[tuple[str, ...], Source] = {}
    problems: list[Problem] = []
    notes: list[str] = []


def read_environment(env: Mapping[str, str]) -> EnvironmentLayer:
    layer = EnvironmentLayer()
    if database := env.get(_DATABASE):
        layer.values["store", "url"] = database if "://" in database else sqlite_url(database)
        layer.sources["store", "url"] = Source(variable=_DATABASE)
    for variable in sorted(env):
        if not variable.startswith(_PREFIX) or not env[variable] or variable in _NOT_SETTINGS:
            continue
        variables = _variables()
        if variable in variables:
            _take(layer, variable, env[variable], *variables[variable])
        elif near := did_you_mean(variable[len(_PREFIX) :], [name.removeprefix(_PREFIX) for name in variables]):
            layer.notes.append(f"${variable} is not a setting; did you mean ${_PREFIX}{near}?")
    return layer


def sqlite_url(path: str) -> str:
    return f"sqlite:///{os.path.abspath(os.path.expanduser(path))}"


def _take(layer: EnvironmentLayer, variable: str, text: str, path: tuple[str, ...], annotation: Any) -> None:
    source = Source(variable=variable)
    for reading in (text, text.lower(), [item.strip() for item in text.split(",") if item.strip()]):
        try:
            layer.values[path] = convert(reading, annotation, strict=False)
        except msgspec.ValidationError:
            continue
        layer.sources[path] = source
        return
    layer.problems.append(Problem(source, explain_wrong(path, annotation, text=text)))


@cache
def _variables() -> dict[str, tuple[tuple[str, ...], Any]]:
    return {_PREFIX + "_".join(path).upper(): (path, annotation) for path, annotation in _keys(Settings, ())}


def _keys(kind: type[Struct], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for field in structs.fields(kind):
        if is_table(field.type):
            yield from _keys(field.type, (*path, field.name))
        elif not named_table(field.type) and not listed_table(field.type):
            yield (*path, field.name), field.type
