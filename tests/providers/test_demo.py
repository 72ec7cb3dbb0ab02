"""The guided tour: a script, but with real files, real commands and real results."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from openagent.config.settings import ProviderSettings
from openagent.plugins.provider import Answer, TextChunk
from openagent.protocol.messages import Message, TextPart, ToolCallPart, ToolResultPart
from openagent.providers.build import build_provider
from openagent.providers.demo import PROJECT, DemoProvider

from .harness import ask, calls_of, items_of, text_of, user

pytestmark = pytest.mark.anyio


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PROJECT, tmp_path / "project", ignore=shutil.ignore_patterns("__pycache__")))


def perform(call: ToolCallPart, project: Path) -> ToolResultPart:
    """The tools, as small as they can be."""
    arguments: dict[str, Any] = call.arguments
    if call.name == "shell":
        command = arguments["command"].replace("python3", sys.executable)
        done = subprocess.run(command, shell=True, cwd=project, capture_output=True, text=True, check=False)
        return ToolResultPart(call.id, call.name, done.stdout + done.stderr, is_error=done.returncode != 0)
    path = project / arguments["path"]
    if not path.exists():
        return ToolResultPart(call.id, call.name, f"There is no file {arguments['path']}.", is_error=True)
    if call.name == "edit_file":
        content = path.read_text()
        assert content.count(arguments["old"]) == 1
        path.write_text(content.replace(arguments["old"], arguments["new"]))
        return ToolResultPart(call.id, call.name, "Edited.")
    return ToolResultPart(call.id, call.name, path.read_text())


async def run_tour(project: Path, history: list[Message], sabotage: str = "") -> list[str]:
    provider = DemoProvider(pause=0)
    used: list[str] = []
    for _ in range(10):
        *chunks, answer = await items_of(provider, ask("chat", *history))
        assert isinstance(answer, Answer)
        text = text_of(answer.parts)
        assert "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk)) == text
        assert len(chunks) > 3, "it comes in small pieces"
        assert "[scripted]" in text
        history.append(Message(len(history) + 1, "assistant", answer.parts))
        if not (calls := calls_of(answer.parts)):
            assert answer.stop_reason == "end"
            return used
        for call in calls:
            used.append(call.name)
            outcome = perform(call, project)
            if call.name == sabotage:
                outcome = ToolResultPart(call.id, call.name, "You may not do that.", is_error=True)
            history.append(Message(len(history) + 1, "tool", [outcome]))
    raise AssertionError("the tour does not end")


async def test_the_tour_fixes_a_real_bug(project: Path):
    history = [user("Show me.")]
    assert await run_tour(project, history) == ["read_file", "read_file", "shell", "edit_file", "shell"]
    assert "All 5 tests pass now" in history[-1].text
    assert (
        subprocess.run([sys.executable, "-m", "unittest"], cwd=project, capture_output=True, check=False).returncode
        == 0
    )


async def test_the_shipped_project_has_the_bug(project: Path):
    done = subprocess.run([sys.executable, "-m", "unittest"], cwd=project, capture_output=True, text=True, check=False)
    assert "FAILED (failures=2)" in done.stderr


async def test_a_second_tour_finds_nothing_to_do(project: Path):
    history = [user("Show me.")]
    await run_tour(project, history)
    history.append(user("Again.", number=len(history) + 1))
    assert await run_tour(project, history) == ["read_file", "read_file", "shell"]
    assert "pass already" in history[-1].text


async def test_an_edit_that_did_not_help_is_admitted(project: Path):
    test = project / "test_pages.py"
    test.write_text(test.read_text().replace("count == 0", "count == 7"))
    history = [user("Show me.")]
    await run_tour(project, history)
    assert "still fails" in history[-1].text


async def test_outside_its_project_it_says_what_it_can_do(tmp_path: Path):
    history = [user("Write me a poem.")]
    assert await run_tour(tmp_path, history) == ["read_file", "read_file"]
    assert "There is no file test_pages.py" in history[-1].text
    assert "`openagent demo`" in history[-1].text


@pytest.mark.parametrize("tool", ["read_file", "shell", "edit_file"])
async def test_a_refused_tool_ends_the_tour_politely(project: Path, tool: str):
    history = [user("Show me.")]
    used = await run_tour(project, history, sabotage=tool)
    assert used[-1] == tool
    assert "You may not do that." in history[-1].text


async def test_the_demo_is_labelled_as_scripted():
    provider = build_provider("demo", ProviderSettings(kind="demo"), {})
    assert provider.scripted
    assert [model.name for model in await provider.models()] == ["guided-tour"]
    await provider.close()


async def test_a_tool_result_cut_from_the_history_does_not_confuse_it(project: Path):
    history = [user("Show me."), Message(2, "assistant", [TextPart("…")]), user("Go on.", number=3)]
    assert (await run_tour(project, history))[0] == "read_file"
