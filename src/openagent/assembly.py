"""The heavy half of the composition root: every room wired behind an open socket.

Whoever imports this loads SQLAlchemy, httpx2 and the rest: `app` does so in a thread.
"""

import functools
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from openagent import config
from openagent.access.reach import CallersReach
from openagent.access.tokens import Access
from openagent.agents.team import Team
from openagent.agents.templates import TEAM_TOOLS, TemplateNames
from openagent.collectors.registry import built_in_collectors
from openagent.config.cache import ConfigCache
from openagent.config.project import RULES
from openagent.config.settings import PROVIDER_KINDS, SearchSettings
from openagent.context.intent import IntentGate
from openagent.context.recall import StoredMemory
from openagent.core.pace import Pace
from openagent.core.runtime import Runtime
from openagent.core.session import Session
from openagent.customizing.service import Customizing
from openagent.daemon.daemon import Daemon
from openagent.daemon.heap import Heap
from openagent.daemon.manager import SessionManager
from openagent.daemon.presence import Presence
from openagent.daemon.resting import Resting
from openagent.desk import Desk
from openagent.jail.git_walls import is_walled
from openagent.mcp.service import McpService, own_file
from openagent.plugins.collector import ContextSettings
from openagent.plugins.gate import Gate
from openagent.plugins.loading import Collectors, PluginLoader
from openagent.plugins.places import Places
from openagent.plugins.store import Store
from openagent.protocol import locations
from openagent.protocol.events import BudgetExceeded, BudgetWarning, Event, McpServerStatus
from openagent.providers.transcript import forget_session
from openagent.safety.git_watch import GitWatch
from openagent.safety.grants import GrantService
from openagent.safety.jail_exits import JailExits
from openagent.safety.jails import build_jail, jailed_starter, start_mcp_server
from openagent.safety.service import Safety
from openagent.sessions.queues import QueueService
from openagent.sessions.settings_check import SettingsCheck
from openagent.sessions.tool_switch import ToolSwitch
from openagent.store import open_store
from openagent.store.access import SqlAccess
from openagent.store.tasks import SqlTasks
from openagent.telemetry.accounts import BudgetNotice, Spent
from openagent.telemetry.cache_misses import CacheWatch
from openagent.telemetry.journal import Journal
from openagent.telemetry.ledger import BudgetLedger, DayLimits, Limits
from openagent.telemetry.prices import PriceBook, PricedProvider
from openagent.tools.mcp.host import MCPHost
from openagent.tools.mcp.server import Authorize, McpServer, Sample
from openagent.tools.registry import built_in_tools
from openagent.tools.web_search import JsonSearch
from openagent.vault.redact import Redactor
from openagent.wiring import Services
from openagent.workbench.quota_gate import QuotaGate
from openagent.workbench.tasks import TaskService
from openagent.workbench.workspaces import WorkspaceService


