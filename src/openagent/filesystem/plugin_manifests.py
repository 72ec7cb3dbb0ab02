"""The file in a folder that says which plugin of Claude Code, or which extension of gemini-cli, it is."""

import json
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

CLAUDE = Path(".claude-plugin", "plugin.json")
GEMINI = Path("gemini-extension.json")
_FORMS: dict[Path, Literal["claude", "gemini"]] = {CLAUDE: "claude", GEMINI: "gemini"}
MAX_MANIFEST = 1 << 20


class Manifest(NamedTuple):
    name: str
    form: Literal["claude", "gemini"]
    content: dict[str, Any]


def read_plugin_manifest(folder: Path) -> Manifest:
    """Raises ValueError, in words for people."""
    found = next((path for path in _FORMS if (folder / path).is_file()), None)
    if found is None:
        raise ValueError(f"{folder} is no plugin: there is neither {CLAUDE} nor {GEMINI}.")
    content = read_manifest_file(folder / found)
    name = content.get("name")
    if not isinstance(name, str) or not name.replace("-", "").replace("_", "").replace(".", "").isalnum():
        said = f"{folder / found}: {name!r} is no name for a plugin: letters, digits, -, _ and dots make one."
        raise ValueError(said)
    return Manifest(name, _FORMS[found], content)


def read_manifest_file(file: Path) -> dict[str, Any]:
    """Raises ValueError."""
    try:
        if file.stat().st_size > MAX_MANIFEST:
            raise ValueError(f"{file} is larger than {MAX_MANIFEST >> 20} MB.")
        content = json.loads(file.read_bytes())
    except (OSError, json.JSONDecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise ValueError(f"{file} cannot be read: {problem}.") from None
    if not isinstance(content, dict):
        raise ValueError(f"{file} cannot be read: it is no object.")
    return cast("dict[str, Any]", content)
