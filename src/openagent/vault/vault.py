"""The vault: one encrypted file in the data home.

Calls are plain and take a few milliseconds (a change is flushed to disk): call them off the event loop.
A file that cannot be read is never written over.
"""

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NoReturn

import msgspec
from msgspec import Struct

from openagent.filesystem.atomic_files import replace_file
from openagent.protocol.errors import OpenAgentError
from openagent.vault.entries import ApiKey, Credential, EntryInfo, EntryKind
from openagent.vault.files import exclusive, read_private
from openagent.vault.master import KEY_BYTES, KEY_VARIABLE, FileKeys, GivenKey, KeyPlace, KeyringKeys, KeySource, key_id
from openagent.vault.redact import Redactor
from openagent.vault.sealing import Unsealable, kind_of, seal, unseal

VAULT_FILE = "vault.json"
LOCK_FILE = "vault.lock"
_VERSION = 1
_NAME_LIMIT = 128

_log = logging.getLogger(__name__)


class _Entry(Struct, forbid_unknown_fields=True):
    kind: EntryKind
    nonce: bytes
    sealed: bytes
    created_at: float
    updated_at: float
    last_used_at: float | None = None
    use_count: int = 0
    meta: dict[str, str] = {}


class _KeyReference(Struct, forbid_unknown_fields=True):
    place: KeyPlace
    id: str


class _Content(Struct, forbid_unknown_fields=True):
    version: int = _VERSION
    key: _KeyReference | None = None
    entries: dict[str, _Entry] = {}


_PLACES = {"keyring": "the OS keyring", "environment": f"${KEY_VARIABLE}"}


class _Carried(Struct, forbid_unknown_fields=True):
    key: bytes
    content: _Content


class _Head(Struct):
    version: int = 0


