"""Logins to servers, on the official SDK's client. Loads the SDK: import it only when a login is at stake."""

import time
import warnings
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import httpx2
import msgspec
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
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


class Grant(Struct, omit_defaults=True):
    """What is kept of a login, each part as the SDK writes it."""

    tokens: str = ""
    client: str = ""
    metadata: str = ""
    expires_at: float = 0.0

    def __repr__(self) -> str:
        return "Grant(…)"


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
    """The client itself is let in. Without an issuer the server says where, as it does when a person logs in."""
    given = definition.oauth
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        return ClientCredentialsOAuthProvider(
            definition.url,
            GrantStorage(definition, kept, save),
            given.client_id,
            given.client_secret,
            scope=" ".join(given.scopes) or None,
            issuer=given.issuer or None,
        )


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
