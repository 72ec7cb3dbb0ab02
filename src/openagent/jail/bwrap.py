"""Bubblewrap: own namespaces, a file system of which only the workspace can be written, no secrets, no network.

The jailed processes are uid 1000 to themselves and the daemon's user to the host, so that files they make belong to
the person. When that person is root, /proc is read-only, because root may write kernel settings without any privilege.
"""

import asyncio
import contextlib
import functools
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from openagent.filesystem.handles import LINUX
from openagent.jail.certificates import Certificates, find_certificates
from openagent.jail.egress_proxy import PROXY_PORT, held_while_asking, only, proxy_env
from openagent.jail.egress_setup import WayOut
from openagent.jail.git_walls import Standing, Wall
from openagent.jail.inside import HOME, PIPES, SHARED_MEMORY, agent_env, proxied_ssh, read_git_identity, settings_files
from openagent.jail.limits import ENTER_GROUPS, ControlGroup, Limits, make_control_group, rlimit_script
from openagent.jail.mounts import knows_descriptors, mounts_of
from openagent.jail.openings import exports, mounts, why_not
from openagent.jail.ports import PortOpener
from openagent.jail.processes import kill_tree
from openagent.jail.reading import (
    FILTER_FILE,
    READING_ENV,
    can_stand_beside,
    confine_script,
    installation_inside,
    metadata_filter,
)
from openagent.jail.seccomp import filter_program
from openagent.jail.shell import PersistentShell
from openagent.jail.shell_enclosure import EnclosurePlan, Launch, ProcessEnclosure
from openagent.jail.shell_state import kept_directory, make_plain
from openagent.jail.terminal import PROMPT, TERMINAL_ENV, PtyProcess, start_on_terminal
from openagent.jail.toolchains import SYSTEM, Toolchains, find_toolchains
from openagent.jail.wall_repair import WallRepair
from openagent.jail.walls import checked_workspace, explain_walls, home_directories, workspace_walls
from openagent.jail.workspace_survey import GroundSurvey
from openagent.plugins.held_time import HeldTime
from openagent.plugins.jail import (
    AskHost,
    AskHostFor,
    BackgroundCommand,
    NeverReached,
    Openings,
    ProgramPlaces,
    reach_anything,
)
from openagent.protocol.errors import OpenAgentError

_UID = 1000

_ETC_FOLDERS = ("ssl", "pki", "ca-certificates", "alternatives", "ld.so.conf.d")
_ETC_FILES = (
    "ld.so.cache",
    "ld.so.conf",
    "localtime",
    "os-release",
    "hosts",
    "nsswitch.conf",
    "mime.types",
    "services",
)
"""None of these holds a secret. Files are copied, which is cheaper to set up than a mount each."""

_IN_MEMORY = ("/tmp", HOME)  # noqa: S108
"""The jail's own."""
_OWN_FOLDERS = (*_IN_MEMORY, "/var/tmp", "/proc", "/dev", "/etc", "/run")  # noqa: S108
"""The jail has others of the same name."""

_GET_IT = (
    "Install it with your package manager (`apt-get install bubblewrap`, `dnf install bubblewrap`, "
    '`pacman -S bubblewrap`), or choose `[jail] kind = "host"` to run commands unjailed.'
)


class _Host(NamedTuple):
    """What was found on this machine, once."""

    bwrap: str
    by_descriptor: bool
    """Whether bubblewrap mounts what is open, and need not be told its path."""
    toolchains: Toolchains
    certificates: Certificates
    git_identity: list[tuple[str, str]]


