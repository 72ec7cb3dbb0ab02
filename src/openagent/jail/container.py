"""One container, in which all shells of a session live."""

import asyncio
import contextlib
import functools
import logging
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from openagent.jail.egress_proxy import PROXY_PORT, EgressProxy
from openagent.jail.engine import Engine, EngineInfo, EngineRefusal
from openagent.jail.git_walls import Standing, Wall
from openagent.jail.inside import HOME, PIPES, SHARED_MEMORY, settings_files
from openagent.jail.limits import Limits, rlimit_script
from openagent.jail.ports import PortOpener
from openagent.jail.reading import READING_ENV
from openagent.jail.seccomp import named_filter
from openagent.jail.shell_enclosure import Enclosure
from openagent.jail.wall_repair import MOST_INODES, UNREADABLE, WallRepair
from openagent.jail.walls import workspace_walls
from openagent.jail.workspace_survey import Ground
from openagent.plugins.jail import AskHost, NeverReached, reach_anything
from openagent.protocol.errors import OpenAgentError

_ORDERS = "orders"
"""The pipe through which the first process is told to start a shell. It ends when nobody can write to it any more,
and the container with it: so no container outlives its daemon."""
_EMPTY, _NOTHING = "empty", "nothing"
FILES = "/run/openagent-files"
"""Where the folder of the pipes appears inside when they are no pipes there."""
_WAIT = "while read -r line; do :; done"
"""A first process that ends with its input, which ends with the daemon."""
_UNSEEN = (
    "/sys",
    "/etc/shadow",
    "/etc/gshadow",
    "/proc/acpi",
    "/proc/asound",
    "/proc/dynamic_debug",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/kpagecgroup",
    "/proc/kpagecount",
    "/proc/kpageflags",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/slabinfo",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/vmallocinfo",
)
_UNWRITABLE = ("/dev", "/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")


_log = logging.getLogger(__name__)
_NO_BASH = re.compile(r"bash.*(not found|no such file)", re.IGNORECASE)


class ContainerWayOut(NamedTuple):
    opener: PortOpener
    ask: AskHost
    names: Mapping[str, str]
    never: NeverReached = reach_anything


