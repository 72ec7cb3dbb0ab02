"""Changing one key of a person's own file, and leaving every other byte as it is."""

import json
import tomllib
from pathlib import Path
from typing import Any

from openagent.config.line_numbers import key_lines
from openagent.filesystem.atomic_files import replace_file
from openagent.protocol.errors import OpenAgentError


def set_list(file: Path, table: str, key: str, values: list[str]) -> None:
    """Writes `key = [values]` into `[table]`; makes file and table where they are missing."""
    text = file.read_bytes().decode("utf-8-sig") if file.exists() else ""
    try:
        before = tomllib.loads(text)
        edited = _edited(text, table, key, values)
        after = tomllib.loads(edited)
    except tomllib.TOMLDecodeError as problem:
        raise _by_hand(file, table, key, values) from problem
    if after != _with(before, table, key, values):
        raise _by_hand(file, table, key, values)
    _replace(file, edited)


def _edited(text: str, table: str, key: str, values: list[str]) -> str:
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1].removesuffix("\n")
    places = key_lines(text)
    # A TOML array of plain strings is a JSON one.
    value = json.dumps(values, ensure_ascii=False)
    if place := places.get((table, key)):
        name = lines[place - 1].partition("=")[0]
        end = _end_of_value(lines, place - 1)
        return "".join([*lines[: place - 1], f"{name.rstrip()} = {value}\n", *lines[end:]])
    if (place := places.get((table,))) and lines[place - 1].lstrip().startswith("["):
        head = lines[place - 1]
        return "".join([*lines[: place - 1], head.rstrip("\r\n") + "\n", f"{key} = {value}\n", *lines[place:]])
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return f"{text}{gap}[{table}]\n{key} = {value}\n"


def _end_of_value(lines: list[str], start: int) -> int:
    for end in range(start + 1, len(lines) + 1):
        try:
            tomllib.loads("".join(lines[start:end]))
        except tomllib.TOMLDecodeError:
            continue
        return end
    return len(lines)


def _with(document: dict[str, Any], table: str, key: str, values: list[str]) -> dict[str, Any]:
    return {**document, table: {**document.get(table, {}), key: values}}


def _replace(file: Path, text: str) -> None:
    file = file.resolve()
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_file(file, text.encode(), keep_mode=True)


def _by_hand(file: Path, table: str, key: str, values: list[str]) -> OpenAgentError:
    return OpenAgentError(
        "config_error",
        f"{file} is written in a way that cannot be changed safely, so it was left alone.",
        hint=f"Write `{key} = {json.dumps(values, ensure_ascii=False)}` under `[{table}]` yourself.",
    )
