"""The heavy half of the composition root: every room wired behind an open socket.

Whoever imports this loads SQLAlchemy, httpx2 and the rest: `app` does so in a thread.
"""

import asyncio
import functools
import logging
import platform
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from openagent import config
from openagent.access.reach import CallersReach
from openagent.access.tokens import Access
from openagent.agents.team import Team
from openagent.agents.templates import TEAM_TOOLS, TemplateNames
from openagent.bash.grammar import REPAIR, grammar_problem
from openagent.codebase.learning import IndexLearning
from openagent.codebase.notes import CodeGate
from openagent.codebase.service import IndexService
from openagent.collectors.registry import built_in_collectors
from openagent.config.cache import ConfigCache
from openagent.config.project import RULES
from openagent.config.settings import BackupSettings, SearchSettings
from openagent.context.intent import IntentGate
from openagent.context.recall import StoredMemory
from openagent.context.service import ContextService
from openagent.core.pace import Pace
from openagent.core.runtime import Runtime
from openagent.customizing.extras import ExtrasService
from openagent.customizing.service import Customizing
from openagent.daemon.connection import Connection
from openagent.daemon.daemon import Behind, Daemon, Handler
from openagent.daemon.heap import Heap
from openagent.daemon.hourly import look, look_hourly
from openagent.daemon.idle_sessions import IdleSessions
from openagent.daemon.late_binding import Late
from openagent.daemon.live_metrics import LiveMetrics
from openagent.daemon.loaded_sessions import LoadedSessions
from openagent.daemon.loaded_when_asked import LoadedWhenAsked, Service
from openagent.daemon.manager import SessionManager
from openagent.daemon.presence import who_is_with
from openagent.daemon.store_lease import LEASE_S, StoreLease
from openagent.daemon.turn_line import Bounds, TurnLine
from openagent.index.code_index import CodeIndex
from openagent.mcp.servers import own_file
from openagent.mcp.service import McpService
from openagent.models.service import Models
from openagent.plugins.admission import TurnLimit
from openagent.plugins.collector import ContextSettings
from openagent.plugins.extras import Extras
from openagent.plugins.loading import Collectors, PluginLoader
from openagent.plugins.places import Places
from openagent.protocol import locations
from openagent.protocol.backups import BackupCreate, BackupKey, BackupsList, BackupVerify
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.events import McpServerStatus
from openagent.protocol.history import HistoryFind, HistoryImport, UsageAll
from openagent.protocol.metrics import MetricsExport
from openagent.protocol.origin import FOREIGN_AGENTS
from openagent.protocol.people import PEOPLE_OPS
from openagent.protocol.reports import ReportSend, ReportShow
from openagent.protocol.repository import GitBranch, GitCommit, GitPullRequest, GitPush, GitStatus
from openagent.protocol.review import ReviewRevert, ReviewShow
from openagent.protocol.sessions import SessionInfo
from openagent.providers.transcript import forget_session
from openagent.providers.vendors import SETTINGS as VENDOR_SETTINGS
from openagent.safety.git_watch import GitGate, GitWatch
from openagent.safety.grants import GrantService
from openagent.safety.inherited import InheritedRules
from openagent.safety.jail_exit_routing import JailExits
from openagent.safety.jails import build_jail, jailed_starter, start_mcp_server
from openagent.safety.own_services import OwnServices
from openagent.safety.server_places import hidden_words
from openagent.safety.service import Safety
from openagent.sessions.config_change import ConfigChange
from openagent.sessions.queues import QueueService
from openagent.sessions.search import SearchService
from openagent.sessions.settings_check import SettingsCheck
from openagent.sessions.tool_switch import ToolSwitch
from openagent.store import open_store
from openagent.store.access import SqlAccess
from openagent.store.people import SqlPeople
from openagent.store.quotas import SqlQuotas
from openagent.store.tasks import SqlTasks
from openagent.telemetry.cache_misses import CacheWatch
from openagent.telemetry.ledger import BudgetLedger
from openagent.telemetry.measures import Measures
from openagent.telemetry.otlp import Otlp
from openagent.telemetry.quotas import Quotas
from openagent.telemetry.traces import Traces
from openagent.telemetry.watched import Watched
from openagent.tools.mcp.host import MCPHost
from openagent.tools.mcp.server import Authorize, McpServer, Sample
from openagent.tools.registry import built_in_tools
from openagent.tools.web_search import JsonSearch
from openagent.usage.budgets import build_ledger, price_book
from openagent.usage.live_charts import LiveCharts
from openagent.usage.metrics import MetricsService
from openagent.usage.service import UsageService
from openagent.vault.redact import Redactor
from openagent.workbench.files import FileService
from openagent.workbench.folders import FolderService
from openagent.workbench.quota_gate import QuotaGate
from openagent.workbench.task_runs.if_any import Resumed, TaskRunsIfAny
from openagent.workbench.tasks import TaskService
from openagent.workbench.terminals import TerminalService
from openagent.workbench.workspaces import WorkspaceService

