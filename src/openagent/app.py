"""The composition root: configuration in, every room wired, the daemon and its gateways started.

Only what opens the socket is imported at the top. The rest (SQLAlchemy, httpx2, uvicorn) loads while the socket is
already accepting connections; ops that arrive meanwhile wait for it.
"""

import argparse
import asyncio
import contextlib
import functools
import logging
import os
import signal
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import uvloop

from openagent import __version__, config
from openagent.config.cache import ConfigCache
from openagent.config.project import RULES
from openagent.config.settings import PROVIDER_KINDS, SearchSettings
from openagent.daemon.daemon import Daemon, Place
from openagent.daemon.lifecycle import HomeLock, report_ready
from openagent.daemon.logs import start_logging
from openagent.gateway.ipc import serve_ipc
from openagent.protocol import locations
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import BackgroundFinished, BudgetExceeded, BudgetWarning, Event, McpServerStatus
from openagent.services.web import WebDoor
from openagent.vault.redact import RedactingFilter, Redactor

if TYPE_CHECKING:
    from openagent.daemon.bus import EventBus
    from openagent.daemon.daemon import Handler
    from openagent.daemon.manager import SessionManager
    from openagent.plugins.jail import BackgroundCommand, Jail
    from openagent.plugins.store import Store
    from openagent.protocol.op import Op
    from openagent.services.wiring import Services
    from openagent.store.sql_store import SqlStore
    from openagent.telemetry.ledger import BudgetLedger
    from openagent.telemetry.prices import PriceBook
    from openagent.tools.mcp.definitions import ServerDefinition
    from openagent.tools.mcp.server import Authorize, McpServer, Sample
    from openagent.tools.web_search import JsonSearch

_log = logging.getLogger(__name__)


