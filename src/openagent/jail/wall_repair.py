"""Walls raised again in a jail that runs.

The kernel takes a mount off a file when the file beneath it is replaced from outside: when the person's own git writes
its settings, or an editor saves by renaming. So the walls are looked at before every command, and those that fell, or
that a new repository needs, are put up from outside, by a short program that enters the jail's mount namespace.
"""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from openagent.jail.git_walls import Standing, Wall, git_walls
from openagent.jail.inside import PIPES
from openagent.protocol.errors import OpenAgentError

UNREADABLE = "unreadable"
"""A file among the pipes that nobody may read, to be seen in place of secrets."""
MOST_INODES = 1_000_000
"""Of each: an empty file costs about a kilobyte of memory, which no limit on the files' size counts."""
_PATIENCE_S = 10.0
_PROGRAM = """\
import ctypes, fcntl, json, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def done(result):
    if result:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
pid, orders = json.load(sys.stdin)
space = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY)
owner = fcntl.ioctl(space, 0xB701)
if os.fstat(owner).st_ino != os.stat("/proc/self/ns/user").st_ino:
    done(libc.setns(owner, 0x10000000))
done(libc.setns(space, 0x20000))
for order, source, path in orders:
    source, path = os.fsencode(source), os.fsencode(path)
    if order in ("open", "hold") and not os.path.lexists(path):
        continue
    if order == "open":
        if libc.umount2(path, 2) and ctypes.get_errno() != 22:
            done(1)
    elif order == "inodes":
        libc.mount(None, path, None, 32 | 2 | 4, source)
    else:
        kept = os.statvfs(path).f_flag
        flags = 4096 | 32 | 2 | 4 | (kept & (8 | 1024 | 2048)) | (1 << 21 if kept & 4096 else 0)
        done(libc.mount(source, path, None, 4096 | (16384 if order == "hold" else 0), None))
        if order in ("close", "hold"):
            done(libc.mount(None, path, None, flags | 1, None))
"""