if TYPE_CHECKING:
    from openagent.access.people import PeopleService
    from openagent.access.signing_in import SigningInService
    from openagent.backups.service import BackupService
    from openagent.plugins.blobs import Blobs
    from openagent.plugins.store import Store
    from openagent.protocol.usage import UsageRow
    from openagent.team.provider_limits import SharedLimits
    from openagent.team.service import TeamService
    from openagent.usage.monitoring import Monitoring
    from openagent.usage.reporting import ReportService
    from openagent.vault.vault import Vault
    from openagent.workspace.carried import Carried

PRELOAD_DELAY = 1.0
"""Seconds after the start at which heavy parts are loaded: whoever started the daemon asks something first."""
_log = logging.getLogger(__name__)


class Assembled:
    """All that stands behind the socket: how it starts, and how it ends."""

    def __init__(
        self,
        behind: Behind,
        *,
        access: Access,
        store_lease: StoreLease,
        of_team: "TeamService | None",
        team: Team,
        ledger: BudgetLedger,
        models: Models,
        mcp: McpService,
        exits: JailExits,
        beside: Sequence[Callable[[], Coroutine[Any, Any, None]]],
        task_runs: TaskRunsIfAny,
        closing: Sequence[Callable[[], Awaitable[None]]],
    ) -> None:
        """`beside` runs from the start to the end. `closing` is called in this order when no session is left, before
        the models are let go."""
        self.behind = behind
        self.access = access
        self.store_lease = store_lease
        self.of_team = of_team
        self._team = team
        self._ledger = ledger
        self._models = models
        self._mcp = mcp
        self._exits = exits
        self._beside = beside
        self._task_runs = task_runs
        self._closing = closing
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def has_sessions(self) -> bool:
        return self.of_team is None or self.of_team.has_sessions

    def start(self, when_loaded: Callable[[], None]) -> None:
        self._tasks.update(asyncio.create_task(work()) for work in self._beside)
        self._tasks.add(asyncio.create_task(self._start(when_loaded)))

    async def _start(self, when_loaded: Callable[[], None]) -> None:
        await self._ledger.start()
        await self._models.start()
        await self._mcp.start()
        await asyncio.sleep(PRELOAD_DELAY)
        self._exits.warm_up()
        try:
            await asyncio.to_thread(self._load_ahead)
        except Exception:  # whoever needs it meets the problem again, and is told
            _log.exception("preloading failed, modules are loaded when first used")
        self._models.catalog.forget()
        when_loaded()
        await self._task_runs.resume()

    def _load_ahead(self) -> None:
        import_module("openagent.policy.analysis")
        self._models.load_ahead()

    async def stop_working(self) -> None:
        """Before the sessions end: no more signs of life to other daemons, and sub-agents are saved."""
        if self.of_team is not None:
            await self.of_team.rest()
        await self.store_lease.rest()
        await self._task_runs.close()
        await self._team.close()

    async def close(self) -> None:
        """When no session is left."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for close in self._closing:
            await close()
        await self.store_lease.end()
        if self.of_team is not None:
            await self.of_team.close()
        await self.behind.manager.runtime.store.close()


def assemble(
    daemon: Daemon,
    configs: ConfigCache,
    home: Path,
    redactor: Redactor,
    *,
    loop: asyncio.AbstractEventLoop,
    open_web: Callable[[], Awaitable[tuple[str, str]]],
    close_web: Callable[[], Awaitable[None]],
    role: str = "all",
) -> Assembled:
    """Runs in a thread while the socket is already open. Each part is made from those above it."""
    if problem := grammar_problem():
        raise OpenAgentError("internal", problem, hint=REPAIR)
    settings = configs.load().settings
    bus, loaded, sessions = daemon.bus, LoadedSessions(), Late[SessionManager]("the session manager")
    store = open_store(settings.database_url)
    plugins, extras = PluginLoader(), Extras(home)

    git_watch = GitWatch(loaded, loop)
    safety = Safety(home, configs, git_watch, jailed=settings.jail.kind != "host")
    safety.workspaces.unmount_all()  # before anybody works in one
    roles: dict[str, str] = {}
    """Of people, as far as they are known: looked up with every message in a session of theirs."""
    inherited = InheritedRules(safety.rules, safety.workspaces, loaded, role_of=roles.get)
    own = OwnServices(settings, configs.environment({}), lambda: daemon.place.web_url)
    exits = JailExits(settings.jail.network, settings.jail.names, own.why_never, loaded)
    scratch = home / "scratch"
    kept = settings.backup.folder
    hidden = [
        *own.sockets,
        *_kept_from_agents(home, configs.environment({})),
        own_file(configs),
        *([Path(kept).expanduser()] if kept and not kept.startswith("s3://") else []),
    ]

    wanted = settings.telemetry.otlp or configs.environment({}).get("OTEL_EXPORTER_OTLP_ENDPOINT", "")
    otlp = Otlp(settings.telemetry.otlp, configs.environment({})) if wanted else None

    def about(session: str) -> tuple[str, str]:
        found = loaded.find(session)
        return (found.info.parent or "", found.info.template) if found else ("", "")

    measures, traces = Measures(), Traces(about, otlp.tell if otlp else None)
    for kind, hear in (*measures.hearers(), *traces.hearers()):
        bus.subscribe(kind, hear)
    watched = Watched(measures, traces)

    prices = price_book(configs.load, VENDOR_SETTINGS)
    kept_quotas = SqlQuotas(store)

    def whose(session: str) -> SessionInfo | None:
        found = loaded.find(session)
        return found.info if found else None

    quotas = Quotas(kept_quotas, whose)
    ledger = build_ledger(
        configs.load, prices, configs.environment({}), store, tell=loaded.tell, charged=measures.charged, quotas=quotas
    )
    limits = _shared_limits(settings.redis)
    kept_people = SqlPeople(store)
    models = Models(
        home,
        configs,
        teams=kept_people.teams,
        redactor=redactor,
        plugins=plugins,
        prices=prices,
        ledger=ledger,
        bus=bus,
        loaded=loaded,
        watch=watched.provider,
        limits=limits,
    )
    index = CodeIndex(home / "index", vectors=settings.index.vectors, may_read=safety.may_read)
    learning = IndexLearning(index, loaded, bus)

    offered = functools.partial(
        built_in_tools,
        search=_web_search(settings.tools.search),
        index=index,
        memory=StoredMemory(store),
        names=settings.jail.names,
        never=exits.never,
    )
    tools = offered(disabled=settings.tools.disabled)
    all_names = {tool.name for tool in offered()}

    def tell_workspace(workspace: Path, status: McpServerStatus) -> None:
        bus.publish(status)
        for session in loaded.working_in(workspace):
            session.show(status)

    def make_host(on_change: Callable[[Path, McpServer], None], sample: Sample, authorize: Authorize) -> MCPHost:
        return MCPHost(
            functools.partial(start_mcp_server, settings.jail, scratch, hidden, exits=exits),
            reserved=[*TEAM_TOOLS, *all_names],
            on_change=on_change,
            sample=sample,
            authorize=authorize,
            share=settings.tools.schema_share,
            held_for=exits.held,
            may_connect=exits.may_connect,
            missed=hidden_words if settings.jail.kind == "bwrap" else None,
            watch=watched,
        )

    mcp = McpService(
        store, configs, redactor, models.vault, sessions=sessions, make_host=make_host, tell=tell_workspace
    )
    start_in_jail = jailed_starter(settings.jail, scratch, hidden, exits)
    check_model = models.catalog.check
    custom = Customizing(configs, start_in_jail, plugins, tools, mcp, loaded=loaded, bus=bus, check_model=check_model)
    names = TemplateNames(custom.tools_beside(mcp.tools), mcp.server_names, check_model)
    team = Team(sessions, bus, configs, store, safety=safety, inherited=inherited, built_in=tools, names=names)
    collectors = Collectors(built_in_collectors(redactor.redact), plugins)
    check = SettingsCheck(
        {*TEAM_TOOLS, "web_search", *all_names},
        more_tools=names.more_tools,
        mcp_servers=mcp.servers_of,
        all_are_up=mcp.all_are_up,
        resolve_model=check_model,
        collectors=collectors,
    )

    def settings_in(workspace: Path) -> config.Settings:
        return configs.load(workspace).settings

    # A message passes these from the last to the first.
    gate = CodeGate(custom.gate, index, lambda workspace: settings_in(workspace).index, learning.was_shown)
    gate = GitGate(QuotaGate(gate, safety.workspaces), git_watch)
    gate = IntentGate(gate, lambda workspace: settings_in(workspace).intent, loaded.find, extras)
    caches, heap = CacheWatch(), Heap()

    def turn_bounds() -> Bounds:
        if settings.redis:  # turns are jobs there, and wait for a worker
            return Bounds(elsewhere=settings.team.turns)
        turns = configs.load().settings.turns
        return Bounds(turns.at_once, turns.waiting)

    async def turn_limits(info: SessionInfo) -> Sequence[TurnLimit]:
        if info.owner:
            roles[info.owner] = await kept_people.role(info.owner)
        return await kept_quotas.at_once(info.owner, info.team, info.cwd)

    def left_memory(session: str) -> None:
        for forget in (caches.forget, forget_session, store.forget):
            forget(session)
        heap.session_left()

    runtime = Runtime(
        store=store,
        admission=TurnLine(loaded, turn_bounds, turn_limits),
        pace=Pace(store.writers_at_once + 1),
        resolve_model=models.catalog.resolve,
        learn_model=models.catalog.learn,
        answering=models.catalog.answering,
        tools=tools,
        more_tools=team.tools,
        offers=mcp.offers,
        jail=build_jail(settings.jail, scratch, hidden, loaded.tell, exits, room=safety.room_in),
        scratch=scratch,
        ledger=ledger,
        collectors=collectors,
        freeze=configs.freeze,
        context=lambda workspace: msgspec.convert(
            settings_in(workspace).context, ContextSettings, from_attributes=True
        ),
        checkpoints=safety.checkpoints,
        writes=safety.writes,
        open_workspace=safety.open_workspace,
        rules=inherited.rules,
        stop_started_in=team.stop_started_in,
        copy_left=team.copy_left,
        drop_copy=team.drop_copy,
        notices=lambda workspace: [
            *safety.notices(workspace),
            *custom.notices(workspace),
            *check.notices(settings_in(workspace).tools),
        ],
        gate=gate,
        network=exits.rule,
        never_reached=exits.never,
        remember_grant=inherited.remember,
        ask_timeout=configs.ask_timeout,
        away_timeout=configs.away_timeout,
        explain_cache=lambda session, model, request, usage: (
            caches.observe(session, model, request, usage, time.time()).detail
        ),
        left_memory=left_memory,
    )
    carrying = _carrying(home, configs, models.vault, safety, store) if settings.redis else None
    manager = sessions.bind(
        SessionManager(
            runtime,
            bus,
            loaded,
            configs.session_settings,
            team.templates.settings,
            check_settings=check,
            idle_kept=settings.store.idle_sessions,
            carrying=carrying,
            serves=_label_check(settings.team.labels) if settings.redis else None,
        )
    )
    IdleSessions(manager, bus)
    places = Places(configs.environment({}), copies=home / "copies")

    async def signing_in() -> "SigningInService | None":
        offered = configs.load().settings.people.issuer or await kept_people.people()
        return await asyncio.to_thread(login_service) if offered else None

    @functools.cache
    def login_service() -> "SigningInService":
        from openagent.access.signing_in import SigningInService

        return SigningInService(
            kept_people, people(), access, lambda: configs.load().settings.people, dismiss=daemon.dismiss
        )

    access = Access(
        home,
        SqlAccess(store),
        kept_people,
        open_web=open_web,
        close_web=close_web,
        dismiss=daemon.dismiss,
        problem=places.problem,
        signing_in=signing_in,
    )
    kept_tasks = SqlTasks(store)
    tasks = TaskService(kept_tasks, bus, home / "tasks")
    grants = GrantService(manager, safety.rules, safety.workspaces)
    terminals = TerminalService(manager, bus)
    search = SearchService(store, home)

    def history() -> Service:
        from openagent.history.service import HistoryService
        from openagent.store.history import SqlHistory

        found = SqlHistory(store, platform.node())
        scratch = home / "history"
        return HistoryService(found, manager, bus, prices, search, env=lambda: configs.environment({}), scratch=scratch)

    @functools.cache
    def people() -> "PeopleService":
        from openagent.access.people import PeopleService

        def folder() -> Path:
            given = configs.load().settings.people.folder
            home = configs.environment({}).get("HOME") or str(Path.home())
            return Path(home, given[2:]) if given.startswith("~/") else Path(given)

        def provider() -> str:
            settings = configs.load().settings.people
            return (settings.name or settings.issuer) if settings.issuer else ""

        def dismiss(person: str) -> None:
            roles.pop(person, None)
            daemon.dismiss(person)

        return PeopleService(
            kept_people,
            manager,
            folder=folder,
            dismiss=dismiss,
            look_who_hears=daemon.look_who_hears,
            provider=provider,
            url=lambda: configs.load().settings.people.url.rstrip("/"),
            open_web=open_web,
            here=functools.partial(who_is_with, bus),
            forget_keys=models.owned_keys.forget_all,
        )

    def review() -> Service:
        from openagent.workbench.review import ReviewService

        return ReviewService(manager, safety)

    def repository() -> Service:
        from openagent.workbench.repository.service import RepositoryService

        return RepositoryService(manager)

    metrics = MetricsService(store, loaded)

    def live_metrics() -> LiveMetrics:
        return LiveMetrics(manager, bus, daemon.connections, lambda: manager.running)

    charts = LiveCharts(metrics, live_metrics)

    def monitoring() -> "Monitoring":
        from openagent.usage.monitoring import Monitoring

        backlog = of_team.backlog if of_team else None
        return Monitoring(measures, manager, daemon.connections, daemon.started_at, mcp_statuses, backlog=backlog)

    def mcp_statuses() -> list[str]:
        return [server.status for server in mcp.host.all_servers]

    async def push_to_influx() -> None:
        from openagent.usage.influx_push import InfluxPush

        await InfluxPush(settings.telemetry).run(await asyncio.to_thread(monitoring))

    @functools.cache
    def backups() -> "BackupService":
        from openagent.backups.bucket import Bucket, secret_in
        from openagent.backups.home import Home
        from openagent.backups.service import BackupService

        def bucket(settings: BackupSettings) -> Bucket:
            return Bucket(settings, configs.environment({}), lambda: secret_in(models.vault))

        place = Home(configs.environment({}))
        return BackupService(place, models.vault, lambda: configs.load().settings, bucket=bucket, extras=extras)

    async def make_due_backup() -> None:
        if configs.load().settings.backup.daily:
            await (await asyncio.to_thread(backups)).make_due()

    async def let_go() -> None:
        from openagent.sessions.retention import Retention
        from openagent.store.engine import is_sqlite, sqlite_file

        url = settings.database_url
        database = sqlite_file(url) if is_sqlite(url) else None
        await Retention(manager, lambda: configs.load().settings.retention, database).apply()

    def runs_of_tasks() -> Resumed:
        from openagent.workbench.task_runs.runs import TaskRuns
        from openagent.workbench.task_runs.service import TaskRunService

        runs = TaskRuns(
            manager,
            bus,
            tasks.board,
            kept_tasks,
            safety.workspaces,
            home=home / "tasks" / "branches",
            place=f"{platform.node()}:{home}",
            follow_every=lambda: configs.load().settings.tasks.follow_every,
        )
        return TaskRunService(runs, tasks.board)

    task_runs = TaskRunsIfAny(kept_tasks, runs_of_tasks)
    others_history = LoadedWhenAsked((HistoryFind, HistoryImport, UsageAll), history)

    @functools.cache
    def reports() -> "ReportService":
        from openagent.usage.report_sending import PASSWORD_ENTRY
        from openagent.usage.reporting import ReportService
        from openagent.vault.entries import ApiKey

        async def others(connection: Connection, since: float, until: float) -> "list[UsageRow]":
            asked = UsageAll(id="-", agents=list(FOREIGN_AGENTS), since=since, until=until)
            return (await others_history.ask(connection, asked)).rows

        def password() -> str:
            if given := configs.load().settings.report.smtp_password:
                return given
            kept = models.vault.get(PASSWORD_ENTRY)
            return kept.key.reveal() if isinstance(kept, ApiKey) else ""

        return ReportService(
            store,
            home,
            settings=lambda: configs.load().settings.report,
            tasks=kept_tasks.tasks,
            others=others,
            password=password,
        )

    async def send_due_report() -> None:
        if configs.load().settings.report.every is not None:
            await (await asyncio.to_thread(reports)).send_due()

    handlers: list[Handler] = [
        *models.handlers(),
        *UsageService(store).handlers(),
        *metrics.handlers(),
        *charts.handlers(),
        *LoadedWhenAsked((MetricsExport,), monitoring).handlers(),
        *IndexService(index, extras).handlers(),
        *ExtrasService(extras).handlers(),
        *ContextService(manager, bus).handlers(),
        *access.handlers(),
        *LoadedWhenAsked(PEOPLE_OPS, people).handlers(),
        *FileService(manager, safety, hidden, copies=home / "copies").handlers(),
        *FolderService(Path(configs.environment({}).get("HOME") or Path.home())).handlers(),
        *LoadedWhenAsked((ReviewShow, ReviewRevert), review).handlers(),
        *LoadedWhenAsked((GitStatus, GitCommit, GitBranch, GitPush, GitPullRequest), repository).handlers(),
        *terminals.handlers(),
        *WorkspaceService(safety.workspaces, store).handlers(),
        *tasks.handlers(),
        *task_runs.handlers(),
        *search.handlers(),
        *others_history.handlers(),
        *LoadedWhenAsked((BackupCreate, BackupsList, BackupVerify, BackupKey), backups).handlers(),
        *LoadedWhenAsked((ReportShow, ReportSend), reports).handlers(),
        *QueueService(manager).handlers(),
        *ConfigChange(configs).handlers(),
        *ToolSwitch(configs, manager, team.own_tools).handlers(),
        *safety.handlers(store, manager),
        *grants.handlers(),
        *mcp.handlers(),
        *team.handlers(),
        *custom.handlers(),
    ]
    reach = CallersReach(
        manager,
        places,
        safety.workspaces,
        mode_of=lambda workspace: configs.session_settings(workspace, {}).mode,
        task=tasks.board.get,
        grant=grants.place_of,
        session_of_terminal=terminals.session_of,
        guest=kept_people.guest,
        is_welcome=access.is_welcome,
        quotas=kept_quotas,
    )

    async def look_once_in_the_team() -> None:
        await look(make_due_backup, let_go, send_due_report)

    lease = StoreLease(store, home, lease_s=settings.team.lost_after if settings.redis else LEASE_S)
    of_team = None
    if settings.redis:
        try:
            from openagent.team.service import Part, TeamService, role_of
        except ImportError as problem:
            raise OpenAgentError(
                "config_error",
                f"`redis` is set, and what a team needs is not installed: {problem}.",
                hint="`pip install 'openagent[team]'`, or take `redis` out to work alone.",
            ) from problem

        set_up = settings.team
        part = Part(
            role_of(role),
            settings.database_url,
            settings.redis,
            at_once=set_up.turns,
            lost_after=set_up.lost_after,
            drain_s=set_up.drain,
            labels=set_up.labels,
        )
        of_team = TeamService(part, lease.holder.id, daemon, manager, look_once_in_the_team, carrying=carrying)
        of_team.routing.check_sending = reach.check_sending
    return Assembled(
        Behind(handlers, manager, reach, configs.show, of_team.routing if of_team else None),
        access=access,
        store_lease=lease,
        of_team=of_team,
        team=team,
        ledger=ledger,
        models=models,
        mcp=mcp,
        exits=exits,
        beside=[
            *([] if of_team else [functools.partial(look_hourly, make_due_backup, let_go, send_due_report)]),
            *([push_to_influx] if settings.telemetry.influx else ()),
            *([otlp.run] if otlp else ()),
        ],
        task_runs=task_runs,
        closing=[
            *([otlp.close] if otlp else ()),
            quotas.close,
            charts.close,
            custom.gate.close,
            terminals.close,
            others_history.close,
            search.close,
            mcp.close,
            exits.close,
            learning.close,
            index.close,
            extras.close,
            models.close,
            *([limits.close] if limits else ()),
            safety.close,
        ],
    )


def _shared_limits(redis: str) -> "SharedLimits | None":
    if not redis:
        return None
    try:
        from openagent.team.provider_limits import SharedLimits
    except ImportError:  # told where the team is put together
        return None
    return SharedLimits(redis)


def _label_check(labels: Sequence[str]) -> Callable[[str], bool]:
    from openagent.team.frames import serves

    return functools.partial(serves, labels)


def _carrying(home: Path, configs: ConfigCache, vault: "Vault", safety: Safety, store: "Store") -> "Carried | None":
    from openagent.backups.bucket import BucketBlobs, is_bucket, secret_in
    from openagent.workspace.blob_folder import BlobFolder
    from openagent.workspace.carried import Carried
    from openagent.workspace.clones import Clones

    settings = configs.load().settings
    place = settings.team.snapshots
    if not place:
        return None

    def blobs() -> "Blobs":
        if not is_bucket(place):
            return BlobFolder(Path(place))
        reached = msgspec.structs.replace(settings.backup, folder=place)
        return BucketBlobs(reached, configs.environment({}), lambda: secret_in(vault))

    async def is_ours(session: str) -> bool:
        return session in await store.kept()

    clones = Clones(
        home / "mirrors", lambda: configs.load().settings.team.repositories, lambda: configs.environment({})
    )
    return Carried(home, blobs, clones, safety.checkpoints, safety.writes, is_ours=is_ours)


def _web_search(settings: SearchSettings) -> JsonSearch | None:
    return JsonSearch(settings.kind, settings.base_url, settings.api_key) if settings.kind else None


def _kept_from_agents(home: Path, env: Mapping[str, str]) -> list[Path]:
    """What the jail hides where it lies inside a workspace: what was said and done, and what decides about agents."""
    settings = Path(locations.config_file(env))
    usual = [settings.parent] if not env.get("OPENAGENT_CONFIG") else []
    return [home, settings, settings.with_name(RULES), *usual]
