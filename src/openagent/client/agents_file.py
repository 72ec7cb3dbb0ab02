"""AGENTS.md: what an agent is asked to write into it, and what stands in it where no model can."""

import json
import os
import re
import tomllib
from typing import Any

FILE = "AGENTS.md"

_PROMPT = f"""\
Look through this repository and write {FILE} at its root, for the coding agents that will work here.
Keep it under 60 lines. Write down what cannot be guessed from one file alone: how to set up, build, test and lint (and
how to run a single test), where things are and how the parts depend on each other, the conventions this code follows,
and what people get wrong. Check commands against the files they come from (Makefile, package.json, pyproject.toml, CI).
Leave out what any agent knows, lists of every file, and anything you did not see. If there is an {FILE}, a CLAUDE.md,
.cursorrules or a copilot-instructions.md, keep what is true in them and improve it. Write nothing but {FILE}."""
PROMPT = _PROMPT.replace("\n", " ")
"""One paragraph: people see it in the conversation."""

_SHOWN = 12


def scaffold(folder: str) -> str:
    """Headings to fill in, with what the folder itself tells."""
    name = os.path.basename(os.path.abspath(folder)) or "this project"
    found = commands(folder) or ["(how to build)", "(how to test)"]
    rooms = _folders(folder) or ["(what is where)"]
    return "\n".join(
        [
            f"# Working on {name}",
            "",
            "What this is, in two sentences.",
            "",
            "## Commands",
            "",
            *(f"- `{each}`" if not each.startswith("(") else f"- {each}" for each in found),
            "",
            "## Where things are",
            "",
            *(f"- `{each}/`: " if not each.startswith("(") else f"- {each}" for each in rooms),
            "",
            "## Conventions",
            "",
            "- What reviewers always ask for.",
            "",
        ]
    )


def commands(folder: str) -> list[str]:
    """What builds and tests it, by the files that say so."""
    found: list[str] = []
    if targets := re.findall(r"^([a-z][\w-]*):(?!=)", _read(folder, "Makefile"), re.MULTILINE):
        found += [f"make {target}" for target in dict.fromkeys(targets)]
    found += [f"npm run {name}" for name in _table(_json(_read(folder, "package.json")), "scripts")]
    project = _toml(_read(folder, "pyproject.toml"))
    if project and "pytest" in json.dumps(project, default=str):
        found.append("pytest")
    if os.path.exists(os.path.join(folder, "Cargo.toml")):
        found += ["cargo build", "cargo test"]
    if os.path.exists(os.path.join(folder, "go.mod")):
        found += ["go build ./...", "go test ./..."]
    return found[:_SHOWN]


def _folders(folder: str) -> list[str]:
    try:
        inside = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return []
    left_out = {"node_modules", "dist", "build", "target", "venv"}
    return [each.name for each in inside if each.is_dir() and each.name not in left_out and each.name[0] not in "._"][
        :_SHOWN
    ]


def _read(folder: str, name: str) -> str:
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return ""


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {}


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}


def _table(document: Any, name: str) -> list[str]:
    table: Any = document.get(name) if isinstance(document, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return [str(key) for key in table] if isinstance(table, dict) else []  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
