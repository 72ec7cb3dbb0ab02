"""Plugins of Claude Code and extensions of gemini-cli: folders with agents, skills, commands,
hooks and MCP servers of one author.

Those that a person installed lie in `plugins/` beside their config.toml, each under its name. They are the person's own
then: installing one is saying so.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from openagent.filesystem.plugin_manifests import read_manifest_file, read_plugin_manifest
from openagent.protocol import locations
from openagent.protocol.errors import OpenAgentError

FOLDER = "plugins"
KINDS = ("agents", "skills", "commands")
_ABOUT = frozenset(
    {"name", "version", "description", "author", "homepage", "repository", "license", "keywords", "$schema", "category"}
)
_ELSEWHERE = {".lsp.json": "language servers", "output-styles": "output styles"}
_SERVERS = "mcpServers"


class PluginFolder(Struct, frozen=True):
    name: str
    folder: Path
    form: Literal["claude", "gemini"]
    version: str = ""
    description: str = ""
    manifest: dict[str, Any] = {}

    def places(self, kind: str) -> list[Path]:
        """The folders of that kind: the usual one, and those that the manifest names."""
        return [place for place in self._named(kind, self.folder / kind) if place.is_dir()]

    def _named(self, key: str, usual: Path) -> list[Path]:
        """Of what the manifest names, none that lies outside."""
        named: Any = self.manifest.get(key, [])
        try:
            more = msgspec.convert([named] if isinstance(named, str) else named, list[str])
        except msgspec.ValidationError:
            more = []
        found = [place.resolve() for place in (usual, *(self.folder / each for each in more))]
        return [place for place in dict.fromkeys(found) if place.is_relative_to(self.folder.resolve())]

    @property
    def hooks_file(self) -> Path:
        named = self.manifest.get("hooks")
        return self.folder / (named if isinstance(named, str) else "hooks/hooks.json")

    @property
    def servers_given(self) -> dict[str, Any]:
        """MCP servers that stand in the manifest itself."""
        given = self.manifest.get(_SERVERS)
        return cast("dict[str, Any]", given) if isinstance(given, dict) else {}

    def server_files(self) -> list[Path]:
        """Files of MCP servers: the usual one, and those that the manifest names."""
        files = self._named(_SERVERS, self.folder / ".mcp.json") if self.form == "claude" else []
        return [file for file in files if file.is_file()]

    def count_servers(self) -> int:
        """Of those in a file that cannot be read, none."""
        count = len(self.servers_given)
        for file in self.server_files():
            with contextlib.suppress(ValueError):
                content = read_manifest_file(file)
                listed = content.get(_SERVERS, content)
                count += len(cast("dict[str, Any]", listed)) if isinstance(listed, dict) else 0
        return count

    def unused(self) -> list[str]:
        """What it brings that nothing here makes use of, in words."""
        keys = [f"`{key}`" for key in self.manifest if key not in _ABOUT and key not in (*KINDS, "hooks", _SERVERS)]
        inline = ["`hooks` in the manifest"] if isinstance(self.manifest.get("hooks"), (dict, list)) else []
        return [*keys, *inline, *(what for name, what in _ELSEWHERE.items() if (self.folder / name).exists())]


def plugin_folder(env: Mapping[str, str]) -> Path:
    return Path(locations.config_file(env)).parent / FOLDER


def installed(env: Mapping[str, str], problems: list[str] | None = None) -> Iterator[PluginFolder]:
    try:
        folders = sorted(entry.path for entry in os.scandir(plugin_folder(env)) if entry.is_dir())
    except OSError:
        return
    for folder in folders:
        try:
            yield read_plugin(Path(folder))
        except OpenAgentError as problem:
            if problems is not None:
                problems.append(problem.info.message)


def read_plugin(folder: Path) -> PluginFolder:
    """Raises OpenAgentError('config_error')."""
    try:
        name, form, manifest = read_plugin_manifest(folder)
    except ValueError as problem:
        raise OpenAgentError("config_error", str(problem)) from None
    said = {key: str(manifest[key]) for key in ("version", "description") if key in manifest}
    return PluginFolder(name, folder, form, manifest=manifest, **said)
