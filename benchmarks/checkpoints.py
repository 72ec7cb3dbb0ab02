"""What undo costs: saving a workspace of 5,000 files before a turn changes it."""

import asyncio
import time
from pathlib import Path

from benchmarks.effort import Effort
from benchmarks.rows import Row, median_row, milliseconds, row
from benchmarks.stage import temporary_folder
from openagent.plugins.workspace import Caller
from openagent.workspace.checkpoints import GitCheckpoints
from openagent.workspace.writes import WorkspaceWrites

FILES = 5_000
FOLDERS = 250
CHANGED = 10


def checkpoints(effort: Effort) -> list[Row]:
    return asyncio.run(_measure(effort))


async def _measure(effort: Effort) -> list[Row]:
    with temporary_folder() as folder:
        workspace = folder / "workspace"
        _fill(workspace)
        saved = GitCheckpoints(folder / "home")
        began = time.perf_counter()
        first = await saved.take(workspace, "benchmark", 1)
        first_ms = (time.perf_counter() - began) * 1000
        unchanged: list[float] = []
        changed: list[float] = []
        for turn in range(2, 2 + effort.jails_opened):
            began = time.perf_counter()
            await saved.take(workspace, "benchmark", turn, even_unchanged=True)
            unchanged.append(time.perf_counter() - began)
            for number in range(CHANGED):
                _file(workspace, number).write_text(f"turn {turn}\n")
            began = time.perf_counter()
            await saved.take(workspace, "benchmark", turn)
            changed.append(time.perf_counter() - began)
        assert first is not None
        began = time.perf_counter()
        await saved.restore(workspace, first.id)
        restored_ms = (time.perf_counter() - began) * 1000
        around = await _around_calls(effort, workspace, WorkspaceWrites(folder / "home", saved))
    return [
        row(f"checkpoint of {FILES:,} files, the first", first_ms, "ms"),
        median_row(f"checkpoint of {FILES:,} files, unchanged", milliseconds(unchanged), "ms"),
        median_row(f"checkpoint of {FILES:,} files, {CHANGED} changed", milliseconds(changed), "ms"),
        row(f"restore of {CHANGED} files among {FILES:,}", restored_ms, "ms"),
        *around,
    ]


async def _around_calls(effort: Effort, workspace: Path, writes: WorkspaceWrites) -> list[Row]:
    """What every command pays for being undone by facts, and what the way back takes."""
    idle: list[float] = []
    busy: list[float] = []
    for number in range(effort.commands):
        changes = number % 2
        began = time.perf_counter()
        window = await writes.begin(workspace, Caller("benchmark", 1, str(number)))
        spent = time.perf_counter() - began
        if changes:
            _file(workspace, number % FILES).write_text(f"call {number}\n")
        began = time.perf_counter()
        await writes.end(window)
        spent += time.perf_counter() - began
        (busy if changes else idle).append(spent)
    began = time.perf_counter()
    await writes.rewind(workspace, "benchmark", 1)
    rewound_ms = (time.perf_counter() - began) * 1000
    return [
        median_row(f"around a command that wrote nothing, {FILES:,} files", milliseconds(idle[1:]), "ms"),
        median_row(f"around a command that wrote one file, {FILES:,} files", milliseconds(busy[1:]), "ms"),
        row(f"rewind of {len(busy)} files among {FILES:,}", rewound_ms, "ms"),
    ]


def _fill(workspace: Path) -> None:
    for number in range(FILES):
        file = _file(workspace, number)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"file {number}\n" * 100)


def _file(workspace: Path, number: int) -> Path:
    return workspace / f"folder{number % FOLDERS}" / f"file{number}.txt"