class ContainerPlan(NamedTuple):
    """What all containers of a session have in common."""

    engine: Engine
    info: EngineInfo
    image: str
    network: bool
    limits: Limits
    env: Mapping[str, str]
    git_identity: Sequence[tuple[str, str]]
    workspace: Path
    hidden: Sequence[Path]
    ground: Ground
    log_dir: Path | None
    read_only: bool = False
    way_out: ContainerWayOut | None = None
    opened: set[Path] = set()
    """What looks like a secret, and was allowed to be read."""

    @property
    def inner_user(self) -> tuple[int, int]:
        """Who may write the workspace. In a rootless engine, root inside is the person who runs it outside.

        A root daemon's commands run as the workspace's owner. Where that is root, too, they are root without any
        capability and any way to get one, as they are under bubblewrap: nobody else could write there.
        """
        if self.info.has("rootless"):
            return 0, 0
        if os.geteuid() != 0:
            return os.geteuid(), os.getegid()
        owner = self.workspace.stat()
        return owner.st_uid, owner.st_gid

    @property
    def _is_hosts_root(self) -> bool:
        """Root may write kernel settings without any privilege."""
        return self.inner_user[0] == 0 and not self.info.has("rootless")

    @property
    def foreign_user(self) -> tuple[int, int] | None:
        """Who that is to the host, when it is not the daemon's own user."""
        user = self.inner_user
        return user if os.geteuid() == 0 and user[0] != 0 else None

    @property
    def walls(self) -> list[Wall]:
        walls = workspace_walls(self.workspace, self.hidden, self.ground, writable=not self.read_only)
        return [wall for wall in walls if not (wall.unreadable and wall.path in self.opened)]

    def describe(self, pipes: Path, walls: Sequence[Wall]) -> dict[str, object]:
        """For the engine's `create`."""
        uid, gid = self.inner_user
        return {
            "Image": self.image,
            "Entrypoint": ["bash", "-c", _WAIT] if self.is_far else ["bash", f"{PIPES}/launcher", PIPES, pipes.name],
            "Cmd": [],
            **({"OpenStdin": True, "StdinOnce": True} if self.is_far else {}),
            "Env": [f"{name}={value}" for name, value in self._environment.items()],
            "User": f"{uid}:{gid}",
            "Hostname": "openagent",
            "WorkingDir": "/",
            "Healthcheck": {"Test": ["NONE"]},
            "HostConfig": {
                **self._walls(pipes, walls),
                **self._bounds(),
                "AutoRemove": True,
                "NetworkMode": "default" if self.network and not self.read_only else "none",
                "IpcMode": "private",
                "ReadonlyRootfs": True,
                "CapDrop": ["ALL"],
                "SecurityOpt": self._security_options(pipes),
                "MaskedPaths": _UNSEEN,
                "ReadonlyPaths": (*_UNWRITABLE, *(("/proc",) if self._is_hosts_root else ())),
                "LogConfig": {"Type": "none"},
                **({"UsernsMode": "host"} if self.info.has("userns") else {}),
            },
        }

    @property
    def _environment(self) -> dict[str, str]:
        return {**self.env, **(READING_ENV if self.read_only else {})}

    @property
    def settings_files(self) -> dict[str, str]:
        return settings_files(*self.inner_user, self.git_identity)

    def _walls(self, pipes: Path, walls: Sequence[Wall]) -> dict[str, object]:
        room = f"rw,exec,nosuid,nodev,mode=1777,size={self.limits.disk},nr_inodes={MOST_INODES}"
        mounts = [_bind(pipes, FILES if self.is_far else PIPES)]
        mounts += [_bind(pipes / path.rpartition("/")[2], path) for path in self.settings_files]
        if self.log_dir is not None:
            mounts.append(_bind(self.log_dir))
        for wall in walls:
            if wall.unreadable:
                mounts.append(_bind(pipes / UNREADABLE, str(wall.path)))
            elif wall.emptied:  # Podman would fill a tmpfs with what it lies over
                nothing = Path(os.devnull) if not self.is_far else pipes / _NOTHING
                mounts.append(_bind(pipes / _EMPTY if wall.path.is_dir() else nothing, str(wall.path)))
            else:
                mounts.append(_bind(wall.path, writable=wall.writable))
        in_memory = {"/tmp": room, HOME: room}  # noqa: S108
        if self.is_far:
            uid, gid = self.inner_user
            in_memory[PIPES] = f"rw,nosuid,nodev,noexec,mode=700,uid={uid},gid={gid},size=1m"
        return {"Mounts": mounts, "Tmpfs": in_memory, "ShmSize": SHARED_MEMORY}

    def _bounds(self) -> dict[str, object]:
        bounds: dict[str, object] = {}
        if self.info.limits_groups:
            memory = self.limits.memory
            bounds |= {"Memory": memory, "MemorySwap": memory, "PidsLimit": self.limits.processes}
        if self.info.cpu_cfs_quota and self.limits.cpus is not None:
            bounds["NanoCpus"] = int(self.limits.cpus * 1e9)
        return bounds

    def _security_options(self, pipes: Path) -> list[str]:
        options = ["no-new-privileges"]
        if self.info.has("selinux"):
            options.append("label=disable")  # or else the person's own files would have to be labelled anew
        if self.info.is_podman:
            options.append("mask=" + ":".join(_UNSEEN))  # it has no ear for MaskedPaths
        if self.info.has("seccomp") and (profile := named_filter(self.info.architecture if self.is_far else None)):
            if self.info.is_podman:
                (pipes / "seccomp").write_text(profile)
                profile = str(pipes / "seccomp")
            options.append(f"seccomp={profile}")
        return options

    @property
    def is_far(self) -> bool:
        return self.info.is_far

    @property
    def limits_script(self) -> str:
        return rlimit_script(self.limits, grouped=self.info.limits_groups)

    @property
    def setup(self) -> str:
        return f"{self.limits_script}\nexec <{_ORDERS}"

    def write_files(self, pipes: Path) -> None:
        for path, text in self.settings_files.items():
            (pipes / path.rpartition("/")[2]).write_text(text)
        (pipes / _EMPTY).mkdir()
        (pipes / _NOTHING).touch()


