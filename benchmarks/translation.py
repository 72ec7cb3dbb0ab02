"""What it costs to speak a model's own dialect: CPU time for each step, on top of what our own names need.

A step is one call: the request goes out (its tools and prompt, which stay the same), the call comes in under their
name, and goes back with its result as the history of the next request. All that is translated is translated here, by
what the providers use for it; the wire and the tools are left out.
"""

import time
from collections.abc import Sequence

from benchmarks.effort import Effort
from benchmarks.model import usual_script
from benchmarks.rows import Row, median_row
from benchmarks.stage import stage_with
from openagent.dialects.families import DIALECTS, OWN
from openagent.dialects.tongue import Tongue
from openagent.plugins.provider import Answer, CallChunk, ModelRequest, ToolSchema
from openagent.protocol.display import Display
from openagent.protocol.messages import Message, ToolCallPart, ToolResultPart
from openagent.protocol.usage import Usage

_ROUNDS = 10
_FILE = "".join(f"{number:6}\tline {number} of a file that is not short\n" for number in range(1, 200))
_PATCH = "*** Begin Patch\n*** Update File: a.py\n@@ def total(items):\n-    return 1\n+    return 2\n*** End Patch\n"
_EXCHANGES: Sequence[tuple[ToolCallPart, ToolResultPart]] = (
    (ToolCallPart("c1", "read_file", {"path": "a.py"}), ToolResultPart("c1", "read_file", _FILE)),
    (
        ToolCallPart("c2", "edit_file", {"path": "a.py", "old": "one\n", "new": "two\n"}),
        ToolResultPart("c2", "edit_file", "Done: a.py"),
    ),
    (ToolCallPart("c3", "apply_patch", {"patch": _PATCH}), ToolResultPart("c3", "apply_patch", "Done:\nM a.py")),
    (ToolCallPart("c4", "grep", {"pattern": "total"}), ToolResultPart("c4", "grep", "a.py:1: total\n" * 50)),
    (
        ToolCallPart("c5", "shell", {"command": "ls -l", "timeout": 20}),
        ToolResultPart("c5", "shell", "a.py\n" * 50, display=Display(exit_code=0)),
    ),
)


def translation(effort: Effort) -> list[Row]:
    request = _first_request()
    own = _microseconds(Tongue(OWN), request, effort.translated)
    rows = [median_row("own names, per step", own, "µs", note="what is not translated is looked at")]
    for name, dialect in DIALECTS.items():
        if dialect is not OWN:
            tongue = Tongue(dialect, text_tools=True)
            rows.append(
                median_row(f"in {name}'s words, per step", _microseconds(tongue, request, effort.translated), "µs")
            )
    return rows


def _first_request() -> ModelRequest:
    """With the prompt and the tools of a real one."""
    with stage_with(usual_script()) as (stage, model):
        stage.run("T1")
        body = model.requests()[0].json()
    tools = [ToolSchema(**tool["function"]) for tool in body["tools"]]
    return ModelRequest("bench", body["messages"][0]["content"], [], tools)


def _microseconds(tongue: Tongue, request: ModelRequest, times: int) -> list[float]:
    """Of CPU time for one step, once for each round."""
    spoken = [tongue.dialect.spoken(call) for call, _ in _EXCHANGES]
    _steps(tongue, request, spoken)
    measured: list[float] = []
    for _ in range(_ROUNDS):
        began = time.process_time()
        for _ in range(times):
            _steps(tongue, request, spoken)
        measured.append(1e6 * (time.process_time() - began) / (times * len(_EXCHANGES)))
    return measured


def _steps(tongue: Tongue, request: ModelRequest, spoken: Sequence[ToolCallPart]) -> None:
    for (call, result), theirs in zip(_EXCHANGES, spoken, strict=True):
        tongue.request(request)
        tongue.announced(CallChunk(theirs.id, theirs.name), request.tools)
        heard = tongue.heard(Answer([theirs], "tool_calls", Usage(), "bench"), request.tools)
        (said,) = tongue.message(Message(1, "assistant", heard.parts)).parts
        assert isinstance(said, ToolCallPart)
        tongue.result(call, said, result)
