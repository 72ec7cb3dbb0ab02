"""What the kernel knows about a process."""

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
