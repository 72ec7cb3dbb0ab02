"""The recovery key: what a vault is sealed to when it leaves its machine in a backup.

It is an entry of the vault itself, so it lies nowhere in plain beside what it opens; a person keeps it elsewhere.
"""

import base64
import hmac
import os
from hashlib import sha256

from openagent.protocol.errors import OpenAgentError
from openagent.vault.entries import RECOVERY, ApiKey
from openagent.vault.secret import Secret
from openagent.vault.vault import Vault

_BYTES = 20
_GROUP = 4
_NONCE_BYTES = 12
_CONTEXT = b"openagent backup vault 1"


def recovery_key(vault: Vault) -> str:
    """Made when it is first asked for."""
    if RECOVERY not in {info.name for info in vault.list()}:
        vault.add(RECOVERY, ApiKey(Secret(_spelled(os.urandom(_BYTES)))))
    kept = vault.get(RECOVERY)
    assert isinstance(kept, ApiKey)
    return kept.key.reveal()


def seal_vault(vault: Vault) -> bytes | None:
    """None when it holds nothing."""
    if not vault.list():
        return None
    key = _key(recovery_key(vault))
    return vault.carried(lambda plain: _seal(key, plain))


def unseal_vault(sealed: bytes, recovery: str) -> bytes:
    """For `Vault.carry_in`."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        return AESGCM(_key(recovery)).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], _CONTEXT)
    except (InvalidTag, ValueError):
        raise OpenAgentError(
            "auth_failed",
            "This recovery key does not open the keys in the backup.",
            hint="`openagent backup key` prints the right one where the backup was made.",
        ) from None


def _seal(key: bytes, plain: bytes) -> bytes:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = os.urandom(_NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, plain, _CONTEXT)


def _spelled(raw: bytes) -> str:
    letters = base64.b32encode(raw).decode()
    return "-".join(letters[at : at + _GROUP] for at in range(0, len(letters), _GROUP))


def _key(spelled: str) -> bytes:
    """As people type it: in any case, with or without the dashes."""
    try:
        raw = base64.b32decode("".join(spelled.replace("-", "").split()).upper())
    except ValueError:
        raw = b""
    if len(raw) != _BYTES:
        raise OpenAgentError(
            "invalid_argument",
            "A recovery key has eight groups of four letters and digits.",
            hint="`openagent backup key` prints it where the backup was made.",
        )
    return hmac.digest(raw, _CONTEXT, sha256)
