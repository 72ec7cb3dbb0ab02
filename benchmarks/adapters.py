"""Our adapters beside the vendors' own libraries: loading them, and reading an answer with them."""

import statistics
import subprocess
import sys
import time
from importlib.util import find_spec

from benchmarks.chunk_cost import MEASURED, MODELS, WARM_UP
from benchmarks.effort import Effort
from benchmarks.model import scripted_model
from benchmarks.rows import Row, milliseconds, row
from benchmarks.stage import temporary_folder

_OURS = "import httpx2, openagent.providers.build"
_OFFICIAL = {
    "openai": "import openai",
    "anthropic": "import anthropic",
    "google.genai": "from google import genai",
}
_MEMORY = "; import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"


def imports(effort: Effort) -> list[Row]:
    bare, bare_memory = _import("pass", effort.imports)
    rows: list[Row] = []
    for name, statement in [("all our adapters", _OURS), *_installed()]:
        wall, memory = _import(statement, effort.imports)
        note = f"and {memory - bare_memory:.0f} MB"
        rows.append(row(f"loading {name}", wall - bare, "ms", note=note))
    together = "; ".join(statement for _, statement in _installed())
    wall, memory = _import(together or "pass", effort.imports)
    note = f"and {memory - bare_memory:.0f} MB"
    return [*rows, row("loading the official libraries together", wall - bare, "ms", note=note)]


def _installed() -> list[tuple[str, str]]:
    return [(name, statement) for name, statement in _OFFICIAL.items() if _is_there(name)]


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _import(statement: str, times: int) -> tuple[float, float]:
    """Milliseconds and megabytes of an interpreter that does this and nothing else; medians."""
    walls: list[float] = []
    memory: list[float] = []
    for _ in range(times):
        began = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", statement + _MEMORY], capture_output=True, text=True, check=True)
        walls.append(time.perf_counter() - began)
        memory.append(int(done.stdout) * 1024 / 1e6)
    return statistics.median(milliseconds(walls)), statistics.median(memory)


def chunks(effort: Effort) -> list[Row]:
    rows: list[Row] = []
    script = {
        "conversations": [
            {"match": WARM_UP, "steps": [{"text": "x" * 400}], "loop": True},
            {"match": MEASURED, "steps": [{"text": "word " * effort.adapter_chunks}], "loop": True},
        ],
        "chunk_chars": 5,
    }
    with temporary_folder() as folder, scripted_model(folder, script) as model:
        for wire in MODELS:
            ours = _chunk_cost("ours", wire, model.url, effort.adapter_chunks)
            rows.append(row(f"CPU time per chunk, {wire}", ours, "µs"))
            if _installed():
                theirs = _chunk_cost("official", wire, model.url, effort.adapter_chunks)
                rows.append(row(f"CPU time per chunk, {wire}, official library", theirs, "µs"))
    return rows


def _chunk_cost(who: str, wire: str, url: str, count: int) -> float:
    command = [sys.executable, "-m", "benchmarks.chunk_cost", who, wire, url, str(count)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
