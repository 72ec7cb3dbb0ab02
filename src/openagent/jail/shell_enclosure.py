"""The process inside which a session's shells live: a small bash, bare, under bubblewrap or in a container.

It reads one line per shell to start, so that every shell of a session shares one set of namespaces: a server that
one command left behind is reachable from the next, whichever shell runs it.
"""

import asyncio
import atexit
import contextlib
import fcntl
import functools
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from openagent.jail.capture import Log
from openagent.jail.processes import (
    Moment,
    ancestors,
    find_inner,
    is_running,
    kill_started_after,
    kill_tree,
    send_signal,
)
from openagent.jail.wall_repair import UNREADABLE, WallRepair
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.sessions import Wall

_STDERR_KEPT = 4096
_PREFIX = "openagent-shell-"
_READ_SIZE = 64 * 1024
_LATE_PIPES = 64
"""Two for each command that left something running. Beyond that the oldest are closed to their writers."""
_ASK_DOCTOR = "`openagent doctor` checks what the jail needs."
_ALLOW_NAMESPACES = (
    "This system keeps user namespaces from ordinary programs: allow them to bwrap with an AppArmor profile, or to all "
    "with `sysctl kernel.apparmor_restrict_unprivileged_userns=0` (or `kernel.unprivileged_userns_clone=1`)."
)

_LAUNCHER = """\
exec 2>/dev/null
cd -- "$1" || exit 125
source ./setup
while IFS=' ' read -r shell token wall; do
  [ "$wall" = read ] && with=("${confine[@]}") || with=()
  { cd "$shell" && "${with[@]}" bash --noprofile --norc bash </dev/null >/dev/null 2>&1 3>&-
    printf '%s X %s\\0' "$token" "$?" >&3
  } 3>"$shell/control" &
done
children=/proc/$$/task/$$/children
[ -r $children ] || kill -KILL 0
while read -ra left <$children; [ ${#left[@]} -gt 0 ]; do kill -KILL "${left[@]}"; done
"""
"""`$1` is the directory of the pipes as seen from inside. The end of its input is the end of the daemon, and then the
end of all that was started here: what loses its parent becomes a child of this process, or of one that ends with it."""


class Launch(NamedTuple):
    """One start of an enclosure."""

    argv: Sequence[str]
    """Everything before the launcher's own `bash`."""
    fds: Sequence[int] = ()
    """Inherited by the child, and closed here once it has them."""
    setup: str = ""
    """Shell text for the enclosure itself, before any command: limits, mostly."""
    on_end: Callable[[], None] = lambda: None
    wall_repair: WallRepair | None = None
    files: Mapping[str, bytes] = {}
    """For the directory of the pipes."""
    reads_beside: bool = False


class EnclosurePlan(NamedTuple):
    """How to start one as a process of ours, decided by the jail."""

    launch: Callable[[Path], Launch]
    """From the outer directory of the pipes."""
    env: Mapping[str, str]
    inner_pipes: str | None = None
    """Where the directory of the pipes appears inside; None when it is the same."""


