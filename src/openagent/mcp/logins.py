"""Logins to MCP servers: a browser comes back to this machine, what it brings is kept in the vault."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from importlib import import_module
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qs, urlsplit

from openagent.protocol.auth import LoginStarted
from openagent.protocol.errors import OpenAgentError
from openagent.tools.mcp.definitions import ServerDefinition
from openagent.tools.mcp.server import AskToVisit
from openagent.vault.entries import MCP_LOGIN, ApiKey
from openagent.vault.secret import Secret
from openagent.vault.vault import Vault

if TYPE_CHECKING:
    import httpx2

PATIENCE = 900.0
"""Seconds a person has to log in."""
_CALLBACK = "/callback"


class McpLogins:
    def __init__(self, vault: Vault, logged_in: Callable[[str], None]) -> None:
        """`logged_in` is told the server's name."""
        self._vault = vault
        self._logged_in = logged_in
        self._attempts: dict[str, tuple[_Callback, asyncio.Task[None]]] = {}

    async def auth(self, definition: ServerDefinition, visit: AskToVisit) -> "httpx2.Auth | None":
        """For requests to a server somebody is logged in to. When it wants more than was granted, `visit` asks."""
        by_itself = bool(definition.oauth.grant)
        kept = await asyncio.to_thread(self._kept, definition.name) if definition.transport != "stdio" else ""
        if not kept and not by_itself:
            return None
        sdk = await asyncio.to_thread(import_module, "openagent.tools.mcp.oauth")

        if by_itself:
            return sdk.own_login(definition, kept, partial(self._keep, definition.name))

        async def show(url: str) -> None:
            if not await visit("Log in again, so that it can do what it was asked to.", url):
                raise OpenAgentError(
                    "auth_failed", "Its login is not enough.", hint=f"`openagent mcp login {definition.name}`."
                )

        return sdk.kept_login(definition, kept, partial(self._keep, definition.name), lambda: _Callback(show))

    async def start(self, definition: ServerDefinition) -> LoginStarted:
        if definition.transport == "stdio":
            raise OpenAgentError(
                "invalid_argument",
                f"{definition.name} is a command: there is nothing to log in to.",
                hint="Set its keys.",
            )
        if definition.oauth.grant:
            by_what = "what an identity provider says" if definition.oauth.identity_url else "its own id and secret"
            raise OpenAgentError(
                "invalid_argument",
                f"{definition.name} lets the client in by {by_what}: nobody logs in.",
                hint=f"`openagent mcp test {definition.name}` tries it.",
            )
        sdk = await asyncio.to_thread(import_module, "openagent.tools.mcp.oauth")
        shown: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def show(url: str) -> None:
            shown.set_result(url)

        callback = _Callback(show)
        task = asyncio.create_task(self._carry_out(sdk, definition, callback), name=f"login to {definition.name}")
        await asyncio.wait([task, shown], return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            shown.cancel()
            task.result()
            raise OpenAgentError("auth_failed", f"The MCP server {definition.name} asks for no login.")
        identity = token_hex(8)
        self._attempts[identity] = (callback, task)
        return LoginStarted(login=identity, url=shown.result(), expires_at=time.time() + PATIENCE)

    async def finish(self, login: str, answer: str) -> None:
        """Returns when somebody is logged in. `answer` is the address the browser ended at, where it could not come
        back by itself."""
        if login not in self._attempts:
            raise OpenAgentError("not_found", "This login has ended or was never started.", hint="Start it again.")
        callback, task = self._attempts[login]
        if answer:
            callback.take(answer)
        try:
            await asyncio.shield(task)
        finally:
            if task.done():
                self._attempts.pop(login, None)

    async def log_out(self, name: str) -> None:
        await asyncio.to_thread(self._vault.remove, _entry(name))
        self._logged_in(name)

    async def close(self) -> None:
        tasks = [task for _, task in self._attempts.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _carry_out(self, sdk: Any, definition: ServerDefinition, callback: "_Callback") -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                await sdk.log_in(definition, partial(self._keep, definition.name), lambda: callback)
        except OpenAgentError:
            raise
        except Exception as problem:  # the SDK has many: a person needs one
            said = str(problem) or type(problem).__name__
            raise OpenAgentError(
                "auth_failed", f"The login to {definition.name} failed: {said}", hint="Start the login again."
            ) from None
        self._logged_in(definition.name)

    def _kept(self, name: str) -> str:
        if _entry(name) not in {info.name for info in self._vault.list()}:
            return ""
        kept = self._vault.get(_entry(name))
        return kept.key.reveal() if isinstance(kept, ApiKey) else ""

    async def _keep(self, name: str, grant: str) -> None:
        await asyncio.to_thread(self._vault.add, _entry(name), ApiKey(Secret(grant)), {}, replace=True)


def _entry(name: str) -> str:
    return f"{MCP_LOGIN}{name}"


class _Callback:
    """Where the browser comes back to: a tiny server on 127.0.0.1."""

    redirect_uri: str

    def __init__(self, show: Callable[[str], Awaitable[None]]) -> None:
        self._show = show
        self._state = ""
        self._answered: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=16384)
        self.redirect_uri = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}{_CALLBACK}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self._answered.cancel()

    async def show(self, url: str) -> None:
        self._state = parse_qs(urlsplit(url).query).get("state", [""])[0]
        await self._show(url)

    async def code(self) -> Any:
        fields = await self._answered
        if "code" not in fields:
            raise OpenAgentError("auth_failed", f"The login was refused ({fields.get('error', 'no code')}).")
        from mcp.shared.auth import AuthorizationCodeResult

        return AuthorizationCodeResult(code=fields["code"], state=fields.get("state"), iss=fields.get("iss"))

    def take(self, address: str) -> bool:
        """Only what carries this login's state counts: any page can send a browser here."""
        fields = {name: values[0] for name, values in parse_qs(urlsplit(address.strip()).query).items()}
        ours = bool(self._state) and fields.get("state") == self._state
        if ours and not self._answered.done():
            self._answered.set_result(fields)
        return ours

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(10):
                head = await reader.readuntil(b"\r\n\r\n")
                target = head.split(b" ", 2)[1].decode("latin-1")
                taken = urlsplit(target).path == _CALLBACK and self.take(target)
                body = b"You can close this window and go back to OpenAgent." if taken else b"There is nothing here."
                status = "200 OK" if taken else "404 Not Found"
                writer.write(
                    f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
                    "Cache-Control: no-store\r\nConnection: close\r\n\r\n".encode()
                    + body
                )
                await writer.drain()
        except (TimeoutError, OSError, IndexError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()
