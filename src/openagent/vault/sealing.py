"""AES-256-GCM over one credential. Name and kind are bound in, so that entries cannot be swapped or relabelled."""

import os

import msgspec
from msgspec import Struct

from openagent.vault.entries import ApiKey, Credential, EntryKind, OAuthTokens
from openagent.vault.secret import Secret

_NONCE_BYTES = 12
_CONTEXT = "openagent vault entry 1"


class Unsealable(Exception):
    """What is stored is not what was sealed under this name, kind and key."""


class _SealedOAuth(Struct):
    access: str
    refresh: str | None
    expires_at: float | None
    scopes: tuple[str, ...]
    endpoints: dict[str, str]


def kind_of(credential: Credential) -> EntryKind:
    return "api_key" if isinstance(credential, ApiKey) else "oauth"


def seal(key: bytes, name: str, credential: Credential) -> tuple[bytes, bytes]:
    """The nonce and the sealed credential."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = os.urandom(_NONCE_BYTES)
    return nonce, AESGCM(key).encrypt(nonce, _plain(credential), _bound(name, kind_of(credential)))


def unseal(key: bytes, name: str, kind: EntryKind, nonce: bytes, sealed: bytes) -> Credential:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        return _credential(kind, AESGCM(key).decrypt(nonce, sealed, _bound(name, kind)))
    except (InvalidTag, ValueError):
        raise Unsealable from None


def _bound(name: str, kind: EntryKind) -> bytes:
    return msgspec.json.encode([_CONTEXT, name, kind])


def _plain(credential: Credential) -> bytes:
    if isinstance(credential, ApiKey):
        return credential.key.reveal().encode()
    return msgspec.json.encode(
        _SealedOAuth(
            access=credential.access.reveal(),
            refresh=credential.refresh.reveal() if credential.refresh else None,
            expires_at=credential.expires_at,
            scopes=credential.scopes,
            endpoints=credential.endpoints,
        )
    )


def _credential(kind: EntryKind, plain: bytes) -> Credential:
    if kind == "api_key":
        return ApiKey(Secret(plain.decode()))
    stored = msgspec.json.decode(plain, type=_SealedOAuth)
    return OAuthTokens(
        access=Secret(stored.access),
        refresh=Secret(stored.refresh) if stored.refresh else None,
        expires_at=stored.expires_at,
        scopes=stored.scopes,
        endpoints=stored.endpoints,
    )
