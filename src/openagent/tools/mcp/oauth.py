"""Logins to servers, on the official SDK's client. Loads the SDK: import it only when a login is at stake."""

import time
import warnings
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Protocol

import httpx2
import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider
from mcp.client.auth.utils import union_scopes
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)
from mcp.shared.exceptions import MCPDeprecationWarning
from msgspec import Struct
from pydantic import AnyUrl

from openagent.protocol.errors import OpenAgentError
from openagent.tools.mcp.definitions import ServerDefinition
from openagent.tools.mcp.guarded import guarded_client

_VERSION = "2025-11-25"
_ASSERTION = "urn:ietf:params:oauth:token-type:id-jag"


class Grant(Struct, omit_defaults=True):
    """What is kept of a login, each part as the SDK writes it."""

    tokens: str = ""
    client: str = ""
    metadata: str = ""
    expires_at: float = 0.0

    def __repr__(self) -> str:
        return "Grant(…)"


class _Exchanged(Struct):
    access_token: str = ""
    issued_token_type: str = ""
    error: str = ""
    error_description: str = ""

    def __repr__(self) -> str:
        return "_Exchanged(…)"


class Browser(Protocol):
    """A person's, and where it comes back to."""

    @property
    def redirect_uri(self) -> str: ...
    async def show(self, url: str) -> None: ...
    async def code(self) -> AuthorizationCodeResult: ...


OpenBrowser = Callable[[], AbstractAsyncContextManager[Browser]]


class GrantStorage:
    """The SDK's TokenStorage over one kept text."""

    def __init__(self, definition: ServerDefinition, kept: str, save: Callable[[str], Awaitable[None]]) -> None:
        self.grant = msgspec.json.decode(kept, type=Grant) if kept else Grant()
        self._given = definition.oauth
        self._save = save

    async def get_tokens(self) -> OAuthToken | None:
        return OAuthToken.model_validate_json(self.grant.tokens) if self.grant.tokens else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.grant.tokens = tokens.model_dump_json(exclude_none=True)
        self.grant.expires_at = time.time() + tokens.expires_in if tokens.expires_in else 0.0
        await self._keep()

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        if self._given.client_id and not _describes_itself(self._given.client_id):
            method = "client_secret_basic" if self._given.client_secret else "none"
            return OAuthClientInformationFull(
                client_id=self._given.client_id,
                client_secret=self._given.client_secret or None,
                token_endpoint_auth_method=method,
                redirect_uris=None,
            )
        return OAuthClientInformationFull.model_validate_json(self.grant.client) if self.grant.client else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.grant.client = client_info.model_dump_json(exclude_none=True)
        await self._keep()

    async def _keep(self) -> None:
        if self.grant.tokens:
            await self._save(msgspec.json.encode(self.grant).decode())


class _Provider(OAuthClientProvider):
    """Opens a browser only when a person is needed, and asks for the scopes of the server's entry too."""

    def __init__(self, definition: ServerDefinition, storage: GrantStorage, open_browser: OpenBrowser) -> None:
        client_id = definition.oauth.client_id
        super().__init__(
            definition.url,
            OAuthClientMetadata(client_name="OpenAgent", redirect_uris=[AnyUrl("http://127.0.0.1/callback")]),
            storage,
            client_metadata_url=client_id if _describes_itself(client_id) else None,
        )
        self._open_browser = open_browser
        self._scopes = " ".join(definition.oauth.scopes)

    async def _perform_authorization_code_grant(self) -> tuple[str, str]:
        context = self.context
        context.client_metadata.scope = union_scopes(context.client_metadata.scope, self._scopes)
        async with self._open_browser() as browser:
            context.client_metadata.redirect_uris = [AnyUrl(browser.redirect_uri)]
            context.redirect_handler, context.callback_handler = browser.show, browser.code
            return await super()._perform_authorization_code_grant()


def kept_login(
    definition: ServerDefinition, kept: str, save: Callable[[str], Awaitable[None]], open_browser: OpenBrowser
) -> httpx2.Auth:
    """Uses and renews a login. A browser is opened when that is no longer possible, or the server wants more."""
    storage = GrantStorage(definition, kept, save)
    provider = _Provider(definition, storage, open_browser)
    # The SDK does not remember these, and would take a token for valid and its home for the server's own.
    if storage.grant.expires_at:
        provider.context.token_expiry_time = storage.grant.expires_at
    if storage.grant.metadata:
        provider.context.oauth_metadata = OAuthMetadata.model_validate_json(storage.grant.metadata)
    return provider