class BwrapJail:
    kind = "bwrap"

    def __init__(
        self,
        *,
        network: str | Sequence[str] = "off",
        names: Mapping[str, str] | None = None,
        never: NeverReached = reach_anything,
        ask: AskHostFor | None = None,
        opener: PortOpener | None = None,
        openings: Callable[[str], Openings] = lambda _session: Openings(),
        limits: Limits | None = None,
        env: Mapping[str, str] | None = None,
        hidden: Sequence[Path] = (),
        is_secret: Callable[[str], bool] = lambda _path: False,
        room: Callable[[Path], int | None] = lambda _workspace: None,
        background_after: float | None = None,
        log_dir: Path | None = None,
        on_background_end: Callable[[str, BackgroundCommand], None] | None = None,
    ) -> None:
        """`network` is off, on, ask (then `ask` is), or the hosts that may be reached, and `names` are hosts of a
        person's own; `openings` is what else a session may have; `hidden` is kept out even below the workspace.
        `is_secret` tells from a path relative to the workspace whether a file is to be unreadable, `room` how large a
        file in a workspace may become."""
        self._survey = GroundSurvey(is_secret)
        self._room = room
        self._network = network
        self._names = names or {}
        self._never = never
        self._ask = ask
        self._opener = opener or PortOpener()
        self._openings = openings
        self._ways_out: dict[str, WayOut] = {}
        self._wall_repair: dict[str, WallRepair] = {}
        """Of what each session's commands that may write are in."""
        self._limits = limits or Limits()
        self._env = dict(env or {})
        self._hidden = tuple(hidden)
        self._background_after = background_after
        self._log_dir = log_dir
        self._on_background_end = on_background_end
        self._host: _Host | None = None
        self._endings: set[asyncio.Task[int]] = set()

    def kept_directory(self, session: str) -> str | None:
        return kept_directory(self._log_dir / session) if self._log_dir is not None else None

    def forget(self, session: str, may_keep: Callable[[str], bool]) -> bool:
        return self._log_dir is not None and make_plain(self._log_dir / session, may_keep)

    def prepare(self, workspace: Path) -> None:
        with contextlib.suppress(OpenAgentError):  # whoever opens it is told
            self._survey.prepare(checked_workspace(workspace))

    def describe(self) -> str:
        if isinstance(self._network, str):
            words = {"on": "with network", "ask": "network by asking"}
            return f"bwrap, {words.get(self._network, 'no network')}"
        return f"bwrap, network to {', '.join(self._network) or 'no host'}"

    async def open(self, session: str, workspace: Path) -> PersistentShell:
        return await self._open(session, workspace, read_only=False)

    async def open_reading(self, session: str, workspace: Path) -> PersistentShell:
        return await self._open(session, workspace, read_only=True)

    async def _open(self, session: str, workspace: Path, *, read_only: bool) -> PersistentShell:
        workspace = checked_workspace(workspace)
        log_dir = self._log_dir / session if self._log_dir is not None else None
        if log_dir is not None:
            log_dir.mkdir(parents=True, exist_ok=True)
        host, *_ = await asyncio.gather(
            self._look_at_host(), self._survey.of(workspace), self.refit(session, self._openings(session))
        )
        held = HeldTime()
        launch = functools.partial(self._launch, host, workspace, log_dir)
        env = self._environment(host)
        reading = EnclosurePlan(functools.partial(launch, read_only=True, session=session), env, PIPES)
        writing = functools.partial(
            launch, beside=True, ask=held_while_asking(self._ask, session, held), session=session
        )
        plan = reading if read_only else EnclosurePlan(writing, env, PIPES)
        return PersistentShell(
            functools.partial(ProcessEnclosure, plan),
            str(workspace),
            enclose_reading=functools.partial(ProcessEnclosure, reading),
            only_reads=read_only,
            background_after=self._background_after,
            log_dir=log_dir,
            on_background_end=functools.partial(self._on_background_end, session) if self._on_background_end else None,
            explain=explain_walls,
            held=held,
        )

    async def start_process(
        self,
        workspace: Path,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        ask: AskHost | None = None,
        read_only: bool = False,
        places: ProgramPlaces = ProgramPlaces(),  # noqa: B008
    ) -> asyncio.subprocess.Process:
        """A program of its own behind the same walls, an MCP server for one; its three streams are pipes."""
        workspace = checked_workspace(workspace)
        folders = [workspace, *(Path(folder) for folder, _ in places.folders)]
        host, _ = await asyncio.gather(
            self._look_at_host(), asyncio.gather(*(self._survey.of(each) for each in folders))
        )
        launch = self._launch(host, workspace, None, None, ask=ask, read_only=read_only, places=places)
        try:
            process = await asyncio.create_subprocess_exec(
                *(*launch.argv, "bash", "-c", f'{launch.setup}\n{_enter(places.cwd)}exec "$@"', "bash", *argv),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**self._environment(host), **(env or {})},
                pass_fds=launch.fds,
                cwd="/",
                start_new_session=True,
            )
        finally:
            for fd in launch.fds:
                os.close(fd)
        _stops(launch, process.pid)
        ending = asyncio.get_running_loop().create_task(process.wait())
        self._endings.add(ending)
        ending.add_done_callback(self._endings.discard)
        ending.add_done_callback(lambda _: launch.on_end())
        return process

    async def open_terminal(
        self, workspace: Path, columns: int, rows: int, *, ask: AskHost | None = None, read_only: bool = False
    ) -> PtyProcess:
        """An interactive shell behind the same walls. Its terminal is its own, so it needs no new session."""
        workspace = checked_workspace(workspace)
        host, _ = await asyncio.gather(self._look_at_host(), self._survey.of(workspace))
        launch = self._launch(host, workspace, None, None, own_session=False, ask=ask, read_only=read_only)
        terminal = await start_on_terminal(
            (*launch.argv, "bash", "-c", f"{launch.setup}\nPS1={shlex.quote(PROMPT)} exec bash --noprofile --norc -i"),
            env={**self._environment(host), **TERMINAL_ENV},
            cwd="/",
            size=(columns, rows),
            fds=launch.fds,
            on_end=launch.on_end,
        )
        _stops(launch, terminal.pid)
        return terminal

    async def _look_at_host(self) -> _Host:
        bwrap = shutil.which("bwrap")
        if bwrap is None:
            raise OpenAgentError(
                "jail_error",
                "There is no bubblewrap (bwrap) on this machine.",
                hint=_GET_IT if LINUX else 'Bubblewrap is Linux\'s own: choose `[jail] kind = "docker"`.',
            )
        if self._host is None:
            toolchains = find_toolchains(os.environ, home_directories())
            identity = await asyncio.to_thread(read_git_identity)
            certificates = find_certificates(os.environ, home_directories())
            self._host = _Host(bwrap, knows_descriptors(bwrap), toolchains, certificates, identity)
        return self._host

    def _way_out(self, ask: AskHost | None, ports: Sequence[int]) -> WayOut | None:
        if not isinstance(self._network, str):
            return WayOut(self._opener, only(self._network), self._names, self._never)
        if self._network != "ask" or ask is None:
            return None
        return WayOut(self._opener, ask, self._names, self._never, ports)

    # --- what it is opened to ---------------------------------------------------------------------------------------

    def lacks(self, workspace: Path, path: str) -> bool:
        inside = (*SYSTEM, *_OWN_FOLDERS, str(workspace), *(self._host.toolchains.readable if self._host else ()))
        return not any(path == place or path.startswith(f"{place}/") for place in inside)

    def shows(self, path: str) -> bool:
        readable = (*SYSTEM, *(self._host.toolchains.readable if self._host else ()))
        return any(path.startswith(f"{place}/") for place in readable)

    def why_not(self, kind: str, subject: str) -> str:
        return why_not(kind, subject, self._hidden, os.environ)

    async def refit(self, session: str, openings: Openings) -> None:
        await asyncio.gather(*(self._survey.of(Path(folder)) for folder, _ in openings.folders))
        if way_out := self._ways_out.get(session):
            await way_out.set_ports(openings.ports)
        if wall_repair := self._wall_repair.get(session):
            wall_repair.hold([Path(path) for path in openings.held])

    def _opened_walls(self, openings: Openings) -> list[Wall]:
        """What lies in such a folder that a workspace would have walls for has them there. Where it leads was looked at
        when a person was asked, and may be elsewhere by now."""
        walls: list[Wall] = []
        for path, writable in ((Path(path), writable) for path, writable in openings.folders):
            real = Path(os.path.realpath(path))
            if self.why_not("folder_write" if writable else "folder", str(real)):
                continue
            found = [Wall(path, writable=writable)]
            if path.is_dir():
                found = workspace_walls(path, self._hidden, self._survey.last(path), writable=writable)
            walls += [_found_at(wall, path, real) for wall in found] if path != real else found
        return walls

    # --- what is inside --------------------------------------------------------------------------------------------

    def _namespaces(self, own_session: bool, *, read_only: bool) -> list[str]:
        return [
            *("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent"),
            *(("--new-session",) if own_session else ()),
            *("--uid", str(_UID), "--gid", str(_UID), "--hostname", "openagent", "--cap-drop", "ALL"),
            *(("--share-net",) if self._network == "on" and not read_only else ()),
        ]

    def _file_system(self, host: _Host, workspace: Path, besides: Iterable[str]) -> list[str]:
        """`besides` is what else will be mounted."""
        arguments: list[str] = []
        for directory in SYSTEM:
            if os.path.islink(directory):
                arguments += ["--symlink", os.readlink(directory), directory]
            elif os.path.isdir(directory):
                arguments += ["--ro-bind", directory, directory]
        for name in _ETC_FOLDERS:
            if os.path.isdir(f"/etc/{name}"):
                arguments += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
        arguments += ["--dev", "/dev", "--size", str(SHARED_MEMORY), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]  # noqa: S108
        arguments += ["--proc", "/proc", *(("--remount-ro", "/proc") if os.geteuid() == 0 else ())]
        for directory in _IN_MEMORY:
            arguments += ["--size", str(self._limits.disk), "--tmpfs", directory]
        readable = (*host.toolchains.readable, *_unseen(host.certificates.files))
        shown = (str(workspace), *readable, *besides)
        if any(path.startswith("/var/tmp/") for path in shown):  # noqa: S108 -- nothing can be mounted below a link
            arguments += ["--size", str(self._limits.disk), "--tmpfs", "/var/tmp"]  # noqa: S108
        else:
            arguments += ["--symlink", "/tmp", "/var/tmp"]  # noqa: S108
        for path in readable:
            arguments += ["--ro-bind-try", path, path]
        return arguments

    def _environment(self, host: _Host) -> dict[str, str]:
        """All that is inside; bubblewrap itself has no other, since its own can be read there as /proc/1/environ."""
        return {
            "PATH": host.toolchains.path,
            **agent_env(),
            **host.toolchains.env,
            **host.certificates.env,
            **self._proxy_variables(),
            **self._env,
        }

    def _proxy_variables(self) -> dict[str, str]:
        if isinstance(self._network, str):
            return proxy_env() if self._network == "ask" else {}
        return proxy_env(self._network)

    # --- one start -------------------------------------------------------------------------------------------------

    def _launch(
        self,
        host: _Host,
        workspace: Path,
        log_dir: Path | None,
        pipes: Path | None,
        *,
        own_session: bool = True,
        ask: AskHost | None = None,
        session: str = "",
        read_only: bool = False,
        beside: bool = False,
        places: ProgramPlaces = ProgramPlaces(),  # noqa: B008
    ) -> Launch:
        """`read_only`: nothing of the workspace can be changed in it. `beside`: it is to hold reading shells, too."""
        openings = self._openings(session) if session else Openings(places.folders)
        if read_only:
            openings = openings.to_read
        ground = self._survey.last(workspace)
        held = [Path(path) for path in openings.held]
        walls = [
            *self._opened_walls(openings),
            *workspace_walls(workspace, self._hidden, ground, writable=not read_only, held=held),
        ]
        beside = beside and can_stand_beside(workspace)
        mounted, fds = mounts_of(walls, by_descriptor=host.by_descriptor)
        argv = [
            *(
                *self._namespaces(own_session, read_only=read_only),
                *self._file_system(
                    host, workspace, (*places.readable, places.own, *(folder for folder, _ in openings.folders))
                ),
                *(each for path in places.readable for each in ("--ro-bind-try", path, path)),
                *(("--bind", places.own, places.own) if places.own else ()),
                *mounts(openings, os.environ),
                *(installation_inside() if beside else ()),
                *mounted,
            ),
            *(("--ro-bind", str(log_dir), str(log_dir)) if log_dir is not None else ()),
            *(("--ro-bind", str(pipes), PIPES) if pipes is not None else ()),
            *("--chdir", str(workspace)),
        ]
        for path, source in self._copied_files(host.git_identity):
            fds.append(source)
            argv += ["--perms", "0644", "--file", str(source), path]
        if program := filter_program():
            fds.append(_in_memory(program))
            argv += ["--seccomp", str(fds[-1])]
        group = make_control_group(self._limits)
        limits = self._limits.within(self._room(workspace))
        setup = [rlimit_script(limits, grouped=group is not None), exports(openings)]
        way_out = None if read_only else self._way_out(ask, openings.ports)
        if way_out is not None:
            self._ways_out[session] = way_out
            fds += way_out.fds
            argv += way_out.arguments
            setup.append(way_out.setup)
        if beside:
            setup.append(confine_script())
        if read_only:
            setup += [f"export {name}={value}" for name, value in READING_ENV.items()]
        argv += ["--remount-ro", "/"]
        standing = Standing(workspace, walls)
        wall_repair = WallRepair(standing, walls, in_memory=() if group else _IN_MEMORY, read_only=read_only, held=held)
        if session and not read_only:
            self._wall_repair[session] = wall_repair

        def on_end() -> None:
            if way_out is not None:
                way_out.close()
                if self._ways_out.get(session) is way_out:
                    del self._ways_out[session]
            if self._wall_repair.get(session) is wall_repair:
                del self._wall_repair[session]
            if group is not None:
                group.retire()
            standing.end()

        fds.append(_in_memory(b"\0".join(os.fsencode(argument) for argument in argv) + b"\0"))
        command = [*_confinement(self._limits, group), host.bwrap, "--args", str(fds[-1])]
        files = {FILTER_FILE: metadata_filter() or b""} if beside else {}
        return Launch(command, fds, "\n".join(setup), on_end, wall_repair, files, beside)

    def _copied_files(self, git_identity: Sequence[tuple[str, str]]) -> list[tuple[str, int]]:
        names = (*_ETC_FILES, "resolv.conf") if self._network == "on" else _ETC_FILES
        files = settings_files(_UID, _UID, git_identity)
        if self._proxy_variables():
            files |= proxied_ssh(PROXY_PORT)
        copies = [(path, _in_memory(text.encode())) for path, text in files.items()]
        copies += [
            (f"/etc/{name}", os.open(f"/etc/{name}", os.O_RDONLY)) for name in names if os.path.isfile(f"/etc/{name}")
        ]
        return copies


