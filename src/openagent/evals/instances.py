"""Tasks and answers to them as SWE-bench writes them down: instances, and predictions."""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from openagent.protocol.errors import OpenAgentError

GOLD, EMPTY = "gold", "empty"
"""Predictions that need no file: each instance's own patch, and none at all."""
_PATCHED = re.compile(r"^diff --git a/(?P<before>.*) b/(?P<after>.*)$", re.MULTILINE)


class Instance(Struct, frozen=True):
    instance_id: str
    repo: str
    version: str
    base_commit: str
    created_at: str
    problem_statement: str
    patch: str
    test_patch: str
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]

    def tested_files(self) -> list[tuple[str, str]]:
        """Those that the test patch touches, each as it was and as it will be called."""
        return [(found["before"], found["after"]) for found in _PATCHED.finditer(self.test_patch)]


class Prediction(Struct, frozen=True):
    instance_id: str
    model_patch: str
    model_name_or_path: str = ""


def read_instances(file: Path, only: Sequence[str] = (), most: int | None = None) -> list[Instance]:
    found = [_instance(row, file) for row in _rows(file)]
    if unknown := set(only) - {each.instance_id for each in found}:
        raise OpenAgentError("not_found", f"{file} has no instance {', '.join(sorted(unknown))}.")
    return [each for each in found if not only or each.instance_id in only][:most]


def read_predictions(source: str, instances: Iterable[Instance]) -> dict[str, Prediction]:
    """By instance; `source` is a file in one of the official forms, `gold` or `empty`."""
    if source in (GOLD, EMPTY):
        return {
            each.instance_id: Prediction(each.instance_id, each.patch if source == GOLD else "", source)
            for each in instances
        }
    rows = [_prediction(row, Path(source)) for row in _rows(Path(source))]
    return {row.instance_id: row for row in rows}


def _rows(file: Path) -> list[dict[str, Any]]:
    """JSON Lines, a JSON list, or a JSON object by instance."""
    try:
        text = file.read_text()
    except (OSError, UnicodeDecodeError) as problem:
        raise OpenAgentError("invalid_argument", f"{file} cannot be read: {problem}.") from None
    try:
        whole = json.loads(text)
    except ValueError:
        try:
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError as problem:
            raise OpenAgentError(
                "invalid_argument",
                f"{file} is neither JSON nor JSON Lines: {problem}.",
                hint="Export the dataset as JSONL.",
            ) from None
    if isinstance(whole, list):
        return cast("list[dict[str, Any]]", whole)
    if "instance_id" in whole:
        return [whole]
    return [{"instance_id": name, **row} for name, row in cast("dict[str, dict[str, Any]]", whole).items()]


def _instance(row: dict[str, Any], file: Path) -> Instance:
    try:
        return Instance(
            **{name: str(row[name]) for name in ("instance_id", "repo", "base_commit", "patch", "test_patch")},
            version=str(row.get("version") or ""),
            created_at=str(row.get("created_at") or ""),
            problem_statement=str(row.get("problem_statement") or ""),
            fail_to_pass=_names(row["FAIL_TO_PASS"]),
            pass_to_pass=_names(row["PASS_TO_PASS"]),
        )
    except KeyError as missing:
        raise OpenAgentError(
            "invalid_argument", f"{file}: {row.get('instance_id', 'an instance')} has no {missing}."
        ) from None


def _names(value: Any) -> tuple[str, ...]:
    """A list, or one written down as JSON, as the published datasets have it."""
    return tuple(json.loads(value) if isinstance(value, str) else value)


def _prediction(row: dict[str, Any], file: Path) -> Prediction:
    try:
        return msgspec.convert({**row, "model_patch": row.get("model_patch") or ""}, Prediction)
    except msgspec.ValidationError as problem:
        raise OpenAgentError("invalid_argument", f"{file}: not a prediction: {problem}.") from None
