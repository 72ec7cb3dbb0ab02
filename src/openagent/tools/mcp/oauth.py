"""Logins to servers, on the official SDK's client. Loads the SDK: import it only when a login is at stake."""

import time
from collections.abc import Awaitable, Callable

import httpx2
import msgspec
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)
from msgspec import Struct
from pydantic import AnyUrl

from openagent.protocol.errors import OpenAgentError
from openagent.tools.mcp.definitions import ServerDefinition


class Grant(Struct, omit_defaults=True):
    """What is kept of a login, each part as the SDK writes it."""

    tokens: str = ""
    client: str = ""
    metadata: str = ""
    expires_at: float = 0.0

    def __repr__(self) -> str:
        return "Grant(…)"


class GrantStorage:
    """The SDK's TokenStorage over one kept text."""

    def __init__(self, kept: str, save: Callable[[str], Awaitable[None]]) -> None:
        self.grant = msgspec.json.decode(kept, type=Grant) if kept else Grant()
        self._save = save

    async def get_tokens(self) -> OAuthToken | None:
        return OAuthToken.model_validate_json(self.grant.tokens) if self.grant.tokens else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.grant.tokens = tokens.model_dump_json(exclude_none=True)
        self.grant.expires_at = time.time() + tokens.expires_in if tokens.expires_in else 0.0
        await self._keep()

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return OAuthClientInformationFull.model_validate_json(self.grant.client) if self.grant.client else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.grant.client = client_info.model_dump_json(exclude_none=True)
        await self._keep()

    async def _keep(self) -> None:
        if self.grant.tokens:
            await self._save(msgspec.json.encode(self.grant).decode())


def kept_login(definition: ServerDefinition, kept: str, save: Callable[[str], Awaitable[None]]) -> httpx2.Auth:
    """Uses and renews a login. When that is no longer possible, a person has to log in again."""

    async def refuse(url: str) -> None:
        raise OpenAgentError("auth_failed", "Its login has ended.", hint=f"`openagent mcp login {definition.name}`.")

    async def nobody() -> AuthorizationCodeResult:
        raise AssertionError("nobody was sent to log in")

    storage = GrantStorage(kept, save)
    provider = _provider(definition, storage, "http://127.0.0.1/callback", refuse, nobody)
    # The SDK does not remember these, and would take a token for valid and its home for the server's own.
    if storage.grant.expires_at:
        provider.context.token_expiry_time = storage.grant.expires_at
    if storage.grant.metadata:
        provider.context.oauth_metadata = OAuthMetadata.model_validate_json(storage.grant.metadata)
    return provider


async def log_in(
    definition: ServerDefinition,
    redirect_uri: str,
    show: Callable[[str], None],
    code: Callable[[], Awaitable[AuthorizationCodeResult]],
    save: Callable[[str], Awaitable[None]],
) -> None:
    """Asks the server for something, and does what it then demands: `show` is told where a person grants access."""

    async def send(url: str) -> None:
        show(url)

    storage = GrantStorage("", save)
    provider = _provider(definition, storage, redirect_uri, send, code)
    greeting = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "openagent", "version": "1"},
        },
    }
    headers = {**definition.headers, "Accept": "application/json, text/event-stream"}
    async with (
        httpx2.AsyncClient(auth=provider, timeout=30) as client,
        client.stream("POST", definition.url, json=greeting, headers=headers) as answer,
    ):
        refused = answer.status_code in (401, 403)
    if not storage.grant.tokens or refused:
        what = "did not accept the login" if refused else "asks for no login"
        raise OpenAgentError("auth_failed", f"The MCP server {definition.name} {what} ({answer.status_code}).")
    if provider.context.oauth_metadata is not None:
        storage.grant.metadata = provider.context.oauth_metadata.model_dump_json(exclude_none=True)
        await save(msgspec.json.encode(storage.grant).decode())


def _provider(
    definition: ServerDefinition,
    storage: GrantStorage,
    redirect_uri: str,
    redirect: Callable[[str], Awaitable[None]],
    code: Callable[[], Awaitable[AuthorizationCodeResult]],
) -> OAuthClientProvider:
    metadata = OAuthClientMetadata(client_name="OpenAgent", redirect_uris=[AnyUrl(redirect_uri)])
    return OAuthClientProvider(definition.url, metadata, storage, redirect, code)
