"""The code index: a repository of 5,000 real files, and 50,000 small ones."""

import asyncio
import os
import random
import shutil
import subprocess
import sys
import sysconfig
import time
from contextlib import suppress
from itertools import islice
from pathlib import Path

from benchmarks.effort import Effort
from benchmarks.processes import memory_mb
from benchmarks.rows import Row, median_row, milliseconds, percentile, row
from benchmarks.stage import temporary_folder
from openagent.index.code_index import CodeIndex
from openagent.index.database import Database
from openagent.index.embedding import is_set_up
from openagent.plugins.index import SearchBy
from openagent.protocol.locations import data_home

QUESTIONS = (
    "where is the connection closed when the server goes away",
    "parse command line arguments",
    "retry a request after a timeout",
    "convert bytes to a string with the right encoding",
    "read configuration from a file",
    "event loop policy",
    "ThreadPoolExecutor submit",
    "how are widgets laid out on the screen",
    "encode a JSON document",
    "verify a signature",
)
_BYTES_OF_A_VECTOR = 384


def code_index(effort: Effort) -> list[Row]:
    with temporary_folder() as folder:
        return [*asyncio.run(_repository(folder, effort)), *_many_files(folder, effort)]


async def _repository(folder: Path, effort: Effort) -> list[Row]:
    """Python's own library and the packages beside us, as far as they reach."""
    workspace = folder / "repository"
    files = _copy(workspace, effort.indexed_files)
    index = CodeIndex(folder / "index")
    built = await index.build(workspace)
    unchanged = await index.build(workspace)
    (workspace / "0.py").write_text("def changed():\n    return 'by a person'\n")
    changed = await index.update(workspace, ["0.py"])
    words = await _ask(index, workspace, "text", effort)
    rows = [
        row(f"index: {files:,} files, the first time", built.seconds, "s", at_most=60, note="full text and symbols"),
        row(f"index: {files:,} files, nothing changed", 1000 * unchanged.seconds, "ms"),
        row("index: one file changed", 1000 * changed.seconds, "ms"),
        median_row("index: search by words", words, "ms", at_most=30),
        row("index: search by words, p95", percentile(words, 0.95), "ms"),
    ]
    model = Path(data_home(os.environ), "index", "model")
    if is_set_up(model):
        pieces = _give_vectors(next((folder / "index").glob("*.db")))
        fused = await _ask(CodeIndex(folder / "index", model=model), workspace, "fused", effort)
        note = f"{pieces:,} pieces; vectors of chance, which take as long as real ones"
        rows.append(median_row("index: search by words and meaning", fused, "ms", at_most=30, note=note))
        rows.append(row("index: search by words and meaning, p95", percentile(fused, 0.95), "ms"))
    return rows


def _many_files(folder: Path, effort: Effort) -> list[Row]:
    """Twice as many files must not take more memory."""
    peaks: list[float] = []
    for name, files in (("once", effort.small_files), ("twice", 2 * effort.small_files)):
        workspace = folder / name
        for number in range(files):
            file = workspace / f"folder{number % 250}" / f"file{number}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"def function{number}(value):\n    return value + {number}\n")
        peaks.append(_memory_of_building(workspace, folder / f"{name}.db"))
        shutil.rmtree(workspace)
    once, twice = peaks
    return [
        row(f"index: memory for {effort.small_files:,} files", once, "MB"),
        row("index: memory that as many again add", twice - once, "MB", at_most=5),
    ]


def _memory_of_building(workspace: Path, file: Path) -> float:
    """The most megabytes the process that indexes ever had."""
    process = subprocess.Popen(
        [sys.executable, "-m", "openagent.index", "build", str(workspace), str(file)], stdout=subprocess.DEVNULL
    )
    most = 0.0
    while process.poll() is None:
        with suppress(OSError, StopIteration):  # it may end meanwhile
            most = max(most, memory_mb(process.pid))
        time.sleep(0.02)
    if process.returncode:
        raise RuntimeError(f"indexing ended with {process.returncode}")
    return most


async def _ask(index: CodeIndex, workspace: Path, by: SearchBy, effort: Effort) -> list[float]:
    await index.search(workspace, QUESTIONS[0], by=by)
    took: list[float] = []
    for _ in range(effort.searches):
        for question in QUESTIONS:
            began = time.perf_counter()
            await index.search(workspace, question, by=by)
            took.append(time.perf_counter() - began)
    return milliseconds(took)


def _copy(workspace: Path, wanted: int) -> int:
    workspace.mkdir()
    paths = sysconfig.get_paths()
    real = (file for name in ("stdlib", "purelib") for file in sorted(Path(paths[name]).rglob("*.py")))
    files = list(islice(real, wanted))
    for number, file in enumerate(files):
        shutil.copyfile(file, workspace / f"{number}.py")
    return len(files)


def _give_vectors(file: Path) -> int:
    chance = random.Random(7)
    database = Database(file, write=True)
    try:
        pieces = database.chunks()
        database.put_vectors((piece, 0.01, chance.randbytes(_BYTES_OF_A_VECTOR)) for piece in pieces)
        database.note("embedded_at", time.time())
        database.commit()
        return len(pieces)
    finally:
        database.close()
