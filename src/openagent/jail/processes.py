"""Finding and ending the processes of one command, from outside the jail, through /proc."""

import contextlib
import functools
import os
import signal
import time
from collections.abc import Collection
from typing import NamedTuple

from openagent.protocol.metrics import JailUse

_PAGE = os.sysconf("SC_PAGESIZE")
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_MAX_PASSES = 64
"""A process may fork while its tree is being killed, so the tree is read again until nothing is left."""


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

    @classmethod
    def now(cls) -> "Moment":
        last_pid = int(os.pread(_load_average(), 128, 0).split()[-1])
        return cls(int(time.clock_gettime(time.CLOCK_BOOTTIME) * _TICKS_PER_SECOND), last_pid)

    def before(self, pid: int) -> bool:
        """Did that process, which must be alive, begin after this moment?"""
        started = start_ticks(pid)
        return started is not None and self._before(started, pid)

    def after(self, pid: int) -> bool:
        """Was that process, which must be alive, there at this moment?"""
        started = start_ticks(pid)
        return started is not None and not self._before(started, pid)

    def _before(self, started: int, pid: int) -> bool:
        return started > self.ticks or (started == self.ticks and pid > self.last_pid)


def start_ticks(pid: int) -> int | None:
    """None when the process is gone or a zombie."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            fields = stat.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def descendants(root: int) -> list[int]:
    """Every process below `root`, parents first."""
    found: list[int] = []
    waiting = [root]
    while waiting:
        for child in _children(waiting.pop()):
            found.append(child)
            waiting.append(child)
    return found


def _children(pid: int) -> list[int]:
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
    while waiting:
        for child in _children(waiting.pop()):
            if child in leaving_out:
                continue
            if child not in sparing:
                if moment.after(child):
                    continue  # an earlier command's server, whose workers may be younger
                if moment.before(child):
                    found.append(child)
            waiting.append(child)
    return found


def kill_tree(root: int) -> None:
    """Stops everything before it kills anything: a script whose child dies would go on with its next line."""
    stopped: list[int] = []
    for _ in range(_MAX_PASSES):
        running = [pid for pid in (root, *descendants(root)) if pid not in stopped]
        if not running:
            break
        for pid in running:
            send_signal(pid, signal.SIGSTOP)
        stopped += running
    for pid in stopped:
        send_signal(pid, signal.SIGKILL)