def _stops(launch: Launch, pid: int) -> None:
    if launch.wall_repair is not None:
        standing = launch.wall_repair.standing
        standing.first, standing.stop = lambda: pid, functools.partial(kill_tree, pid)


def _unseen(paths: Sequence[str]) -> list[str]:
    there = (*SYSTEM, *(f"/etc/{name}" for name in _ETC_FOLDERS))
    return [path for path in paths if not any(path == place or path.startswith(f"{place}/") for place in there)]


def _enter(folder: str) -> str:
    return f"cd -- {shlex.quote(folder)} || exit 1\n" if folder else ""


def _found_at(wall: Wall, named: Path, real: Path) -> Wall:
    below = wall.path.is_relative_to(named)
    return wall._replace(source=real / wall.path.relative_to(named)) if below else wall


def _confinement(limits: Limits, group: ControlGroup | None) -> list[str]:
    if group is not None:
        return ["/bin/sh", "-c", ENTER_GROUPS, "sh", *group.entrances, "--"]
    if limits.cpus is not None and (taskset := shutil.which("taskset")):
        allowed = sorted(os.sched_getaffinity(0))[: max(1, round(limits.cpus))]
        return [taskset, "-c", ",".join(map(str, allowed))]
    return []


def _in_memory(data: bytes) -> int:
    fd = os.memfd_create("openagent")
    os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
