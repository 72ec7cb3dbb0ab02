"""opencode's own configuration: agents and commands that stand in it instead of in files of their own."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from openagent.filesystem.json_with_comments import plain_json
from openagent.protocol.errors import OpenAgentError

IN_PROJECTS = ("opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc")
MAX_BYTES = 1 << 20


def in_project(folder: Path) -> list[Path]:
    return [file for name in IN_PROJECTS if (file := folder / name).is_file()]


def at_home(env: Mapping[str, str]) -> list[Path]:
    home = Path(env.get("HOME") or os.path.expanduser("~"))
    place = Path(env.get("XDG_CONFIG_HOME") or home / ".config") / "opencode"
    return [file for name in IN_PROJECTS[:2] if (file := place / name).is_file()]


def entries(file: Path, kind: str) -> dict[str, dict[str, Any]]:
    """By name. Raises OpenAgentError('config_error')."""
    try:
        with file.open("rb") as opened:
            text = opened.read(MAX_BYTES).decode(errors="replace")
        given = msgspec.json.decode(plain_json(text), type=dict[str, Any])
        return msgspec.convert(given.get(kind) or {}, dict[str, dict[str, Any]])
    except (OSError, msgspec.DecodeError, msgspec.ValidationError, RecursionError) as problem:
        raise OpenAgentError("config_error", f"{file} cannot be read: {problem}.") from None