def build_manager(
    daemon: Daemon, configs: ConfigCache, home: Path, redactor: Redactor
) -> "tuple[SessionManager, Services]":
    """The heavy part. Runs in a thread while the socket is already open."""
    from openagent.collectors.registry import built_in_collectors
    from openagent.core.runtime import Runtime
    from openagent.daemon.manager import SessionManager
    from openagent.plugins.collector import ContextSettings
    from openagent.plugins.loading import Collectors, PluginLoader
    from openagent.services.customizing.service import Customizing
    from openagent.services.intent import IntentGate
    from openagent.services.mcp import McpService, own_file
    from openagent.services.recall import StoredMemory
    from openagent.services.safety import Safety
    from openagent.services.team import Team
    from openagent.services.templates import TEAM_TOOLS, Surroundings
    from openagent.services.wiring import Services
    from openagent.store import open_store
    from openagent.store.access import SqlAccess
    from openagent.telemetry.cache_misses import CacheWatch
    from openagent.tools.mcp.host import MCPHost
    from openagent.tools.registry import built_in_tools

    settings = configs.load().settings
    store = open_store(settings.store.url)
    caches = CacheWatch()

    def tell(session: str, event: Event) -> None:
        if loaded := manager.loaded(session):
            loaded.post(event)

    prices = price_book(settings)
    plugins = PluginLoader()
    safety = Safety(home, configs)
    services = Services(
        home,
        configs.load,
        configs.environment,
        redactor=redactor,
        prices=prices,
        plugins=plugins,
        may_read=safety.may_read,
    )
    scratch = home / "scratch"
    search, memory = _web_search(settings.tools.search), StoredMemory(store)
    offered = functools.partial(built_in_tools, search=search, index=services.index, memory=memory)
    tools = offered(disabled=settings.tools.disabled)
    hidden = [*_kept_from_agents(home, configs.environment({})), own_file(configs)]

    def tell_workspace(workspace: Path, status: McpServerStatus) -> None:
        daemon.bus.publish(status)
        for session in manager.all_loaded:
            if session.workspace == workspace:
                session.show(status)

    def make_host(on_change: "Callable[[Path, McpServer], None]", sample: "Sample", authorize: "Authorize") -> MCPHost:
        start = functools.partial(start_mcp_server, settings.jail, scratch, hidden)
        return MCPHost(
            start,
            reserved=[*TEAM_TOOLS, *(tool.name for tool in offered())],
            on_change=on_change,
            sample=sample,
            authorize=authorize,
            share=settings.tools.schema_share,
        )

    mcp = services.mcp = McpService(store, configs, redactor, services.vault, make_host=make_host, tell=tell_workspace)
    custom = services.customizing = Customizing(configs, jailed_starter(settings.jail, scratch, hidden), plugins, tools)
    custom.take_prompts(mcp.prompts, mcp.prompt)
    around = Surroundings(custom.tools_beside(mcp.tools), mcp.tool_names, mcp.server_names, services.catalog.resolve)
    team = services.team = Team(configs, store, safety, tools, around)
    runtime = Runtime(
        store=store,
        resolve_model=services.catalog.resolve,
        tools=tools,
        more_tools=team.tools,
        offers=mcp.offers,
        jail=build_jail(settings.jail, scratch, hidden, tell),
        scratch=scratch,
        ledger=build_ledger(settings, prices, configs.environment({}), store, tell),
        collectors=Collectors(built_in_collectors(redactor.redact), plugins),
        context=lambda workspace: msgspec.convert(
            configs.load(workspace).settings.context, ContextSettings, from_attributes=True
        ),
        checkpoints=safety.checkpoints,
        open_workspace=safety.open_workspace,
        rules=team.lineage.rules,
        notices=lambda workspace: [*safety.notices(workspace), *custom.notices(workspace)],
        gate=IntentGate(
            services.telling_of_code(custom.gate),
            lambda workspace: configs.load(workspace).settings.intent,
            lambda session: manager.loaded(session),  # noqa: PLW0108 -- the manager is made from this runtime
        ),
        remember_grant=team.lineage.remember,
        ask_timeout=configs.ask_timeout,
        explain_cache=lambda session, model, request, usage: (
            caches.observe(session, model, request, usage, time.time()).detail
        ),
    )
    manager = SessionManager(runtime, daemon.bus, configs.session_settings, team.templates.settings)
    for served in (
        services.handlers(manager, daemon.bus),
        services.for_people(daemon, manager, SqlAccess(store), safety, hidden),
        safety.handlers(store),
        mcp.handlers(manager),
        team.handlers(manager, daemon.bus),
        custom.handlers(manager, daemon.bus),
        _tools_and_tasks(configs, manager, store, daemon.bus, home / "tasks"),
    ):
        daemon.serve_ops(served)
    return manager, services


def _web_search(settings: SearchSettings) -> "JsonSearch | None":
    from openagent.tools.web_search import JsonSearch

    return JsonSearch(settings.kind, settings.base_url, settings.api_key) if settings.kind else None


def _kept_from_agents(home: Path, env: Mapping[str, str]) -> list[Path]:
    """What the jail hides where it lies inside a workspace: what was said and done, and what decides about agents."""
    settings = Path(locations.config_file(env))
    usual = [settings.parent] if not env.get("OPENAGENT_CONFIG") else []
    return [home, settings, settings.with_name(RULES), *usual]


def build_jail(
    settings: config.JailSettings, scratch: Path, hidden: list[Path], tell: Callable[[str, Event], None]
) -> "Jail":
    from openagent.jail.bwrap import BwrapJail
    from openagent.jail.docker import DockerJail
    from openagent.jail.host import HostJail
    from openagent.jail.limits import Limits

    def ended(session: str, command: "BackgroundCommand") -> None:
        tell(
            session,
            BackgroundFinished(command_id=command.id, exit_code=command.exit_code, duration_ms=command.duration_ms),
        )

    if settings.kind == "plugin":
        return _plugged_jail(settings, scratch, hidden, ended)
    if settings.kind == "host":
        return HostJail(background_after=settings.background_after, log_dir=scratch, on_background_end=ended)
    limits = Limits(
        memory=config.size_in_bytes(settings.memory),
        processes=settings.processes,
        cpus=settings.cpus,
        file_size=config.size_in_bytes(settings.file_size),
        disk=config.size_in_bytes(settings.disk),
    )
    if settings.kind == "bwrap":
        return BwrapJail(
            network=settings.network,
            limits=limits,
            hidden=hidden,
            background_after=settings.background_after,
            log_dir=scratch,
            on_background_end=ended,
        )
    return DockerJail(
        image=settings.image,
        network=settings.network,
        limits=limits,
        hidden=hidden,
        background_after=settings.background_after,
        log_dir=scratch,
        on_background_end=ended,
    )


