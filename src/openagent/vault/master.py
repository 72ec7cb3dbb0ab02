"""Where the master key lives: the OS keyring where there is one, else a private file.

Every key has an id made from the key itself. The vault file names the id and the place, so a lost or a wrong key is
told apart from tampering.
"""

import hmac
from base64 import b64decode, b64encode
from collections.abc import Callable
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec
from msgspec import Struct

from openagent.filesystem.atomic_files import replace_file
from openagent.protocol.errors import OpenAgentError
from openagent.vault.files import read_private

KEY_BYTES = 32
KEY_FILE = "vault.key"
_SERVICE = "openagent vault"
_ID_CONTEXT = b"openagent vault key id"

KEY_VARIABLE = "OPENAGENT_VAULT_KEY"
"""The key itself, in base64, for machines that share a vault."""

KeyPlace = Literal["keyring", "file", "environment"]


def key_id(key: bytes) -> str:
    return hmac.digest(key, _ID_CONTEXT, sha256)[:8].hex()


class KeySource(Protocol):
    place: KeyPlace

    def load(self, identity: str) -> bytes | None: ...

    def save(self, key: bytes) -> bool:
        """False when this machine has no such place."""
        ...


class KeyringBackend(Protocol):
    """The part of the `keyring` module that is used."""

    def get_password(self, service: str, username: str, /) -> str | None: ...

    def set_password(self, service: str, username: str, password: str, /) -> None: ...


class KeyringKeys:
    place: KeyPlace = "keyring"

    def __init__(self, backend: KeyringBackend | None = None) -> None:
        self._given = backend

    def load(self, identity: str) -> bytes | None:
        text = self._attempt(lambda backend: backend.get_password(_SERVICE, identity))
        if not isinstance(text, str):
            return None
        try:
            return b64decode(text, validate=True)
        except ValueError:
            return None

    def save(self, key: bytes) -> bool:
        text, identity = b64encode(key).decode(), key_id(key)
        self._attempt(lambda backend: backend.set_password(_SERVICE, identity, text))
        # A null backend takes everything and keeps nothing: only what can be read back counts.
        return self.load(identity) == key

    def _attempt(self, action: Callable[[KeyringBackend], Any]) -> Any:
        """None when it cannot be done. Keyring backends are plugins that raise whatever their desktop raises: locked,
        headless, no D-Bus, not installed."""
        try:
            backend: Any = self._given or import_module("keyring")
            return action(backend)
        except Exception:
            return None


class _KeyFile(Struct, forbid_unknown_fields=True):
    keys: dict[str, bytes]


class FileKeys:
    place: KeyPlace = "file"

    def __init__(self, home: Path) -> None:
        self._path = home / KEY_FILE

    def load(self, identity: str) -> bytes | None:
        return self._read().get(identity)

    def save(self, key: bytes) -> bool:
        self._write({**self._read(), key_id(key): key})
        return True

    def _read(self) -> dict[str, bytes]:
        data = read_private(self._path)
        if data is None:
            return {}
        try:
            return msgspec.json.decode(data, type=_KeyFile).keys
        except msgspec.DecodeError:
            raise OpenAgentError(
                "store_error",
                f"The key file {self._path} is damaged: it is not the JSON that was written there.",
                hint="Restore it from a backup. It was left as it is.",
            ) from None

    def _write(self, keys: dict[str, bytes]) -> None:
        replace_file(self._path, msgspec.json.encode(_KeyFile(keys)))


class GivenKey:
    """From the environment: nothing of it is kept on this machine."""

    place: KeyPlace = "environment"

    def __init__(self, text: str) -> None:
        try:
            self.key = b64decode(text, validate=True)
        except ValueError:
            self.key = b""
        if len(self.key) != KEY_BYTES:
            raise OpenAgentError(
                "config_error",
                f"${KEY_VARIABLE} is no key: it takes {KEY_BYTES} bytes in base64.",
                hint="`head -c 32 /dev/urandom | base64` makes one.",
            )

    def load(self, identity: str) -> bytes | None:
        return self.key if key_id(self.key) == identity else None

    def save(self, key: bytes) -> bool:
        return key == self.key
