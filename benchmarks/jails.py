"""What a jail adds to a command in a shell that is already open."""

import asyncio
import statistics
import time
from pathlib import Path

from benchmarks.effort import Effort
from benchmarks.rows import Row, median_row, milliseconds, row
from benchmarks.stage import temporary_folder
from openagent.jail.bwrap import BwrapJail
from openagent.jail.host import HostJail
from openagent.plugins.jail import Jail, Shell
from openagent.protocol.errors import OpenAgentError

COMMAND = "/bin/true"
"""Not a builtin: the command itself costs a process."""


def jails(effort: Effort) -> list[Row]:
    return asyncio.run(_both(effort))


async def _both(effort: Effort) -> list[Row]:
    rows: list[Row] = []
    for jail in (BwrapJail(), HostJail()):
        try:
            rows += await _measure(jail, effort)
        except OpenAgentError as problem:
            rows.append(row(f"command in a warm shell, {jail.kind}", float("nan"), "ms", at_most=3, note=str(problem)))
    return rows


async def _measure(jail: Jail, effort: Effort) -> list[Row]:
    opened: list[float] = []
    with temporary_folder() as workspace:
        for _ in range(effort.jails_opened):
            began = time.perf_counter()
            shell = await _ready(jail, workspace)
            opened.append(time.perf_counter() - began)
            await shell.close()
        shell = await _ready(jail, workspace)
        try:
            alone = await _alone(shell, effort.commands)
            walls = [await _one(shell) for _ in range(effort.commands)]
        finally:
            await shell.close()
    over = [wall - alone for wall in milliseconds(walls)]
    note = f"{statistics.median(walls) * 1000:.2f} ms with the command itself, {alone:.2f} ms without the shell's part"
    return [
        median_row(f"command in a warm shell, {jail.kind}: overhead", over, "ms", at_most=3, note=note),
        median_row(f"opening a shell, {jail.kind}", milliseconds(opened), "ms"),
    ]


async def _ready(jail: Jail, workspace: Path) -> Shell:
    shell = await jail.open("benchmark", workspace)
    await shell.run(COMMAND)
    return shell


async def _one(shell: Shell) -> float:
    began = time.perf_counter()
    result = await shell.run(COMMAND)
    took = time.perf_counter() - began
    assert result.exit_code == 0
    return took


async def _alone(shell: Shell, times: int) -> float:
    """Milliseconds that bash itself needs for the command, in the same shell; the median."""
    one = f"began=$EPOCHREALTIME; {COMMAND}; echo $began $EPOCHREALTIME"
    result = await shell.run(f"for ((i = 0; i < {times}; i++)); do {one}; done")
    stamps = [line.split() for line in result.stdout.splitlines()]
    return statistics.median(1000 * (float(ended) - float(began)) for began, ended in stamps)
