"""What the figures were measured on, and whether they can be trusted."""

import os
import platform
import subprocess
import time
from pathlib import Path

from msgspec import Struct

QUIET = 1.0
"""Load average above which times say more about the machine than about the program."""


class Machine(Struct, frozen=True):
    at: str
    commit: str
    cpus: int
    load: float
    """Over the minute before the first measurement."""
    python: str
    kernel: str

    @property
    def noisy(self) -> bool:
        return self.load > QUIET

    @property
    def warning(self) -> str:
        return (
            f"The machine is busy (load {self.load:.1f} on {self.cpus} CPUs): times are worse than they would be. "
            "Run it again when nothing else does."
        )


def look() -> Machine:
    return Machine(
        at=time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        commit=_commit(),
        cpus=os.cpu_count() or 1,
        load=round(os.getloadavg()[0], 2),
        python=platform.python_version(),
        kernel=platform.release(),
    )


def _commit() -> str:
    """Short, and marked when the sources differ from it."""
    here = Path(__file__).parent
    git = ["git", "-C", str(here)]
    found = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    if found.returncode:
        return "unknown"
    changed = subprocess.run([*git, "status", "--porcelain", "--", "../src"], capture_output=True, check=False).stdout
    return found.stdout.strip() + ("-changed" if changed else "")