class WallRepair:
    """The walls of one enclosure."""

    def __init__(
        self,
        standing: Standing,
        walls: Sequence[Wall],
        *,
        in_memory: Sequence[str] = (),
        read_only: bool = False,
        held: Sequence[Path] = (),
    ) -> None:
        """`in_memory`: folders whose files no control group counts. `read_only`: no repository needs walls in it.
        `held`: what has a wall for as long as nobody allowed it to be written."""
        self._held = {wall.path for wall in walls if wall.path in held}
        self._to_hold = set(self._held)
        self._writable = {wall.path for wall in walls if wall.writable}
        self._unbounded = tuple(in_memory)
        self.standing = standing
        self._workspace = workspace = standing.workspace
        self._walls = [
            wall
            for wall in walls
            if not (wall.writable or wall.emptied or wall.path in self._held) and not wall.path.is_dir()
        ]
        self._repository = read_only or any(wall.path == workspace / ".git" for wall in walls)
        standing.raise_walls = self.raise_now
        self._pid = 0
        self._bounding: asyncio.Task[None] | None = None

    async def mend(self, first: int) -> None:
        """Before a command. `first` is the process that the enclosure was started as. Raises when it cannot be done."""
        self._pid = self._pid or _inner(first)
        if not self._pid:
            return
        if self._unbounded:
            unbounded, self._unbounded = self._unbounded, ()
            self._bounding = asyncio.create_task(self._bound(unbounded))
        if self._held or self._to_hold:
            await self._rehold()
        fallen = [wall for wall in self._walls if self._fell(wall)]
        new: list[Wall] = []
        if not self._repository and (self._workspace / ".git").exists():
            self._repository = True
            new = git_walls(self._workspace)
            self._keep(new)
            fallen = [*new, *(wall for wall in fallen if wall not in new)]
        if fallen:
            await self._order([_raising(wall) for wall in fallen])
            self.standing.add(new)

    def raise_now(self, walls: Sequence[Wall]) -> None:
        """From another thread than the event loop's, while nothing moves inside."""
        self._pid = self._pid or _inner(self.standing.first())
        if complaint := _carry_out(self._told([_raising(wall) for wall in walls])):
            raise _cannot(complaint)
        self._repository = self._repository or any(wall.path == self._workspace / ".git" for wall in walls)
        self._keep(walls)
        self.standing.add(walls)

    def _keep(self, walls: Sequence[Wall]) -> None:
        self._walls += [wall for wall in walls if not wall.writable and not wall.path.is_dir()]

    def hold(self, paths: Sequence[Path]) -> None:
        """From the next command on: these, and no others."""
        self._to_hold = {
            path
            for path in paths
            if path != self._workspace and (path.is_relative_to(self._workspace) or path in self._writable)
        }

    @property
    def is_outdated(self) -> bool:
        """Something else is to be held than what is."""
        return self._to_hold != self._held

    async def _rehold(self) -> None:
        there = {path for path in self._to_hold if path.exists() and not path.is_symlink()}
        let_go = [path for path in self._held - there if not self._fell(Wall(path))]
        new = [path for path in there if path not in self._held or self._fell(Wall(path))]
        self._held = there
        if let_go or new:
            orders = [("open", "", str(path)) for path in sorted(let_go, reverse=True)]
            await self._order([*orders, *(("hold", str(path), str(path)) for path in sorted(new))])

    @property
    def secrets(self) -> list[Path]:
        return [wall.path for wall in self._walls if wall.unreadable]

    async def open(self, first: int, paths: Sequence[Path]) -> None:
        """What a person allowed to be read."""
        self._pid = self._pid or _inner(first)
        opened = [wall for wall in self._walls if wall.unreadable and wall.path in paths]
        standing = [wall for wall in opened if not self._fell(wall)]
        self._walls = [wall for wall in self._walls if wall not in opened]
        if self._pid and standing:
            await self._order([("open", "", str(wall.path)) for wall in standing])

    async def _bound(self, folders: Sequence[str]) -> None:
        with contextlib.suppress(OpenAgentError):  # a bound on memory, and no wall
            await self._order([("inodes", f"nr_inodes={MOST_INODES}", folder) for folder in folders])

    def _fell(self, wall: Wall) -> bool:
        try:
            return not os.statvfs(f"/proc/{self._pid}/root{wall.path}").f_flag & os.ST_RDONLY
        except OSError:
            return False  # it is not there any more, or the jail is not

    async def _order(self, orders: Sequence[tuple[str, str, str]]) -> None:
        # A thread waits for it: the event loop may be closed while it is at work.
        complaint = await asyncio.to_thread(_carry_out, self._told(orders))
        if complaint and _is_there(self._pid):
            raise _cannot(complaint)

    def _told(self, orders: Sequence[tuple[str, str, str]]) -> bytes:
        return json.dumps((self._pid, orders)).encode()


def _carry_out(orders: bytes) -> str:
    """What went wrong; empty when nothing did."""
    try:
        done = subprocess.run(
            (sys.executable, "-ISc", _PROGRAM),
            input=orders,
            capture_output=True,
            timeout=_PATIENCE_S,
            cwd="/",
            env={},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "it took too long"
    except OSError as problem:
        return problem.strerror or str(problem)
    said = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
    return said or f"exit code {done.returncode}" if done.returncode else ""


def _cannot(complaint: str) -> OpenAgentError:
    return OpenAgentError(
        "jail_error",
        f"A wall of the jail fell when a file was replaced from outside, and cannot be raised: {complaint}",
        hint="The next command gets a new jail.",
    )


def _namespace(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/mnt")
    except OSError:
        return ""


def _is_there(pid: int) -> bool:
    """A jail on its way out has no namespaces any more, though its process may still be waited for."""
    return bool(_namespace(pid))


def _raising(wall: Wall) -> tuple[str, str, str]:
    source = f"{PIPES}/{UNREADABLE}" if wall.unreadable else str(wall.path)
    return "mount" if wall.writable else "close", source, str(wall.path)


def _inner(first: int) -> int:
    """The first process inside. Bubblewrap's own stays outside, as its parent; a container's is inside itself."""
    try:
        with open(f"/proc/{first}/task/{first}/children") as children:
            child = int((children.read().split() or ["0"])[0])
    except (OSError, ValueError):
        return 0
    outside = os.readlink("/proc/self/ns/mnt")
    return next((pid for pid in (first, child) if pid and _namespace(pid) not in ("", outside)), 0)
