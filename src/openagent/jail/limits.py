"""What a jail may use: by control groups of either version where they can be written, by rlimits where not."""

import contextlib
import itertools
import math
import os
import time
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from openagent.jail.processes import is_running

_KIB, _GIB = 1 << 10, 1 << 30
_PERIOD_US = 100_000
_PREFIX = "openagent-"
_numbers = itertools.count(1)
_retired: list[Path] = []
_swept: dict[Path, float] = {}
_SWEEP_SECONDS = 60.0

ENTER_GROUPS = 'while [ "$1" != -- ]; do echo $$ >"$1" || exit 125; shift; done; shift; exec "$@"'
"""For `sh -c`: joins the groups named before `--`, so that no child is ever outside them."""


class Limits(Struct, frozen=True):
    memory: int = 2 * _GIB
    processes: int = 512
    cpus: float | None = None
    file_size: int = 2 * _GIB
    """Of any single file."""
    disk: int = 1 * _GIB
    """Of everything outside the workspace: /tmp and the home directory."""
    open_files: int = 4096

    def within(self, room: int | None) -> "Limits":
        """For a workspace that may hold so much and no more."""
        return self if room is None else replace(self, file_size=min(self.file_size, room))


class ControlGroup(NamedTuple):
    version: int
    directories: tuple[Path, ...]

    @property
    def entrances(self) -> list[str]:
        return [str(directory / "cgroup.procs") for directory in self.directories]

    def retire(self) -> None:
        """The last processes may outlive their parent by a moment: what is still in use goes when the next is made."""
        _retired.extend(directory for directory in self.directories if not _removed(directory))


def make_control_group(
    limits: Limits, *, root: Path = Path("/sys/fs/cgroup"), membership: Path = Path("/proc/self/cgroup")
) -> ControlGroup | None:
    """None where no group that holds memory and processes can be made."""
    try:
        paths = _own_paths(membership.read_text())
    except OSError:
        return None
    _retired[:] = [directory for directory in _retired if not _removed(directory)]
    name = f"{_PREFIX}{os.getpid()}-{next(_numbers)}"
    if (root / "cgroup.controllers").exists():
        return _make_unified(limits, root, paths.get("", "/"), name)
    return _make_legacy(limits, root, paths, name)


def _own_paths(membership: str) -> dict[str, str]:
    """Controller to path; the unified hierarchy has the empty name."""
    paths: dict[str, str] = {}
    for line in membership.splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            paths[controller] = path
    return paths


def _make_unified(limits: Limits, root: Path, own_path: str, name: str) -> ControlGroup | None:
    own = root / own_path.lstrip("/")
    for parent in (own, *own.parents):
        if parent != root and root not in parent.parents:
            return None
        _sweep(parent)
        for controllers in ("+memory +pids", "+cpu"):
            _apply(parent, {"cgroup.subtree_control": controllers}, required=())
        directory = parent / name
        try:
            directory.mkdir()
        except OSError:
            continue
        settings: dict[str, object] = {"memory.max": limits.memory, "memory.swap.max": 0, "pids.max": limits.processes}
        if limits.cpus is not None:
            settings["cpu.max"] = f"{int(limits.cpus * _PERIOD_US)} {_PERIOD_US}"
        if _apply(directory, settings, required=("memory.max", "pids.max")):
            return ControlGroup(2, (directory,))
        _removed(directory)
    return None


def _make_legacy(limits: Limits, root: Path, paths: dict[str, str], name: str) -> ControlGroup | None:
    wanted: dict[str, dict[str, object]] = {
        "memory": {"memory.limit_in_bytes": limits.memory, "memory.memsw.limit_in_bytes": limits.memory},
        "pids": {"pids.max": limits.processes},
    }
    if limits.cpus is not None:
        wanted["cpu"] = {"cpu.cfs_period_us": _PERIOD_US, "cpu.cfs_quota_us": int(limits.cpus * _PERIOD_US)}
    made: list[Path] = []
    for controller, settings in wanted.items():
        parent = root / controller / paths.get(controller, "/").lstrip("/")
        directory = parent / name
        try:
            _sweep(parent)
            directory.mkdir()
        except OSError:
            break
        made.append(directory)
        if not _apply(directory, settings, required=[next(iter(settings))]):
            break
    else:
        return ControlGroup(1, tuple(made))
    for directory in made:
        _removed(directory)
    return None


def _apply(directory: Path, settings: dict[str, object], *, required: list[str] | tuple[str, ...]) -> bool:
    for file, value in settings.items():
        try:
            with open(directory / file, "r+") as setting:  # never creates a file a controller did not provide
                setting.write(str(value))
        except OSError:
            if file in required:
                return False
    return True


def _sweep(parent: Path) -> None:
    """Groups of daemons that were killed stay behind, empty. Where many work, looking takes longer than all the rest
    of opening a shell, so it is done once in a while."""
    now = time.monotonic()
    if now - _swept.get(parent, -math.inf) < _SWEEP_SECONDS:
        return
    _swept[parent] = now
    with contextlib.suppress(OSError):
        for leftover in parent.glob(f"{_PREFIX}*"):
            owner = leftover.name.removeprefix(_PREFIX).partition("-")[0]
            if owner.isdigit() and not is_running(int(owner)):
                _removed(leftover)


def _removed(directory: Path) -> bool:
    try:
        directory.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def rlimit_script(limits: Limits, *, grouped: bool) -> str:
    """Shell text that lowers the limits of the shell that runs it, for good."""
    lines = ["ulimit -c 0", f"ulimit -n {limits.open_files}", f"ulimit -f {limits.file_size // _KIB}"]
    if not grouped:
        # Data is what a program really uses; runtimes reserve far more address space than that.
        lines += [
            f"ulimit -d {limits.memory // _KIB}",
            f"ulimit -v {8 * limits.memory // _KIB}",
            f"ulimit -u {limits.processes}",
        ]
    return "\n".join(lines)