class Vault:
    def __init__(
        self,
        home: Path,
        *,
        key_sources: Sequence[KeySource] | None = None,
        given_key: str = "",
        redactor: Redactor | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`key_sources` are tried in order for a new key, which is `given_key` where there is one. The redactor learns
        every value that passes through."""
        self._home = home
        self._path = home / VAULT_FILE
        self._given = GivenKey(given_key) if given_key else None
        usual = key_sources if key_sources is not None else (KeyringKeys(), FileKeys(home))
        self._sources = (self._given, *usual) if self._given else usual
        self._redactor = redactor
        self._clock = clock

    def add(
        self, name: str, credential: Credential, meta: Mapping[str, str] | None = None, *, replace: bool = False
    ) -> EntryInfo:
        """`replace` keeps what is known of an entry of that name, as after a token refresh."""
        _check_name(name)
        self._learn(credential)
        self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._locked():
            content = self._read()
            existing = content.entries.get(name)
            if existing and not replace:
                raise OpenAgentError(
                    "conflict",
                    f"The vault already has an entry named {name!r}.",
                    hint=f"Remove it first with `openagent auth remove {name}`, or choose another name.",
                )
            key = self._key(content) if content.key else self._new_key(content)
            nonce, sealed = seal(key, name, credential)
            now = self._clock()
            entry = _Entry(
                kind=kind_of(credential),
                nonce=nonce,
                sealed=sealed,
                created_at=existing.created_at if existing else now,
                updated_at=now,
                last_used_at=existing.last_used_at if existing else None,
                use_count=existing.use_count if existing else 0,
                meta=dict(meta) if meta is not None else (existing.meta if existing else {}),
            )
            content.entries[name] = entry
            self._write(content)
        return _info(name, entry)

    def get(self, name: str) -> Credential:
        """Decrypts an entry and counts the use."""
        content = self._read()
        credential = self._unseal(content, name, self._entry(content, name))
        self._learn(credential)
        self._count_use(name)
        return credential

    def list(self) -> list[EntryInfo]:
        """Needs no key."""
        return [_info(name, entry) for name, entry in sorted(self._read().entries.items())]

    def changed_at(self) -> tuple[int, int]:
        """What it looks like from outside, to see that somebody changed it. Counting a use changes it, too."""
        try:
            told = self._path.stat()
        except OSError:
            return 0, 0
        return told.st_mtime_ns, told.st_size

    def remove(self, name: str) -> None:
        """Needs no key, so that an entry nobody can decrypt any more can go too."""
        self._entry(self._read(), name)
        with self._locked():
            content = self._read()
            self._entry(content, name)
            del content.entries[name]
            self._write(content)

    def carried(self, seal_all: Callable[[bytes], bytes]) -> bytes | None:
        """All entries and the master key, sealed as one, to be opened elsewhere; None when there are none."""
        content = self._read()
        if content.key is None or not content.entries:
            return None
        return seal_all(msgspec.json.encode(_Carried(self._key(content), content)))

    def carry_in(self, plain: bytes) -> None:
        """What `carried` sealed, as the content of a vault that does not exist yet."""
        carried = msgspec.json.decode(plain, type=_Carried)
        self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._locked():
            self._keep_key(carried.content, carried.key)
            self._write(carried.content)

    def openable(self) -> int:
        """How many entries can be decrypted; raises for the first that cannot."""
        content = self._read()
        for name, entry in content.entries.items():
            self._unseal(content, name, entry)
        return len(content.entries)

    def _locked(self) -> AbstractContextManager[None]:
        return exclusive(self._home / LOCK_FILE)

    def _learn(self, credential: Credential) -> None:
        if self._redactor is None:
            return
        secrets = (
            [credential.key]
            if isinstance(credential, ApiKey)
            else [secret for secret in (credential.access, credential.refresh) if secret]
        )
        for secret in secrets:
            self._redactor.register(secret.reveal())

    def _count_use(self, name: str) -> None:
        """A use that cannot be counted (a read-only disk, a busy lock) is no reason to refuse it."""
        try:
            with self._locked():
                content = self._read()
                if entry := content.entries.get(name):
                    entry.use_count += 1
                    entry.last_used_at = self._clock()
                    self._write(content)
        except (OSError, OpenAgentError) as problem:
            _log.warning("last use of vault entry %r could not be saved: %s", name, problem)

    def _entry(self, content: _Content, name: str) -> _Entry:
        if entry := content.entries.get(name):
            return entry
        known = ", ".join(sorted(content.entries)) or "nothing yet"
        raise OpenAgentError(
            "not_found",
            f"The vault has no entry named {name!r}.",
            hint=f"It holds: {known}. `openagent auth add` stores a key.",
        )

    def _unseal(self, content: _Content, name: str, entry: _Entry) -> Credential:
        try:
            return unseal(self._key(content), name, entry.kind, entry.nonce, entry.sealed)
        except Unsealable:
            raise OpenAgentError(
                "store_error",
                f"The vault entry {name!r} was changed after it was stored, so it was not used.",
                hint=f"Remove it with `openagent auth remove {name}` and add the credential again.",
            ) from None

    def _source(self, place: KeyPlace) -> KeySource:
        for source in self._sources:
            if source.place == place:
                return source
        raise OpenAgentError(
            "config_error",
            f"The vault's master key is in the {place}, which is not in use here.",
            hint="Start OpenAgent as you did when the vault was made.",
        )

    def _key(self, content: _Content) -> bytes:
        assert content.key is not None
        place, identity = content.key.place, content.key.id
        key = self._source(place).load(identity)
        where = _PLACES.get(place) or str(self._home / "vault.key")
        if key is None:
            raise OpenAgentError(
                "store_error",
                f"The master key of {self._path} was not found in {where}, so its entries cannot be decrypted.",
                hint=(
                    "Unlock the keyring and try again."
                    if place == "keyring"
                    else "Set it to the key that the vault was made with."
                    if place == "environment"
                    else f"Restore the key file, or move {self._path} away and add your credentials again."
                ),
            )
        if len(key) != KEY_BYTES or key_id(key) != identity:
            raise OpenAgentError(
                "store_error",
                f"The master key in {where} is not the one {self._path} was encrypted with.",
                hint=f"Restore the right key, or move {self._path} away and add your credentials again.",
            )
        return key

    def _new_key(self, content: _Content) -> bytes:
        key = self._given.key if self._given else os.urandom(KEY_BYTES)
        self._keep_key(content, key)
        return key

    def _keep_key(self, content: _Content, key: bytes) -> None:
        for source in self._sources:
            if source.save(key):
                content.key = _KeyReference(place=source.place, id=key_id(key))
                return
        raise OpenAgentError(
            "store_error",
            "There is no place to keep the vault's master key: no keyring answered.",
            hint="Unlock the OS keyring and try again.",
        )

    def _read(self) -> _Content:
        data = read_private(self._path)
        if data is None:
            return _Content(entries={})
        try:
            if msgspec.json.decode(data, type=_Head).version > _VERSION:
                self._refuse("was written by a newer version of OpenAgent", "Update OpenAgent.")
            return msgspec.json.decode(data, type=_Content)
        except (msgspec.DecodeError, UnicodeDecodeError):
            self._refuse(
                "is damaged: it is cut short or not the JSON that was written there",
                "Restore it from a backup, or move it away to start with an empty vault.",
            )

    def _refuse(self, what: str, hint: str) -> NoReturn:
        raise OpenAgentError(
            "store_error", f"The vault file {self._path} {what}.", hint=f"{hint} It was left as it is."
        )

    def _write(self, content: _Content) -> None:
        try:
            replace_file(self._path, msgspec.json.encode(content))
        except OSError as problem:
            raise OpenAgentError(
                "store_error",
                f"The vault file {self._path} could not be written: {problem.strerror}.",
                hint="Make room or give yourself the right to write there. What it held before is still there.",
            ) from None


def _info(name: str, entry: _Entry) -> EntryInfo:
    return EntryInfo(
        name=name,
        kind=entry.kind,
        created_at=entry.created_at,
        updated_at=entry.updated_at,
        last_used_at=entry.last_used_at,
        use_count=entry.use_count,
        meta=entry.meta,
    )


def _check_name(name: str) -> None:
    if not name or len(name) > _NAME_LIMIT or not name.isprintable():
        raise OpenAgentError(
            "invalid_argument",
            f"A vault entry's name has 1 to {_NAME_LIMIT} printable characters.",
            hint="Use the provider's name, such as `anthropic`.",
        )
