"""The demo: a script that fixes a real bug with real tools. No model is involved, and everything it says tells so.

It keeps nothing between steps: what to do next follows from the conversation alone, and from what the tools really
answered.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from openagent.plugins.provider import (
    Answer,
    CallChunk,
    ModelInfo,
    ModelRequest,
    StreamItem,
    TextChunk,
)
from openagent.protocol.messages import Message, Part, TextPart, ToolCallPart, ToolResultPart
from openagent.protocol.usage import Usage

PROJECT = Path(__file__).parent / "demo_project"
"""The sample project; the tour works on a copy of it."""
MODEL = "guided-tour"

SOURCE = "pages.py"
TEST = "test_pages.py"
RUN_TESTS = "python3 -m unittest"
BUG = "    return items // per_page\n"
FIX = "    return (items + per_page - 1) // per_page\n"
_REAL_WORK = "Real work takes a real model: `openagent models list` shows those you have, `openagent login` adds one."
_CHUNK = re.compile(r"\s*\S+\s*\S*", re.DOTALL)


class _Step(Struct):
    text: str
    calls: Sequence[tuple[str, dict[str, Any]]] = ()


class DemoProvider:
    scripted = True

    def __init__(self, name: str = "demo", *, pause: float = 0.008) -> None:
        """`pause` between chunks makes it readable as it appears."""
        self.name = name
        self._pause = pause

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        step = _next_step(_finished_calls(request.messages))
        for chunk in _CHUNK.findall(step.text):
            yield TextChunk(chunk)
            await asyncio.sleep(self._pause)
        parts: list[Part] = [TextPart(step.text)]
        number = len(request.messages)
        for position, (tool, arguments) in enumerate(step.calls):
            call = ToolCallPart(f"demo_{number}_{position}", tool, arguments)
            yield CallChunk(call.id, call.name)
            parts.append(call)
        yield Answer(parts, "tool_calls" if step.calls else "end", Usage(), MODEL)

    async def models(self) -> list[ModelInfo]:
        return [ModelInfo(MODEL)]

    async def close(self) -> None:
        pass


class _FinishedCall(Struct):
    tool: str
    result: ToolResultPart


def _finished_calls(messages: Sequence[Message]) -> list[_FinishedCall]:
    """What was done since a person last spoke."""
    results: list[ToolResultPart] = []
    for message in reversed(messages):
        if message.role == "user":
            break
        results.extend(part for part in message.parts if isinstance(part, ToolResultPart))
    return [_FinishedCall(result.name, result) for result in reversed(results)]


def _next_step(done: Sequence[_FinishedCall]) -> _Step:
    if not done:
        return _look()
    last = done[-1]
    if last.tool == "shell":
        return _after_tests(last.result, fixed=any(call.tool == "edit_file" for call in done))
    if failed := next((call for call in done if call.result.is_error and call.tool != "shell"), None):
        return _give_up(failed)
    if last.tool == "edit_file":
        return _Step("[scripted] The edit is in place. Whether it helps, only the tests can tell.", [_tests()])
    return _Step("[scripted] Both files are read. Let me see the tests fail before I touch anything.", [_tests()])


def _tests() -> tuple[str, dict[str, Any]]:
    return "shell", {"command": RUN_TESTS}


def _look() -> _Step:
    return _Step(
        "[scripted] Hello! This is OpenAgent's guided tour. Everything I say comes from a script, not from a model; "
        "the tools, the files and the test results are real.\n\n"
        "The task: a small library that cuts results into pages has a failing test. I read the test and the source, "
        "side by side.",
        [("read_file", {"path": TEST}), ("read_file", {"path": SOURCE})],
    )


def _after_tests(result: ToolResultPart, *, fixed: bool) -> _Step:
    count = _first(r"^Ran (\d+) tests?", result.text) or "some"
    if _passed(result):
        return _solved(count) if fixed else _nothing_to_do(count)
    failures = re.findall(r"^(?:FAIL|ERROR): (\w+)", result.text, re.MULTILINE)
    if not failures:
        return _Step(
            f"[scripted] `{RUN_TESTS}` could not be run here; it said:\n\n{_indented(result.text)}\n\n"
            "The tour ends at this point."
        )
    named = " and ".join(f"`{name}`" for name in failures[:2])
    if fixed:
        return _Step(
            f"[scripted] {named} still fails after the edit. A model would look further; my script ends here.\n\n"
            f"{_indented(result.text)}"
        )
    return _Step(
        f"[scripted] Of {count} tests, {len(failures)} fail: {named}. `page_count` divides and drops the rest, so a "
        "last page that is not full is not counted. Rounding up instead of down should fix it.",
        [("edit_file", {"path": SOURCE, "old": BUG, "new": FIX})],
    )


def _solved(count: str) -> _Step:
    return _Step(
        f"[scripted] All {count} tests pass now.\n\n"
        f"**What was wrong:** `page_count` in `{SOURCE}` rounded down, so 21 items on pages of 10 made 2 pages.\n"
        "**What changed:** one line; it rounds up now.\n"
        "**How I know:** the tests failed before the edit and pass after it.\n\n"
        f"That was a script with real tools. {_REAL_WORK}"
    )


def _nothing_to_do(count: str) -> _Step:
    return _Step(
        f"[scripted] All {count} tests pass already: the bug of this tour is fixed in this copy of the project. "
        "`openagent demo` starts over with a fresh one."
    )


def _give_up(failed: _FinishedCall) -> _Step:
    return _Step(
        f"[scripted] `{failed.tool}` did not work here: {failed.result.text.strip() or 'it gave no reason'}\n\n"
        "I am a script and can only do the guided tour on its sample project: `openagent demo` sets it up and runs it. "
        f"{_REAL_WORK}"
    )


def _passed(result: ToolResultPart) -> bool:
    exit_code = result.display.exit_code
    if exit_code is not None:
        return exit_code == 0
    return not result.is_error and bool(re.search(r"^OK\b", result.text, re.MULTILINE))


def _first(pattern: str, text: str) -> str | None:
    match = re.search(pattern, text, re.MULTILINE)
    return match and match[1]


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in _last_lines(text))


def _last_lines(text: str) -> Iterator[str]:
    yield from text.strip().splitlines()[-12:]
