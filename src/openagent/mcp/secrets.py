"""Variables and headers of the MCP servers that were added: their values are keys more often than not, so the database
holds their names alone, and the vault what they are."""

import asyncio
import re

import msgspec
from msgspec import Struct

from openagent.plugins.store import McpServerRecord, Store
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.mcp import McpOAuth, McpServerEntry
from openagent.vault.entries import MCP_VALUES, ApiKey
from openagent.vault.secret import Secret
from openagent.vault.vault import Vault

_REFERENCE = re.compile(r"\$\{[^{}]*\}")
_PROOFS = ("client_secret", "private_key", "identity_token")
"""Of an entry's `oauth`."""


class _Values(Struct, frozen=True, omit_defaults=True):
    env: dict[str, str] = {}
    headers: dict[str, str] = {}
    client_secret: str = ""
    private_key: str = ""
    identity_token: str = ""

    def __repr__(self) -> str:
        return "_Values(…)"


_values = msgspec.json.Decoder(_Values)


class McpSecrets:
    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._known: dict[str, tuple[float, _Values]] = {}
        """By server, with the time of the record they belong to: the vault writes down every use of an entry."""

    async def seal(self, record: McpServerRecord) -> McpServerRecord:
        """The record as it may be stored."""
        entry = record.server
        values = _values_of(entry)
        if values == _Values():
            await self.forget(record.name)
            return record
        kept = ApiKey(Secret(msgspec.json.encode(values).decode()))
        await asyncio.to_thread(self._vault.add, f"{MCP_VALUES}{record.name}", kept, {}, replace=True)
        self._known[record.name] = record.updated_at, values
        return msgspec.structs.replace(record, server=_merged(entry, _emptied(values)))

    async def open(self, record: McpServerRecord) -> McpServerRecord:
        """A stored record with its values. Raises OpenAgentError where they cannot be had."""
        if not _has_gaps(record.server):
            return record
        at, values = self._known.get(record.name, (0.0, _Values()))
        if at != record.updated_at:
            values = await asyncio.to_thread(self._kept, record.name)
            self._known[record.name] = record.updated_at, values
        return msgspec.structs.replace(record, server=_merged(record.server, values))

    async def forget(self, name: str) -> None:
        self._known.pop(name, None)
        await asyncio.to_thread(self._remove, f"{MCP_VALUES}{name}")

    async def seal_what_is_stored(self, store: Store) -> None:
        """What was added before values were kept here."""
        for record in await store.mcp_servers():
            if _values_of(record.server) != _Values():
                # Some may be sealed already, where a change of the entry was cut off.
                await store.put_mcp_server(await self.seal(await self.open(record)))

    def _kept(self, name: str) -> _Values:
        if f"{MCP_VALUES}{name}" not in {info.name for info in self._vault.list()}:
            return _Values()  # empty ones were given
        kept = self._vault.get(f"{MCP_VALUES}{name}")
        return _values.decode(kept.key.reveal()) if isinstance(kept, ApiKey) else _Values()

    def _remove(self, entry: str) -> None:
        if entry in {info.name for info in self._vault.list()}:
            self._vault.remove(entry)


def _secret(values: dict[str, str]) -> dict[str, str]:
    """A bare reference to a variable is none."""
    return {name: value for name, value in values.items() if value and not _REFERENCE.fullmatch(value)}


def _values_of(entry: McpServerEntry) -> _Values:
    proofs = _secret({name: getattr(entry.oauth, name) for name in _PROOFS})
    return _Values(_secret(entry.env), _secret(entry.headers), **proofs)


def _has_gaps(entry: McpServerEntry) -> bool:
    return "" in (*entry.env.values(), *entry.headers.values()) or bool(entry.oauth.client_id)


def _emptied(values: _Values) -> _Values:
    return _Values(dict.fromkeys(values.env, ""), dict.fromkeys(values.headers, ""))


def _merged(entry: McpServerEntry, values: _Values) -> McpServerEntry:
    proofs = {name: getattr(values, name) for name in _PROOFS if not _REFERENCE.fullmatch(getattr(entry.oauth, name))}
    return msgspec.structs.replace(
        entry,
        env={**entry.env, **values.env},
        headers={**entry.headers, **values.headers},
        oauth=msgspec.structs.replace(entry.oauth, **proofs),
    )


def without_secrets(entry: McpServerEntry) -> McpServerEntry:
    """As it may be shown to whoever edits it."""
    return _merged(entry, _emptied(_values_of(entry)))


def with_kept_proofs(given: McpOAuth, kept: McpOAuth) -> McpOAuth:
    """Whoever edits an entry never saw them; another client's are not its own."""
    if given.client_id != kept.client_id:
        return given
    return msgspec.structs.replace(given, **{name: getattr(given, name) or getattr(kept, name) for name in _PROOFS})


def cannot_open(name: str, problem: OpenAgentError) -> str:
    return f"{name}: its keys cannot be read from the vault: {problem.info.message}"