def _bind(source: Path, target: str = "", *, writable: bool = False) -> dict[str, object]:
    return {"Type": "bind", "Source": str(source), "Target": target or str(source), "ReadOnly": not writable}


def failure_of(problem: OpenAgentError | None, image: str) -> OpenAgentError:
    """Why no shell ever ran in a container of that image."""
    if isinstance(problem, EngineRefusal) and _NO_BASH.search(problem.reason):
        return OpenAgentError(
            "jail_error",
            f"The image {image} has no bash, which the jail's shell is.",
            hint="Choose an image that has it in `[jail] image`, one based on Debian for example.",
        )
    return problem or OpenAgentError("jail_error", "The container ended before a shell had started in it.")


class ContainerEnclosure(Enclosure):
    def __init__(self, plan: ContainerPlan) -> None:
        super().__init__(PIPES, plan.foreign_user)
        self._plan = plan
        self._problem: OpenAgentError | None = None
        self._unwanted = False
        self._proxy: EgressProxy | None = None
        self._unsent: list[bytes] = []
        self._walls = plan.walls
        self._standing = Standing(plan.workspace, self._walls)
        self._standing.first = lambda: self.pid
        self._standing.stop = functools.partial(self._loop.call_soon_threadsafe, self.kill)
        self.wall_repair = WallRepair(self._standing, self._walls, read_only=plan.read_only)
        self._write_launcher(plan.setup)
        plan.write_files(self.outer_pipes)
        os.mkfifo(self.outer_pipes / _ORDERS, 0o600)
        for path in (self.outer_pipes, *self.outer_pipes.iterdir()):
            self.hand_over(path)
        self._orders = os.open(self.outer_pipes / _ORDERS, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._life = self._loop.create_task(self._live())

    async def _live(self) -> None:
        engine, container = self._plan.engine, ""
        try:
            container = await engine.create(self._plan.describe(self.outer_pipes, self._walls))
            pid = await engine.start(container, self.outer_pipes.name)
            if self._plan.way_out is not None and not self._plan.read_only:
                await self._let_out(pid, self._plan.way_out)
            self._enter(pid)
            await asyncio.shield(self._ended)
        except OpenAgentError as problem:
            self._problem = problem
        except ProcessLookupError:
            pass  # it ended at once, which `failure` says
        finally:
            self.kill()
            if not self.pid:
                self._end()
            with contextlib.suppress(OpenAgentError):  # nothing runs in it any more; the next daemon sweeps
                if container:
                    await engine.remove(container)

    async def _let_out(self, pid: int, way_out: ContainerWayOut) -> None:
        """Before the first shell. Who may not enter the container's network (an ordinary user, and an engine of root's)
        leaves it without one."""
        self._proxy = EgressProxy(way_out.ask, way_out.names, way_out.never)
        way_out.opener.hold()
        try:
            await self._proxy.serve(await way_out.opener.open(pid, PROXY_PORT))
        except OpenAgentError as problem:
            _log.warning(
                "container has no network: the proxy could not be opened in it", extra={"problem": str(problem)}
            )

    def _enter(self, pid: int) -> None:
        """No shell was started before: whoever ends one must know where to look for it."""
        self._watch(pid)
        if self._unwanted:
            self.kill()
        for order in self._unsent:
            os.write(self._orders, order)

    def start_shell(self, name: str, token: str, wall: str) -> None:
        del wall  # reading shells have a container of their own
        order = f"{name} {token}\n".encode()
        if not self.pid:
            self._unsent.append(order)
        elif self.alive:
            os.write(self._orders, order)

    def failure(self) -> OpenAgentError:
        return failure_of(self._problem, self._plan.image)

    def kill(self) -> None:
        self._unwanted = True
        super().kill()

    def _end(self) -> None:
        os.close(self._orders)
        super()._end()
        self._standing.end()
        if self._proxy is not None and self._plan.way_out is not None:
            self._proxy.close()
            self._plan.way_out.opener.release()

    async def close(self) -> None:
        """Returns when the container is gone."""
        await super().close()
        await asyncio.shield(self._life)
