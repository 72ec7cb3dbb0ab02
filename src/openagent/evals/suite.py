"""Small tasks in several languages with hidden tests. They come with OpenAgent, as instances like all others."""

import difflib
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

SUITE = "suite"
_TASKS = Path(__file__).parent / "tasks"


class Task(Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    title: str
    problem: str
    files: dict[str, str]
    solution: dict[str, str]
    """Files that it changes or adds, whole."""
    tests: dict[str, str]
    """Hidden: they are there when the answer is judged."""
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...] = ()
    language: str = ""
    command: str = ""
    programs: tuple[str, ...] = ()


def suite_tasks() -> list[Task]:
    """What a file says at its top counts for all its tasks."""
    found: list[Task] = []
    for file in sorted(_TASKS.glob("*.toml")):
        content = tomllib.loads(file.read_text())
        common = {name: content[name] for name in ("language", "command", "programs")}
        harness = content["harness"]
        tasks = ({**common, **task, "tests": {**harness, **task["tests"]}} for task in content["task"])
        found += [msgspec.convert(task, Task) for task in tasks]
    return found


def lay_out_suite(folder: Path) -> tuple[Path, Path, dict[str, dict[str, Any]]]:
    """The suite as a dataset: the file, the repositories, and what the tests need."""
    repositories = folder / "repositories"
    needs: dict[str, dict[str, Any]] = {}
    rows: list[str] = []
    for task in suite_tasks():
        for name, text in task.files.items():
            file = repositories / task.id / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        rows.append(json.dumps(_instance(task)))
        needs[task.id] = {
            "install": "",
            "programs": list(task.programs),
            "test": task.command,
            "whole": True,
            "parser": "tap",
        }
    dataset = folder / "suite.jsonl"
    dataset.write_text("\n".join(rows))
    return dataset, repositories, needs


def _instance(task: Task) -> dict[str, Any]:
    return {
        "instance_id": task.id,
        "repo": f"suite/{task.id}",
        "base_commit": "HEAD",
        "problem_statement": f"{task.title}\n\n{task.problem}",
        "patch": patch(task.files, task.solution),
        "test_patch": patch(task.files, task.tests),
        "FAIL_TO_PASS": task.fail_to_pass,
        "PASS_TO_PASS": task.pass_to_pass,
    }


def patch(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """From some files to others, as git writes it."""
    parts: list[str] = []
    for name, text in sorted(after.items()):
        old = before.get(name)
        if old == text:
            continue
        lines = difflib.unified_diff(
            (old or "").splitlines(keepends=True),
            text.splitlines(keepends=True),
            "/dev/null" if old is None else f"a/{name}",
            f"b/{name}",
        )
        head = f"diff --git a/{name} b/{name}\n" + ("new file mode 100644\n" if old is None else "")
        parts.append(head + "".join(lines))
    return "".join(parts)