def own_login(definition: ServerDefinition, kept: str, save: Callable[[str], Awaitable[None]]) -> httpx2.Auth:
    """Nobody logs in. Without an issuer the server says where the client proves itself, as it does for a person."""
    given, storage = definition.oauth, GrantStorage(definition, kept, save)
    scope = " ".join(given.scopes) or None
    if given.grant == "identity_assertion":
        return IdentityAssertionOAuthProvider(
            definition.url,
            storage,
            given.client_id,
            given.client_secret,
            given.issuer,
            partial(_identity_assertion, definition),
            scope=scope,
            token_endpoint_auth_method="client_secret_basic",  # noqa: S106
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        if given.private_key:
            signed = SignedJWTParameters(
                issuer=given.client_id,
                subject=given.client_id,
                signing_key=given.private_key,
                signing_algorithm=_algorithm_of(given.private_key),
            )
            return PrivateKeyJWTOAuthProvider(
                definition.url,
                storage,
                given.client_id,
                signed.create_assertion_provider(),
                scope=scope,
                issuer=given.issuer or None,
            )
        return ClientCredentialsOAuthProvider(
            definition.url, storage, given.client_id, given.client_secret, scope=scope, issuer=given.issuer or None
        )


def _algorithm_of(pem: str) -> str:
    try:
        key = load_pem_private_key(pem.encode(), None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise OpenAgentError(
            "config_error",
            "The `private_key` of its oauth is no key in PEM without a passphrase.",
            hint="Give it as the authorization server did, from BEGIN to END.",
        ) from None
    if isinstance(key, EllipticCurvePrivateKey):
        return {256: "ES256", 384: "ES384"}.get(key.key_size, "ES512")
    return "EdDSA" if isinstance(key, Ed25519PrivateKey) else "RS256"


async def _identity_assertion(definition: ServerDefinition, audience: str, resource: str) -> str:
    """What the identity provider gives for the person's token (RFC 8693), meant for one authorization server."""
    given = definition.oauth
    asked = {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "requested_token_type": _ASSERTION,
        "subject_token": given.identity_token,
        "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
        "audience": audience,
        "resource": resource,
        "client_id": given.identity_client or given.client_id,
    }
    async with httpx2.AsyncClient(timeout=30) as client:  # its address is from a person's entry
        answer = await client.post(given.identity_url, data=asked)
    try:
        said = msgspec.json.decode(answer.content, type=_Exchanged)
    except msgspec.DecodeError:
        said = _Exchanged()
    if not answer.is_success or not said.access_token or said.issued_token_type != _ASSERTION:
        why = said.error_description or said.error or f"status {answer.status_code}"
        raise OpenAgentError(
            "auth_failed",
            f"The identity provider at {httpx2.URL(given.identity_url).host} did not vouch for you: {why}.",
            hint="`identity_token` may have ended: get a new one.",
        )
    return said.access_token


async def log_in(
    definition: ServerDefinition, save: Callable[[str], Awaitable[None]], open_browser: OpenBrowser
) -> None:
    """Asks the server for something, and does what it then demands."""
    storage = GrantStorage(definition, "", save)
    provider = _Provider(definition, storage, open_browser)
    greeting = {
        "protocolVersion": _VERSION,
        "capabilities": {},
        "clientInfo": {"name": "openagent", "version": "1"},
    }
    headers = {**definition.headers, "Accept": "application/json, text/event-stream"}
    status = 0
    async with guarded_client(definition.url, auth=provider, timeout=30, headers=headers) as client:
        # Some servers greet everybody, and ask who it is only then.
        for method, params in (("initialize", greeting), ("tools/list", {})):
            asked = {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
            async with client.stream("POST", definition.url, json=asked) as answer:
                status = answer.status_code
                client.headers["Mcp-Protocol-Version"] = _VERSION
                if session := answer.headers.get("Mcp-Session-Id"):
                    client.headers["Mcp-Session-Id"] = session
            if storage.grant.tokens:
                break
    if not storage.grant.tokens or status in (401, 403):
        what = "did not accept the login" if storage.grant.tokens else "asks for no login"
        raise OpenAgentError("auth_failed", f"The MCP server {definition.name} {what} ({status}).")
    if provider.context.oauth_metadata is not None:
        storage.grant.metadata = provider.context.oauth_metadata.model_dump_json(exclude_none=True)
        await save(msgspec.json.encode(storage.grant).decode())


def _describes_itself(client_id: str) -> bool:
    """Its address is its id, and holds what a registration would have said."""
    return client_id.startswith("https://")
