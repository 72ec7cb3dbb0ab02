"""From files and environment to one checked tree."""

import os.path
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from openagent.config.check import Checker, missing_keys
from openagent.config.environment import read_environment, sqlite_url
from openagent.config.line_numbers import key_lines
from openagent.config.problems import ConfigError, Problem
from openagent.config.project import ProjectFile, find_project_file
from openagent.config.secrets import masked
from openagent.config.settings import (
    DAEMON_WIDE,
    PROVIDER_KINDS,
    ModelSettings,
    PriceSettings,
    ProviderSettings,
    Settings,
    WireProfileSettings,
)
from openagent.config.source import DEFAULT, KeyPath, Source, dotted
from openagent.config.untrusted import Trusted, left_out_note, nothing_trusted, part_document, part_values
from openagent.protocol.configuration import ConfigValue
from openagent.protocol.locations import config_file, data_home

_DATABASE_NAME = "openagent.db"
_MAX_FILE = 1 << 20
_PLACE_OF_TOML_ERROR = re.compile(r" \(at line (?P<line>\d+), column (?P<column>\d+)\)$")
_NAMED_TABLES: dict[str, type[Struct]] = {
    "providers": ProviderSettings,
    "models": ModelSettings,
    "prices": PriceSettings,
    "wire_profiles": WireProfileSettings,
}


class Config(Struct, frozen=True):
    settings: Settings
    sources: dict[str, Source]
    """Dotted key to where its value came from."""
    files: list[str]
    """The files that were read, the stronger one last."""
    notes: list[str]
    """What a person may want to know and is no error: a key whose variable is not set, a variable nobody reads."""
    untrusted: list[str] = []
    """Those of the notes that tell what of the project's file was left out, because nobody trusts it."""

    def values(self) -> list[ConfigValue]:
        """The merged result for people: every key, secrets masked, and where each came from."""
        tree = cast("dict[str, Any]", msgspec.to_builtins(self.settings))
        return [
            ConfigValue(key=dotted(path), value=masked(path, value), source=str(self.sources[dotted(path)]))
            for path, value in _leaves(tree, ())
            if dotted(path) in self.sources
        ]


class _Layer(Struct):
    """One file, as far as it is right."""

    path: str
    lines: dict[KeyPath, int] = {}
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    notes: list[str] = []
    untrusted: list[str] = []

    def source(self, path: KeyPath) -> Source:
        for depth in range(len(path), 0, -1):
            if line := self.lines.get(path[:depth]):
                return Source(file=self.path, line=line)
        return Source(file=self.path, line=1)


def load(env: Mapping[str, str], cwd: Path | None = None, *, trusted: Trusted = nothing_trusted) -> Config:
    """Settings for a session in `cwd`, or the daemon's own without it. Raises ConfigError with every problem found.

    Of a project that is not trusted only harmless settings count, and its mistakes are notes.
    """
    layers, notes = _read_files(env, cwd, trusted)
    environment = read_environment(env)
    tree: dict[str, Any] = {"store": {"url": sqlite_url(os.path.join(data_home(env), _DATABASE_NAME))}}
    sources: dict[KeyPath, Source] = {}
    for layer in layers:
        _merge(tree, layer.values)
        sources |= {path: layer.source(path) for path, _ in _leaves(layer.values, ())}
    for path, value in environment.values.items():
        _merge(tree, _nested(path, value))
    sources |= environment.sources
    problems = [problem for layer in layers for problem in layer.problems] + environment.problems
    problems += _complete(tree, layers)
    if problems:
        raise ConfigError(sorted(problems, key=lambda problem: (problem.source.file, problem.source.line)))
    settings = msgspec.convert(tree, Settings)
    return Config(
        settings=settings,
        sources=_all_sources(settings, sources),
        files=[layer.path for layer in layers],
        notes=notes + [note for layer in layers for note in layer.notes + layer.untrusted] + environment.notes,
        untrusted=[note for layer in layers for note in layer.untrusted],
    )


def _read_files(env: Mapping[str, str], cwd: Path | None, trusted: Trusted) -> tuple[list[_Layer], list[str]]:
    layers: list[_Layer] = []
    notes: list[str] = []
    user = Path(config_file(env))
    if user.exists() or env.get("OPENAGENT_CONFIG"):
        layers.append(_read(user, env))
    if cwd is not None:
        project = find_project_file(cwd, env)
        if project.note:
            notes.append(project.note)
        if project.path and not (user.exists() and project.path.samefile(user)):
            without = layers[0].values if layers else {}
            layer = _read_project(project, env, without, trusted=trusted(project.folder))
            layers.append(_adding_disabled_tools(layer, without))
    return layers, notes


