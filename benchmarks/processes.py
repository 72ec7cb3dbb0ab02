"""What the kernel knows about a process."""

import os
from pathlib import Path


def cpu_seconds(pid: int) -> float:
    """Of all its threads, user and system."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9


def memory_mb(pid: int, field: str = "VmRSS") -> float:
    """`VmHWM` is the most it ever was."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    kilobytes = next(line.split()[1] for line in lines if line.startswith(f"{field}:"))
    return int(kilobytes) * 1024 / 1e6


def parent_of(pid: int) -> int:
    return int(_columns(pid)[1])


def children_of(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def cpu_of_family(pid: int) -> float:
    """Seconds of a process, of its children, and of those that have ended."""
    return sum(_ticks(each) for each in (pid, *children_of(pid))) / os.sysconf("SC_CLK_TCK")


def shared_out_mb(pid: int) -> float:
    """What it takes when memory that several have is shared out among them."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024 / 1e6


def _ticks(pid: int) -> int:
    """User and system, its own and those of children that it waited for."""
    try:
        return sum(int(column) for column in _columns(pid)[11:15])
    except FileNotFoundError:  # it has just ended, and counts with its parent
        return 0


def _columns(pid: int) -> list[str]:
    """Behind the name, which may have spaces in it."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
