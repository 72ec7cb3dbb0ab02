"""A container engine, Docker's or Podman's, by the HTTP interface that both offer on a unix socket.

Not by the `docker` program, which Podman's socket may come without and which would be one more process of 40 MB per
session; not by Docker's SDK, which is as synchronous as this and brings `requests` along. The shell needs no attached
streams: its pipes are in a folder that the container shares.
"""

import asyncio
import http.client
import os
import socket
import time
from collections.abc import Mapping
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Struct

from openagent.filesystem.handles import LINUX
from openagent.jail.openings import usual_places
from openagent.jail.processes import start_ticks
from openagent.protocol import locations
from openagent.protocol.errors import OpenAgentError

_ANSWERED_WITHIN_S = 60.0
_SEEN_WITHIN_S = 2.0
_HOME_LABEL, _DAEMON_LABEL = "openagent.home", "openagent.daemon"
_GET_IT = (
    "Install Docker (`apt-get install docker.io`) or Podman (`apt-get install podman`, then "
    "`systemctl --user start podman.socket`), or name its socket in DOCKER_HOST."
    if LINUX
    else "Install Docker Desktop, OrbStack, Colima or Podman and start it, or name its socket in DOCKER_HOST."
)


class EngineInfo(Struct, rename="pascal"):
    security_options: list[str] | None = None
    memory_limit: bool = False
    pids_limit: bool = False
    cpu_cfs_quota: bool = False
    buildah_version: str = ""
    architecture: str = ""
    kernel_version: str = ""

    @property
    def is_far(self) -> bool:
        """It runs in a virtual machine: with another kernel, or because nothing else can run containers here."""
        return not LINUX or self.kernel_version not in ("", os.uname().release)

    def has(self, option: str) -> bool:
        """`rootless`, `seccomp`, `selinux`, `userns`."""
        return any(f"name={option}" in listed.split(",") for listed in self.security_options or ())

    @property
    def is_podman(self) -> bool:
        return bool(self.buildah_version)

    @property
    def limits_groups(self) -> bool:
        return self.memory_limit and self.pids_limit


class _Created(Struct, rename="pascal"):
    id: str


class _State(Struct, rename="pascal"):
    pid: int = 0


class _Container(Struct, rename="pascal"):
    state: _State


class _Listed(Struct, rename="pascal"):
    id: str
    labels: dict[str, str] | None = None