def _read_project(project: ProjectFile, env: Mapping[str, str], without: Mapping[str, Any], *, trusted: bool) -> _Layer:
    assert project.path is not None
    if trusted:
        return _without_daemon_settings(_read(project.path, env))
    layer, document = _parse(project.path)
    by_key = part_document(document)
    _check(layer, by_key.kept, {})
    if layer.problems:
        layer.untrusted = [str(problem) for problem in layer.problems]
        layer.problems, layer.values = [], {}
    by_value = part_values(layer.values, without)
    layer.values = by_value.kept
    if left_out := by_key.left_out + by_value.left_out:
        layer.untrusted.append(left_out_note(project.path, project.folder, left_out))
    return layer


def _read(path: Path, env: Mapping[str, str]) -> _Layer:
    layer, document = _parse(path)
    _check(layer, document, env)
    return layer


def _parse(path: Path) -> tuple[_Layer, dict[str, Any]]:
    layer = _Layer(str(path))
    text = _text(path, layer)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        layer.problems.append(_malformed(layer.path, text, str(problem)))
        return layer, {}
    except RecursionError:
        layer.problems.append(Problem(layer.source(()), "the file nests its values too deeply"))
        return layer, {}
    layer.lines = key_lines(text)
    return layer, document


def _check(layer: _Layer, document: Mapping[str, Any], env: Mapping[str, str]) -> None:
    checker = Checker(env, layer.source)
    layer.values = checker.settings(document)
    layer.problems += checker.problems
    layer.notes = checker.notes


def _text(path: Path, layer: _Layer) -> str:
    try:
        if path.stat().st_size > _MAX_FILE:
            layer.problems.append(Problem(layer.source(()), f"the file is larger than {_MAX_FILE >> 20} MB"))
            return ""
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        layer.problems.append(Problem(Source(variable="OPENAGENT_CONFIG"), f"there is no file {path}"))
    except OSError as problem:
        layer.problems.append(Problem(layer.source(()), f"the file cannot be read: {problem.strerror}"))
    except UnicodeDecodeError as problem:
        line = problem.object.count(b"\n", 0, problem.start) + 1
        layer.problems.append(Problem(Source(file=layer.path, line=line), "the file is not UTF-8 text"))
    return ""


def _malformed(path: str, text: str, reason: str) -> Problem:
    if place := _PLACE_OF_TOML_ERROR.search(reason):
        line, column = int(place["line"]), int(place["column"])
        reason = reason[: place.start()]
    else:
        line, column = text.count("\n") + 1, len(text) - text.rfind("\n")
        reason = reason.removesuffix(" (at end of document)")
    return Problem(Source(file=path, line=line), f"the file is not well-formed TOML: {reason}", column)


def _without_daemon_settings(layer: _Layer) -> _Layer:
    for *above, key in sorted(DAEMON_WIDE):
        table = layer.values
        for name in above:
            table = table.get(name, {})
        if table.pop(key, None) is None:
            continue
        name = dotted((*above, key))
        message = f"`{name}` is a matter of the whole daemon, so a project cannot set it; move it to your own file"
        layer.problems.append(Problem(layer.source((*above, key)), message))
    return layer


def _adding_disabled_tools(layer: _Layer, without: Mapping[str, Any]) -> _Layer:
    """A project's list does not bring back what the person took away."""
    tools: dict[str, Any] = layer.values.get("tools", {})
    if "disabled" in tools:
        yours: list[str] = without.get("tools", {}).get("disabled", [])
        tools["disabled"] = list(dict.fromkeys([*yours, *tools["disabled"]]))
    return layer


def _complete(tree: dict[str, Any], layers: list[_Layer]) -> Iterator[Problem]:
    """Fills in what follows from a name, and reports what is still missing when all layers are together."""
    for section, kind in _NAMED_TABLES.items():
        tables: dict[str, dict[str, Any]] = tree.get(section, {})
        for name, table in tables.items():
            if section == "providers" and name in PROVIDER_KINDS:
                table.setdefault("kind", name)
            path = (section, name)
            for key in missing_keys(table, kind):
                if not any((*path, key) in layer.lines for layer in layers):
                    layer = next(layer for layer in reversed(layers) if path in layer.lines)
                    yield Problem(layer.source(path), f"`{dotted(path)}` lacks the key `{key}`")


def _all_sources(settings: Settings, given: dict[KeyPath, Source]) -> dict[str, Source]:
    """Every key of the fixed sections, and of the named ones what somebody set."""
    return {
        dotted(path): given.get(path, DEFAULT)
        for path, _ in _leaves(msgspec.to_builtins(settings), ())
        if path in given or path[0] not in _NAMED_TABLES or path[-1] == "kind"
    }


def _merge(tree: dict[str, Any], over: Mapping[str, Any]) -> None:
    """Tables key by key; everything else is replaced."""
    for key, value in over.items():
        if isinstance(value, dict):
            _merge(tree.setdefault(key, {}), cast("dict[str, Any]", value))
        else:
            tree[key] = value


def _nested(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    for key in reversed(path):
        value = {key: value}
    return value


def _leaves(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(cast("dict[str, Any]", value), (*path, key))
        else:
            yield (*path, key), value
