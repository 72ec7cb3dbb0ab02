"""Changing one key of a person's own file, and leaving every other byte as it is."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from openagent.config.line_numbers import key_lines
from openagent.config.source import KeyPath, dotted
from openagent.filesystem.atomic_files import replace_file
from openagent.protocol.errors import OpenAgentError

Value = str | bool | int | float | list[str]
"""A TOML value of these types is written like a JSON one."""
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def set_value(file: Path, path: tuple[str, ...], value: Value) -> None:
    """Writes `("tools", "off")` as `off = value` into `[tools]`; makes file and table where they are missing."""
    text = file.read_bytes().decode("utf-8-sig") if file.exists() else ""
    try:
        wanted = _with(tomllib.loads(text), path, value)
    except tomllib.TOMLDecodeError as problem:
        raise _by_hand(file, path, value) from problem
    for edited in _edits(text, path, value):
        if _read(edited) == wanted:
            _replace(file, edited)
            return
    raise _by_hand(file, path, value)


def unset_value(file: Path, path: tuple[str, ...]) -> None:
    """Takes a key out; nothing happens where it does not stand."""
    text = file.read_bytes().decode("utf-8-sig") if file.exists() else ""
    places = key_lines(text)
    if path not in places:
        return
    lines = text.splitlines(keepends=True)
    start = places[path] - 1
    edited = "".join([*lines[:start], *lines[_end_of_value(lines, start) :]])
    before, after = _read(text), _read(edited)
    if before is None or after is None or after != _without(before, path):
        *tables, key = path
        where = f" under `[{dotted(tuple(tables))}]`" if tables else ""
        raise OpenAgentError(
            "config_error",
            f"{file} is written in a way that cannot be changed safely, so it was left alone.",
            hint=f"Take `{_name(key)}`{where} out yourself.",
        )
    _replace(file, edited)


def unset_table(file: Path, path: tuple[str, ...]) -> None:
    """Takes `[providers.mine]` out, with all that is in it and below it; comments above the next table stay."""
    text = file.read_bytes().decode("utf-8-sig") if file.exists() else ""
    before = _read(text)
    if before is None or not _stands(before, path):
        return
    lines = text.splitlines(keepends=True)
    tables = {line for place, line in key_lines(text).items() if place[: len(path)] == path}
    kept, inside = list[str](), False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("["):
            inside = number in tables
        if not inside or line.lstrip().startswith("#"):
            kept.append(line)
    edited = "".join(kept)
    if _read(edited) != _tidy(_without(before, path), path[:-1]):
        raise OpenAgentError(
            "config_error",
            f"{file} is written in a way that cannot be changed safely, so it was left alone.",
            hint=f"Take `[{dotted(path)}]` out yourself.",
        )
    _replace(file, edited)


def _stands(document: dict[str, Any], path: tuple[str, ...]) -> bool:
    inner: Any = document
    for name in path:
        if not isinstance(inner, dict) or name not in inner:
            return False
        inner = cast("dict[str, Any]", inner)[name]
    return True


def _tidy(document: dict[str, Any], above: tuple[str, ...]) -> dict[str, Any]:
    """Without the table above, if nothing is left in it: it stood there by its last table's name alone."""
    if above and document.get(above[0]) == {}:
        return {name: value for name, value in document.items() if name != above[0]}
    return document


def _without(document: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    first, *rest = path
    if not rest:
        return {name: value for name, value in document.items() if name != first}
    return {**document, first: _without(document[first], (*rest,))}


def _edits(text: str, path: tuple[str, ...], value: Value) -> Iterator[str]:
    """Ways to write it, the nicest first; not each of them says the same in every document."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1].removesuffix("\n")
    places = key_lines(text)
    *tables, key = path
    table: KeyPath = tuple(tables)
    written = f"{_name(key)} = {_value(value)}\n"
    if place := places.get(path):
        name = lines[place - 1].partition("=")[0]
        end = _end_of_value(lines, place - 1)
        yield "".join([*lines[: place - 1], f"{name.rstrip()} = {_value(value)}\n", *lines[end:]])
    if not table:
        yield f"{written}{text}"
        return
    if (place := places.get(table)) and lines[place - 1].lstrip().startswith("["):
        head = lines[place - 1].rstrip("\r\n") + "\n"
        yield "".join([*lines[: place - 1], head, written, *lines[place:]])
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    yield f"{text}{gap}[{'.'.join(map(_name, tables))}]\n{written}"


def _name(key: str) -> str:
    return key if _BARE.fullmatch(key) else json.dumps(key, ensure_ascii=False)


def _value(value: Value) -> str:
    return json.dumps(value, ensure_ascii=False)


def _end_of_value(lines: list[str], start: int) -> int:
    for end in range(start + 1, len(lines) + 1):
        try:
            tomllib.loads("".join(lines[start:end]))
        except tomllib.TOMLDecodeError:
            continue
        return end
    return len(lines)


def _read(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _with(document: dict[str, Any], path: tuple[str, ...], value: Value) -> dict[str, Any]:
    first, *rest = path
    if not rest:
        return {**document, first: value}
    inner = document.get(first, {})
    return {**document, first: _with(cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}, (*rest,), value)}


def _replace(file: Path, text: str) -> None:
    file = file.resolve()
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_file(file, text.encode(), keep_mode=True)


def _by_hand(file: Path, path: tuple[str, ...], value: Value) -> OpenAgentError:
    *tables, key = path
    where = f" under `[{dotted(tuple(tables))}]`" if tables else ", before the first table,"
    return OpenAgentError(
        "config_error",
        f"{file} is written in a way that cannot be changed safely, so it was left alone.",
        hint=f"Write `{_name(key)} = {_value(value)}`{where} yourself.",
    )
