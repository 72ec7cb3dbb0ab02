"""Trying a backup out: unpacked into a place of its own, its database opened, its keys unsealed."""

from pathlib import Path

from msgspec import Struct

from openagent.backups import archive
from openagent.backups.home import DATABASE, VAULT
from openagent.protocol.errors import OpenAgentError
from openagent.store.dump import try_out
from openagent.vault.master import KeyPlace, key_id
from openagent.vault.recovery import recovery_key, unseal_vault
from openagent.vault.vault import Vault


class TriedOut(Struct, frozen=True):
    files: int
    keys: int
    """How many could be decrypted: 0 also for those sealed to another home's recovery key."""


class _InMemory:
    """A master key that is only tried lies on no disk."""

    place: KeyPlace = "file"

    def __init__(self) -> None:
        self._keys: dict[str, bytes] = {}

    def load(self, identity: str) -> bytes | None:
        return self._keys.get(identity)

    def save(self, key: bytes) -> bool:
        self._keys[key_id(key)] = key
        return True


def tried_out(path: Path, place: Path, vault: Vault) -> TriedOut:
    """Raises, in one sentence, for whatever would make a restore fail."""
    place.mkdir(mode=0o700, exist_ok=True)
    manifest = archive.unpack(path, place)
    check_database(path, place, manifest)
    keys = _keys(place, vault) if manifest.keys else 0
    return TriedOut(len(manifest.files), keys)


def check_database(path: Path, place: Path, manifest: archive.Manifest) -> None:
    if DATABASE not in manifest.files:
        raise OpenAgentError("invalid_argument", f"The backup {path} holds no sessions.", hint="Use another one.")
    found = try_out(manifest.store, place / DATABASE)
    if manifest.store == "sqlite" and (found.sessions, found.messages) != (manifest.sessions, manifest.messages):
        told = (
            f"The backup {path} should hold {manifest.sessions} sessions and {manifest.messages} messages, and holds "
            f"{found.sessions} and {found.messages}."
        )
        raise OpenAgentError("invalid_argument", told, hint="Use another one.")


def _keys(place: Path, vault: Vault) -> int:
    try:
        plain = unseal_vault((place / VAULT).read_bytes(), recovery_key(vault))
    except OpenAgentError as problem:
        if problem.info.code != "auth_failed":
            raise
        return 0
    opened = Vault(place / "vault", key_sources=[_InMemory()])
    opened.carry_in(plain)
    return opened.openable()
