"""The composition root: configuration in, every room wired, the daemon and its gateways started.

Only what opens the socket is imported at the top. The rest (SQLAlchemy, httpx2, uvicorn) loads while the socket is
already accepting connections; ops that arrive meanwhile wait for it.
"""

import argparse
import asyncio
import contextlib
import gc
import logging
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import uvloop

from openagent import __version__
from openagent.config.cache import ConfigCache
from openagent.daemon.daemon import Daemon, Place
from openagent.daemon.lifecycle import HomeLock, report_ready, unusable_home
from openagent.daemon.logs import read_levels, start_logging
from openagent.gateway.ipc import serve_ipc
from openagent.plugins.isolation import without_this_folder
from openagent.protocol import locations
from openagent.protocol.errors import OpenAgentError
from openagent.vault.redact import RedactingFilter, Redactor
from openagent.web_door import WebDoor

if TYPE_CHECKING:
    from openagent.assembly import Assembled

_SWITCH_SECONDS = 0.0001
"""Threads that load or compress something give way so often: with the usual 5 ms, events wait for them in every hop."""
_log = logging.getLogger(__name__)


class WebAddress:
    def __init__(self, text: str) -> None:
        host, _, port = text.rpartition(":")
        if not port.isdigit() or int(port) > 65535:
            raise argparse.ArgumentTypeError(f"{text!r} is not [HOST:]PORT")
        self.host, self.port = host.strip("[]") or "127.0.0.1", int(port)


@contextlib.asynccontextmanager
async def running(
    socket: Path,
    home: Path,
    configs: ConfigCache,
    web: WebAddress | None = None,
    *,
    redactor: Redactor | None = None,
    when_loaded: Callable[[], None] = lambda: None,
    role: str = "all",
) -> AsyncGenerator[Daemon, None]:
    """A daemon that accepts connections. Leaving the context cancels and saves what runs.

    `when_loaded` is called when all has been loaded that any request might want.
    """
    redactor = redactor or Redactor()
    daemon = Daemon(Place(socket=str(socket), home=str(home)))
    async with contextlib.AsyncExitStack() as stack:
        ipc = await serve_ipc(daemon, socket)
        stack.callback(ipc.close)
        exact = (web.host, web.port) if web else None
        door = WebDoor(daemon, home, redactor, exact=exact, settings=lambda: configs.load().settings.web)
        loading = asyncio.create_task(_load(daemon, configs, home, redactor, door, when_loaded=when_loaded, role=role))
        stack.push_async_callback(_unload, daemon, loading)
        stack.push_async_callback(door.close)
        if web is not None:
            await door.open()
        elif role != "worker":
            await door.open_again()
        _log.info(
            "daemon listening", extra={"socket": str(socket), "web": daemon.place.web_url, "version": __version__}
        )
        yield daemon


def _assemble(
    daemon: Daemon,
    configs: ConfigCache,
    home: Path,
    redactor: Redactor,
    *,
    door: WebDoor,
    loop: asyncio.AbstractEventLoop,
    role: str,
) -> "Assembled":
    from openagent.assembly import assemble

    return assemble(
        daemon,
        configs,
        home,
        redactor,
        loop=loop,
        open_web=door.open,
        close_web=door.close_for_good,
        role=role,
    )


async def _load(
    daemon: Daemon,
    configs: ConfigCache,
    home: Path,
    redactor: Redactor,
    door: WebDoor,
    *,
    when_loaded: Callable[[], None],
    role: str,
) -> "Assembled":
    loop = asyncio.get_running_loop()
    try:
        assembled = await asyncio.to_thread(_assemble, daemon, configs, home, redactor, door=door, loop=loop, role=role)
        manager = assembled.behind.manager
        manager.runtime.clock.begin(await assembled.store_lease.begin())
        if assembled.of_team is not None:
            await assembled.of_team.start()
            daemon.drain = assembled.of_team.drain
    except BaseException as problem:
        _log.exception("daemon failed to start")
        daemon.failed(problem)
        daemon.stopping.set()
        raise
    door.access.set_result(assembled.access)
    daemon.ready(assembled.behind)
    assembled.start(when_loaded)
    recover = manager.recover_all if assembled.has_sessions else _nothing
    await recover()
    assembled.store_lease.keep_up(recover, manager.drop_lost)
    return assembled


