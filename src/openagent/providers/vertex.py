"""Access tokens for Vertex AI from a service account's key: a signed claim is exchanged for a token of an hour."""

import asyncio
import base64
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from openagent.plugins.provider import AuthenticationFailed, ConnectionFailed

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_LIFETIME_S = 3600
_MARGIN_S = 120
"""A token is renewed this long before it ends."""


class _KeyFile(Struct):
    type: str
    client_email: str = ""
    private_key: str = ""
    private_key_id: str = ""
    project_id: str = ""
    token_uri: str = "https://oauth2.googleapis.com/token"  # noqa: S105


class _Token(Struct):
    access_token: str
    expires_in: int = _LIFETIME_S


class ServiceAccount:
    """Reads its key file when it is first needed, and holds one token at a time."""

    def __init__(self, provider: str, path: str, *, project: str = "") -> None:
        self._provider = provider
        self._path = path
        self._project = project
        self._key: _KeyFile | None = None
        self._token = ""
        self._renew_at = 0.0
        self._renewing = asyncio.Lock()

    def __repr__(self) -> str:
        return f"ServiceAccount({self._path!r})"

    @property
    def project(self) -> str:
        return self._project or self._key_file().project_id

    async def token(self) -> str:
        async with self._renewing:
            if time.time() >= self._renew_at:
                token = await self._exchange(self._key_file())
                self._token = token.access_token
                self._renew_at = time.time() + token.expires_in - _MARGIN_S
            return self._token

    def _key_file(self) -> _KeyFile:
        if self._key is None:
            self._key = self._load()
        return self._key

    def _load(self) -> _KeyFile:
        hint = "GOOGLE_APPLICATION_CREDENTIALS must name the JSON key file of a service account."
        try:
            key = msgspec.json.decode(Path(self._path).read_bytes(), type=_KeyFile)
        except OSError as problem:
            message = f"The credentials of {self._provider} cannot be read: {self._path}: {problem.strerror}."
            raise AuthenticationFailed(message, hint=hint) from None
        except msgspec.DecodeError:
            raise AuthenticationFailed(
                f"The credentials of {self._provider} in {self._path} are not a key file.", hint=hint
            ) from None
        if key.type != "service_account" or not key.private_key or not key.client_email:
            raise AuthenticationFailed(
                f"The credentials of {self._provider} in {self._path} are {key.type!r}, not a service account's.",
                hint=hint,
            )
        return key

    async def _exchange(self, key: _KeyFile) -> _Token:
        import httpx2

        form = {"grant_type": _GRANT, "assertion": await asyncio.to_thread(_assertion, key, self._path)}
        try:
            async with httpx2.AsyncClient(timeout=30) as client:
                response = await client.post(key.token_uri, data=form)
        except httpx2.HTTPError as problem:
            raise ConnectionFailed(
                f"No access token for {self._provider}: {key.token_uri} cannot be reached ({problem}).",
                hint="Check the network.",
            ) from None
        try:
            return msgspec.json.decode(response.content, type=_Token)
        except msgspec.DecodeError:
            raise AuthenticationFailed(
                f"Google refused the service account of {self._provider} with status {response.status_code}.",
                hint=f"Check that the key in {self._path} is still valid, and this machine's clock.",
            ) from None


def _assertion(key: _KeyFile, path: str) -> str:
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import padding, rsa

    now = int(time.time())
    header = {"alg": "RS256", "typ": "JWT", "kid": key.private_key_id}
    claims = {
        "iss": key.client_email,
        "scope": _SCOPE,
        "aud": key.token_uri,
        "iat": now,
        "exp": now + _LIFETIME_S,
    }
    signed = f"{_part(header)}.{_part(claims)}"
    try:
        private_key = serialization.load_pem_private_key(key.private_key.encode(), password=None)
    except ValueError:
        private_key = None
    if not isinstance(private_key, rsa.RSAPrivateKey):
        raise AuthenticationFailed(
            f"The private key in {path} cannot be used.", hint="Download the service account's key file again."
        )
    signature = private_key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
    return f"{signed}.{_base64url(signature)}"


def _part(data: Mapping[str, object]) -> str:
    return _base64url(msgspec.json.encode(data))


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
