"""Finding and ending the processes of one command, from outside the jail, through /proc, or by what `ps` lists.

Only with /proc are a command's orphans found whatever they did. By `ps` those are that stayed in their process group.
"""

import contextlib
import functools
import os
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from openagent.protocol.metrics import JailUse

_PAGE = os.sysconf("SC_PAGESIZE")
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_STANDS_STILL_WITHIN_S = 1.0
_MAX_PASSES = 64
"""A process may fork while its tree is being killed, so the tree is read again until nothing is left."""


@functools.cache
def _has_proc() -> bool:
    return os.path.exists("/proc/self/stat")


class _Listed(NamedTuple):
    parent: int
    group: int
    is_zombie: bool
    started: int


def _listed() -> dict[int, _Listed]:
    """All processes, where there is no /proc."""
    words = ("ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "pgid=", "-o", "stat=", "-o", "lstart=")
    told = subprocess.run(words, capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C"}).stdout
    found: dict[int, _Listed] = {}
    for line in told.splitlines():
        pid, parent, group, state, *started = line.split()
        began = int(time.mktime(time.strptime(" ".join(started), "%a %b %d %H:%M:%S %Y")))
        found[int(pid)] = _Listed(int(parent), int(group), state.startswith("Z"), began)
    return found


def is_running(pid: int) -> bool:
    """Or waits for somebody to notice that it has ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@functools.cache
def _load_average() -> int:
    """Kept open: it is read at every command."""
    return os.open("/proc/loadavg", os.O_RDONLY | os.O_CLOEXEC)


class Moment(NamedTuple):
    """A point in time to tell older processes from younger ones by."""

    ticks: int
    """On the clock that /proc/PID/stat gives start times in, which is coarse."""
    last_pid: int
    """The youngest process there was: settles the matter within one tick."""
    there: Mapping[int, _Listed] | None = None
    """All processes there were, where nothing finer tells."""

    @classmethod
    def now(cls) -> "Moment":
        if not _has_proc():
            return cls(int(time.time()), 0, _listed())
        last_pid = int(os.pread(_load_average(), 128, 0).split()[-1])
        return cls(int(time.clock_gettime(time.CLOCK_BOOTTIME) * _TICKS_PER_SECOND), last_pid)

    def before(self, pid: int, started: int) -> bool:
        """Did that process, which must be alive, begin after this moment?"""
        if self.there is not None:
            return pid not in self.there or self.there[pid].started != started
        return started > self.ticks or (started == self.ticks and pid > self.last_pid)


def start_ticks(pid: int) -> int | None:
    """None when the process is gone or a zombie. Without /proc these are seconds."""
    if not _has_proc():
        return _start_of(_listed().get(pid))
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            fields = stat.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def _start_of(listed: _Listed | None) -> int | None:
    return None if listed is None or listed.is_zombie else listed.started


class _Family(NamedTuple):
    """Who began whom, and when."""

    children: Callable[[int], list[int]]
    start: Callable[[int], int | None]

    @classmethod
    def below(cls, root: int) -> "_Family":
        if _has_proc():
            return cls(children_of, start_ticks)
        listed = _listed()
        below: dict[int, list[int]] = {}
        for pid, (parent, group, _, _) in listed.items():
            above = listed.get(parent)
            is_orphan = group == root != pid and (above is None or above.group != root)
            below.setdefault(root if is_orphan else parent, []).append(pid)

        def children(pid: int) -> list[int]:
            return below.get(pid, [])

        def start(pid: int) -> int | None:
            return _start_of(listed.get(pid))

        return cls(children, start)


def is_in_use(pid: int, place: str) -> bool:
    """Whether a process works in a folder, or holds it or something in it open."""
    within = f"{place}/"
    with contextlib.suppress(OSError):
        held = [f"/proc/{pid}/cwd", *(f"/proc/{pid}/fd/{name}" for name in os.listdir(f"/proc/{pid}/fd"))]
        if any(f"{_leads_to(link)}/".startswith(within) for link in held):
            return True
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="surrogateescape") as maps:
            return any(within in line for line in maps)
    return False


def _leads_to(link: str) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""


def descendants(root: int) -> list[int]:
    """Every process below `root`, parents first."""
    found: list[int] = []
    waiting = [root]
    family = _Family.below(root)
    while waiting:
        for child in family.children(waiting.pop()):
            found.append(child)
            waiting.append(child)
    return found


def children_of(pid: int) -> list[int]:
    if not _kernel_lists_children():
        return [child for child in _all_processes() if _parent(child) == pid]
    children: list[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return children
    for thread in threads:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", "rb") as listing:
            children.extend(int(child) for child in listing.read().split())
    return children


@functools.cache
def _kernel_lists_children() -> bool:
    return os.path.exists("/proc/thread-self/children")


def _all_processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _parent(pid: int) -> int | None:
    if not _has_proc():
        return listed.parent if (listed := _listed().get(pid)) is not None else None
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return int(stat.read().rpartition(b")")[2].split()[1])
    except OSError:
        return None


def use_of(roots: Collection[int]) -> JailUse:
    """Of these processes and all below them."""
    processes, memory, ticks = 0, 0, 0
    for pid in {each for root in roots for each in (root, *descendants(root))}:
        try:
            with open(f"/proc/{pid}/stat", "rb") as stat:
                fields = stat.read().rpartition(b")")[2].split()
        except OSError:
            continue
        processes += 1
        memory += int(fields[21]) * _PAGE
        ticks += sum(int(field) for field in fields[11:15])
    return JailUse(processes, memory, ticks / _TICKS_PER_SECOND)


def find_inner(root: int, inner_pid: int) -> int | None:
    """The outer pid of the process that calls itself `inner_pid` in its own pid namespace."""
    if not _has_proc():  # and no such namespaces
        return inner_pid if inner_pid in descendants(root) else None
    wanted = str(inner_pid).encode()
    for pid in descendants(root):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/status", "rb") as status:
            for line in status:
                if line.startswith(b"NSpid:"):
                    if line.split()[-1] == wanted:
                        return pid
                    break
    return None


def send_signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def ancestors(pid: int, root: int) -> set[int]:
    """From `pid` up to `root`, both included."""
    line = {root}
    above: int | None = pid
    while above is not None and above > 1 and above != root:
        line.add(above)
        above = _parent(above)
    return line


def kill_started_after(moment: Moment, root: int, *, leaving_out: Collection[int], sparing: Collection[int]) -> None:
    """Ends every process below `root` that began after a moment, orphans included, but not what older ones start.

    Branches in `leaving_out` are not entered; processes in `sparing` are, but stay.
    """
    for _ in range(_MAX_PASSES):
        victims = _started_after(moment, root, leaving_out, sparing)
        if not victims:
            return
        for pid in victims:
            send_signal(pid, signal.SIGKILL)


def _started_after(moment: Moment, root: int, leaving_out: Collection[int], sparing: Collection[int]) -> list[int]:
    found: list[int] = []
    waiting = [root]
    family = _Family.below(root)
    while waiting:
        for child in family.children(waiting.pop()):
            if child in leaving_out:
                continue
            if child not in sparing and (started := family.start(child)) is not None:
                if not moment.before(child, started):
                    continue  # an earlier command's server, whose workers may be younger
                found.append(child)
            waiting.append(child)
    return found


def freeze_tree(root: int) -> list[int]:
    """Whom it stopped: parents before their children."""
    stopped: list[int] = []
    for _ in range(_MAX_PASSES):
        running = [pid for pid in (root, *descendants(root)) if pid not in stopped]
        if not running:
            break
        for pid in running:
            send_signal(pid, signal.SIGSTOP)
        stopped += running
    return stopped


def hold_tree(root: int) -> list[int]:
    """Whom it stopped, when all of them stand still: a signal arrives only when the call into the kernel that a process
    is in has come to its end, and on a busy machine that may be a while."""
    stopped = freeze_tree(root)
    until = time.monotonic() + _STANDS_STILL_WITHIN_S
    while time.monotonic() < until:
        moving = any(map(_moves, stopped))
        new = [pid for pid in descendants(root) if pid not in stopped]
        for pid in new:
            send_signal(pid, signal.SIGSTOP)
        stopped += new
        if not moving and not new:
            break
        time.sleep(0.0005)
    return stopped


def _moves(pid: int) -> bool:
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/stat", "rb") as stat:
                if stat.read().rpartition(b")")[2].split()[0] not in (b"T", b"t", b"Z", b"X"):
                    return True
    return False


def thaw(stopped: Sequence[int]) -> None:
    """Children first: a shell that goes on before its child does would say that the child was stopped."""
    for pid in reversed(stopped):
        send_signal(pid, signal.SIGCONT)


def kill_tree(root: int) -> None:
    """Stops everything before it kills anything: a script whose child dies would go on with its next line."""
    for pid in freeze_tree(root):
        send_signal(pid, signal.SIGKILL)
