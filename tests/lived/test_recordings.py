"""Recordings in the formats of Claude Code and codex, made again through the whole daemon."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from devtools.evals.__main__ import summary
from devtools.evals.recordings import Call, Recording, Step, Turn, read
from devtools.evals.replay import Replayed, files_of, placed, replay, script_of, undo_all
from devtools.simulator import Simulator
from openagent.protocol.errors import OpenAgentError
from openagent.protocol.sessions import GrantScope

from .harness import RECORDINGS, WIRES, Met, client_of, furnish, furnished

pytestmark = pytest.mark.anyio

OURS = {
    "apply_patch",
    "search_code",
    "execute_code",
    "git",
    "recall",
    "list_mcp_resources",
    "read_mcp_resource",
    "find_tools",
}


def test_calls_of_claude_code_are_read_as_ours_with_their_outcomes_and_their_sub_agents() -> None:
    recording = read(RECORDINGS / "every-tool-alone.jsonl", OURS)
    assert recording.root == "/home/somebody/shop"
    assert [turn.prompt.split()[0] for turn in recording.turns] == ["Find", "Look", "Let"]
    assert [turn.answer for turn in recording.turns] == ["It rounds now.", "Down it is.", "All is done."]
    assert recording.left_out == {"NotebookEdit": 1, "mcp__elsewhere__look": 1}
    calls = [call for turn in recording.turns for step in turn.steps for call in step.calls]
    assert [call.theirs for call in calls if call.failed] == ["Bash", "Edit", "Read"]
    edit = next(call for call in calls if call.theirs == "Edit")
    assert edit.arguments == {
        "path": "/home/somebody/shop/till.py",
        "old": "return sum(items)",
        "new": "return round(sum(items), 2)",
        "all": False,
    }
    assert [
        [call.tool for call in step.calls] for step in recording.below["Write thanks.md with a word of thanks."]
    ] == [["write_file"]]


def test_calls_of_one_answer_stay_side_by_side() -> None:
    recording = read(RECORDINGS / "side-by-side.jsonl", OURS)
    assert [len(step.calls) for turn in recording.turns for step in turn.steps] == [6, 5, 3, 2, 2]
    assert {task: [len(step.calls) for step in steps] for task, steps in recording.below.items()} == {
        "Count the words of a.txt.": [2],
        "Write c.txt with the letter c.": [2],
    }


def test_calls_of_codex_are_read_as_ours() -> None:
    recording = read(RECORDINGS / "codex.jsonl")
    first, second = recording.turns
    assert first.prompt == "Make the total safe for an empty basket."
    assert [[call.tool for call in step.calls] for step in first.steps] == [
        ["shell", "shell"],
        ["todo"],
        ["apply_patch"],
        ["shell"],
        ["shell"],
        ["shell"],
        ["shell"],
        ["read_file"],
    ]
    commands = [call.arguments["command"] for step in first.steps for call in step.calls if call.tool == "shell"]
    assert commands[0] == "cat till.py"
    assert commands[3] == "grep -n 'no such thing' till.py"
    assert [call.failed for step in first.steps for call in step.calls] == [
        *(False, False, False, False, False),
        *(True, False, True, False),
    ]
    assert recording.left_out == {"write_stdin": 1}
    assert second.answer == "You are welcome."


def test_what_is_no_recording_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"a": 1}\nnot json\n')
    with pytest.raises(OpenAgentError, match="no recording that can be replayed"):
        read(tmp_path / "x.jsonl")


@pytest.mark.parametrize(
    ("name", "wire"),
    [*((name, wire) for name in ("every-tool-alone", "side-by-side") for wire in WIRES), ("codex", "responses")],
)
async def test_a_recording_is_made_again_as_it_was(tmp_path: Path, name: str, wire: str) -> None:
    """With hooks, rules, approvals, and a collection on the way."""
    met = Met()
    async with (
        Simulator([]) as sim,
        furnished(tmp_path, sim, config='[context]\ncollector = "truncate"\n') as (h, web),
        await client_of(h, met) as client,
    ):
        text = (RECORDINGS / f"{name}.jsonl").read_text().replace("127.0.0.1:1/", f"127.0.0.1:{web.port}/")
        (tmp_path / "recording.jsonl").write_text(text)
        recording = placed(read(tmp_path / "recording.jsonl", OURS), h.workspace)
        script = script_of(recording)
        script["conversations"][-1]["steps"][2]["usage"] = {"input": 126_000, "output": 1_000}
        sim.reset(script)
        info = await client.create_session(str(h.workspace), model=f"{WIRES[wire]}/scripted", mode="ask")
        result = await replay(client, recording, info.id, patience=60)
        assert result.ends == ["done"] * len(recording.turns)
        assert result.handed_out == recording.calls
        assert result.differences == []
        for tool, tally in result.calls.items():
            assert tally.failed_here == tally.failed_there, tool
        assert {"hook.ran", "permission.resolved", "context.collected"} <= met.events


@pytest.mark.parametrize(("scope", "asked"), [("once", 2), ("session", 1)])
async def test_what_a_person_was_asked_is_counted(tmp_path: Path, scope: GrantScope, asked: int) -> None:
    write = {"path": "new.txt", "content": "new"}
    steps = [Step([Call("write_file", {**write, "content": text}, "Write")]) for text in ("one", "two")]
    recording = Recording("asks", [Turn("go", steps, "Done.")])
    async with (
        Simulator(script_of(recording)) as sim,
        furnished(tmp_path, sim) as (h, _),
        await client_of(h, Met()) as client,
    ):
        info = await client.create_session(str(h.workspace), model="compatible/scripted", mode="ask")
        before = files_of(h.workspace)
        result = await replay(client, recording, info.id, patience=60, scope=scope)
        result.undone = await undo_all(client, info.id, h.workspace, before)
        assert files_of(h.workspace) == before
    assert (result.undone.changed, result.undone.left) == (1, [])
    assert "Undone: 1 of 1 sessions that changed files left none behind; 0 of 1 files" in summary([result])
    assert [question.split(" (")[0] for question in result.asked] == ["write_file: new.txt"] * asked
    assert f"Questions: {asked}; median {asked} a session" in summary([result])


async def test_an_edit_that_was_refused_there_at_first_and_made_here_is_no_mystery(tmp_path: Path) -> None:
    edit = {"path": "till.py", "old": "return sum(items)", "new": "return round(sum(items), 2)"}
    steps = [Step([Call("edit_file", edit, "Edit", failed=failed)]) for failed in (True, False)]
    recording = Recording("twice", [Turn("go", steps, "Done.")])
    async with (
        Simulator(script_of(recording)) as sim,
        furnished(tmp_path, sim) as (h, _),
        await client_of(h, Met()) as client,
    ):
        info = await client.create_session(str(h.workspace), model="compatible/scripted", mode="full")
        (difference,) = (await replay(client, recording, info.id, patience=60)).differences
    assert difference.made_before
    assert "this edit may have been made already" in difference.here


def test_the_command_replays_through_a_daemon_of_its_own_and_counts(tmp_path: Path) -> None:
    furnish(tmp_path)
    options = ["--json", "--files", str(tmp_path / "workspace"), "--wire", "anthropic"]
    ran = subprocess.run(
        [sys.executable, "-m", "devtools.evals", "replay", str(RECORDINGS / "codex.jsonl"), *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    (result,) = msgspec.json.decode(ran.stdout, type=list[Replayed])
    assert (result.ends, result.handed_out, result.differences) == (["done", "done"], 10, [])
    assert (result.calls["shell"].calls, result.calls["shell"].failed_here) == (7, 2)
