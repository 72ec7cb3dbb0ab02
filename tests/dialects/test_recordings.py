"""Recorded sessions of other agents, made again with the names and arguments that the calls had there."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from devtools.evals.recordings import read
from devtools.evals.replay import Replayed, Tally, placed, replay, script_of
from devtools.simulator import Simulator

from ..lived.harness import RECORDINGS, Met, client_of, furnished

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


async def made_again(
    tmp_path: Path, name: str, model: str, *, as_recorded: bool, files: Mapping[str, str] | None = None
) -> Replayed:
    async with (
        Simulator([]) as sim,
        furnished(tmp_path, sim, config='[context]\ncollector = "truncate"\n') as (h, web),
        await client_of(h, Met()) as client,
    ):
        text = (RECORDINGS / f"{name}.jsonl").read_text().replace("127.0.0.1:1/", f"127.0.0.1:{web.port}/")
        (tmp_path / "recording.jsonl").write_text(text)
        for path, content in (files or {}).items():
            (h.workspace / path).write_bytes(content.encode())
        recording = placed(read(tmp_path / "recording.jsonl", OURS), h.workspace)
        sim.reset(script_of(recording, as_recorded=as_recorded))
        info = await client.create_session(str(h.workspace), model=model, mode="full")
        result = await replay(client, recording, info.id, patience=60)
        assert all(request.error is None for request in sim.requests)
        assert result.handed_out == recording.calls
        return result


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("every-tool-alone", "anthropic/claude-sonnet-4-5"),
        ("side-by-side", "anthropic/claude-sonnet-4-5"),
        ("codex", "openai/gpt-5"),
    ],
)
async def test_without_a_call_renamed_a_recording_ends_as_well_as_with_our_names(
    tmp_path: Path, name: str, model: str
) -> None:
    """Claude Code's to a Claude model, codex's to a GPT model, whose patches come as plain text."""
    theirs = await made_again(tmp_path, name, model, as_recorded=True)
    assert theirs.ends == ["done"] * len(theirs.ends)
    for tool, tally in theirs.calls.items():
        if tool != "shell_output":  # what ran in the background there has another name here
            assert tally.failed_here == tally.failed_there, (tool, theirs.differences)


@pytest.mark.parametrize("model", ["openai/gpt-5", "anthropic/claude-sonnet-4-5"])
async def test_patches_that_codex_applied_leave_the_same_bytes_here(tmp_path: Path, model: str) -> None:
    """Written by codex 0.169 with a scripted model that was offered `apply_patch` as plain text: hunks found by what
    stands above them, a new, a moved and a deleted file, two patches that do not fit. To a last line without its end
    codex adds one that nobody asked for; here such a line stays as it is."""
    files = json.loads((RECORDINGS / "codex-patches.files.json").read_text())
    theirs = await made_again(tmp_path, "codex-patches", model, as_recorded=True, files=files["before"])
    assert theirs.ends == ["done"]
    assert theirs.calls["apply_patch"] == Tally(calls=5, failed_here=2, failed_there=2)
    assert theirs.calls["shell"] == Tally(calls=3, failed_here=1, failed_there=1)
    workspace = tmp_path / "workspace"
    left = {path: (workspace / path).read_bytes().decode() for path in files["after"]}
    assert not left["greet.txt"].endswith("\n")
    assert {**left, "greet.txt": left["greet.txt"] + "\n"} == files["after"]
    assert not [path for path in files["before"] if path not in files["after"] and (workspace / path).exists()]
