"""The daemon's HTTP side: opened at its start, or when somebody first asks for an address to open in a browser."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from msgspec.structs import replace

from openagent.access.tokens import Access, owner_token
from openagent.daemon.daemon import Daemon
from openagent.gateway.web import listen, serve_web
from openagent.vault.redact import Redactor


class WebDoor:
    def __init__(
        self, daemon: Daemon, home: Path, redactor: Redactor, *, host: str, port: int, hosts: Sequence[str]
    ) -> None:
        self._daemon = daemon
        self._home = home
        self._redactor = redactor
        self._host, self._port, self._hosts = host, port, hosts
        self._stack = AsyncExitStack()
        self._lock = asyncio.Lock()
        self.access: asyncio.Future[Access] = asyncio.get_running_loop().create_future()

    async def open(self) -> str:
        """The address, which is there at once; requests are answered as soon as the daemon is up."""
        async with self._lock:
            if not self._daemon.place.web_url:
                self._redactor.register(owner_token(self._home))
                listener = listen(self._host, self._port)
                serving = serve_web(self._daemon, self._host, listener, self._access, self._hosts)
                await self._stack.enter_async_context(serving)
                host = f"[{self._host}]" if ":" in self._host else self._host
                url = f"http://{host}:{listener.getsockname()[1]}"
                self._daemon.place = replace(self._daemon.place, web_url=url)
        return self._daemon.place.web_url

    async def close(self) -> None:
        await self._stack.aclose()

    async def _access(self) -> Access:
        return await asyncio.shield(self.access)
