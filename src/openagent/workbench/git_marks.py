"""What git says was changed in a workspace since the last commit.

Git runs in the jail, which may only read where there is a wall for that: a repository's settings can name programs, and
nobody was asked about those.
"""

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path

from openagent.plugins.jail import Jail, ProcessJail, ReadingJail
from openagent.protocol.files import FileMark

_PATIENCE = 20.0
_LONGEST = 4 << 20
"""Bytes of git's answer; what comes after is left out."""
_ENVIRONMENT = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
# Git names files from the repository's root, which may lie above the workspace.
_COMMAND = (
    "git rev-parse --show-prefix && "
    "exec git -c core.fsmonitor=false -c core.hooksPath=/dev/null status --porcelain=v1 -z --no-renames"
    " --untracked-files=all --ignore-submodules=all -- ."
)


async def git_marks(jail: Jail, workspace: Path) -> list[tuple[str, FileMark]]:
    """Each changed file, from the workspace's root; nothing where there is no repository."""
    if not isinstance(jail, ProcessJail):
        return []
    process = await jail.start_process(
        workspace, ("bash", "-c", _COMMAND), env=_ENVIRONMENT, read_only=isinstance(jail, ReadingJail)
    )
    try:
        async with asyncio.timeout(_PATIENCE):
            said = await _read(process)
    except TimeoutError:
        said = b""
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    return _parsed(said)


async def _read(process: asyncio.subprocess.Process) -> bytes:
    if process.stdin is None or process.stdout is None:
        raise AssertionError("its streams are pipes")
    process.stdin.close()
    said = b""
    while len(said) < _LONGEST and (piece := await process.stdout.read(1 << 16)):
        said += piece
    return said


def _parsed(said: bytes) -> list[tuple[str, FileMark]]:
    first, _, rest = said.partition(b"\n")
    prefix = first.decode(errors="replace")
    found: list[tuple[str, FileMark]] = []
    for entry in rest.split(b"\0")[:-1]:
        state, path = entry[:2].decode(errors="replace"), entry[3:].decode(errors="replace")
        if path.startswith(prefix):
            found.append((path.removeprefix(prefix), _mark(state)))
    return sorted(found)


def _mark(state: str) -> FileMark:
    if "U" in state or state in ("AA", "DD"):
        return "conflict"
    if state[1] == "D" or state == "D ":
        return "deleted"
    return "new" if state == "??" or state[0] == "A" else "modified"
