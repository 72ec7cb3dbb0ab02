"""The daemon's HTTP side: opened at its start, or when somebody first asks for an address to open in a browser."""

import asyncio
import contextlib
import json
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

from msgspec.structs import replace

from openagent.access.tokens import Access, owner_token
from openagent.config.settings import WebSettings
from openagent.daemon.daemon import Daemon
from openagent.filesystem.atomic_files import replace_file
from openagent.gateway.web import PortTaken, listen, serve_web
from openagent.protocol.errors import OpenAgentError
from openagent.vault.redact import Redactor

_NEIGHBORS = 20
"""How many ports are tried in order before the kernel chooses one."""
_log = logging.getLogger(__name__)


class WebDoor:
    """Once somebody has opened it, it opens again at the next start, at the same port."""

    def __init__(
        self,
        daemon: Daemon,
        home: Path,
        redactor: Redactor,
        *,
        exact: tuple[str, int] | None,
        settings: Callable[[], WebSettings],
    ) -> None:
        """`exact`: this address or none, because a proxy or a person relies on it. Without it the settings say where to
        begin to look for a free port."""
        self._daemon = daemon
        self._home = home
        self._redactor = redactor
        self._exact = exact
        self._settings = settings
        self._remembered = home / "web.json"
        self._stack = AsyncExitStack()
        self._lock = asyncio.Lock()
        self.access: asyncio.Future[Access] = asyncio.get_running_loop().create_future()

    async def open(self) -> tuple[str, str]:
        """The address, and a sentence when it is not at the port that was asked for. It is there at once; requests are
        answered as soon as the daemon is up."""
        settings = self._settings()
        host, wanted = self._exact or (settings.host, settings.port)
        async with self._lock:
            if not self._daemon.place.web_url:
                self._redactor.register(owner_token(self._home))
                listener = listen(host, wanted) if self._exact else self._listen(host, wanted)
                serving = serve_web(self._daemon, host, listener, self._access, settings.hosts)
                await self._stack.enter_async_context(serving)
                port: int = listener.getsockname()[1]
                name = f"[{host}]" if ":" in host else host
                self._daemon.place = replace(self._daemon.place, web_url=f"http://{name}:{port}")
                if not self._exact:
                    self._remember(host, wanted, port)
        url = self._daemon.place.web_url
        port = int(url.rpartition(":")[2])
        if self._exact or wanted in (0, port):
            return url, ""
        return url, f"Port {wanted} is in use, so the web interface uses {port}, also after a restart."

    async def open_again(self) -> None:
        """At the start, when it was open before."""
        if not self._remembered.exists():
            return
        try:
            await self.open()
        except OpenAgentError as problem:  # a daemon without its web page still serves the terminal
            _log.warning("web server not reopened after the restart", extra={"reason": str(problem)})

    async def close_for_good(self) -> None:
        """Until somebody opens it again."""
        async with self._lock:
            self._remembered.unlink(missing_ok=True)
            self._daemon.place = replace(self._daemon.place, web_url="")
            await self._stack.aclose()

    async def close(self) -> None:
        await self._stack.aclose()

    def _listen(self, host: str, wanted: int) -> socket.socket:
        for port in self._ports(host, wanted):
            with contextlib.suppress(PortTaken):
                return listen(host, port)
        return listen(host, 0)

    def _ports(self, host: str, wanted: int) -> Iterator[int]:
        """First where it was last time, unless another address has been set since."""
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            last = json.loads(self._remembered.read_bytes())
            if last["wanted"] == [host, wanted]:
                yield int(last["port"])
        if wanted:
            yield from range(wanted, min(wanted + _NEIGHBORS, 65536))

    def _remember(self, host: str, wanted: int, port: int) -> None:
        with contextlib.suppress(OSError):
            replace_file(self._remembered, json.dumps({"wanted": [host, wanted], "port": port}).encode())

    async def _access(self) -> Access:
        return await asyncio.shield(self.access)
