"""Which MCP servers there are: those in the database, in the person's own file, in the plugins they installed, and in
files of a trusted project."""

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from openagent.config.cache import ConfigCache
from openagent.config.expand import expand
from openagent.filesystem.atomic_files import replace_file
from openagent.filesystem.json_with_comments import plain_json
from openagent.mcp.plugin_servers import plugin_servers
from openagent.mcp.secrets import McpSecrets, cannot_open, with_kept_proofs, without_secrets
from openagent.plugins.store import McpServerRecord, Store
from openagent.protocol import locations
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.mcp import McpImported, McpKept, McpServerEntry
from openagent.tools.mcp.definitions import (
    OWN_FILE,
    PROJECT_FILES,
    WORKSPACE_FOLDER,
    FoundServers,
    ServerDefinition,
    define,
    read_servers,
)
from openagent.tools.mcp.foreign_entries import entry_from
from openagent.tools.mcp.foreign_files import read_foreign
from openagent.vault.redact import Redactor

DATABASE = "database"
GIVEN = "session"
MAX_FILE = 1 << 20


def own_file(configs: ConfigCache) -> Path:
    return Path(locations.config_file(configs.environment({}))).with_name(OWN_FILE)


class ServerBook:
    def __init__(self, store: Store, configs: ConfigCache, redactor: Redactor, secrets: McpSecrets) -> None:
        self._store = store
        self._secrets = secrets
        self._configs = configs
        self._redactor = redactor
        self._file = own_file(configs)

    async def found(self, workspace: Path | None) -> FoundServers:
        """A name in the database comes before one in a file, the person's own file before a plugin's, and that before a
        project's."""
        added = await self._added(await self._store.mcp_servers())
        own = self._read(self._file)
        brought = self._brought()
        servers = {**brought.servers, **own.servers, **added.servers}
        problems = [*added.problems, *own.problems, *brought.problems]
        if workspace is not None:
            folder = self._configs.project_folder(workspace)
            files = [file for name in PROJECT_FILES if (file := folder / name).is_file() and file != self._file]
            if files and not self._configs.trust.trusts(folder):
                problems.append(f"{folder}: its MCP servers are left out until `openagent trust` says so.")
            elif files:
                for file in files:
                    found = self._read(file)
                    servers = {**found.servers, **servers}
                    problems += found.problems
        off = set(own.disabled) - set(added.servers)
        chosen = {
            name: msgspec.structs.replace(each, enabled=each.enabled and name not in off)
            for name, each in servers.items()
        }
        return FoundServers(chosen, problems, own.disabled)

    def given(self, servers: Mapping[str, McpServerEntry]) -> dict[str, ServerDefinition]:
        """Those that a client passes along for a session, taken as they are."""
        defined = {name: define(name, entry, GIVEN, lambda text: text) for name, entry in servers.items()}
        self._keep_secret(defined)
        return defined

    def origin(self, definition: ServerDefinition) -> Literal["yours", "project", "session"]:
        if definition.source == GIVEN:
            return "session"
        is_own = definition.plugin or definition.source in (DATABASE, str(self._file))
        return "yours" if is_own else "project"

    async def _added(self, records: list[McpServerRecord]) -> FoundServers:
        servers: dict[str, ServerDefinition] = {}
        problems: list[str] = []
        for record in records:
            try:
                opened = await self._secrets.open(record)
            except OpenAgentError as problem:
                problems.append(cannot_open(record.name, problem))
                continue
            try:
                defined = define(record.name, opened.server, DATABASE, self._expand)
                servers[record.name] = msgspec.structs.replace(defined, enabled=record.enabled)
            except OpenAgentError as problem:
                problems.append(f"{record.name}: {problem.info.message}")
        self._keep_secret(servers)
        return FoundServers(servers, problems, [])

    def _read(self, file: Path) -> FoundServers:
        try:
            if file.stat().st_size > MAX_FILE:
                return FoundServers({}, [f"{file}: it is larger than {MAX_FILE >> 20} MB."], [])
            found = read_servers(file.read_bytes(), str(file), self._expand)
        except FileNotFoundError:
            return FoundServers({}, [], [])
        except OSError as problem:
            return FoundServers({}, [f"{file}: {problem.strerror}."], [])
        self._keep_secret(found.servers)
        return found

    def _brought(self) -> FoundServers:
        found = plugin_servers(self._configs.environment({}), self._expand)
        self._keep_secret(found.servers)
        return found

    def _keep_secret(self, servers: dict[str, ServerDefinition]) -> None:
        for each in servers.values():
            proofs = (each.oauth.client_secret, each.oauth.private_key, each.oauth.identity_token)
            for value in (*each.env.values(), *each.headers.values(), *proofs):
                if len(value) >= 12:
                    self._redactor.register(value)

    def _expand(self, text: str, more: Mapping[str, str] = MappingProxyType({})) -> str:
        usual = {WORKSPACE_FOLDER: f"${{{WORKSPACE_FOLDER}}}", **self._configs.environment({})}
        expanded = expand(text, {**usual, **more})
        if expanded.unset or expanded.malformed:
            missing = ", ".join(expanded.unset) or expanded.malformed
            raise OpenAgentError("config_error", f"The variable {missing} is not set.", hint="Set it for the daemon.")
        return expanded.text

    # Changes

    async def add(self, name: str, server: McpServerEntry, *, replace: bool) -> None:
        define(name, server, DATABASE, lambda text: text)
        if not replace and name in await self._names():
            raise OpenAgentError(
                "conflict", f"There is an MCP server {name!r} already.", hint="Remove it first, or replace it."
            )
        server = await self.completed(name, server)
        await self._put(name, server, enabled=not server.disabled)
        self._take_out_of_file(name)

    async def completed(self, name: str, server: McpServerEntry) -> McpServerEntry:
        """With the values kept under this name, where the entry has them empty: whoever edits it never saw them."""
        if "" not in (*server.env.values(), *server.headers.values()) and not server.oauth.client_id:
            return server
        kept = await self._kept(name)
        if kept is None:
            return server
        return msgspec.structs.replace(
            server,
            env={key: value or kept.env.get(key, "") for key, value in server.env.items()},
            headers={key: value or kept.headers.get(key, "") for key, value in server.headers.items()},
            oauth=with_kept_proofs(server.oauth, kept.oauth),
        )

    async def shown(self, name: str) -> McpKept:
        """Without the values that may be secret."""
        for record in await self._store.mcp_servers():
            if record.name == name:
                return McpKept(name, msgspec.structs.replace(record.server, disabled=not record.enabled), DATABASE)
        kept = await self._kept(name)
        if kept is None:
            raise not_yours(name)
        return McpKept(name, without_secrets(kept), str(self._file))

    async def _kept(self, name: str) -> McpServerEntry | None:
        for record in await self._store.mcp_servers():
            if record.name == name:
                return (await self._secrets.open(record)).server
        given = self._content()["mcpServers"].get(name)
        return None if given is None else entry_from(given, "own", lambda _note: None)

    def _take_out_of_file(self, name: str) -> None:
        """It stands in the database from now on: a second one in the file would come back when that is removed."""
        content = self._content()
        if content["mcpServers"].pop(name, None) is not None:
            content["disabled"] = [each for each in content["disabled"] if each != name]
            self._write(content)

    def trial(self, name: str, server: McpServerEntry) -> ServerDefinition:
        """As it would be, kept nowhere."""
        defined = define(name, msgspec.structs.replace(server, disabled=False), GIVEN, self._expand)
        self._keep_secret({name: defined})
        return defined

    async def remove(self, name: str) -> None:
        if await self._store.remove_mcp_server(name):
            await self._secrets.forget(name)
            return
        content = self._content()
        if content["mcpServers"].pop(name, None) is None:
            raise not_yours(name)
        content["disabled"] = [each for each in content["disabled"] if each != name]
        self._write(content)

    async def switch(self, name: str, on: bool, workspace: Path | None) -> None:
        for record in await self._store.mcp_servers():
            if record.name == name:
                return await self._put(name, (await self._secrets.open(record)).server, enabled=on)
        if name not in (await self.found(workspace)).servers:
            raise unknown(name)
        content = self._content()
        others = [each for each in content["disabled"] if each != name]
        content["disabled"] = others if on else [*others, name]
        if on and name in content["mcpServers"]:
            for switch in ("disabled", "enabled"):
                content["mcpServers"][name].pop(switch, None)
        self._write(content)
        return None

    async def import_from(self, file: Path) -> McpImported:
        try:
            found = read_foreign(await asyncio.to_thread(file.read_bytes), str(file))
        except OSError as problem:
            raise OpenAgentError(
                "invalid_argument", f"{file} cannot be read: {problem.strerror}.", hint="Name a file that is there."
            ) from None
        taken = await self._names()
        added, kept, problems, notes = list[str](), list[str](), list[str](), list(found.notes)
        for name, raw in found.servers.items():
            if name in taken:
                kept.append(name)
                continue
            try:
                entry = entry_from(raw, found.manner, lambda note, name=name: notes.append(f"{name}: {note}"))
                define(name, entry, str(file), lambda text: text)
            except (OpenAgentError, msgspec.ValidationError) as problem:
                problems.append(f"{name}: {problem.info.message if isinstance(problem, OpenAgentError) else problem}")
                continue
            await self._put(name, entry, enabled=not entry.disabled and name not in found.off)
            if missing := define(name, entry, str(file), self._expand).problem:
                notes.append(f"{name}: {missing}")
            added.append(name)
        return McpImported(added, kept, problems, notes)

    async def _names(self) -> set[str]:
        """Of the person's own."""
        return {*(record.name for record in await self._store.mcp_servers()), *self._content()["mcpServers"]}

    async def _put(self, name: str, server: McpServerEntry, *, enabled: bool) -> None:
        record = McpServerRecord(name, server, enabled, time.time())
        await self._store.put_mcp_server(await self._secrets.seal(record))

    async def seal_what_is_stored(self) -> None:
        await self._secrets.seal_what_is_stored(self._store)

    # The person's own file

    def _content(self) -> dict[str, Any]:
        try:
            content = msgspec.json.decode(plain_json(self._file.read_text()), type=dict[str, Any])
        except FileNotFoundError:
            content = {}
        except (OSError, UnicodeDecodeError, msgspec.DecodeError) as problem:
            raise OpenAgentError(
                "config_error", f"{self._file} cannot be read: {problem}.", hint="Correct or remove it."
            ) from None
        content.setdefault("mcpServers", {})
        content.setdefault("disabled", [])
        return content

    def _write(self, content: dict[str, Any]) -> None:
        """It may hold keys: for its owner alone."""
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(self._file, msgspec.json.format(msgspec.json.encode(content)))


def not_yours(name: str) -> OpenAgentError:
    return OpenAgentError(
        "not_found",
        f"There is no MCP server {name!r} of your own.",
        hint="`openagent mcp list` shows where each stands. A project's is changed in the project's file; "
        "`openagent plugins remove` takes a plugin's away.",
    )


def unknown(name: str) -> OpenAgentError:
    return OpenAgentError("not_found", f"There is no MCP server {name!r}.", hint="`openagent mcp list` shows them.")
