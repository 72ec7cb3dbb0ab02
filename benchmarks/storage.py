"""How much disk a thousand messages of ordinary size take, with everything that is kept beside them."""

from pathlib import Path

from benchmarks.effort import Effort
from benchmarks.model import STEPS, shell_step
from benchmarks.rows import Row, row
from benchmarks.stage import Stage, stage_with

_LINES = 40
_MESSAGES = 2 * STEPS + 2
"""Of one session: the question, each step's call and result, the answer."""
_THOUGHT = "The next part of the file should show how the pieces fit together, so I read on from where I stopped. "


def storage(effort: Effort) -> list[Row]:
    """Sessions that read source code with the shell: about 1.5 kB a result, different every time."""
    steps = [
        {"text": _THOUGHT * 2, **shell_step(f"sed -n {1 + place * _LINES},{(1 + place) * _LINES}p code.py")}
        for place in range(STEPS)
    ]
    with stage_with({"referee": False, "steps": [*steps, {"text": "Done."}]}) as (stage, _):
        (stage.workspace / "code.py").write_text(_source())
        stage.program("serve", "--daemon")
        stage.stop()
        empty = _size(stage)
        for number in range(effort.stored_sessions):
            stage.run(f"Read the code, please, and tell me what part {number} of it does.")
        stage.stop()
        taken = _size(stage) - empty
    messages = effort.stored_sessions * _MESSAGES
    note = "database and logs: messages, events, raw requests and answers, usage, audit"
    return [row("disk per 1,000 messages", 1000 * taken / messages / 1e6, "MB", at_most=10, note=note)]


def _source() -> str:
    """Fifty screens of real code."""
    files = sorted((Path(__file__).parents[1] / "src" / "openagent").rglob("*.py"))
    lines = [line for file in files for line in file.read_text().splitlines()]
    return "\n".join(lines[: STEPS * _LINES])


def _size(stage: Stage) -> int:
    return sum(file.stat().st_size for file in stage.data.rglob("*") if file.is_file())
