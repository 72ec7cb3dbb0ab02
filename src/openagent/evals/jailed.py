"""One program in the jail that agents' commands run in: no network unless it is said, and an end to time, memory,
processes and output."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from openagent.jail.bwrap import BwrapJail
from openagent.jail.limits import Limits
from openagent.plugins.jail import ProgramPlaces

_GIB = 1 << 30
OUTPUT = 64 << 20
"""Bytes that a program may print. One that prints more is ended."""
_PIECE = 1 << 16


class Ended(NamedTuple):
    exit_code: int
    output: str
    seconds: float
    timed_out: bool = False
    too_loud: bool = False


class Confines(NamedTuple):
    seconds: float = 1800.0
    memory: int = 4 * _GIB
    processes: int = 512


async def run_jailed(
    script: str,
    workspace: Path,
    confines: Confines,
    *,
    network: bool = False,
    env: Mapping[str, str] | None = None,
    readable: Sequence[Path] = (),
    own: Path | None = None,
) -> Ended:
    """A bash script; what it prints, errors among the rest, in the order in which it was printed."""
    limits = Limits(memory=confines.memory, processes=confines.processes, disk=confines.memory // 2)
    jail = BwrapJail(network="on" if network else "off", limits=limits)
    began = time.monotonic()
    process = await jail.start_process(
        workspace,
        ("bash", "-c", f"exec 2>&1 </dev/null\n{script}"),
        env=env,
        places=ProgramPlaces(readable=tuple(map(str, readable)), own=str(own) if own else ""),
    )
    assert process.stdout is not None
    assert process.stderr is not None
    pieces: list[bytes] = []
    loud = False
    timed_out = False
    before_it = asyncio.create_task(process.stderr.read())
    try:
        async with asyncio.timeout(confines.seconds):
            length = 0
            while piece := await process.stdout.read(_PIECE):
                pieces.append(piece)
                length += len(piece)
                if loud := length > OUTPUT:
                    break
            else:
                await process.wait()
    except TimeoutError:
        timed_out = True
    finally:
        await _end(process)
    complaint = await before_it
    text = (complaint + b"".join(pieces)).decode(errors="replace")
    return Ended(process.returncode or 0, text, time.monotonic() - began, timed_out, loud)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Bubblewrap's end is that of everything in its process namespace."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    await asyncio.shield(process.wait())