class Enclosure(ABC):
    """The pipes of a session's shells, and the life of the first process of what they are in."""

    shares_pipes = True
    """A pipe in their folder has one end here and the other inside."""

    def __init__(
        self, inner_pipes: str | None, user: tuple[int, int] | None = None, *, parent: str | None = None
    ) -> None:
        """`user` is who the processes inside are to the host, when that is not the daemon's own user. `parent` is where
        the folder of the pipes is made, when it is not to be in memory."""
        self._user = user
        self._loop = asyncio.get_running_loop()
        self.private = inner_pipes is not None
        """Its /tmp and its processes are its own, and are gone with it."""
        self.outer_pipes, self._ours = _own_folder(_swept(parent) if parent else _pipes_parent())
        self.inner_pipes = inner_pipes or str(self.outer_pipes)
        self._pidfd: int | None = None
        self.pid = 0
        """Of the first process, once there is one; all others are below it."""
        self.wall_repair: WallRepair | None = None
        self.worked = False
        """A shell has run in it."""
        self.reads_beside = False
        """It can hold reading shells and writing ones."""
        self._ended = self._loop.create_future()
        self._listeners: list[Callable[[], None]] = []
        self._late: dict[int, Log | None] = {}

    @abstractmethod
    def start_shell(self, name: str, token: str, wall: Wall) -> None:
        """`read` only where `reads_beside` is."""

    def reported_first(self, inner: str) -> bytes:
        """Shell text for a shell whose pipes are in `inner`, before it reports a command's end."""
        del inner
        return b""

    def carry_output(self, name: str, number: int, token: str) -> None:
        """Before a command: its output goes through the pipes of that number."""
        del name, number, token

    def carry_input(self, name: str) -> None:
        """Before an interactive command."""
        del name

    def kill_command(self, name: str, inner_pid: int, since: Moment, others: Sequence[int]) -> None:
        """Ends the command of the shell `name`, the shell, and all it started, however detached; earlier commands'
        servers stay, and so do the `others`, shells by the pids they know themselves by."""
        del name
        shell = find_inner(self.pid, inner_pid) if inner_pid else None
        if shell is None:
            self.kill()
            return
        send_signal(shell, signal.SIGSTOP)
        found = [pid for other in others if (pid := find_inner(self.pid, other)) is not None]
        sparing = set[int]().union(*(ancestors(pid, self.pid) for pid in (shell, *found)))
        kill_started_after(since, self.pid, leaving_out=found, sparing=sparing)
        send_signal(shell, signal.SIGKILL)

    @abstractmethod
    def failure(self) -> OpenAgentError:
        """Why no shell ever ran in it."""

    def hand_over(self, path: Path) -> None:
        """Gives a new file among the pipes to the user inside."""
        if self._user is not None:
            os.chown(path, *self._user)

    @property
    def alive(self) -> bool:
        return not self._ended.done()

    def on_end(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    def forget(self, listener: Callable[[], None]) -> None:
        with contextlib.suppress(ValueError):
            self._listeners.remove(listener)

    async def mend(self) -> None:
        """Sees to it that the walls stand, or that nothing more runs here. Until a shell has run here they are being
        built, and would be taken for fallen."""
        if self.wall_repair is not None and self.pid and self.alive and self.worked:
            try:
                await self.wall_repair.mend(self.pid)
            except OpenAgentError:
                await self.close()
                raise

    @property
    def is_outdated(self) -> bool:
        """Its walls are to be others by now."""
        return self.wall_repair is not None and self.wall_repair.is_outdated

    @property
    def secrets(self) -> Sequence[Path]:
        return self.wall_repair.secrets if self.wall_repair is not None else ()

    async def open_to(self, paths: Sequence[Path]) -> None:
        """Files that were kept from being read."""
        if self.wall_repair is not None and self.pid and self.alive:
            await self.wall_repair.open(self.pid, paths)

    def _write_launcher(self, setup: str) -> None:
        self._write_unreadable()
        (self.outer_pipes / "launcher").write_text(_LAUNCHER)
        (self.outer_pipes / "setup").write_text(setup)

    def _write_unreadable(self) -> None:
        kept = self.outer_pipes / UNREADABLE
        kept.touch()
        kept.chmod(0)

    def _watch(self, pid: int) -> None:
        self._pidfd = os.pidfd_open(pid)
        self.pid = pid
        self._loop.add_reader(self._pidfd, self._first_process_ended)

    def _watch_child(self, process: subprocess.Popen[bytes]) -> None:
        """Where processes have no descriptors, a thread waits."""
        if hasattr(os, "pidfd_open"):
            self._watch(process.pid)
            return
        self.pid = process.pid

        def wait() -> None:
            process.wait()
            with contextlib.suppress(RuntimeError):  # nobody is there any more to be told
                self._loop.call_soon_threadsafe(self._first_process_ended)

        threading.Thread(target=wait, name="openagent-shell-end", daemon=True).start()

    def _first_process_ended(self) -> None:
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
        self._end()

    def _end(self) -> None:
        self._ended.set_result(None)
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener()
        for fd in list(self._late):
            self._close_late(fd)
        self._remove_pipes()

    def _remove_pipes(self) -> None:
        shutil.rmtree(self.outer_pipes, ignore_errors=True)
        os.close(self._ours)

    def read_late(self, fd: int, log: Log | None) -> None:
        """Goes on reading the pipe of a finished command for the processes it left behind, so that they can live."""
        if len(self._late) >= _LATE_PIPES:
            self._close_late(next(iter(self._late)))
        self._late[fd] = log
        self._loop.add_reader(fd, self._read_late, fd)

    def _read_late(self, fd: int) -> None:
        try:
            data = os.read(fd, _READ_SIZE)
        except BlockingIOError:
            return
        log = self._late[fd]
        if not data:
            self._close_late(fd)
        elif log is not None and log.written:
            log.add(data)

    def _close_late(self, fd: int) -> None:
        log = self._late.pop(fd)
        self._loop.remove_reader(fd)
        os.close(fd)
        if log is not None and log not in self._late.values():
            log.close()

    def kill(self) -> None:
        if self.alive and self.pid:
            kill_tree(self.pid)

    async def close(self) -> None:
        self.kill()
        await asyncio.shield(self._ended)


class ProcessEnclosure(Enclosure):
    """A child of ours, which may be bubblewrap."""

    def __init__(self, plan: EnclosurePlan) -> None:
        super().__init__(plan.inner_pipes)
        self._plan = plan
        self._stderr = bytearray()
        try:
            self._process = self._spawn()
        except OSError as problem:
            self._remove_pipes()
            raise OpenAgentError(
                "jail_error", f"The jail could not be started: {problem.strerror}.", hint=_ASK_DOCTOR
            ) from problem
        self._watch_child(self._process)

    def _spawn(self) -> subprocess.Popen[bytes]:
        launch = self._plan.launch(self.outer_pipes)
        self._write_launcher(launch.setup)
        for name, data in launch.files.items():
            (self.outer_pipes / name).write_bytes(data)
        self.reads_beside = launch.reads_beside
        try:
            process = subprocess.Popen(
                [*launch.argv, "bash", f"{self.inner_pipes}/launcher", self.inner_pipes],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=dict(self._plan.env),
                cwd="/",
                pass_fds=launch.fds,
                start_new_session=True,
                bufsize=0,
            )
        except OSError:
            launch.on_end()
            raise
        finally:
            for fd in launch.fds:
                os.close(fd)
        self._after = launch.on_end
        self.wall_repair = launch.wall_repair
        if self.wall_repair is not None:
            standing = self.wall_repair.standing
            standing.has_shells, standing.first, standing.stop = True, lambda: self.pid, self.kill
        assert process.stderr is not None
        os.set_blocking(process.stderr.fileno(), False)
        self._loop.add_reader(process.stderr.fileno(), self._read_stderr)
        return process

    def failure(self) -> OpenAgentError:
        complaint = self._stderr.decode("utf-8", "replace").strip()
        return OpenAgentError(
            "jail_error",
            f"The jail could not be started: {complaint or 'it ended at once'}.",
            hint=_ALLOW_NAMESPACES if "namespace" in complaint or "uid map" in complaint else _ASK_DOCTOR,
        )

    def start_shell(self, name: str, token: str, wall: Wall) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(f"{name} {token} {wall if self.reads_beside else 'write'}\n".encode())

    def _read_stderr(self) -> None:
        assert self._process.stderr is not None
        fd = self._process.stderr.fileno()
        try:
            data = os.read(fd, _STDERR_KEPT)
        except BlockingIOError:
            return
        if not data:
            self._loop.remove_reader(fd)
            return
        self._stderr += data[: _STDERR_KEPT - len(self._stderr)]

    def _end(self) -> None:
        self._process.wait()
        assert self._process.stdin is not None
        assert self._process.stderr is not None
        self._read_stderr()
        self._loop.remove_reader(self._process.stderr.fileno())
        self._process.stdin.close()
        self._process.stderr.close()
        super()._end()
        self._after()


@functools.cache
def _pipes_parent() -> str:
    """Memory rather than disk, where there is some."""
    return _swept(next(_writable_places()))


@functools.cache
def _swept(parent: str) -> str:
    """What a killed daemon left there is removed."""
    for leftover in Path(parent).glob(f"{_PREFIX}*"):
        owner = leftover.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdigit() and not is_running(int(owner)) and not _is_held(leftover):
            shutil.rmtree(leftover, ignore_errors=True)
    return parent


def _own_folder(parent: str) -> tuple[Path, int]:
    """A new folder and a lock on it. The lock tells daemons in containers that share /dev/shm, but cannot see this
    process, that the folder is in use."""
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=parent))
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return folder, lock


def _is_held(folder: Path) -> bool:
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:  # it is gone, or somebody else's
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


@functools.cache
def unreadable_file() -> Path:
    """What is seen in a jail in place of a secret."""
    folder, _ = _own_folder(_pipes_parent())  # held for as long as the daemon lives
    file = folder / UNREADABLE
    file.touch()
    file.chmod(0)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return file


def _writable_places() -> Iterator[str]:
    for candidate in (os.environ.get("XDG_RUNTIME_DIR"), "/dev/shm"):  # noqa: S108  mkdtemp makes a private directory in it
        if candidate and os.access(candidate, os.W_OK | os.X_OK):
            yield candidate
    yield tempfile.gettempdir()