def _plugged_jail(
    settings: config.JailSettings, scratch: Path, hidden: list[Path], ended: "Callable[[str, BackgroundCommand], None]"
) -> "Jail":
    from openagent.plugins.loading import JailOptions, PluginLoader

    options = JailOptions(
        network=settings.network,
        memory=config.size_in_bytes(settings.memory),
        processes=settings.processes,
        hidden=hidden,
        scratch=scratch,
        background_after=settings.background_after,
        on_background_end=ended,
    )
    return PluginLoader().jail(settings.plugin)(options)


def jailed_starter(
    settings: config.JailSettings, scratch: Path, hidden: list[Path]
) -> "Callable[[Path, Sequence[str], Mapping[str, str]], Awaitable[asyncio.subprocess.Process]]":
    """Starts programs that are no part of a session's shell behind the same walls."""
    from openagent.plugins.jail import ProcessJail

    @functools.cache
    def jail() -> "Jail":
        return build_jail(settings, scratch, hidden, lambda _session, _event: None)

    async def start(workspace: Path, argv: Sequence[str], env: Mapping[str, str]) -> asyncio.subprocess.Process:
        built = jail()
        if not isinstance(built, ProcessJail):
            raise OpenAgentError(
                "jail_error",
                "Programs beside a session's shell (MCP servers, hooks of projects) cannot run in this kind of jail.",
                hint='Choose `[jail] kind = "bwrap"`.',
            )
        return await built.start_process(workspace, argv, env=env)

    return start


async def start_mcp_server(
    jail_settings: config.JailSettings,
    scratch: Path,
    hidden: list[Path],
    definition: "ServerDefinition",
    workspace: Path,
) -> asyncio.subprocess.Process:
    """In the jail, with the network that the server needs where its entry names one."""
    if definition.network:
        jail_settings = msgspec.structs.replace(jail_settings, network=definition.network)
    start = jailed_starter(jail_settings, scratch, hidden)
    return await start(workspace, [definition.command, *definition.args], definition.env)


def price_book(settings: config.Settings) -> "PriceBook":
    from openagent.telemetry.prices import PriceBook, PricedProvider

    kinds = {kind: PricedProvider(kind) for kind in PROVIDER_KINDS}
    named = {name: PricedProvider(given.kind, given.base_url) for name, given in settings.providers.items()}
    return PriceBook({**kinds, **named}, {name: msgspec.to_builtins(price) for name, price in settings.prices.items()})


def build_ledger(
    settings: config.Settings,
    prices: "PriceBook",
    env: Mapping[str, str],
    store: "Store",
    tell: Callable[[str, Event], None],
) -> "BudgetLedger":
    from openagent.telemetry.accounts import BudgetNotice, Spent
    from openagent.telemetry.journal import Journal
    from openagent.telemetry.ledger import BudgetLedger, DayLimits, Limits

    def on_notice(notice: BudgetNotice) -> None:
        kind = BudgetWarning if notice.kind == "warning" else BudgetExceeded
        tell(notice.session, kind(scope=notice.scope, spent=notice.spent, limit=notice.limit, unit=notice.unit))

    async def spent_since(start: float) -> Spent:
        tokens, cost_usd, _ = await store.usage_totals(since=start)
        return Spent(tokens.input_tokens + tokens.output_tokens, cost_usd)

    budget = settings.budget
    return BudgetLedger(
        prices,
        defaults=Limits(tree_usd=budget.session_usd, tree_tokens=budget.session_tokens),
        day=DayLimits(usd=budget.day_usd, tokens=budget.day_tokens),
        warn_at=budget.warn_at,
        spent_since=spent_since,
        on_notice=on_notice,
        on_record=Journal(Path(env["LEDGER_PATH"])).append if env.get("LEDGER_PATH") else None,
    )