def build_manager(
    daemon: Daemon, configs: ConfigCache, home: Path, redactor: Redactor
) -> tuple[SessionManager, Services]:
    """Runs in a thread while the socket is already open."""
    settings = configs.load().settings
    store = open_store(settings.store.url)
    caches, heap = CacheWatch(), Heap()

    def tell(session: str, event: Event) -> None:
        if loaded := manager.loaded(session):
            loaded.post(event)

    def left_memory(session: str) -> None:
        caches.forget(session)
        forget_session(session)
        store.forget(session)
        heap.session_left()

    prices = price_book(settings)
    plugins = PluginLoader()
    safety = Safety(home, configs)
    safety.workspaces.unmount_all()  # before anybody works in one
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
    names = settings.jail.names
    offered = functools.partial(built_in_tools, search=search, index=services.index, memory=memory, names=names)
    tools = offered(disabled=settings.tools.disabled)
    exits = services.exits = JailExits(settings.jail.network, settings.jail.names)
    hidden = [*_kept_from_agents(home, configs.environment({})), own_file(configs)]

    def tell_workspace(workspace: Path, status: McpServerStatus) -> None:
        daemon.bus.publish(status)
        for session in manager.all_loaded:
            if session.workspace == workspace:
                session.show(status)

    def make_host(on_change: Callable[[Path, McpServer], None], sample: Sample, authorize: Authorize) -> MCPHost:
        start = functools.partial(start_mcp_server, settings.jail, scratch, hidden, exits=exits)
        return MCPHost(
            start,
            reserved=[*TEAM_TOOLS, *(tool.name for tool in offered())],
            on_change=on_change,
            sample=sample,
            authorize=authorize,
            share=settings.tools.schema_share,
            held_for=exits.held,
            may_connect=exits.may_connect,
        )

    mcp = services.mcp = McpService(store, configs, redactor, services.vault, make_host=make_host, tell=tell_workspace)
    start_in_jail = jailed_starter(settings.jail, scratch, hidden, exits)
    custom = services.customizing = Customizing(configs, start_in_jail, plugins, tools)
    custom.take_prompts(mcp.prompts, mcp.prompt)
    names_for_templates = TemplateNames(custom.tools_beside(mcp.tools), mcp.server_names, services.catalog.resolve)
    services.presence = Presence(store, home)
    team = services.team = Team(configs, store, safety, tools, names_for_templates)
    collectors = Collectors(built_in_collectors(redactor.redact), plugins)
    check = SettingsCheck(
        {*TEAM_TOOLS, "web_search", *(tool.name for tool in offered())},
        more_tools=names_for_templates.more_tools,
        mcp_servers=mcp.servers_of,
        all_are_up=mcp.all_are_up,
        resolve_model=services.catalog.resolve,
        collectors=collectors,
    )
    runtime = Runtime(
        store=store,
        pace=Pace(store.writers_at_once + 1),
        resolve_model=services.catalog.resolve,
        tools=tools,
        more_tools=team.tools,
        offers=mcp.offers,
        jail=build_jail(settings.jail, scratch, hidden, tell, exits, room=safety.room_in),
        scratch=scratch,
        ledger=build_ledger(settings, prices, configs.environment({}), store, tell),
        collectors=collectors,
        freeze=configs.freeze,
        context=lambda workspace: msgspec.convert(
            configs.load(workspace).settings.context, ContextSettings, from_attributes=True
        ),
        checkpoints=safety.checkpoints,
        writes=safety.writes,
        open_workspace=safety.open_workspace,
        rules=team.inherited.rules,
        stop_started_in=team.stop_started_in,
        copy_left=team.copy_left,
        drop_copy=team.drop_copy,
        notices=lambda workspace: [
            *safety.notices(workspace),
            *custom.notices(workspace),
            *check.notices(configs.load(workspace).settings.tools),
        ],
        gate=IntentGate(
            _watching_files(services.telling_of_code(custom.gate), safety, settings, lambda s: manager.loaded(s)),  # noqa: PLW0108 -- as below
            lambda workspace: configs.load(workspace).settings.intent,
            lambda session: manager.loaded(session),  # noqa: PLW0108 -- the manager is made from this runtime
        ),
        network=exits.rule,
        remember_grant=team.inherited.remember,
        ask_timeout=configs.ask_timeout,
        away_timeout=configs.away_timeout,
        explain_cache=lambda session, model, request, usage: (
            caches.observe(session, model, request, usage, time.time()).detail
        ),
        left_memory=left_memory,
    )
    manager = SessionManager(
        runtime,
        daemon.bus,
        configs.session_settings,
        team.templates.settings,
        check_settings=check,
        idle_kept=settings.store.idle_sessions,
    )
    exits.manager = manager
    Resting(manager, daemon.bus)
    places = Places(configs.environment({}), copies=home / "copies")
    tasks = TaskService(SqlTasks(store), daemon.bus, home / "tasks")
    desk = Desk(manager, daemon.bus, home, safety, hidden)
    grants = GrantService(manager, safety.rules, safety.workspaces)
    daemon.reach = CallersReach(
        manager,
        places,
        safety.workspaces,
        mode_of=lambda workspace: configs.session_settings(workspace, {}).mode,
        task=tasks.board.get,
        grant=grants.workspace_of,
        session_of_terminal=desk.session_of_terminal,
    )
    for served in (
        services.handlers(manager, daemon.bus),
        services.for_people(Access(home, SqlAccess(store), daemon.dismiss, places.problem), desk, safety),
        safety.handlers(store, manager),
        grants.handlers(),
        WorkspaceService(safety.workspaces, store).handlers(),
        QueueService(manager).handlers(),
        mcp.handlers(manager),
        team.handlers(manager, daemon.bus),
        custom.handlers(manager, daemon.bus),
        ToolSwitch(configs, manager, team.own_tools).handlers(),
        tasks.handlers(),
    ):
        daemon.serve_ops(served)
    return manager, services


def _watching_files(
    gate: Gate, safety: Safety, settings: config.Settings, loaded: Callable[[str], Session | None]
) -> GitWatch:
    watch = GitWatch(QuotaGate(gate, safety.workspaces), loaded)
    safety.writes.on_disarmed = watch.disarmed
    if settings.jail.kind != "host":  # there, commands are the person's own doing
        safety.writes.is_walled = is_walled
    return watch


def _web_search(settings: SearchSettings) -> JsonSearch | None:
    return JsonSearch(settings.kind, settings.base_url, settings.api_key) if settings.kind else None


def _kept_from_agents(home: Path, env: Mapping[str, str]) -> list[Path]:
    """What the jail hides where it lies inside a workspace: what was said and done, and what decides about agents."""
    settings = Path(locations.config_file(env))
    usual = [settings.parent] if not env.get("OPENAGENT_CONFIG") else []
    return [home, settings, settings.with_name(RULES), *usual]


def price_book(settings: config.Settings) -> PriceBook:
    kinds = {kind: PricedProvider(kind) for kind in PROVIDER_KINDS}
    named = {name: PricedProvider(given.kind, given.base_url) for name, given in settings.providers.items()}
    return PriceBook({**kinds, **named}, {name: msgspec.to_builtins(price) for name, price in settings.prices.items()})


def build_ledger(
    settings: config.Settings,
    prices: PriceBook,
    env: Mapping[str, str],
    store: Store,
    tell: Callable[[str, Event], None],
) -> BudgetLedger:
    def on_notice(notice: BudgetNotice) -> None:
        kind = BudgetWarning if notice.kind == "warning" else BudgetExceeded
        # A sub-agent met the cap of a session above it: whoever set it looks there.
        for session in dict.fromkeys((notice.session, notice.owner or notice.session)):
            tell(session, kind(scope=notice.scope, spent=notice.spent, limit=notice.limit, unit=notice.unit))

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