async def _nothing() -> None:
    """A gateway has no sessions, and takes none of those that a lost worker had."""


async def _unload(daemon: Daemon, loading: "asyncio.Task[Assembled]") -> None:
    await asyncio.wait([loading])
    assembled = loading.result() if loading.exception() is None else None
    if assembled is not None:
        await assembled.stop_working()
    await daemon.close()
    if assembled is not None:
        await assembled.close()


def _collect_again() -> None:
    """What is loaded stays: looking through all of it for garbage would hold up everybody for 70 ms, time and again."""
    from openagent.daemon.heap import give_back_what_is_freed

    give_back_what_is_freed()
    gc.freeze()
    gc.enable()


def _read_again(configs: ConfigCache) -> None:
    """As servers do: a terminal that closes ends nothing, and who changed the settings can have them read at once."""
    configs.forget()
    try:
        configs.load()
        _log.info("settings reloaded")
    except OpenAgentError as problem:
        _log.error("settings could not be reloaded, the earlier ones stay in effect", extra={"reason": str(problem)})


async def serve(
    socket: Path, home: Path, configs: ConfigCache, web: WebAddress | None, redactor: Redactor, *, role: str
) -> None:
    async with running(socket, home, configs, web, redactor=redactor, when_loaded=_collect_again, role=role) as daemon:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, daemon.stop_when_drained)
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, _read_again, configs)
        report_ready()
        await daemon.stopping.wait()
    _log.info("daemon stopped")
    if daemon.failure is not None:
        raise daemon.failure


def _leave_this_folder() -> None:
    """The one that somebody happened to be in: it may go, and what lies in it must not become our modules."""
    here = os.getcwd()
    os.environ.update(locations.wherever_we_are(os.environ))
    sys.path[:] = without_this_folder(sys.path, here)
    os.chdir("/")


def main(arguments: list[str]) -> int:
    """`openagent serve` in the foreground."""
    gc.disable()  # until all is loaded: there is no garbage among modules
    sys.setswitchinterval(_SWITCH_SECONDS)
    parser = argparse.ArgumentParser(prog="openagent serve", add_help=False)
    parser.add_argument("--ipc-socket", type=Path)
    parser.add_argument("--web-socket", type=WebAddress)
    parser.add_argument("--role", choices=("all", "gateway", "worker"), default="all")
    given = parser.parse_args(arguments)
    env = os.environ
    given.ipc_socket = given.ipc_socket and given.ipc_socket.absolute()
    _leave_this_folder()
    home = Path(locations.data_home(env))
    lock = HomeLock(home)
    try:
        configs = ConfigCache(env)
        settings = configs.load().settings
        if given.role != "all" and not settings.redis:
            raise OpenAgentError(
                "config_error",
                f"A {given.role} is one of a team, and no `redis` is set through which it could speak to the others.",
                hint='Set `redis = "redis://:PASSWORD@host:6379/0"` and `database = "postgresql://…"`, '
                "or leave --role out.",
            )
        lock.acquire()
        redactor = Redactor()
        redacting = RedactingFilter(redactor)
        try:
            shown = settings.log.stderr or sys.stderr.isatty()
            levels = read_levels(os.environ.get("OPENAGENT_LOG", ""), settings.log.level)
            start_logging(home / "logs", levels, to_terminal=shown, filters=[redacting])
        except OSError as problem:
            raise unusable_home(home, problem) from None
    except OpenAgentError as problem:
        report_ready(str(problem))
        print(problem, file=sys.stderr)  # noqa: T201
        return 1
    web = given.web_socket
    if web is None and settings.web.enabled and given.role != "worker":
        web = WebAddress(f"{settings.web.host}:{settings.web.port}")
    try:
        uvloop.run(
            serve(given.ipc_socket or Path(locations.socket_path(env)), home, configs, web, redactor, role=given.role)
        )
    except OpenAgentError as problem:
        _log.error("daemon failed to start", extra={"reason": str(problem)})
        report_ready(str(problem))
        print(problem, file=sys.stderr)  # noqa: T201
        return 1
    finally:
        lock.release()
    return 0
