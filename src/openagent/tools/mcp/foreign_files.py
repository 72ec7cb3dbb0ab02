"""Files in which other programs keep their MCP servers: which stand in them, and whose manner of writing it is."""

import tomllib
from pathlib import PurePath
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from openagent.filesystem.json_with_comments import plain_json
from openagent.protocol.errors import OpenAgentError

Manner = Literal["own", "usual", "codex", "opencode", "gemini", "vscode", "copilot", "zed", "cline"]
"""Who wrote an entry. `usual`: Claude Code, Claude Desktop, Cursor, Windsurf and many others."""
_PLACES: dict[str, Manner] = {
    ".gemini": "gemini",
    ".qwen": "gemini",
    ".copilot": "copilot",
    ".vscode": "vscode",
    "saoudrizwan.claude-dev": "cline",
    "rooveterinaryinc.roo-cline": "cline",
    ".roo": "cline",
}
"""Names in a file's path that tell whose it is, where its form does not."""
_FILES: dict[str, Manner] = {
    "cline_mcp_settings.json": "cline",
    "mcp_settings.json": "cline",
    "mcp-config.json": "copilot",
    "gemini-extension.json": "gemini",
}
_ADDRESSES = ("command", "url", "httpUrl", "serverUrl")


class ForeignFile(Struct, frozen=True):
    manner: Manner
    servers: dict[str, dict[str, Any]]
    """By name, as they are written."""
    off: list[str] = []
    """Servers that the file switches off outside their entries."""
    notes: list[str] = []
    """What was left out, and why."""


def read_foreign(text: bytes, file: str) -> ForeignFile:
    """Raises OpenAgentError('invalid_argument') for what holds no servers."""
    path = PurePath(file)
    if path.suffix in (".yaml", ".yml"):
        raise _unreadable(file, "it is YAML, which is not read here")
    try:
        content: Any = tomllib.loads(text.decode()) if path.suffix == ".toml" else _json(text.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.DecodeError) as problem:
        raise _unreadable(file, str(problem).rstrip(".")) from None
    if not isinstance(content, dict):
        raise _unreadable(file, "it is no object with servers in it")
    return _found(cast("dict[str, Any]", content), path)


def _json(text: str) -> Any:
    return msgspec.json.decode(plain_json(text).encode())


def _found(content: dict[str, Any], path: PurePath) -> ForeignFile:
    manner = _manner(path)
    if not content:
        return ForeignFile(manner, {})
    if (tables := _table(content.get("mcp_servers"))) is not None:
        return ForeignFile("codex", _entries(tables))
    if (zed := _table(content.get("context_servers"))) is not None:
        return ForeignFile("zed", _entries(zed))
    if (listed := _table(content.get("mcpServers", content.get("amp.mcpServers")))) is not None:
        return ForeignFile(manner, _entries(listed), _switched_off(content, listed), _left_out(content))
    if (listed := _table(content.get("servers"))) is not None:
        return ForeignFile("vscode", _entries(listed))
    if (nested := _table(content.get("mcp"))) is not None:
        if (listed := _table(nested.get("servers"))) is not None:
            return ForeignFile("vscode", _entries(listed))
        return ForeignFile("opencode", _entries(nested))
    bare = _entries(content)
    if bare and all(any(key in entry for key in _ADDRESSES) for entry in bare.values()):
        return ForeignFile(manner, bare)
    if _left_out(content):
        return ForeignFile(manner, {}, [], _left_out(content))
    raise _unreadable(str(path), "there are no MCP servers in it")


def _manner(path: PurePath) -> Manner:
    if path.name in _FILES:
        return _FILES[path.name]
    known: list[Manner] = [_PLACES[part] for part in path.parts if part in _PLACES]
    return known[0] if known else "usual"


def _table(given: Any) -> dict[str, Any] | None:
    return cast("dict[str, Any]", given) if isinstance(given, dict) else None


def _entries(listed: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {str(name): cast("dict[str, Any]", entry) for name, entry in listed.items() if isinstance(entry, dict)}


def _switched_off(content: dict[str, Any], listed: dict[str, Any]) -> list[str]:
    """Gemini's `mcp.excluded` and `mcp.allowed`, and our own `disabled`."""
    around = _table(content.get("mcp")) or {}
    off = [*_names(content.get("disabled")), *_names(around.get("excluded"))]
    if allowed := _names(around.get("allowed")):
        off += [name for name in listed if name not in allowed]
    return off


def _names(given: Any) -> list[str]:
    return [str(each) for each in cast("list[Any]", given)] if isinstance(given, list) else []


def _left_out(content: dict[str, Any]) -> list[str]:
    """`~/.claude.json` also keeps servers that count in one folder alone."""
    projects = _table(content.get("projects")) or {}
    held = {
        folder: ", ".join(servers)
        for folder, project in projects.items()
        if (servers := _table((_table(project) or {}).get("mcpServers")))
    }
    return [
        f"The servers of {folder} alone ({names}) are left out: write them into its `.mcp.json`."
        for folder, names in held.items()
    ]


def _unreadable(file: str, why: str) -> OpenAgentError:
    return OpenAgentError(
        "invalid_argument",
        f"{file} cannot be read: {why}.",
        hint="Name one in which Claude, Cursor, VS Code, Gemini, codex, opencode, Copilot or Zed keeps its servers.",
    )
