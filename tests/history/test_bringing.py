"""Sessions of six agents, brought, priced, searched, and continued with another provider's wire format."""

import json
from pathlib import Path
from typing import Any

import pytest

from devtools.simulator import Simulator
from openagent.client import Client
from openagent.history.ids import session_id
from openagent.protocol.history import AllUsage, HistoryFind, HistoryImport, ImportedHistory, UsageAll
from openagent.protocol.messages import ToolResultPart
from openagent.protocol.search import MessagesSearch
from openagent.protocol.sessions import (
    SessionAttach,
    SessionGet,
    SessionInfo,
    SessionList,
    SessionUpdate,
    SettingsChange,
)

from ..interaction.doing import ask, messages_of, turn
from ..interaction.house import MODEL, house, house_over
from .left import lay, lay_goose, lay_newer_goose

pytestmark = pytest.mark.anyio

CLAUDE = "78b5af84-c9db-4b0f-a20b-7f5777a183f4"
CODEX = "01a1e123-ac03-79b3-97e7-7b56cddf232c"
GEMINI = "e7ce3ece-1863-4de6-85a2-b8106fa397d0"
OPENCODE = "ses_e1edc0e3fffeYatv9vjvvVX17j"
GOOSE = "20261115_1"

PER_MILLION = 1e-6
BY_HAND = {
    # Claude Sonnet 4.5: $3 a million in, $15 out; five requests.
    "Claude Code": ((28968 + 28968 + 29069 + 29135 + 29265) * 3 + (4 + 20 + 13 + 32 + 6) * 15) * PER_MILLION,
    # GPT-5: $1.25 in, $10 out.
    "codex": ((9877 + 9877 + 9983 + 10082 + 10286) * 1.25 + (4 + 16 + 6 + 16 + 6) * 10) * PER_MILLION,
    # Gemini 2.5 Pro, prompts below 200,000 tokens: $1.25 in, $10 out.
    "gemini-cli": ((12462 + 12462 + 12584 + 12671 + 12882) * 1.25 + (4 + 20 + 13 + 32 + 6) * 10) * PER_MILLION,
    # goose keeps sums: 30,000 in and 1,000 out of Claude Sonnet 4.5.
    "goose": (30_000 * 3 + 1_000 * 15) * PER_MILLION,
    # aider says itself what it cost: twice $0.0052.
    "aider": 0.0104,
    # A model that no list has.
    "opencode": 0.0,
}


async def bring(client: Client, **asked: Any) -> ImportedHistory:
    return await ask(client, HistoryImport, **asked)


def figures(brought: ImportedHistory) -> dict[str, tuple[int, ...]]:
    return {each.agent: (each.new, each.grown, each.apart, each.unchanged, each.messages) for each in brought.agents}


async def brought_sessions(client: Client, **asked: Any) -> list[SessionInfo]:
    return (await ask(client, SessionList, limit=200, brought=True, **asked)).sessions