def _tools_and_tasks(
    configs: ConfigCache, manager: "SessionManager", store: "SqlStore", bus: "EventBus", agreed: Path
) -> "dict[type[Op], Handler]":
    from openagent.services.tasks import TaskService
    from openagent.services.tool_switch import ToolSwitch
    from openagent.store.tasks import SqlTasks

    return {**ToolSwitch(configs, manager).handlers(), **TaskService(SqlTasks(store), bus, agreed).handlers()}


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
) -> AsyncGenerator[Daemon, None]:
    """A daemon that accepts connections. Leaving the context cancels and saves what runs."""
    redactor = redactor or Redactor()
    daemon = Daemon(Place(socket=str(socket), home=str(home)))
    async with contextlib.AsyncExitStack() as stack:
        ipc = await serve_ipc(daemon, socket)
        stack.callback(ipc.close)
        set_up = configs.load().settings.web
        address = web or WebAddress(f"{set_up.host}:{set_up.port}")
        door = WebDoor(daemon, home, redactor, host=address.host, port=address.port, hosts=set_up.hosts)
        loading = asyncio.create_task(_load(daemon, configs, home, redactor, door))
        stack.push_async_callback(_unload, daemon, loading)
        stack.push_async_callback(door.close)
        if web is not None:
            await door.open()
        _log.info("listening", extra={"socket": str(socket), "web": daemon.place.web_url, "version": __version__})
        yield daemon


async def _load(
    daemon: Daemon, configs: ConfigCache, home: Path, redactor: Redactor, door: WebDoor
) -> "tuple[SessionManager, Services]":
    try:
        manager, services = await asyncio.to_thread(build_manager, daemon, configs, home, redactor)
    except BaseException as problem:
        _log.exception("could not start")
        daemon.failed(problem)
        daemon.stopping.set()
        raise
    services.access.open_web = door.open
    door.access.set_result(services.access)
    daemon.ready(manager, configs.show)
    services.start()
    assert services.team is not None
    await services.team.recover(manager)
    return manager, services


async def _unload(daemon: Daemon, loading: "asyncio.Task[tuple[SessionManager, Services]]") -> None:
    await asyncio.wait([loading])
    if loading.exception() is None and (team := loading.result()[1].team) is not None:
        await team.close()
    await daemon.close()
    if loading.exception() is None:
        manager, services = loading.result()
        await services.close()
        await manager.runtime.store.close()


async def serve(socket: Path, home: Path, configs: ConfigCache, web: WebAddress | None, redactor: Redactor) -> None:
    async with running(socket, home, configs, web, redactor=redactor) as daemon:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, daemon.stopping.set)
        report_ready()
        await daemon.stopping.wait()
    _log.info("stopped")


def main(arguments: list[str]) -> int:
    """`openagent serve` in the foreground."""
    parser = argparse.ArgumentParser(prog="openagent serve", add_help=False)
    parser.add_argument("--ipc-socket", type=Path)
    parser.add_argument("--web-socket", type=WebAddress)
    given = parser.parse_args(arguments)
    env = os.environ
    home = Path(locations.data_home(env))
    lock = HomeLock(home)
    try:
        configs = ConfigCache(env)
        settings = configs.load().settings
        lock.acquire()
    except OpenAgentError as problem:
        report_ready(str(problem))
        print(problem, file=sys.stderr)  # noqa: T201
        return 1
    redactor = Redactor()
    discreet = RedactingFilter(redactor)
    start_logging(home / "logs", settings.log.level, to_terminal=sys.stderr.isatty(), filters=[discreet])
    web = given.web_socket
    if web is None and settings.web.enabled:
        web = WebAddress(f"{settings.web.host}:{settings.web.port}")
    try:
        uvloop.run(serve(given.ipc_socket or Path(locations.socket_path(env)), home, configs, web, redactor))
    except OpenAgentError as problem:
        _log.error("could not start", extra={"reason": str(problem)})
        report_ready(str(problem))
        print(problem, file=sys.stderr)  # noqa: T201
        return 1
    finally:
        lock.release()
    return 0