class _Refusal(Struct):
    message: str = ""


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("engine", timeout=_ANSWERED_WITHIN_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class EngineRefusal(OpenAgentError):
    """The engine answered, and would not."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__("jail_error", f"The container engine refused: {reason}.", hint="Its own log may say more.")
        self.status = status
        self.reason = reason


class Engine:
    def __init__(self, path: str) -> None:
        self.path = path

    async def info(self) -> EngineInfo:
        return msgspec.json.decode(await self.ask("GET", "/info"), type=EngineInfo)

    async def has_image(self, image: str) -> bool:
        try:
            await self.ask("GET", f"/images/{quote(image)}/json")
        except EngineRefusal as refusal:
            if refusal.status != http.client.NOT_FOUND:
                raise
            return False
        return True

    async def create(self, description: Mapping[str, object]) -> str:
        body = msgspec.json.encode({**description, "Labels": _own_labels()})
        return msgspec.json.decode(await self.ask("POST", "/containers/create", body), type=_Created).id

    async def begin(self, container: str) -> None:
        await self.ask("POST", f"/containers/{container}/start")

    async def start(self, container: str, mark: str) -> int:
        """The pid of its first process, as this machine sees it; `mark` is in that process's command line."""
        await self.begin(container)
        answer = await self.ask("GET", f"/containers/{container}/json")
        pid = msgspec.json.decode(answer, type=_Container).state.pid
        deadline = time.monotonic() + _SEEN_WITHIN_S  # between its start and its program it is the engine's own
        while not _is_first_process(pid, mark):
            if time.monotonic() > deadline:
                raise OpenAgentError(
                    "jail_error",
                    f"The container's processes cannot be seen here: it ended at once, or the engine at {self.path} "
                    "runs in a virtual machine or on another host.",
                    hint="The docker jail shares pipes with its container: use an engine that runs on this machine.",
                )
            await asyncio.sleep(0.002)
        return pid

    async def remove(self, container: str) -> None:
        """Whether it runs or not. Returns when it is gone."""
        try:
            await self.ask("DELETE", f"/containers/{container}?force=true&v=true")
        except EngineRefusal as refusal:
            if refusal.status == http.client.NOT_FOUND:
                return
            if refusal.status != http.client.CONFLICT:
                raise
            await self._wait_until_removed(container)

    async def _wait_until_removed(self, container: str) -> None:
        try:
            await self.ask("POST", f"/containers/{container}/wait?condition=removed")
        except EngineRefusal as refusal:
            if refusal.status != http.client.NOT_FOUND:
                raise

    async def sweep(self) -> None:
        """Removes the containers of daemons of this data home that are no more."""
        filters = msgspec.json.encode({"label": [f"{_HOME_LABEL}={_own_labels()[_HOME_LABEL]}"]}).decode()
        answer = await self.ask("GET", "/containers/json?" + urlencode({"all": "true", "filters": filters}))
        for listed in msgspec.json.decode(answer, type=list[_Listed]):
            pid, _, ticks = (listed.labels or {}).get(_DAEMON_LABEL, "").partition(" ")
            if not pid.isdigit() or str(start_ticks(int(pid))) != ticks:
                await self.remove(listed.id)

    async def ask(self, method: str, path: str, body: bytes | None = None) -> bytes:
        return await asyncio.to_thread(self._ask_now, method, path, body)

    def _ask_now(self, method: str, path: str, body: bytes | None = None) -> bytes:
        connection = _UnixConnection(self.path)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
            answer = connection.getresponse()
            data = answer.read()
        except (OSError, http.client.HTTPException) as problem:
            raise OpenAgentError(
                "jail_error",
                f"The container engine at {self.path} does not answer: {_reason(problem)}.",
                hint="Start it again, or name another socket in DOCKER_HOST.",
            ) from problem
        finally:
            connection.close()
        if answer.status >= http.client.BAD_REQUEST:
            raise EngineRefusal(answer.status, _message(data))
        return data

    def problem(self) -> str:
        """Why it cannot be reached; empty when it can."""
        try:
            self._ask_now("GET", "/_ping")
        except OpenAgentError as error:
            return _reason(error.__cause__ or error)
        return ""


async def find_engine(path: str, env: Mapping[str, str]) -> Engine:
    """At `path`, else where DOCKER_HOST says, else at the first of the usual places that answers."""
    named = path or _unix_path(env.get("DOCKER_HOST", ""))
    tried: list[str] = []
    for candidate in [named] if named else usual_places(env):
        engine = Engine(candidate)
        problem = await asyncio.to_thread(engine.problem)
        if not problem:
            return engine
        tried.append(f"{candidate} ({problem})")
    if tried:
        raise OpenAgentError(
            "jail_error",
            f"No container engine answers at {', '.join(tried)}.",
            hint="Start the engine, or let your user use it (for Docker, join the group `docker`). " + _GET_IT,
        )
    raise OpenAgentError("jail_error", "There is no container engine (Docker or Podman) on this machine.", hint=_GET_IT)


def _unix_path(docker_host: str) -> str:
    if docker_host and not docker_host.startswith("unix://"):
        raise OpenAgentError(
            "jail_error",
            f"DOCKER_HOST is {docker_host.partition('://')[0]}://…, and the docker jail shares files with its engine.",
            hint="Name the unix socket of an engine on this machine: DOCKER_HOST=unix:///run/docker.sock.",
        )
    return docker_host.removeprefix("unix://")


def _own_labels() -> dict[str, str]:
    return {
        _HOME_LABEL: os.path.realpath(locations.data_home(os.environ)),
        _DAEMON_LABEL: f"{os.getpid()} {start_ticks(os.getpid())}",
    }


def _is_first_process(pid: int, mark: str) -> bool:
    try:
        with open(f"/proc/{pid}/cmdline") as cmdline, open(f"/proc/{pid}/status") as status:
            pids = next((line.split()[1:] for line in status if line.startswith("NSpid:")), [""])
            return mark in cmdline.read().split("\0") and len(pids) > 1 and pids[-1] == "1"
    except OSError:
        return False


def _message(data: bytes) -> str:
    try:
        reason = msgspec.json.decode(data, type=_Refusal).message
    except msgspec.MsgspecError:
        reason = data[:500].decode("utf-8", "replace")
    return reason.strip().rstrip(".") or "it gave no reason"


def _reason(problem: BaseException) -> str:
    return (isinstance(problem, OSError) and problem.strerror) or str(problem) or type(problem).__name__