def state_of(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file below it that is not ours."""
    return {
        str(file.relative_to(folder)): (file.stat().st_size, file.stat().st_mtime_ns, file.read_bytes())
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not {"home", "workspace"} & set(file.relative_to(folder).parts[:1])
    }


async def test_what_six_agents_left_is_brought_once_and_not_a_byte_of_theirs_changes(tmp_path: Path) -> None:
    lay(tmp_path)
    before = state_of(tmp_path)
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client:
        found = await ask(client, HistoryFind)
        assert {each.agent: each.sessions for each in found.agents} == {
            "claude": 2, "codex": 2, "gemini": 2, "opencode": 2, "goose": 1, "aider": 2,
        }  # fmt: skip
        assert found.sessions == found.fresh == 11
        assert [each.brought_at for each in found.agents] == [0.0] * 6
        would = await bring(client, dry_run=True)
        assert sum(each.new for each in would.agents) == 11
        assert await brought_sessions(client) == []
        first = await bring(client)
        assert first.left_out == []
        assert figures(first) == {
            "claude": (2, 0, 0, 0, 11),
            "codex": (2, 0, 0, 0, 11),
            "gemini": (2, 0, 0, 0, 11),
            "opencode": (2, 0, 0, 0, 11),
            "goose": (1, 0, 0, 0, 4),
            "aider": (2, 0, 0, 0, 4),
        }
        again = await bring(client)
        assert again.messages == 0
        assert [each.unchanged for each in again.agents] == [each.new for each in first.agents]
        here = await ask(client, HistoryFind)
        assert here.fresh == 0
        assert all(0 < each.oldest <= each.newest and each.brought_at > 0 for each in here.agents)
        assert len(await brought_sessions(client)) == 11
        assert [info.origin and info.origin.title for info in await brought_sessions(client, agent="goose")] == [
            "goose"
        ]
        own = await ask(client, SessionList, brought=False)
        assert own.sessions == []
        assert own.brought == {"claude": 2, "codex": 2, "gemini": 2, "opencode": 2, "goose": 1, "aider": 2}
        assert (await ask(client, SessionList)).brought == {}
    assert state_of(tmp_path) == before


async def test_all_is_priced_to_the_cent_of_a_hand_count_by_agent_day_model_and_project(tmp_path: Path) -> None:
    lay(tmp_path)
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client:
        # Nothing has to be imported for it, and importing changes nothing of it.
        for _ in range(2):
            said = await ask(client, UsageAll)
            assert {row.key: row.cost_usd for row in said.rows} == pytest.approx(BY_HAND)
            assert said.total.cost_usd == pytest.approx(sum(BY_HAND.values()))
            assert said.total.unpriced == 5  # opencode's
            await bring(client)
        cost = {info.origin.agent: 0.0 for info in await brought_sessions(client) if info.origin}
        for info in await brought_sessions(client):
            assert info.origin is not None
            cost[info.origin.agent] += info.origin.usage.cost_usd
            assert info.usage.cost_usd == 0.0  # no budget of ours is touched
        assert cost["claude"] == pytest.approx(BY_HAND["Claude Code"])
        assert cost["codex"] == pytest.approx(BY_HAND["codex"])
        by_model: AllUsage = await ask(client, UsageAll, by="model")
        sonnet = BY_HAND["Claude Code"] + BY_HAND["goose"]
        assert by_model.rows[0].key == "anthropic/claude-sonnet-4-5"
        assert by_model.rows[0].cost_usd == pytest.approx(sonnet)
        by_project = await ask(client, UsageAll, by="project", agents=["claude", "codex"])
        assert [row.key for row in by_project.rows] == ["/home/user/project"]
        assert by_project.total.requests == 10
        months = await ask(client, UsageAll, by="month", agents=["claude"])
        assert [row.key for row in months.rows] == ["2026-11"]
        shares = (await ask(client, UsageAll, by="month", agents=["claude", "codex"])).parts
        assert [(each.agent, each.key) for each in shares] == [("Claude Code", "2026-11"), ("codex", "2026-11")]
        assert [each.cost_usd for each in shares] == pytest.approx([BY_HAND["Claude Code"], BY_HAND["codex"]])
        with pytest.raises(Exception, match="There is no agent 'cursor'"):
            await ask(client, UsageAll, agents=["cursor"])


async def test_what_an_agent_here_used_stands_beside_what_the_others_did(tmp_path: Path) -> None:
    lay_goose(tmp_path)
    prices = '[prices."compatible/scripted"]\ninput = 1.0\noutput = 2.0\n'
    script = [{"text": "hi", "usage": {"input": 1000, "output": 100}}]
    async with house(tmp_path, script, config=prices) as h, await h.client() as client:
        session = await client.create_session(str(h.workspace), model=MODEL, mode="full")
        await turn(client, await client.attach(session.id))
        said = await ask(client, UsageAll, by="agent")
        assert {row.key: row.cost_usd for row in said.rows} == pytest.approx(
            {"goose": BY_HAND["goose"], "OpenAgent": 0.0012}
        )
        assert [row.key for row in (await ask(client, UsageAll, by="project", agents=["openagent"])).rows] == [
            str(h.workspace)
        ]


async def test_calls_have_our_names_and_diffs_and_every_call_its_result(tmp_path: Path) -> None:
    lay(tmp_path)
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client:
        await bring(client)
        for agent, theirs in (("claude", CLAUDE), ("gemini", GEMINI), ("opencode", OPENCODE)):
            said = await messages_of(client, session_id(agent, theirs))  # pyright: ignore[reportArgumentType]
            assert [message.role for message in said] == [
                *("user", "assistant", "tool", "assistant", "tool", "assistant", "tool", "tool", "assistant")
            ]
            calls = [part for message in said for part in message.tool_calls]
            assert [call.name for call in calls] == ["write_file", "read_file", "shell", "shell"]
            assert calls[0].arguments["path"] == "/home/user/project/notes.txt"
            assert calls[2].arguments["command"] == "wc -l notes.txt"
            written = said[2].parts[0]
            assert isinstance(written, ToolResultPart)
            assert "+alpha\n+beta\n" in written.display.diff, agent
            assert written.display.added == 2
        codex = await messages_of(client, session_id("codex", CODEX))
        commands = [part.arguments["command"] for each in codex for part in each.tool_calls]
        assert commands[1:3] == ["cat notes.txt", "wc -l notes.txt"]
        goose = await messages_of(client, session_id("goose", GOOSE))
        said = ["How many lines has notes.txt?", "It has two lines, says goose."]
        assert [each.text for each in goose if each.text] == said
        shown = await ask(client, SessionAttach, session=session_id("claude", CLAUDE))
        assert shown.snapshot is not None
        assert [(end.turn, end.reason, end.steps) for end in shown.snapshot.turns] == [(1, "done", 4)]


async def test_what_goose_wrote_is_brought_with_its_helpers_and_priced_by_request(tmp_path: Path) -> None:
    """Goose 1.50: what it tells the model itself is no person's word, and what was read from a cache costs less."""
    file = lay_newer_goose(tmp_path)
    before = file.read_bytes()
    gpt = (4694 + 4769 + 4841 + 4916 + 4983) * 2.5 + (21 + 13 + 13 + 6 + 4) * 10
    fresh, cached, written, received = 3000 + 1000 + 1000, 4000 + 8000 + 9000, 2000 + 500, 30 + 20 + 10
    claude = fresh * 3 + cached * 0.3 + written * 3.75 + received * 15
    helper = 500 * 3 + 9 * 15
    async with house(tmp_path, [{"text": "hi"}]) as h, await h.client() as client:
        said = await ask(client, UsageAll, by="model")
        assert {row.key: (row.requests, round(row.cost_usd, 9)) for row in said.rows} == {
            "openai/gpt-4o": (5, round(gpt * PER_MILLION, 9)),
            "anthropic/claude-sonnet-4-5": (4, round((claude + helper) * PER_MILLION, 9)),
        }
        brought = await bring(client)
        assert brought.left_out == []
        (cost,) = [
            info.origin.usage.cost_usd
            for info in await brought_sessions(client)
            if info.id == session_id("goose", "20261118_1") and info.origin
        ]
        assert cost == pytest.approx(gpt * PER_MILLION)
        first = await messages_of(client, session_id("goose", "20261118_1"))
        asked = [each.text for each in first if each.role == "user" and each.text]
        assert asked == ["How many lines has notes.txt?"]
        calls = [part for each in first for part in each.tool_calls]
        assert [each.name for each in calls] == ["shell", "write_file", "edit_file", "shell"]
        results = [part for each in first for part in each.parts if isinstance(part, ToolResultPart)]
        assert [each.is_error for each in results] == [False, False, False, True]
        assert "-two\n+zwei\n" in results[2].display.diff
        second = await messages_of(client, session_id("goose", "20261118_2"))
        (delegated, _) = [part for each in second for part in each.parts if isinstance(part, ToolResultPart)]
        (run,) = delegated.display.agents
        assert run.session == session_id("goose", "20261118_3")
        helped = await messages_of(client, run.session)
        assert helped[-1].text == "There are three words, says the helper."
        assert (await bring(client)).messages == 0
    assert file.read_bytes() == before


async def test_they_are_searched_and_continued_with_another_providers_wire_format(tmp_path: Path) -> None:
    lay(tmp_path)
    project = tmp_path / "project"
    file = next((tmp_path / ".claude").rglob(f"{CLAUDE}.jsonl"))
    file.write_text(file.read_text().replace("/home/user/project", str(project)))
    config = (
        '[providers.messages]\nkind = "anthropic"\nbase_url = "{url}"\napi_key = "k"\n'
        '[providers.responses]\nkind = "openai"\nbase_url = "{url}/v1"\napi_key = "k"\n'
        '[providers.google]\nkind = "gemini"\nbase_url = "{url}"\napi_key = "k"\n'
    )
    async with Simulator({"conversations": [{"loop": True, "steps": [{"text": "Gone on with."}]}]}) as sim:
        config = config.replace("{url}", sim.base_url)
        async with house_over(tmp_path, sim, config=config) as h, await h.client() as client:
            await bring(client)
            while (answer := await ask(client, MessagesSearch, query="says goose")).unread:
                pass
            assert [hit.session for hit in answer.found] == [session_id("goose", GOOSE)]
            mine = session_id("claude", CLAUDE)
            for model in ("responses/gpt-5", "google/gemini-2.5-pro", MODEL, "messages/claude-sonnet-4-5"):
                await ask(client, SessionUpdate, session=mine, settings=SettingsChange(model=model))
                completed, _ = await turn(client, await client.attach(mine), "And now?")
                assert completed.reason == "done", completed.error
                sent = json.dumps(sim.requests[-1].json())
                assert "wc -l notes.txt" in sent
                assert "notes.txt has two lines." in sent
            info = await ask(client, SessionGet, session=mine)
            assert info.origin is not None
            assert (info.origin.messages, info.message_count) == (9, 17)
            # It is a session like any other by now, and marked with where it came from.
            assert [each.id for each in (await ask(client, SessionList, brought=False)).sessions] == [mine]
